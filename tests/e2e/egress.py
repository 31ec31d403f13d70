#!/usr/bin/env python3
"""The server reaches webhooks and issuers through proxies: those of --egress-selector-config-file (TCP, TLS, a Unix socket) and those of
the environment. The names that it calls exist for the proxies alone, so that an answer proves the way."""
import base64
import contextlib
import http.client
import http.server
import json
import os
import re
import socket
import socketserver
import ssl
import subprocess
import tempfile
import threading
import time

from hooks import Hooks, certificate, openssl
from server import Cardea, binary, exchange, expect
from story import Story

story = Story("egress")
HOOK = "hook.outside.test"
ISSUER = "issuer.outside.test"


class Proxy:
    """Answers CONNECT by connecting to 127.0.0.1, whatever the name is. `asked` holds the heads of the requests."""

    def __init__(self, folder=None, tls=None, path=None):
        self.asked, self.status = [], "200 OK"
        proxy = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                near = self.request
                if tls:
                    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                    context.load_cert_chain(*tls)
                    context.load_verify_locations(os.path.join(folder, "ca.crt"))
                    context.verify_mode = ssl.CERT_REQUIRED
                    near = context.wrap_socket(near, server_side=True)
                head = b""
                while b"\r\n\r\n" not in head:
                    part = near.recv(1)
                    if not part:
                        return
                    head += part
                proxy.asked.append(head.decode())
                near.sendall(f"HTTP/1.1 {proxy.status}\r\n\r\n".encode())
                if not proxy.status.startswith("200"):
                    return
                far = socket.create_connection(("127.0.0.1", int(head.split()[1].rpartition(b":")[2])))
                back = threading.Thread(target=pump, args=(far, near), daemon=True)
                back.start()
                pump(near, far)
                back.join()
                far.close()
                near.close()

        if path:
            class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
                daemon_threads = True
            self.server = Server(path, Handler)
        else:
            class Server(socketserver.ThreadingTCPServer):
                daemon_threads = True
                allow_reuse_address = True
            self.server = Server(("127.0.0.1", 0), Handler)
            self.port = self.server.server_address[1]
        self.server.handle_error = lambda *_: None

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def targets(self):
        return {head.split()[1].rpartition(":")[0] for head in self.asked}


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


@story.shared
def folder():
    with tempfile.TemporaryDirectory() as folder:
        yield folder


@story.shared
def hooks(folder):
    with Hooks(folder, names=(f"DNS:{HOOK}", f"DNS:{ISSUER}")) as hooks:
        hooks.answers["/deny"] = lambda review: hooks.review(review, allowed=False, status={"code": 403, "message": "the hook says no"})
        yield hooks


@story.shared
def issuer(folder):
    """An issuer of the standard library: (port, a token of jane)."""
    at = lambda name: os.path.join(folder, name)
    openssl("genrsa", "-out", at("jwt.key"), "2048")
    modulus = subprocess.run(["openssl", "rsa", "-in", at("jwt.key"), "-noout", "-modulus"], check=True, capture_output=True, text=True).stdout
    text = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=").decode()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(folder, "issuer", [f"DNS:{ISSUER}"]))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            url = f"https://{ISSUER}:{server.server_address[1]}"
            body = {"issuer": url, "jwks_uri": f"{url}/keys"} if "well-known" in self.path else {
                "keys": [{"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", "e": "AQAB", "n": text(bytes.fromhex(modulus.strip().partition("=")[2]))}]}
            body = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    claims = {"iss": f"https://{ISSUER}:{port}", "aud": "cardea", "sub": "jane", "exp": int(time.time()) + 3600}
    signed = text(json.dumps({"alg": "RS256", "kid": "1"}).encode()) + "." + text(json.dumps(claims).encode())
    signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", at("jwt.key")], input=signed.encode(), check=True, capture_output=True).stdout
    yield port, f"{signed}.{text(signature)}"
    server.shutdown()


def write(folder, name, content):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(content if isinstance(content, str) else json.dumps(content))
    return path


def selection(name, transport):
    connection = {"proxyProtocol": "HTTPConnect", "transport": transport} if transport else {"proxyProtocol": "Direct"}
    return {"name": name, "connection": connection}


def egress_file(folder, *selections):
    return write(folder, "egress.json", {"apiVersion": "apiserver.k8s.io/v1beta1", "kind": "EgressSelectorConfiguration", "egressSelections": list(selections)})


def issuers_file(folder, port, egress=None):
    with open(os.path.join(folder, "ca.crt")) as file:
        issuer = {"url": f"https://{ISSUER}:{port}", "audiences": ["cardea"], "certificateAuthority": file.read()}
    if egress:
        issuer["egressSelectorType"] = egress
    return write(folder, "authentication.json", {
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration",
        "jwt": [{"issuer": issuer, "claimMappings": {"username": {"claim": "sub", "prefix": ""}}}]})


def refuse_config_maps(server, hooks):
    hook = {"name": "deny.outside.test", "clientConfig": {"url": f"https://{HOOK}:{hooks.port}/deny", "caBundle": hooks.bundle()}, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "timeoutSeconds": 10,
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]}
    status, _, said = server.request("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
                                  {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "deny"}, "webhooks": [hook]})
    expect(status == 201, said)


def make_config_map(server):
    status, _, said = server.request("POST", "/api/v1/namespaces/default/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "c-"}})
    return status, said


def who(server, token):
    context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=context)
    with contextlib.closing(connection):
        status, _, said = exchange(connection, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                                   {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}, {"Authorization": f"Bearer {token}"})
    return said["status"]["userInfo"]["username"] if status == 201 else status


def becomes(want, ask, seconds=20):
    deadline = time.monotonic() + seconds
    while (got := ask()) != want:
        expect(time.monotonic() < deadline, f"{got!r} instead of {want!r}")
        time.sleep(0.1)


@contextlib.contextmanager
def environment(**variables):
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@story.chapter
def a_webhook_is_called_through_the_proxy_of_the_control_plane(folder, hooks):
    with Proxy() as proxy:
        file = egress_file(folder, selection("controlplane", {"tcp": {"url": f"http://127.0.0.1:{proxy.port}"}}))
        with Cardea(f"--egress-selector-config-file={file}") as server:
            refuse_config_maps(server, hooks)
            status, said = make_config_map(server)
            expect(status == 403 and "the hook says no" in said["message"], f"{status} {said}")
            expect(proxy.targets() == {HOOK}, f"{proxy.asked}")
            # An error is never an allow.
            proxy.status = "403 Forbidden"
            with Cardea(f"--egress-selector-config-file={file}") as other:
                refuse_config_maps(other, hooks)
                status, said = make_config_map(other)
                expect(status == 500 and "it answered 403" in said["message"], f"{status} {said}")


@story.chapter
def the_example_of_the_page_leads_through_tls_and_a_unix_socket(folder, hooks, issuer):
    client = certificate(folder, "client", ["DNS:client"])
    path = os.path.join(folder, "proxy.sock")
    port, token = issuer
    with Proxy(folder, tls=certificate(folder, "proxy", ["IP:127.0.0.1"])) as outside, Proxy(path=path) as inside:
        with open(os.path.join(os.path.dirname(__file__), "../../docs/egress.md")) as page:
            example = re.search(r"```yaml\n(.*?)```", page.read(), re.S)[1]
        for before, after in (("/run/konnectivity/proxy.sock", path), ("egress.example.com:8131", f"127.0.0.1:{outside.port}"),
                              ("/etc/cardea/proxy-ca.crt", os.path.join(folder, "ca.crt")), ("/etc/cardea/proxy-client.crt", client[0]), ("/etc/cardea/proxy-client.key", client[1])):
            expect(before in example, f"{before} is not in the example")
            example = example.replace(before, after)
        with Cardea(f"--egress-selector-config-file={write(folder, 'example.yaml', example)}", f"--authentication-config={issuers_file(folder, port, 'cluster')}") as server:
            becomes("jane", lambda: who(server, token))
            refuse_config_maps(server, hooks)
            for _ in range(3):
                status, said = make_config_map(server)
                expect(status == 403 and "the hook says no" in said["message"], f"{status} {said}")
        expect(outside.targets() == {HOOK}, f"{outside.asked}")
        expect(inside.targets() == {ISSUER}, f"{inside.asked}")


@story.chapter
def an_issuer_is_reached_through_the_network_that_it_names(folder, hooks, issuer):
    port, token = issuer
    with Proxy() as proxy:
        file = egress_file(folder, selection("cluster", {"tcp": {"url": f"http://127.0.0.1:{proxy.port}"}}))
        with Cardea(f"--egress-selector-config-file={file}", f"--authentication-config={issuers_file(folder, port, 'cluster')}") as server:
            becomes("jane", lambda: who(server, token))
            expect(proxy.targets() == {ISSUER}, f"{proxy.asked}")
    done = subprocess.run([binary(), "serve", "--data-dir", os.path.join(folder, "none"), f"--authentication-config={issuers_file(folder, port, 'cluster')}"],
                          capture_output=True, text=True, timeout=60)
    expect(done.returncode != 0 and 'egress lookup for "cluster" is not configured' in done.stderr, done.stderr)


@story.chapter
def the_environment_names_a_proxy(folder, hooks, issuer):
    port, token = issuer
    config = issuers_file(folder, port)
    with Proxy() as proxy:
        with environment(HTTPS_PROXY=f"http://us%40er:secret@127.0.0.1:{proxy.port}", NO_PROXY="10.0.0.0/8,.example.com"):
            with Cardea(f"--authentication-config={config}") as server:
                becomes("jane", lambda: who(server, token))
                refuse_config_maps(server, hooks)
                status, said = make_config_map(server)
                expect(status == 403 and "the hook says no" in said["message"], f"{status} {said}")
        expect(proxy.targets() == {ISSUER, HOOK}, f"{proxy.asked}")
        basic = base64.b64encode(b"us@er:secret").decode()
        expect(all(f"proxy-authorization: Basic {basic}\r\n" in head for head in proxy.asked), f"{proxy.asked}")
        proxy.asked.clear()
        with environment(HTTPS_PROXY=f"http://127.0.0.1:{proxy.port}", NO_PROXY="outside.test"):
            with Cardea() as server:
                refuse_config_maps(server, hooks)
                status, said = make_config_map(server)
                expect(status == 500, f"the name exists for the proxy alone: {status} {said}")
        expect(proxy.asked == [], f"{proxy.asked}")


@story.chapter
def commands_heed_the_proxy_of_the_kubeconfig(folder):
    with Proxy() as proxy, Cardea() as server:
        with open(server.kubeconfig) as file:
            config = file.read()
        through = write(folder, "through.kubeconfig", config.replace(f"server: {server.base}", f"server: {server.base}\n    proxy-url: http://127.0.0.1:{proxy.port}"))
        done = subprocess.run([binary(), "whoami", "--kubeconfig", through], capture_output=True, text=True, timeout=60)
        expect(done.returncode == 0, done.stderr)
        expect(proxy.targets() == {"127.0.0.1"}, f"{proxy.asked}")


@story.chapter
def what_the_server_cannot_do_keeps_it_from_starting(folder):
    grpc = {"name": "cluster", "connection": {"proxyProtocol": "GRPC", "transport": {"uds": {"udsName": "/p"}}}}
    for selections, want in (((grpc,), "GRPC is not served"),
                             ((selection("etcd", {"uds": {"udsName": "/p"}}),), "etcd is called straight"),
                             ((selection("moon", None),), '"moon" is none of'),
                             ((selection("cluster", None), selection("cluster", None)), "is there twice"),
                             ((selection("cluster", {"tcp": {"url": "https://a:1"}}),), "https needs it")):
        done = subprocess.run([binary(), "serve", "--data-dir", os.path.join(folder, "none"), f"--egress-selector-config-file={egress_file(folder, *selections)}"],
                              capture_output=True, text=True, timeout=60)
        expect(done.returncode != 0 and want in done.stderr, f"{want}: {done.returncode} {done.stderr}")
        done = subprocess.run([binary(), "config", "validate", egress_file(folder, *selections)], capture_output=True, text=True, timeout=60)
        expect(done.returncode == 1 and want in done.stdout + done.stderr, f"{want}: {done.returncode} {done.stdout}{done.stderr}")


if __name__ == "__main__":
    story.main()
