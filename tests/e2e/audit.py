"""The audit log over HTTPS: the policy of docs/audit.md, a log and a webhook, a full disk, a webhook that dies and comes back.

Lost events must be counted: for every backend, events made = events written + apiserver_audit_error_total.
"""
import gzip
import http.client
import http.server
import json
import os
import re
import ssl
import subprocess
import tempfile
import threading
from pathlib import Path

from server import Cardea, eventually, exchange, expect, free_port
from story import Story

story = Story("audit")

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = "/api/v1/namespaces/default"
TOKENS = 'jane,jane,u-jane,"dev,ops"\nboss,boss,u-boss,system:masters\n'
EVERYTHING = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: %s, users: [jane, boss]}, {level: %s, userGroups: ['system:unauthenticated']}, {level: None, users: ['system:apiserver']}, {level: %s}]\n"


def policy(level):
    return EVERYTHING % (level, level, level)


def written(folder, name, text):
    path = os.path.join(folder, name)
    Path(path).write_text(text)
    return path


def send(server, method, path, body=None, token="boss", headers=None):
    """One request of a user with a token: (status, headers, body)."""
    context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=context)
    headers = {"User-Agent": "story/1", **(headers or {})}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        return exchange(connection, method, path, body, headers)
    finally:
        connection.close()


def events_in(path):
    if not os.path.exists(path):
        return []
    with open(path) as log:
        return [json.loads(line) for line in log]


def of(events, audit_id, stage=None):
    return [e for e in events if e["auditID"] == audit_id and (stage is None or e["stage"] == stage)]


def metrics(server):
    found = {}
    for line in server.request("GET", "/metrics")[2].decode().splitlines():
        if line.startswith("apiserver_audit_"):
            name, value = line.rsplit(" ", 1)
            found[name] = float(value)
    return found


def lost(server, plugin):
    return metrics(server).get(f'apiserver_audit_error_total{{plugin="{plugin}"}}', 0)


class Flags:
    def __init__(self, folder, text):
        self.folder = folder
        self.log = os.path.join(folder, "audit.log")
        self.flags = ["--token-auth-file", written(folder, "tokens.csv", TOKENS), "--audit-policy-file", written(folder, "policy.yaml", text)]

    def server(self, *more):
        return Cardea(*self.flags, *more)


def last(log, audit_id, stage="ResponseComplete"):
    return eventually(f"{stage} of {audit_id}", lambda: of(events_in(log), audit_id, stage))[0]


@story.chapter
def what_events_tell(folder):
    f = Flags(folder, policy("RequestResponse"))
    with f.server("--audit-log-path", f.log) as server:
        def done(audit_id, *args, **more):
            more.setdefault("headers", {})
            more["headers"]["Audit-Id"] = audit_id
            answer = send(server, *args, **more)
            expect(answer[1]["Audit-Id"] == audit_id, f"the answer to {audit_id} is called {answer[1]['Audit-Id']}")
            return answer

        done("create", "POST", f"{NAMESPACE}/configmaps", {"metadata": {"name": "a"}, "data": {"k": "v"}})
        event = last(f.log, "create")
        expect(event["verb"] == "create" and event["user"] == {"username": "boss", "uid": "u-boss", "groups": ["system:masters", "system:authenticated"]}, event)
        expect(event["objectRef"] == {"resource": "configmaps", "namespace": "default", "name": "a", "apiVersion": "v1"}, event["objectRef"])
        expect(event["requestObject"] == {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {"k": "v"}}, event["requestObject"])
        expect(event["responseObject"]["metadata"]["uid"] and event["responseStatus"] == {"metadata": {}, "code": 201}, event)
        expect(event["annotations"]["authorization.k8s.io/decision"] == "allow", event["annotations"])
        expect(event["annotations"]["authentication.cardea.dev/authenticator"] == "token-file", event["annotations"])
        expect("boss\"" not in json.dumps(event["annotations"]), "a token is in an annotation")
        for key in ("requestReceivedTimestamp", "stageTimestamp"):
            expect(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", event[key]), event[key])
        received = of(events_in(f.log), "create", "RequestReceived")
        expect(len(received) == 1 and "responseStatus" not in received[0] and "requestObject" not in received[0], received)

        done("forbidden", "GET", f"{NAMESPACE}/secrets", token="jane")
        event = last(f.log, "forbidden")
        expect(event["annotations"]["authorization.k8s.io/decision"] == "forbid" and event["responseStatus"]["reason"] == "Forbidden", event)

        done("unknown", "GET", f"{NAMESPACE}/secrets", token="nobody-knows-this")
        event = last(f.log, "unknown", "ResponseStarted")
        expect(event["user"] == {} and event["responseStatus"]["code"] == 401, event)
        expect(len(of(events_in(f.log), "unknown")) == 1 and "nobody-knows-this" not in json.dumps(event), event)
        expect(event["annotations"]["authentication.cardea.dev/error"], event)

        done("patch", "PATCH", f"{NAMESPACE}/configmaps/a?fieldManager=x", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {z: '1'}\n",
             headers={"Content-Type": "application/apply-patch+yaml"})
        expect(last(f.log, "patch")["requestObject"] == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"z": "1"}}, "a patch as it was sent")

        connection = server.connect()
        connection.request("GET", f"{NAMESPACE}/configmaps?watch=1&timeoutSeconds=1", headers={"Audit-Id": "watch"})
        answer = connection.getresponse()
        expect(answer.headers["Audit-Id"] == "watch" and answer.read(), "a watch")
        connection.close()
        last(f.log, "watch")
        expect([e["stage"] for e in of(events_in(f.log), "watch")] == ["RequestReceived", "ResponseStarted", "ResponseComplete"], "the stages of a watch")

        done("proxied", "GET", "/version", headers={"X-Forwarded-For": "1.2.3.4, bogus, 5.6.7.8", "X-Real-Ip": "9.9.9.9"})
        expect(last(f.log, "proxied")["sourceIPs"] == ["1.2.3.4", "5.6.7.8", "9.9.9.9", "127.0.0.1"], "the addresses of proxies")

        done("as", "GET", f"{NAMESPACE}/configmaps", headers={"Impersonate-User": "jane", "Impersonate-Group": "dev"})
        event = last(f.log, "as")
        expect(event["user"]["username"] == "boss" and event["impersonatedUser"]["username"] == "jane", event)
        expect(send(server, "GET", f"{NAMESPACE}/configmaps", token="jane", headers={"Audit-Id": "as-boss", "Impersonate-User": "boss"})[0] == 403, "jane is not boss")
        said = last(f.log, "as-boss")["annotations"]
        expect(said["impersonation.cardea.dev/requested-user"] == "boss" and said["impersonation.cardea.dev/refused-mode"] == "user-info", said)
        expect("cannot impersonate-on:user-info:list" in said["impersonation.cardea.dev/refusal"], said)

        done("account", "POST", f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": "robot"}})
        token = done("issue", "POST", f"{NAMESPACE}/serviceaccounts/robot/token", {"spec": {}})[2]["status"]["token"]
        done("by-token", "GET", f"{NAMESPACE}/configmaps", token=token)
        event = last(f.log, "by-token")
        said, issued = event["annotations"], last(f.log, "issue")["annotations"]["authentication.kubernetes.io/issued-credential-id"]
        expect(said["authentication.cardea.dev/authenticator"] == "service-account" and said["authentication.cardea.dev/issuer"].startswith("https://"), said)
        expect(said["authentication.cardea.dev/key-id"] and said["authentication.cardea.dev/credential-id"] == issued, said)
        expect(token.split(".")[2] not in json.dumps(event), "the token itself is nowhere in the event of its use")

        for bad in ("x" * 200, "a b", "{\"a\":1}"):
            chosen = send(server, "GET", "/version", headers={"Audit-Id": bad})[1]["Audit-Id"]
            expect(re.fullmatch(r"[0-9a-f-]{36}", chosen), chosen)
        done("injection", "GET", f"{NAMESPACE}/configmaps/%0A%22%7D%0A%7B", headers={"User-Agent": "x\t\"}{"})
        expect(last(f.log, "injection")["objectRef"]["name"] == '\n"}\n{', "control characters stay in their string")
        expect(os.stat(f.log).st_mode & 0o777 == 0o600, "the log is its owner's")
        expect(lost(server, "buffered") == lost(server, "log") == 0, "nothing was lost")
        there = len(events_in(f.log))
        expect(metrics(server)["apiserver_audit_event_total"] >= there, "events are counted")


@story.chapter
def conditions_and_what_became_of_them(folder):
    f = Flags(folder, policy("Metadata"))
    with f.server("--audit-log-path", f.log) as server:
        spec = {"effect": "Allow", "subjects": [{"kind": "User", "name": "jane"}], "rules": [{"verbs": ["create"], "apiGroups": [""], "resources": ["configmaps"]}],
                "expression": "object.metadata.name.startsWith('mine-')"}
        made = send(server, "POST", "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies",
                    {"apiVersion": "access.cardea.dev/v1alpha1", "kind": "ClusterAccessPolicy", "metadata": {"name": "mine"}, "spec": spec})
        expect(made[0] == 201, made)
        for name, status, decision in (("mine-1", 201, "allow"), ("other", 403, "forbid")):
            answer = send(server, "POST", f"{NAMESPACE}/configmaps", {"metadata": {"name": name}}, token="jane", headers={"Audit-Id": name})
            expect(answer[0] == status, answer)
            said = last(f.log, name)["annotations"]
            expect(said["authorization.k8s.io/is-conditional-decision"] == "true" and said["authorization.k8s.io/decision"] == decision, said)
            expect("Allow clusteraccesspolicy.access.cardea.dev/mine" in said["authorization.cardea.dev/conditions"], said)
        send(server, "GET", f"{NAMESPACE}/configmaps/mine-1", token="jane", headers={"Audit-Id": "plain"})
        expect(last(f.log, "plain")["annotations"]["authorization.k8s.io/decision"] == "forbid", "what nobody allows")


@story.chapter
def the_old_format_and_standard_output(folder):
    f = Flags(folder, policy("Metadata"))
    with f.server("--audit-log-path", "-", "--audit-log-format", "legacy") as server:
        send(server, "GET", f"{NAMESPACE}/configmaps", token="jane", headers={"Audit-Id": "old"})
        line = re.compile(r'^\S+Z AUDIT: id="old" stage="ResponseComplete" ip="127.0.0.1" method="list" user="jane" groups="\\"dev\\",\\"ops\\",\\"system:authenticated\\"" as="<self>" asgroups="<lookup>" '
                          r'user-agent="story/1" namespace="default" uri="/api/v1/namespaces/default/configmaps" response="403"$', re.M)
        eventually("the line on standard output", lambda: line.search(Path(server.log_path).read_text()))


@story.chapter
def the_example_of_the_page(folder):
    page = (ROOT / "docs" / "audit.md").read_text()
    example = next(b for b in re.findall(r"```yaml\n(.*?)```", page, re.S) if "kind: Policy" in b)
    f = Flags(folder, example)
    with f.server("--audit-log-path", f.log) as server:
        send(server, "GET", "/readyz", headers={"Audit-Id": "health"})
        send(server, "POST", f"{NAMESPACE}/secrets", {"metadata": {"name": "s"}, "data": {"p": "cGFzcw=="}}, headers={"Audit-Id": "secret"})
        send(server, "POST", f"{NAMESPACE}/configmaps", {"metadata": {"name": "c"}}, headers={"Audit-Id": "write"})
        send(server, "GET", f"{NAMESPACE}/configmaps/c", headers={"Audit-Id": "read"})
        expect(last(f.log, "read")["level"] == "Metadata", "reads are Metadata")
        secret, write = last(f.log, "secret"), last(f.log, "write")
        expect(secret["level"] == "Metadata" and "requestObject" not in secret, "nothing of a secret is written")
        expect(write["level"] == "RequestResponse" and "managedFields" not in json.dumps(write), write)
        expect(not of(events_in(f.log), "health") and not of(events_in(f.log), "read", "RequestReceived"), "what the policy leaves out")


@story.chapter
def flushed_at_the_end(folder):
    f = Flags(folder, policy("Metadata"))
    with f.server("--audit-log-path", f.log) as server:
        for i in range(200):
            send(server, "GET", "/version", headers={"Audit-Id": f"end-{i}"})
        expect(server.stop() == 0, "the server ends well")
    there = {e["auditID"] for e in events_in(f.log) if e["stage"] == "ResponseComplete"}
    expect(all(f"end-{i}" in there for i in range(200)), "everything is there after a stop")


@story.chapter
def an_answer_that_waits_for_its_event(folder):
    f = Flags(folder, policy("Metadata"))
    with f.server("--audit-log-path", f.log, "--audit-log-mode", "blocking") as server:
        for i in range(50):
            send(server, "GET", "/version", headers={"Audit-Id": f"block-{i}"})
            expect([e["stage"] for e in of(events_in(f.log), f"block-{i}")] == ["RequestReceived", "ResponseComplete"], "both are there when the answer is")
        made = send(server, "POST", "/api/v1/namespaces", {"metadata": {"name": "gone"}})
        expect(made[0] == 201 and send(server, "DELETE", "/api/v1/namespaces/gone")[0] == 200, made)
        eventually("controllers do their work meanwhile", lambda: send(server, "GET", "/api/v1/namespaces/gone")[0] == 404)


@story.chapter
def rotated(folder):
    f = Flags(folder, policy("RequestResponse"))
    text = "x" * 200_000
    with f.server("--audit-log-path", f.log, "--audit-log-maxsize", "1", "--audit-log-maxbackup", "2", "--audit-log-compress") as server:
        for i in range(12):
            send(server, "POST", f"{NAMESPACE}/configmaps", {"metadata": {"name": f"large-{i}"}, "data": {"k": text}})
        names = eventually("two compressed files", lambda: (lambda n: n if len(n) == 2 and all(x.endswith(".gz") for x in n) else None)(
            [n for n in os.listdir(folder) if n.startswith("audit-")]))
        for name in names:
            expect(re.fullmatch(r"audit-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log\.gz", name), name)
            with gzip.open(os.path.join(folder, name), "rt") as old:
                for line in old:
                    json.loads(line)
        expect(os.path.getsize(f.log) <= 1 << 20, "no file grows beyond its size")


@story.chapter
def refused_when_it_cannot_be_recorded(folder):
    only_jane = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, users: [jane]}]\n"
    f = Flags(folder, only_jane)
    with f.server("--audit-log-path", "/dev/full", "--audit-log-mode", "blocking-strict") as server:
        status, _, body = send(server, "GET", "/version", token="jane")
        expect(status == 500 and body == b'Internal Server Error: "/version": failed to store audit event\n', f"{status} {body}")
        expect(send(server, "GET", "/version")[0] == 200, "others are served")
        found = metrics(server)
        expect(found["apiserver_audit_requests_rejected_total"] == 1 and found['apiserver_audit_error_total{plugin="log"}'] == 1, found)
    for mode in ("blocking", "batch"):
        with f.server("--audit-log-path", "/dev/full", "--audit-log-mode", mode) as server:
            expect(send(server, "GET", "/version", token="jane")[0] == 200, f"{mode}: a full disk refuses nobody")
            eventually("both events are counted", lambda: lost(server, "log") == 2)
            expect("No space left on device" in Path(server.log_path).read_text(), "the log says why")


class Receiver:
    """A webhook that keeps the events that it receives."""

    def __init__(self, folder, port=None):
        self.folder, self.port = folder, port or free_port()
        self.ids, self.bad = [], []
        key, self.certificate = os.path.join(folder, "hook.key"), os.path.join(folder, "hook.crt")
        if not os.path.exists(key):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", self.certificate,
                            "-subj", "/CN=hook", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"], check=True, capture_output=True)
        self.key = key
        self.start()

    def start(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if document["kind"] != "EventList" or self.headers["Authorization"] != "Bearer hook-token":
                    outer.bad.append(document)
                outer.ids += [e["auditID"] for e in document["items"] if e["stage"] == "ResponseComplete"]
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def kill(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def kubeconfig(self):
        return written(self.folder, "hook.kubeconfig", f"""apiVersion: v1
kind: Config
clusters: [{{name: h, cluster: {{server: "https://127.0.0.1:{self.port}/events", certificate-authority: "{self.certificate}"}}}}]
users: [{{name: u, user: {{token: hook-token}}}}]
contexts: [{{name: c, context: {{cluster: h, user: u}}}}]
current-context: c
""")


@story.chapter
def a_webhook_that_dies(folder):
    f = Flags(folder, "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata, users: [jane]}]\n")
    hook = Receiver(folder)
    flags = ["--audit-webhook-config-file", hook.kubeconfig(), "--audit-webhook-initial-backoff", "10ms", "--audit-webhook-batch-max-wait", "5ms",
             "--audit-webhook-batch-max-size", "5", "--audit-webhook-batch-throttle-enable=false", "--audit-webhook-batch-buffer-size", "20", "--audit-log-path", f.log]
    with f.server(*flags) as server:
        def burst(name, count):
            for i in range(count):
                expect(send(server, "GET", "/version", token="jane", headers={"Audit-Id": f"{name}-{i}"})[0] == 200, "requests go on")

        burst("before", 20)
        eventually("all are there", lambda: len(hook.ids) == 20)
        hook.kill()
        burst("dead", 60)
        made = 80
        eventually("each is counted", lambda: len(set(hook.ids)) + lost(server, "webhook") + lost(server, "buffered") == made)
        expect(lost(server, "webhook") > 0, "a dead webhook loses events, and says so")
        hook.start()
        burst("after", 20)
        made += 20
        eventually("it receives again", lambda: f"after-19" in hook.ids)
        eventually("the numbers agree", lambda: len(set(hook.ids)) + lost(server, "webhook") + lost(server, "buffered") == made)
        expect(not hook.bad, f"not an EventList with a token: {str(hook.bad)[:300]}")
        expect(len(of_user(f.log)) == made, "the other backend has them all")
        expect("lost by the webhook backend" in Path(server.log_path).read_text(), "the log says it")
    hook.kill()


def of_user(log):
    return {e["auditID"] for e in events_in(log)}


@story.chapter
def bad_input(folder):
    def ends(*flags):
        with tempfile.TemporaryDirectory() as data:
            command = [os.environ["CARDEA_BINARY"], "serve", "--data-dir", data, "--secure-port", str(free_port()), *flags]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            return done.returncode, done.stderr

    bad = written(folder, "bad.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Loud}]\n")
    good = written(folder, "good.yaml", policy("Metadata"))
    code, said = ends("--audit-policy-file", bad, "--audit-log-path", "-")
    expect(code == 1 and 'rules[0].level: Unsupported value: "Loud"' in said, f"{code}: {said}")
    code, said = ends("--audit-policy-file", os.path.join(folder, "none.yaml"), "--audit-log-path", "-")
    expect(code == 1 and "none.yaml" in said, f"{code}: {said}")
    code, said = ends("--audit-policy-file", good, "--audit-log-path", "-", "--audit-log-mode", "loud")
    expect(code == 2 and 'invalid audit log mode loud, allowed modes are "batch,blocking,blocking-strict"' in said, f"{code}: {said}")
    code, said = ends("--audit-policy-file", good, "--audit-webhook-config-file", os.path.join(folder, "none"))
    expect(code == 1 and "initializing audit webhook" in said, f"{code}: {said}")


@story.fresh
def folder():
    with tempfile.TemporaryDirectory(prefix="cardea-audit-") as folder:
        yield folder


if __name__ == "__main__":
    story.main()
