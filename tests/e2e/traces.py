#!/usr/bin/env python3
"""Traces of requests: an OTLP receiver gets the spans of authentication, authorization by authorizer, admission and store."""
import base64
import contextlib
import http.client
import http.server
import json
import os
import shutil
import ssl
import subprocess
import tempfile
import threading

from aggregation import register
from hooks import Hooks
from server import Cardea, binary, eventually, exchange, expect, skip
from small_backend import WARES, SmallBackend
from story import Story

story = Story("traces")
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def spans_in_json(body):
    return [span for r in json.loads(body)["resourceSpans"] for s in r["scopeSpans"] for span in s["spans"]]


def messages(data, *path):
    """The values of the fields with these numbers, one inside the other. As much of Protobuf as spans need."""
    if not path:
        return [data]
    at, found = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            value = varint()
        else:
            size = varint() if tag & 7 == 2 else 8
            value = data[at:at + size]
            expect(len(value) == size and tag & 7 in (1, 2), "a message is cut")
            at += size
        if tag >> 3 == path[0]:
            found += messages(value, *path[1:])
    return found


def spans_in_protobuf(body):
    text = lambda span, number: (messages(span, number) or [b""])[0]
    return [{"traceId": text(s, 1).hex(), "spanId": text(s, 2).hex(), "parentSpanId": text(s, 4).hex(), "name": text(s, 5).decode(), "kind": messages(s, 6)[0],
             "startTimeUnixNano": str(int.from_bytes(text(s, 7), "little")), "endTimeUnixNano": str(int.from_bytes(text(s, 8), "little")),
             "attributes": [{"key": text(a, 1).decode(), "value": {"stringValue": messages(a, 2, 1)[0].decode()}} for a in messages(s, 9)]}
            for s in messages(body, 1, 2, 2)]


class Receiver:
    def __init__(self):
        self.spans, self.asked, self.status = [], [], 200
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.asked.append((self.path, self.headers["Content-Type"]))
                if receiver.status == 200:
                    receiver.spans += spans_in_json(body) if self.headers["Content-Type"] == "application/json" else spans_in_protobuf(body)
                self.send_response(receiver.status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def of(self, trace):
        return [span for span in self.spans if span["traceId"] == trace]


@story.fresh
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()


@contextlib.contextmanager
def traced(receiver, rate, *flags, encoding="JSON"):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tracing.yaml")
        with open(path, "w") as file:
            file.write(f"apiVersion: apiserver.k8s.io/v1beta1\nkind: TracingConfiguration\nendpoint: 127.0.0.1:{receiver.server.server_address[1]}\nsamplingRatePerMillion: {rate}\nencoding: {encoding}\n")
        tokens = os.path.join(folder, "tokens")
        with open(tokens, "w") as file:
            file.write("token-eve,eve,eve\ntoken-watcher,watcher,watcher,system:monitoring\n")
        with Cardea(f"--tracing-config-file={path}", f"--token-auth-file={tokens}", *flags) as server:
            yield server


def as_user(server, user, method, path, headers, body=None):
    context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
    with contextlib.closing(http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=context)) as connection:
        return exchange(connection, method, path, body, {"Authorization": f"Bearer token-{user}", **headers})


@story.chapter
def a_write_shows_its_way(receiver):
    the_way_of_a_write(receiver, "JSON", "application/json")


@story.chapter
def in_protobuf_too(receiver):
    the_way_of_a_write(receiver, "Protobuf", "application/x-protobuf")


def the_way_of_a_write(receiver, encoding, content_type):
    with traced(receiver, 0, encoding=encoding) as server:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "traced"}, "data": {"k": "never shown"}}
        expect(server.request("POST", CONFIG_MAPS + "?fieldManager=secret-name", body, {"traceparent": PARENT})[0] == 201, "the write")
        trace = PARENT.split("-")[1]
        eventually("the spans arrive", lambda: receiver.of(trace))
        spans = receiver.of(trace)
        ids = {span["spanId"]: span for span in spans}
        root = spans[0]
        expect(root["parentSpanId"] == PARENT.split("-")[2] and root["name"] == "POST" and root["kind"] == 2, f"{root}")
        notes = {n["key"]: n["value"]["stringValue"] for n in root["attributes"]}
        expect(notes == {"http.request.method": "POST", "url.path": CONFIG_MAPS, "k8s.verb": "create", "k8s.resource": "configmaps", "k8s.namespace": "default",
                         "http.response.status_code": "201"}, f"{notes}")
        parents = {span["name"]: ids.get(span["parentSpanId"], {}).get("name") for span in spans}
        for name, parent in (("authentication", "POST"), ("authorization", "POST"), ("serve", "POST"), ("mutate", "serve"), ("settle", "serve"), ("commit new", "serve")):
            expect(parents.get(name) == parent, f"{name} is not in {parent}: {parents}")
        expect([n for n, p in parents.items() if p == "authorization" and n.startswith("authorizer ")], f"{parents}")
        for span in spans:
            expect(int(root["startTimeUnixNano"]) <= int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]), f"{span}")
        expect("never shown" not in json.dumps(spans) and "secret-name" not in json.dumps(spans), "bodies and queries are nobody's business")
        expect(receiver.asked[0] == ("/v1/traces", content_type), f"{receiver.asked}")


@story.chapter
def others_continue_the_trace(receiver):
    """The authorization webhook, an admission webhook and an aggregated server get a traceparent below a span of this server."""
    if not shutil.which("openssl"):
        skip("no openssl: there are no certificates for webhooks")
    with tempfile.TemporaryDirectory() as folder, Hooks(folder) as hooks, SmallBackend(folder) as backend:
        hooks.answers["/ask"] = lambda review: {**review, "status": {"allowed": True}}
        hooks.answers["/admit"] = lambda review: hooks.review(review, allowed=True)
        kubeconfig = os.path.join(folder, "webhook.kubeconfig")
        with open(kubeconfig, "w") as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "w", "user": "u"}}], "users": [{"name": "u", "user": {}}],
                       "clusters": [{"name": "w", "cluster": {"server": hooks.at("/ask")["url"], "certificate-authority-data": base64.b64encode(hooks.ca).decode()}}]}, file)
        with traced(receiver, 1000000, "--authorization-mode=RBAC,Webhook", f"--authorization-webhook-config-file={kubeconfig}", "--backend-address-exceptions=127.0.0.1/32") as server:
            configuration = {"metadata": {"name": "watcher"}, "webhooks": [{"name": "watcher.example.com", "clientConfig": hooks.at("/admit"), "sideEffects": "None", "admissionReviewVersions": ["v1"],
                             "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]}]}
            expect(server.request("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", configuration)[0] == 201, "the webhook")
            trace = PARENT.split("-")[1]
            eventually("the webhook is asked", lambda: as_user(server, "eve", "POST", CONFIG_MAPS, {"traceparent": PARENT}, {"metadata": {"generateName": "a-"}})[0] == 201
                       and any(path.startswith("/admit") for path, _, _ in hooks._asked))
            asked = {path.split("?")[0]: {k.lower(): v for k, v in headers.items()}.get("traceparent", "") for path, headers, _ in hooks.take()}
            register(server, backend)
            eventually("the other server is reached", lambda: as_user(server, "eve", "GET", WARES, {"traceparent": PARENT})[0] == 200)
            asked["/wares"] = next(r for r in reversed(backend.seen) if r.path.startswith(WARES)).headers.get("traceparent", "")
            eventually("the spans arrive", lambda: all(any(s["spanId"] == parent.split("-")[2] for s in receiver.of(trace)) for parent in asked.values() if parent.count("-") == 3))
            ids = {span["spanId"]: span["name"] for span in receiver.of(trace)}
            for who, span in (("/ask", "authorizer"), ("/admit", "settle"), ("/wares", "GET")):
                version, of, parent, flags = asked[who].split("-")
                expect((version, of, flags) == ("00", trace, "01") and parent != PARENT.split("-")[2], f"{who}: {asked[who]}")
                expect(ids[parent].startswith(span), f"{who} is below {ids[parent]}, not {span}")


@story.chapter
def clients_cannot_make_the_server_trace(receiver):
    with traced(receiver, 0) as server:
        eve, watcher = PARENT.replace("0af7", "0001"), PARENT.replace("0af7", "0002")
        expect(as_user(server, "eve", "GET", "/version", {"traceparent": eve})[0] == 200, "eve")
        expect(as_user(server, "watcher", "GET", "/version", {"traceparent": watcher})[0] == 200, "watcher")
        expect(server.request("GET", "/version")[0] == 200, "without a trace")
        eventually("the watcher's trace arrives", lambda: receiver.of(watcher.split("-")[1]))
        expect(not receiver.of(eve.split("-")[1]), "eve's trace was sent")
        expect(len({span["traceId"] for span in receiver.spans}) == 1, f"{receiver.spans}")


@story.chapter
def requests_are_chosen_and_a_receiver_that_is_away_stops_nobody(receiver):
    receiver.status = 503
    with traced(receiver, 1000000) as server:
        for _ in range(20):
            expect(server.request("GET", CONFIG_MAPS)[0] == 200, "a list")
        eventually("it was tried", lambda: receiver.asked)
        receiver.status = 200
        expect(as_user(server, "eve", "GET", CONFIG_MAPS, {})[0] == 403, "a refusal")
        eventually("a refusal is traced", lambda: any(n["value"]["stringValue"] == "403" for span in receiver.spans for n in span.get("attributes", []) if n["key"] == "http.response.status_code"))
        text = server.request("GET", "/metrics")[2]
        text = text if isinstance(text, str) else text.decode()
        expect('cardea_traces_total{outcome="failed"}' in text and 'cardea_traces_total{outcome="failed"} 0\n' not in text, "failures are counted")


@story.chapter
def a_wrong_file_keeps_the_server_from_starting():
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write("apiVersion: apiserver.k8s.io/v1beta1\nkind: TracingConfiguration\nsamplingRatePerMillion: 2000000\n")
        file.flush()
        done = subprocess.run([binary(), "serve", "--data-dir", file.name + ".data", f"--tracing-config-file={file.name}"], capture_output=True, text=True, timeout=60)
        expect(done.returncode != 0 and "must be between 0 and 1000000" in done.stderr, f"{done.returncode} {done.stderr}")
        done = subprocess.run([binary(), "config", "validate", file.name], capture_output=True, text=True, timeout=60)
        expect(done.returncode == 1 and "must be between 0 and 1000000" in done.stdout + done.stderr, f"{done.returncode} {done.stdout}")


if __name__ == "__main__":
    story.main()
