"""Requests of careless or hostile clients, and mistakes of careless operators.

Each is answered with a clear error and never with a crash or a hang; the server answers properly after each of them.
"""
import json
import os
import signal
import socket
import ssl
import subprocess

from server import Cardea, binary, expect, free_port
from story import Story

story = Story("faults")

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
HEAD = "Host: localhost\r\n"


def said(sock, limit=1 << 20):
    """Everything the server sends until it closes the connection or the time is over."""
    data = b""
    try:
        while len(data) < limit and (part := sock.recv(65536)):
            data += part
    except (socket.timeout, TimeoutError):
        return data + b" (the connection stays open)"
    except (ssl.SSLError, OSError):
        pass
    return data


def status_line(server, data):
    """The status code of the answer to raw bytes; 0 if the server only closes the connection."""
    with server.raw(20) as sock:
        sock.sendall(data)
        answer = said(sock)
    expect(not answer.endswith(b"stays open)") or answer.startswith(b"HTTP/1.1 "), f"no answer and no end to {data[:80]!r}")
    return int(answer.split()[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def refused(server, status, method, path, body=None, headers=None, saying=""):
    got, answer_headers, answer = server.request(method, path, body, headers)
    shown = f"{str(answer)[:500]} (sent {headers or 'no headers'})"
    allowed = status if isinstance(status, tuple) else (status,)
    expect(got in allowed, f"{method} {path[:80]}: {got}, not {status}: {shown}")
    expect(isinstance(answer, dict) and answer.get("kind") == "Status" and answer.get("status") == "Failure" and answer.get("message"),
           f"{method} {path[:80]}: no Status: {shown}")
    expect(answer.get("code") == got, f"{method} {path[:80]}: {got} with a Status of code {answer.get('code')}")
    expect(saying.lower() in answer["message"].lower(), f"{method} {path[:80]}: the message does not say `{saying}`: {shown}")


@story.chapter
def malformed_http(server):
    for data in (b"\x00\x01\x02\x03\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"G@T / HTTP/1.1\r\n" + HEAD.encode() + b"\r\n",
                 b"GET /api HTTP/1.1\r\n\r\n", b"GET /api HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                 b"GET /api HTTP/1.1\r\nHost: a\r\nBad Header: x\r\n\r\n",
                 b"GET /api HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
                 b"GET /" + b"a" * 200000 + b" HTTP/1.1\r\n\r\n",
                 b"GET /api HTTP/1.1\r\nHost: a\r\n" + b"X: " + b"y" * 2000000 + b"\r\n\r\n"):
        code = status_line(server, data)
        expect(code == 0 or 400 <= code <= 505, f"{data[:60]!r}: answered {code}")
    smuggled = (f"POST {CONFIG_MAPS} HTTP/1.1\r\n{HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                f"POST {CONFIG_MAPS} HTTP/1.1\r\n{HEAD}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
                f"POST {CONFIG_MAPS} HTTP/1.1\r\n{HEAD}Content-Length: -1\r\n\r\n",
                f"POST {CONFIG_MAPS} HTTP/1.1\r\n{HEAD}Content-Length: 99999999999999999999999\r\n\r\n",
                f"POST {CONFIG_MAPS} HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
                f"POST {CONFIG_MAPS} HTTP/1.1\r\n{HEAD}Transfer-Encoding: gzip\r\n\r\n")
    for data in smuggled:
        code = status_line(server, data.encode())
        expect(code == 0 or 400 <= code <= 505, f"{data[:140]!r}: answered {code}")


@story.chapter
def not_tls(server):
    with socket.create_connection(("127.0.0.1", server.port), 20) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        expect(b"stays open" not in said(sock), "plain HTTP on the TLS port is left hanging")


@story.chapter
def oversized_bodies(server):
    big = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big"}, "data": {"a": "x" * (4 << 20)}}
    refused(server, 413, "POST", CONFIG_MAPS, big)
    patch = json.dumps({"data": {"a": "x" * (4 << 20)}})
    server.request("POST", CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "small"}})
    refused(server, 413, "PATCH", f"{CONFIG_MAPS}/small", patch, {"Content-Type": "application/merge-patch+json"})
    # Announced, never sent: the refusal must not wait for the body.
    code = status_line(server, f"POST {CONFIG_MAPS} HTTP/1.1\r\n{HEAD}Content-Type: application/json\r\nContent-Length: 999999999\r\n\r\n".encode())
    expect(code == 413, f"an announced body of 1 GB: {code}")
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    with server.raw(30) as sock:
        sock.sendall(f"POST {CONFIG_MAPS} HTTP/1.1\r\n{HEAD}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        try:
            for _ in range(8):
                sock.sendall(chunk)
        except OSError:
            pass  # the server may close the connection when it has seen enough
        answer = said(sock)
    expect(answer == b"" or b" 413 " in answer[:20], f"chunks without end: {answer[:60]!r}")
    expect(server.request("GET", f"{CONFIG_MAPS}/big")[0] == 404, "an oversized object was stored")


@story.chapter
def hostile_json(server):
    def config_map(text):
        return '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"odd"},"data":%s}' % text
    kind = {"Content-Type": "application/json"}
    deep = 200000
    for body in ("[" * deep + "]" * deep, '{"a":' * deep + "1" + "}" * deep, config_map("[" * deep + "]" * deep)):
        refused(server, (400, 413, 422), "POST", CONFIG_MAPS, body, kind)
    for text in (b'{"a":"\xff\xfe"}', b'{"a":"\xc0\x80"}', b'{"a":"\xed\xa0\x80"}', b'{"\x80":"a"}'):
        refused(server, 400, "POST", CONFIG_MAPS, config_map("@").encode().replace(b"@", text), kind)
    for text in (r'{"a":"\ud800"}', r'{"a":"\udc00\ud800"}', r'{"a":"\ud800x"}'):
        refused(server, 400, "POST", CONFIG_MAPS, config_map(text), kind)
    pod = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"odd"},"spec":{"terminationGracePeriodSeconds":%s,"containers":[{"name":"c","image":"i"}]}}'
    pods = "/api/v1/namespaces/default/pods"
    for number in ("1e999", "-1e999", "9" * 400, "1" + "0" * 5000):
        refused(server, (400, 422), "POST", pods, pod % number, kind)
    for number in ("99999999999999999999", "1.5", "01", "+1", "0x10", "NaN", "Infinity", "1e", "."):
        refused(server, (400, 422), "POST", pods, pod % number, kind)
    for body in ("", " ", "{", "}", "nul", '"text"', "[]", "1", '{"apiVersion":"v1","kind":"ConfigMap"} x', config_map('{"a":"b"}') * 2, "\0"):
        refused(server, (400, 422), "POST", CONFIG_MAPS, body, kind)
    expect(server.request("GET", f"{CONFIG_MAPS}/odd")[0] == 404, "something hostile was stored")


@story.chapter
def hostile_yaml(server):
    kind = {"Content-Type": "application/yaml"}
    bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\n"
    refused(server, (400, 413), "POST", CONFIG_MAPS, text + bomb, kind)
    for body in (text + "data: &a {b: *a}\n", text + "data: *nothing\n", "[" * 50000, "a: b: c", "- - -", text + "data: {a: \xff}", "\t", "%YAML 9.9\n---\n", "!!python/object:x {}"):
        refused(server, (400, 413, 422), "POST", CONFIG_MAPS, body.encode("latin-1"), kind)
    apply = {"Content-Type": "application/apply-patch+yaml"}
    refused(server, (400, 413), "PATCH", f"{CONFIG_MAPS}/bomb?fieldManager=m", text + bomb, apply)
    expect(server.request("GET", f"{CONFIG_MAPS}/bomb")[0] == 404, "the bomb was stored")


@story.chapter
def hostile_patches(server):
    path = f"{CONFIG_MAPS}/patched"
    server.request("POST", CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "patched"}, "data": {"a": "x" * 1000}})
    kinds = {short: {"Content-Type": f"application/{short}"} for short in
             ("json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml")}
    doubling = [{"op": "copy", "from": "/data", "path": f"/data/b{i}"} for i in range(14)]
    for operations in (doubling, [{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10001, [{"op": "explode", "path": "/data"}],
                       [{"op": "remove", "path": "/data/nosuch"}], [{"op": "move", "from": "/data", "path": "/data/inside"}],
                       [{"op": "add", "path": "no-slash", "value": 1}], [{"op": "replace", "path": "", "value": 7}], {"op": "add"}, [1], "text",
                       [{"op": "add", "path": "/metadata/labels", "value": "x"}], [{"op": "replace", "path": "/metadata/name", "value": "other"}]):
        refused(server, (400, 413, 422), "PATCH", path, json.dumps(operations), kinds["json-patch+json"])
    for body in ("[]", "7", "{", '{"data":[1]}', '{"metadata":7}', '{"kind":"Secret"}', '{"metadata":{"uid":"0"}}', '{"metadata":{"name":"other"}}'):
        refused(server, (400, 409, 422), "PATCH", path, body, kinds["merge-patch+json"])
    for body in ("[]", '{"$patch":"explode"}', '{"data":7}', '{"metadata":{"$setElementOrder/finalizers":7}}', '{"$retainKeys":7}'):
        refused(server, (400, 422), "PATCH", path, body, kinds["strategic-merge-patch+json"])
    for query, body in (("", "{}"), ("?fieldManager=m", "{}"), ("?fieldManager=m", "[]"), ("?fieldManager=" + "m" * 200, "{}"), ("?fieldManager=m", "{"),
                        ("?fieldManager=m", '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"managedFields":[{"manager":"m"}]}}')):
        refused(server, (400, 422), "PATCH", path + query, body, kinds["apply-patch+yaml"])
    same = server.request("GET", path)[2]
    expect(same["data"] == {"a": "x" * 1000} and same["metadata"]["name"] == "patched", "a refused patch changed something")


@story.chapter
def hostile_definitions(server):
    def definition(schema, plural="things"):
        return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.faults.example.com"},
                "spec": {"group": "faults.example.com", "scope": "Namespaced", "names": {"plural": plural, "kind": "Thing", "singular": "thing"},
                         "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    deep = {"type": "object"}
    for _ in range(200):
        deep = {"type": "object", "properties": {"a": deep}}
    for schema in ({}, {"type": "nonsense"}, {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}, 7, [],
                   {"type": "object", "properties": {"a": {"$ref": "#/definitions/a"}}}, {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}}):
        refused(server, (400, 422), "POST", path, definition(schema))
    got = server.request("POST", path, definition(deep))[0]
    expect(got in (201, 400, 422), f"a schema 200 levels deep: {got}")


@story.chapter
def wrong_content_types(server):
    body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"typed"}}'
    for kind in ("text/plain", "application/xml", "application/vnd.kubernetes.protobuf", "multipart/form-data", "a/b/c", ";;;"):
        refused(server, (400, 415), "POST", CONFIG_MAPS, body, {"Content-Type": kind})
    refused(server, 400, "POST", CONFIG_MAPS, b"k8s\x00" + b"\xff" * 50, {"Content-Type": "application/vnd.kubernetes.protobuf"})
    refused(server, 415, "PATCH", f"{CONFIG_MAPS}/small", "{}", {"Content-Type": "application/json"})
    refused(server, 406, "GET", CONFIG_MAPS, None, {"Accept": "text/html"})
    expect(server.request("GET", f"{CONFIG_MAPS}/typed")[0] == 404, "a body of the wrong type was stored")


@story.chapter
def invalid_queries(server):
    for query in ("labelSelector=%3D%3D", "labelSelector=a%20in%20(", "labelSelector=a%20nearby%20(b)", "labelSelector=" + "a" * 5000,
                  "fieldSelector=metadata.name", "fieldSelector=spec.nosuch%3Dx", "limit=many", "continue=rubbish",
                  "resourceVersion=soon", "resourceVersion=-1", "resourceVersionMatch=Exact", "resourceVersion=1&resourceVersionMatch=Sometimes",
                  "watch=true&resourceVersion=x", "watch=true&sendInitialEvents=true"):
        refused(server, (400, 410, 422), "GET", f"{CONFIG_MAPS}?{query}")
    for path in ("/api/v1/namespaces/default/nosuch", "/apis/none.example.com/v1/things", "/api/v1/namespaces/%2e%2e/configmaps/x",
                 "/api/v1/namespaces/default/configmaps/%00", "/api/v1/namespaces/default/configmaps/a/b/c/d"):
        got = server.request("GET", path)[0]
        expect(400 <= got < 500, f"GET {path}: {got}")
    refused(server, (400, 422), "POST", f"{CONFIG_MAPS}?dryRun=Maybe", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dry"}})
    refused(server, (400, 422), "POST", f"{CONFIG_MAPS}?fieldValidation=Maybe", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dry"}})


@story.chapter
def slow_and_half_closed(server):
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"slow"}}'
    head = f"POST {CONFIG_MAPS} HTTP/1.1\r\n{HEAD}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    slow = [server.raw(60) for _ in range(30)]
    for sock in slow:                       # thirty clients that begin a request and do not continue
        sock.sendall(head[:40])
    expect(server.ready(), "slow clients keep the others out")
    for byte in (head + body)[40:]:         # one of them finishes, a byte at a time
        slow[0].sendall(bytes([byte]))
    expect(b" 201 " in slow[0].recv(65536)[:20], "a slow request is not answered")
    for sock in slow:
        sock.close()

    cut = server.raw(20)                    # closes the connection in the middle of a body
    cut.sendall(head.replace(b"slow", b"half") + body[:20])
    cut.close()
    aborted = server.raw(20)                # and one that resets
    aborted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    aborted.sendall(head + body[:20])
    aborted.close()

    half = server.raw(20)                   # sends all, closes its sending half, still wants the answer
    half.sendall(f"GET {CONFIG_MAPS}/slow HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n".encode())
    socket.socket.shutdown(half, socket.SHUT_WR)  # of the TCP stream below TLS: no more bytes will come
    answer = said(half)
    half.close()
    expect(b" 200 " in answer[:20], f"Connection: close: {answer[:80]!r}")
    with socket.create_connection(("127.0.0.1", server.port), 20) as bare:  # half a handshake, then half-closed
        bare.sendall(b"\x16\x03\x01\x02\x00\x01")
        bare.shutdown(socket.SHUT_WR)
        expect(b"stays open" not in said(bare), "a half-closed handshake is left hanging")
    watchers = [server.raw(20) for _ in range(20)]
    for sock in watchers:                   # watchers that never read, and then disappear
        sock.sendall(f"GET {CONFIG_MAPS}?watch=true HTTP/1.1\r\n{HEAD}\r\n".encode())
    for i in range(50):
        server.request("POST", CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"unread-{i}"}, "data": {"a": "x" * 10000}})
    for sock in watchers:
        sock.close()


@story.chapter
def pipelined(server):
    with server.raw(20) as sock:
        sock.sendall(f"GET /version HTTP/1.1\r\n{HEAD}\r\n".encode() * 20 + f"GET /version HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n".encode())
        answers = said(sock).count(b"HTTP/1.1 200")
    expect(answers == 21, f"21 requests at once gave {answers} answers")


def run(*args, seconds=30):
    return subprocess.run([binary(), *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=seconds)


@story.chapter
def wrong_flags(server):
    data = os.path.join(server.folder, "unused")
    wrong = []
    for args in (["--no-such-flag"], ["--secure-port", "many"], ["--secure-port", "99999999"], ["--feature-gates=NoSuchGate=true"],
                 ["--feature-gates=StructuredAuthenticationConfiguration=false"], ["--enable-admission-plugins=NoSuchPlugin"],
                 ["--authorization-mode=NoSuchMode"], ["--controllers=no-such-controller"], ["--tls-cert-file", os.path.join(server.data_dir, "server.crt")],
                 ["--service-cluster-ip-range=nowhere"], ["--service-node-port-range=9-1"], ["stray"]):
        port = [] if "--secure-port" in args else ["--secure-port", str(free_port())]
        try:
            done = run("serve", "--data-dir", data, "--bind-address", "127.0.0.1", *port, *args, seconds=10)
        except subprocess.TimeoutExpired:
            wrong.append(f"cardea serve {' '.join(args)}: it started")
            continue
        lines = [line for line in done.stderr.splitlines() if " warning " not in line]
        if done.returncode != 2 or len(lines) != 1:
            wrong.append(f"cardea serve {' '.join(args)}: status {done.returncode}, not 2 with one line: {done.stderr!r}")
    expect(not wrong, "\n".join(wrong))
    expect(run("no-such-command").returncode == 2, "an unknown command is no mistake")
    done = run("serve", "--help")
    expect(done.returncode == 0, "--help fails")
    for flag in ("--data-dir", "--secure-port", "--bind-address", "--tls-cert-file", "--tls-private-key-file", "--client-ca-file", "--token-auth-file",
                 "--enable-admission-plugins", "--disable-admission-plugins", "--feature-gates", "--controllers", "--authorization-mode", "--v"):
        expect(flag in done.stdout, f"--help does not speak of {flag}")


@story.chapter
def second_server(server):
    done = run("serve", "--data-dir", server.data_dir, "--bind-address", "127.0.0.1", "--secure-port", str(free_port()))
    expect(done.returncode not in (0, None) and done.returncode > 0, f"a second server on the same data: status {done.returncode}")
    lines = [line for line in done.stderr.splitlines() if " warning " not in line]
    expect(len(lines) == 1, f"a second server on the same data is told: {done.stderr!r}")
    with open(server.kubeconfig) as kubeconfig:
        expect(f":{server.port}\n" in kubeconfig.read(), "the second server wrote over the first one's admin.kubeconfig")
    done = run("serve", "--data-dir", os.path.join(server.folder, "other"), "--bind-address", "127.0.0.1", "--secure-port", str(server.port))
    expect(done.returncode > 0 and "in use" in done.stderr, f"a second server on the same port: {done.returncode} {done.stderr!r}")


@story.chapter
def stops_cleanly(server):
    """Ctrl-C with a watcher and a half-sent request open; then the data is there again."""
    expect(server.request("POST", CONFIG_MAPS, {"metadata": {"name": "kept"}})[0] == 201, "an object to keep")
    watcher, half = server.raw(30), server.raw(30)
    watcher.sendall(f"GET {CONFIG_MAPS}?watch=true HTTP/1.1\r\n{HEAD}\r\n".encode())
    watcher.recv(1)
    half.sendall(b"POST /api")
    expect(server.stop(signal.SIGINT) == 0, "Ctrl-C does not exit with 0")
    server.start()
    expect(server.request("GET", f"{CONFIG_MAPS}/kept")[0] == 200, "an object is gone after Ctrl-C")
    expect(server.stop(signal.SIGTERM) == 0, "SIGTERM does not exit with 0")
    server.start()


@story.shared
def running():
    with Cardea() as server:
        yield server


@story.fresh
def server(running):
    """After each chapter the server must still run and answer."""
    yield running
    expect(running.alive(), "the server is gone")
    expect(running.ready(), "the server does not answer any more")


if __name__ == "__main__":
    story.main()
