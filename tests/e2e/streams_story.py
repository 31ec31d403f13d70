"""Streams to nodes: logs, exec, attach, port-forward and proxies reach a kubelet, a pod or a service, and nothing else does.

The kubelet is small_kubelet.py. With $CARDEA_PEERS (a folder with kube-apiserver and etcd) most chapters are told of the real server too;
kubectl is $CARDEA_PEERS/kubectl, $CARDEA_KUBECTL or the one on the PATH.
"""
import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import tempfile

from peer import Kube, peers
from server import Cardea, eventually, exchange, expect, free_port, skip
from small_kubelet import ADDRESS, ERROR, STDIN, STDOUT, SmallKubelet
from story import Story
from websocket_watches import BINARY, CLOSE, Client

story = Story("streams_story")

NS = "/api/v1/namespaces/default"
USERS = ["alice", "bob", "carol", "dave", "erin", "frank", "gina", "deputy", "reader", "prom", "peter"]


# --- the servers

@story.shared
def folder():
    with tempfile.TemporaryDirectory() as path:
        with open(os.path.join(path, "users.csv"), "w") as file:
            file.writelines(f"token-{user},{user},{i}\n" for i, user in enumerate(USERS))
        with open(os.path.join(path, "audit.yaml"), "w") as file:
            file.write("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
        yield path


@story.shared
def kubelet(folder):
    with SmallKubelet(folder) as kubelet:
        yield kubelet


@story.shared
def backend(folder):
    """A pod's own server: plain HTTP."""
    with SmallKubelet(folder, tls=False) as backend:
        yield backend


def prepared(server, kubelet, backend):
    server.request("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    kubelet.register(server)
    kubelet.run_pod(server, "web", ["shell"])
    kubelet.run_pod(server, "two", ["one", "other"])
    kubelet.run_pod(server, "waiting", ["shell"], node=None)
    kubelet.run_pod(server, "lost", ["shell"], node="nowhere")
    kubelet.run_pod(server, "bad", ["hangs", "drips", "resets", "garbage", "redirects", "refuses"])
    kubelet.run_pod(server, "serving", ["c"], ip=ADDRESS, port=backend.port)
    return server


@story.shared
def cardea(folder, kubelet, backend):
    at = lambda name: os.path.join(folder, name)
    with Cardea("--token-auth-file", at("users.csv"), "--backend-address-exceptions", f"{ADDRESS}/32", "--audit-policy-file", at("audit.yaml"),
                "--audit-log-path", at("audit.log"), "--audit-log-mode", "blocking", "--disable-admission-plugins", "ServiceAccount", *kubelet.flags()) as server:
        yield prepared(server, kubelet, backend)


@story.shared
def kube(folder, kubelet, backend):
    if not peers():
        skip("there is no kube-apiserver: CARDEA_PEERS names no folder with one")
    with Kube("--authorization-mode=RBAC", "--token-auth-file", os.path.join(folder, "users.csv"), *kubelet.flags()) as server:
        yield prepared(server, kubelet, backend)


# --- clients

def said(server, path, method="GET", headers=None, body=None):
    status, _, answer = server.request(method, path, body, headers)
    answer = answer.decode(errors="replace") if isinstance(answer, bytes) else answer
    return f"{status} {answer['message'] if isinstance(answer, dict) and 'message' in answer else answer}"


def as_user(server, user, method, path, headers=None, body=None):
    context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=context)
    try:
        status, _, answer = exchange(connection, method, path, body, {"Authorization": f"Bearer token-{user}", **(headers or {})})
        return status, answer["message"] if isinstance(answer, dict) and "message" in answer else answer
    finally:
        connection.close()


def websocket(server, path, user=None, protocol="v5.channel.k8s.io", headers=None):
    more = {"Sec-WebSocket-Protocol": protocol, **(headers or {})}
    if user:
        more["Authorization"] = f"Bearer token-{user}"
    return Client(server, path, more, certificate=user is None)


def output(client):
    """(what came through standard output, the status)"""
    out = b""
    while True:
        opcode, payload = client.frame()
        if opcode == CLOSE:
            return out, None
        if payload[:1] == bytes([STDOUT]):
            out += payload[1:]
        if payload[:1] == bytes([ERROR]):
            return out, json.loads(payload[1:])


def runs(server, path, user=None, headers=None):
    client = websocket(server, path, user, headers=headers)
    if client.status != 101:
        body = client.refusal()
        client.close()
        with contextlib.suppress(ValueError):
            return client.status, json.loads(body)["message"]
        return client.status, body.decode()
    out, _ = output(client)
    client.close()
    return 101, out.decode()


# --- logs

@story.told_of_both
def a_log_is_read(server, kubelet):
    expect(said(server, f"{NS}/pods/web/log?tailLines=2") == "200 line 8\nline 9\n", said(server, f"{NS}/pods/web/log?tailLines=2"))
    asked = kubelet.last()
    expect(asked.method == "GET" and asked.path == "/containerLogs/default/web/shell", asked.target)
    expect(asked.query == {"tailLines": ["2"]}, asked.query)
    subject = dict(pair[0] for pair in asked.certificate["subject"])
    expect(subject["commonName"] == "apiserver", subject)
    server.request("GET", f"{NS}/pods/web/log?container=shell&previous=true&timestamps=1&sinceSeconds=5&limitBytes=7&follow=false")
    expect(kubelet.last().query == {"previous": ["true"], "timestamps": ["true"], "sinceSeconds": ["5"], "limitBytes": ["7"]}, kubelet.last().query)


@story.told_of_both
def a_log_is_followed(server, kubelet):
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=server.tls())
    connection.request("GET", f"{NS}/pods/web/log?follow=true&tailLines=1")
    answer = connection.getresponse()
    expect(answer.status == 200 and answer.getheader("Content-Type") == "text/plain", answer.headers)
    expect(answer.readline() == b"line 9\n", "the first line")
    kubelet.say("/default/web/", b"another\n")
    expect(answer.readline() == b"another\n", "while it goes on")
    kubelet.say("/default/web/", None)
    expect(answer.read() == b"", "its end")
    connection.close()


@story.told_of_both
def a_kubelet_may_misbehave(server, kubelet):
    log = f"{NS}/pods/bad/log?container="
    expect(said(server, log + "drips") == "200 drip drop", said(server, log + "drips"))
    expect(said(server, log + "refuses") == "400 container refuses is waiting to start", said(server, log + "refuses"))
    got = said(server, log + "redirects")
    expect(got.startswith("500 ") and "redirects forbidden" in got, got)
    expect(said(server, log + "garbage").startswith(f'500 Get "https://{ADDRESS}:'), said(server, log + "garbage"))
    for bad, expected in (("garbage", 500), ("redirects", 500), ("refuses", 400)):
        stream, _, status, _ = spdy(server, f"{NS}/pods/bad/exec?command=ls&stdout=1&container={bad}")
        expect(status == expected, f"{bad}: {status}")
        stream.close()


@story.chapter
def a_log_that_breaks_off_is_cut(cardea, kubelet):
    connection = http.client.HTTPSConnection("127.0.0.1", cardea.port, timeout=60, context=cardea.tls())
    connection.request("GET", f"{NS}/pods/bad/log?container=resets")
    answer = connection.getresponse()
    expect(answer.read(16) == b"before the reset", "what came before")
    kubelet.say("/bad/resets", b"now")
    try:
        answer.read()
        expect(False, "a part is taken for the whole")
    except (http.client.HTTPException, OSError):
        pass
    connection.close()


@story.chapter
def a_kubelet_that_hangs_is_left_with_its_client(cardea, kubelet):
    connection = http.client.HTTPSConnection("127.0.0.1", cardea.port, timeout=60, context=cardea.tls())
    connection.request("GET", f"{NS}/pods/bad/log?container=hangs")
    eventually("it is asked", lambda: kubelet.seen and kubelet.last().path.endswith("/hangs"))
    before = kubelet.ended.count("hangs")
    connection.close()
    eventually("the kubelet's connection ends", lambda: kubelet.ended.count("hangs") > before)


@story.told_of_both
def refusals_have_kubernetes_words(server):
    pods = f"{NS}/pods"
    expect(said(server, f"{pods}/waiting/log") == "204 ", said(server, f"{pods}/waiting/log"))
    expect(said(server, f"{pods}/two/log") == "400 a container name must be specified for pod two, choose one of: [one other]", said(server, f"{pods}/two/log"))
    expect(said(server, f"{pods}/web/log?container=nope") == "400 container nope is not valid for pod web", said(server, f"{pods}/web/log?container=nope"))
    expect(said(server, f"{pods}/lost/log") == '404 pods "nowhere" not found', said(server, f"{pods}/lost/log"))
    expect(said(server, f"{pods}/none/log") == '404 pods "none" not found', said(server, f"{pods}/none/log"))
    for stream in ("exec", "attach", "portforward"):
        expect(said(server, f"{pods}/web/{stream}?command=ls") == "400 Upgrade request required", said(server, f"{pods}/web/{stream}?command=ls"))
        expect(said(server, f"{pods}/waiting/{stream}", "POST") == "400 pod waiting does not have a host assigned", said(server, f"{pods}/waiting/{stream}", "POST"))
    expect(said(server, f"{pods}/two/exec?command=ls") == "400 a container name must be specified for pod two, choose one of: [one other]", said(server, f"{pods}/two/exec?command=ls"))
    expect(said(server, f"{pods}/web/portforward?ports=x").startswith("400 "), said(server, f"{pods}/web/portforward?ports=x"))


@story.told_of_both
def a_kubelet_that_is_not_there(server, kubelet):
    kubelet.register(server, "dead")
    kubelet.patch_status(server, "/api/v1/nodes/dead", {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}})
    kubelet.run_pod(server, "orphan", ["c"], node="dead")
    got = said(server, f"{NS}/pods/orphan/log")
    expect(got == f'500 Get "https://{ADDRESS}:1/containerLogs/default/orphan/c": dial tcp {ADDRESS}:1: connect: connection refused', got)
    stream, file, status, headers = spdy(server, f"{NS}/pods/orphan/exec?command=ls")
    got = json.loads(file.read(int(headers["content-length"])))["message"]
    stream.close()
    expect((status, got) == (500, f"error dialing backend: dial tcp {ADDRESS}:1: connect: connection refused"), (status, got))
    server.request("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bare"}})
    kubelet.run_pod(server, "bared", ["c"], node="bare")
    got = said(server, f"{NS}/pods/bared/log")
    expect(got == "500 no preferred addresses found; known addresses: []", got)


# --- exec, attach and port-forward

@story.chapter
def a_command_runs(cardea, kubelet):
    expect(runs(cardea, f"{NS}/pods/web/exec?command=echo&command=a+b%26c&stdout=true&stderr=1&container=shell") == (101, "a b&c\n"), "echo")
    asked = kubelet.last()
    expect(asked.path == "/exec/default/web/shell" and asked.method == "GET", asked.target)
    expect(asked.query == {"command": ["echo", "a b&c"], "output": ["1"], "error": ["1"]}, asked.query)
    for header in ("authorization", "impersonate-user", "x-remote-user"):
        expect(header not in asked.headers, asked.headers)


@story.chapter
def standard_input_goes_through(cardea, kubelet):
    client = websocket(cardea, f"{NS}/pods/web/exec?command=cat&stdin=1&stdout=1")
    expect(client.status == 101 and client.headers["sec-websocket-protocol"] == "v5.channel.k8s.io", client.headers)
    for part in (b"hello ", b"x" * 100_000, b" bye"):
        client.send(BINARY, bytes([STDIN]) + part)
    client.send(BINARY, bytes([255, STDIN]))  # no more input
    out, status = output(client)
    expect(out == b"hello " + b"x" * 100_000 + b" bye", f"{len(out)} bytes")
    expect(status["status"] == "Success", status)
    client.close()


@story.chapter
def the_older_protocol_and_attach(cardea, kubelet):
    client = websocket(cardea, f"{NS}/pods/web/attach?stdin=1&stdout=1", protocol="v4.channel.k8s.io")
    expect(client.status == 101 and client.headers["sec-websocket-protocol"] == "v4.channel.k8s.io", client.headers)
    client.send(BINARY, bytes([STDIN]) + b"ping")
    opcode, payload = client.frame()
    expect(payload == bytes([STDOUT]) + b"ping", payload)
    expect(kubelet.last().path == "/attach/default/web/shell", kubelet.last().target)
    before = len(kubelet.ended)
    client.file.close()
    client.close()
    eventually("the command ends with its client", lambda: len(kubelet.ended) > before)


def spdy(server, path, method="POST", user=None):
    context = server.tls() if user is None else ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
    stream = context.wrap_socket(socket.create_connection(("127.0.0.1", server.port), 60), server_hostname="127.0.0.1")
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: v4.channel.k8s.io", "Content-Length: 0"]
    if user:
        lines.append(f"Authorization: Bearer token-{user}")
    stream.sendall("\r\n".join([*lines, "", ""]).encode())
    file = stream.makefile("rb")
    status = int(file.readline().split()[1])
    headers = {}
    while (line := file.readline().strip()):
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    return stream, file, status, headers


@story.told_of_both
def spdy_bytes_are_not_touched(server, kubelet):
    for path in ("exec?command=ls&stdout=1", "attach?stdout=1", "portforward"):
        stream, file, status, headers = spdy(server, f"{NS}/pods/web/{path}")
        expect(status == 101 and headers["upgrade"] == "SPDY/3.1" and headers["x-stream-protocol-version"] == "v4.channel.k8s.io", (status, headers))
        for size in (1, 1000, 65_000, 30_000):  # in turns: a connection of OpenSSL is for one thread at a time
            data = (bytes(range(256)) * 300)[:size]
            stream.sendall(data)
            expect(file.read(size) == data, f"{size} bytes of {path}")
        stream.close()
        file.close()
    expect(kubelet.last().path == "/portForward/default/web", kubelet.last().target)


@story.chapter
def an_upgrade_over_http2_is_refused(cardea):
    if not shutil.which("curl"):
        skip("there is no curl")
    d = cardea.data_dir
    got = subprocess.run(["curl", "-s", "--http2", "--cacert", f"{d}/ca.crt", "--cert", f"{d}/admin.crt", "--key", f"{d}/admin.key", f"{cardea.base}{NS}/pods/web/exec?command=ls"],
                         capture_output=True, text=True, check=True).stdout
    expect(json.loads(got)["message"] == "Upgrade request required", got)


# --- proxies

@story.told_of_both
def a_nodes_kubelet_is_proxied(server, kubelet):
    status, headers, body = server.request("GET", "/api/v1/nodes/node/proxy/configz?a=b&c=d%20e")
    expect(status == 200 and body["target"] == "/configz?a=b&c=d%20e", body)
    expect(headers.get("X-From") == "kubelet", headers)
    expect("authorization" not in body["headers"] and body["headers"]["x-forwarded-uri"] == "/api/v1/nodes/node/proxy/configz", body["headers"])
    status, _, body = server.request("POST", f"/api/v1/nodes/node:{kubelet.port}/proxy/x/", {"some": "thing"})
    expect(status == 200 and body["target"] == "/x/" and json.loads(body["body"]) == {"some": "thing"}, body)
    status, headers, _ = server.request("GET", "/api/v1/nodes/node/proxy?q=1")
    expect(status == 301 and headers["Location"] == "/api/v1/nodes/node/proxy/?q=1", headers)
    expect(said(server, "/api/v1/nodes/nobody/proxy/x") == '404 nodes "nobody" not found', said(server, "/api/v1/nodes/nobody/proxy/x"))
    expect(said(server, "/api/v1/nodes/ftp:node:1/proxy/x") == '400 invalid node request "ftp:node:1"', said(server, "/api/v1/nodes/ftp:node:1/proxy/x"))
    expect(said(server, "/api/v1/nodes/node/metrics") == "404 the server could not find the requested resource", said(server, "/api/v1/nodes/node/metrics"))


@story.told_of_both
def dots_do_not_lead_elsewhere(server, kubelet):
    for path in ("configz/../run/x", "configz/%2e%2e/run/x", ".//run/./x"):
        status, _, body = server.request("GET", f"/api/v1/nodes/node/proxy/{path}")
        expect(status == 200 and body["target"] == "/run/x", f"{path}: {status} {body}")


@story.told_of_both
def redirects_lead_back_through_the_proxy(server, kubelet):
    at = "/api/v1/nodes/node/proxy"
    for to, expected in (("/next", f"{at}/next"), ("next", "next"), ("https://elsewhere.example/x", "https://elsewhere.example/x"),
                         (f"https://{ADDRESS}:{kubelet.port}/next?a=b", f"{at}/next?a=b")):
        status, headers, _ = server.request("GET", f"{at}/moved?to={to.replace('?', '%3F')}")
        expect(status == 302 and headers["Location"] == expected, f"{to}: {headers.get('Location')} instead of {expected}")


@story.chapter
def pods_and_services_are_proxied(cardea, backend):
    status, _, body = cardea.request("PUT", f"{NS}/pods/serving/proxy/a%20b", {"x": 1})
    expect(status == 200 and body["method"] == "PUT" and body["target"] == "/a%20b", body)
    status, _, body = cardea.request("GET", f"{NS}/pods/http:serving:{backend.port}/proxy/y", headers={"X-Remote-User": "root", "X-Custom": "kept", "Connection": "X-Hop", "X-Hop": "1"})
    expect(status == 200 and body["headers"]["x-custom"] == "kept" and "x-remote-user" not in body["headers"] and "x-hop" not in body["headers"], body)
    cardea.request("POST", f"{NS}/services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"name": "web", "port": 80}]}})
    expect(said(cardea, f"{NS}/services/s:web/proxy/x").startswith("404 "), said(cardea, f"{NS}/services/s:web/proxy/x"))
    address = {"ip": ADDRESS, "targetRef": {"kind": "Pod", "name": "serving", "namespace": "default"}}
    cardea.request("POST", f"{NS}/endpoints", {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "s"},
                                               "subsets": [{"addresses": [address], "ports": [{"name": "web", "port": backend.port}]}]})
    for name in ("s:web", "http:s:web", "s:80"):
        status, _, body = cardea.request("GET", f"{NS}/services/{name}/proxy/z?q")
        expect(status == 200 and body["target"] == "/z?q", f"{name}: {status} {body}")
    expect(said(cardea, f"{NS}/services/s:81/proxy/x") == '503 no service port 81 found for service "s"', said(cardea, f"{NS}/services/s:81/proxy/x"))
    stream, file, status, headers = spdy(cardea, f"{NS}/services/s:web/proxy/up", "GET")
    expect(status == 101, status)
    stream.sendall(b"through")
    expect(file.read(7) == b"through", "an upgrade through a service")
    stream.close()


@story.chapter
def addresses_that_are_not_for_clients(folder, kubelet, backend):
    """The metadata service of a cloud, the server itself and its neighbours are not reached by writing an object."""
    with Cardea("--disable-admission-plugins", "ServiceAccount", *kubelet.flags()) as server:
        prepared(server, kubelet, backend)
        kubelet.register(server, "node", "127.0.0.1")
        reached = len(kubelet.seen) + len(backend.seen)
        got = said(server, f"{NS}/pods/web/log")
        expect("address not allowed" in got, got)
        expect("address not allowed" in runs(server, f"{NS}/pods/web/exec?command=ls")[1], "exec")
        expect("address not allowed" in said(server, "/api/v1/nodes/node/proxy/x"), "a node")
        for address in ("127.0.0.1", "169.254.169.254", "::1", "0.0.0.0", "fe80::1", "fd00:ec2::254", "64:ff9b::7f00:1"):
            kubelet.patch_status(server, f"{NS}/pods/serving", {"podIP": address, "podIPs": [{"ip": address}]})
            got = said(server, f"{NS}/pods/serving/proxy/x")
            expect("address not allowed" in got, f"{address}: {got}")
        for name in ("localhost", "localtest.invalid/x", "127.1"):
            kubelet.register(server, "named", name)
            got = said(server, "/api/v1/nodes/named/proxy/x")
            expect(not got.startswith("200"), f"{name}: {got}")
        expect(len(kubelet.seen) + len(backend.seen) == reached, "somebody was reached")


# --- permissions

RBAC = "/apis/rbac.authorization.k8s.io/v1"


def grant(server, user, verbs, resources, name=None):
    name = name or f"{user}-{'-'.join(verbs)}"
    server.request("POST", f"{RBAC}/clusterroles", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
                                                    "rules": [{"verbs": verbs, "apiGroups": [""], "resources": resources}]})
    server.request("POST", f"{RBAC}/clusterrolebindings", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
                                                           "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                                                           "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]})


@story.chapter
def every_connection_takes_create(cardea, kubelet):
    paths = {f"{NS}/pods/web/exec": "pods/exec", f"{NS}/pods/web/attach": "pods/attach", f"{NS}/pods/web/portforward": "pods/portforward",
             f"{NS}/pods/serving/proxy/x": "pods/proxy", f"{NS}/services/s/proxy/x": "services/proxy", "/api/v1/nodes/node/proxy/x": "nodes/proxy"}
    grant(cardea, "reader", ["get", "update", "patch", "delete"], [*paths.values(), "pods/log"])
    reached = len(kubelet.seen)
    for path, resource in paths.items():
        for method in ["GET"] if "proxy" not in path else ["GET", "PUT", "PATCH", "DELETE"]:
            status, message = as_user(cardea, "reader", method, path)
            expect(status == 403 and f'cannot create resource "{resource}"' in message, f"{method} {path}: {status} {message}")
        stream, file, status, _ = spdy(cardea, path, "GET", "reader")
        expect(status == 403, f"{path}: {status}")
        stream.close()
    expect(len(kubelet.seen) == reached, "the kubelet was reached")
    expect(as_user(cardea, "reader", "GET", f"{NS}/pods/web/log")[0] == 200, "a log is a read")
    grant(cardea, "prom", ["get", "create"], ["nodes/proxy"])
    expect(as_user(cardea, "prom", "GET", "/api/v1/nodes/node/proxy/metrics")[0] == 200, "with both verbs")
    grant(cardea, "bob", ["create"], ["nodes/proxy"])
    expect(as_user(cardea, "bob", "GET", "/api/v1/nodes/node/proxy/metrics")[0] == 403, "its own verb is needed, too")


def policy(server, name, effect, user, resources, expression, verbs=("get", "create"), groups=("",)):
    spec = {"effect": effect, "rules": [{"verbs": list(verbs), "apiGroups": list(groups), "resources": resources}], "expression": expression}
    if user:
        spec["subjects"] = [{"kind": "User", "name": user}]
    status, _, body = server.request("POST", "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies",
                                     {"apiVersion": "access.cardea.dev/v1alpha1", "kind": "ClusterAccessPolicy", "metadata": {"name": name}, "spec": spec})
    expect(status == 201, f"policy {name}: {status} {body}")


@story.chapter
def some_commands_in_some_containers(cardea, kubelet):
    kubelet.run_pod(cardea, "app", ["main", "debug"])
    policy(cardea, "debugging", "Allow", "alice", ["pods/exec"],
           "operation == 'CONNECT' && oldObject == null && options == null && object.kind == 'PodExecOptions' && object.command[0] == 'echo' && object.container == 'debug' && request.name == 'app'")
    run = f"{NS}/pods/app/exec?stdout=1"
    expect(runs(cardea, f"{run}&container=debug&command=echo&command=hi", "alice") == (101, "hi\n"), runs(cardea, f"{run}&container=debug&command=echo&command=hi", "alice"))
    reached = len(kubelet.seen)
    for query in ("container=debug&command=sh", "container=main&command=echo", "command=echo", "container=debug", "container=debug&command=sh&command=echo",
                  "container=main&container=debug&command=echo"):
        status, message = runs(cardea, f"{run}&{query}", "alice")
        expect(status == 403, f"{query}: {status} {message}")
        stream, _, status, _ = spdy(cardea, f"{run}&{query}", "POST", "alice")
        expect(status == 403, f"{query} by SPDY: {status}")
        stream.close()
    expect(runs(cardea, f"{NS}/pods/web/exec?stdout=1&container=debug&command=echo", "alice")[0] == 403, "another pod")
    expect(len(kubelet.seen) == reached, "a byte reached the kubelet before the conditions were settled")


@story.chapter
def the_policies_of_the_manual(cardea, kubelet):
    """The YAML of docs/streams.md, as it stands there."""
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "streams.md")) as page:
        text = page.read().split("```yaml\n")[1].split("```")[0]
    for document in text.split("---\n"):
        status, _, body = cardea.request("POST", "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies", document, {"Content-Type": "application/yaml"})
        expect(status == 201, f"{status} {body}")
    kubelet.run_pod(cardea, "app", ["main", "debug"])
    run = f"{NS}/pods/app/exec?stdout=1"
    expect(runs(cardea, f"{run}&container=debug&command=ls&command=/", "gina")[0] == 101, "ls")
    for query in ("container=debug&command=sh", "container=main&command=ls", "command=ls"):
        expect(runs(cardea, f"{run}&{query}", "gina")[0] == 403, query)
    expect(as_user(cardea, "gina", "GET", "/api/v1/nodes/node/proxy/configz")[0] == 200, "configz")
    expect(as_user(cardea, "gina", "GET", "/api/v1/nodes/node/proxy/run/x")[0] == 403, "run")
    for name in ("https:node:2381", "node:2381", ":node:"):
        expect(as_user(cardea, "gina", "GET", f"/api/v1/nodes/{name}/proxy/metrics")[0] == 403, f"another port: {name}")


@story.chapter
def one_port_only(cardea, kubelet):
    policy(cardea, "forwarding", "Allow", "bob", ["pods/portforward"], "has(object.ports) && object.ports.all(p, p == 8080)")
    def forwards(query, protocol="v4.channel.k8s.io"):
        client = websocket(cardea, f"{NS}/pods/web/portforward{query}", "bob", protocol)
        client.close()
        return client.status
    expect(forwards("?ports=8080") == 101, "the port")
    expect(kubelet.last().query == {"port": ["8080"]}, kubelet.last().query)
    reached = len(kubelet.seen)
    for query in ("?ports=22", "?ports=8080,22", "?ports=8080&ports=22", ""):
        expect(forwards(query) == 403, query)
    # SPDY names its ports in the stream, whatever the URL says.
    for protocol in ("SPDY/3.1+portforward.k8s.io", "v4.channel.k8s.io, SPDY/3.1+portforward.k8s.io"):
        expect(forwards("?ports=8080", protocol) == 400, protocol)
        expect(forwards("", protocol) == 403, protocol)
    for query, expected in (("?ports=8080", 400), ("", 403)):
        stream, _, status, _ = spdy(cardea, f"{NS}/pods/web/portforward{query}", "POST", "bob")
        expect(status == expected, f"SPDY {query}: {status}")
        stream.close()
    expect(len(kubelet.seen) == reached, "the kubelet was reached")


@story.chapter
def two_paths_of_nodes(cardea, kubelet):
    policy(cardea, "scraping", "Allow", "carol", ["nodes/proxy"], "object.path in ['/configz', '/metrics']")
    for path in ("configz", "metrics"):
        status, _ = as_user(cardea, "carol", "GET", f"/api/v1/nodes/node/proxy/{path}")
        expect(status == 200 and kubelet.last().path == f"/{path}", f"{path}: {status}")
    reached = len(kubelet.seen)
    for path in ("run/default/web/shell", "configz/../exec", "configz/", "metrics/cadvisor", "%2e%2e/configz/x", "", "configz?path=/x/../exec", "metrics%2f..%2fexec", "x?path=/configz"):
        status, message = as_user(cardea, "carol", "GET", f"/api/v1/nodes/node/proxy/{path}")
        if path.startswith("configz?"):
            expect(status == 200 and kubelet.last().path == "/configz", f"{path}: the query is not the path")
            reached += 1
            continue
        expect(status == 403, f"{path}: {status} {message}")
    expect(len(kubelet.seen) == reached, "another path was reached")


@story.chapter
def a_denial_by_name_reaches_every_way_to_write_the_name(cardea, kubelet, backend):
    policy(cardea, "peter-proxies", "Allow", "peter", ["pods/proxy"], "")
    path = f"{NS}/pods/%s/proxy/x"
    names = ("serving", ":serving:", f"http:serving:{backend.port}", f"serving:{backend.port}")
    for name in names:
        status = as_user(cardea, "peter", "GET", path % name)[0]
        expect(status == 200, f"{name}: {status}")
    for expression, names_of_rule in (("request.name == 'serving'", None), ("", ["serving"])):
        rule = {"verbs": ["*"], "apiGroups": [""], "resources": ["pods/proxy"]}
        if names_of_rule:
            rule["resourceNames"] = names_of_rule
        body = {"apiVersion": "access.cardea.dev/v1alpha1", "kind": "ClusterAccessPolicy", "metadata": {"name": "not-serving"},
                "spec": {"effect": "Deny", "subjects": [{"kind": "User", "name": "peter"}], "rules": [rule], "expression": expression}}
        status, _, answer = cardea.request("POST", "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies", body)
        expect(status == 201, answer)
        for name in names:
            status = as_user(cardea, "peter", "GET", path % name)[0]
            expect(status == 403, f"{name}: {status}")
        expect(cardea.request("DELETE", "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies/not-serving")[0] == 200, "it stays")


@story.chapter
def other_upgrades_are_not_handed_on(cardea, backend):
    """What HTTP/2 would carry after an upgrade is judged by nobody."""
    stream = cardea.raw()
    stream.sendall((f"GET {NS}/pods/serving/proxy/x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                    "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n").encode())
    head = stream.recv(65536).split(b"\r\n")[0]
    expect(b" 101 " not in head, head)
    stream.close()


@story.chapter
def no_input_in_production(cardea, kubelet):
    cardea.request("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod", "labels": {"stage": "prod"}}})
    kubelet.run_pod(cardea, "web", ["shell"], namespace="prod")
    grant(cardea, "dave", ["get", "create"], ["pods/attach"])
    policy(cardea, "look-do-not-touch", "Deny", "dave", ["pods/attach"],
           "has(object.stdin) && object.stdin && namespaceObject != null && 'stage' in namespaceObject.metadata.?labels.orValue({}) && namespaceObject.metadata.labels.stage == 'prod'")
    for namespace, query, expected in (("prod", "stdout=1", 101), ("prod", "stdin=1&stdout=1", 403), ("default", "stdin=1&stdout=1", 101)):
        stream, _, status, _ = spdy(cardea, f"/api/v1/namespaces/{namespace}/pods/web/attach?{query}", "POST", "dave")
        expect(status == expected, f"{namespace} {query}: {status}")
        stream.close()


@story.chapter
def exec_for_somebody_else(cardea, kubelet):
    policy(cardea, "erins-shell", "Allow", "erin", ["pods/exec"], "object.command == ['echo', 'ok']")
    policy(cardea, "deputy-of-erin", "Allow", "deputy", ["users"], "impersonatedRequest.subresource == 'exec' && request.name == 'erin'", verbs=("impersonate",))
    as_erin = {"Impersonate-User": "erin"}
    path = f"{NS}/pods/web/exec?stdout=1&command=echo&command="
    got = runs(cardea, path + "ok", "deputy", as_erin)
    expect(got == (101, "ok\n"), got)
    expect("impersonate-user" not in kubelet.last().headers, kubelet.last().headers)
    expect(runs(cardea, path + "no", "deputy", as_erin)[0] == 403, "erin may not")
    expect(runs(cardea, path + "ok", "deputy")[0] == 403, "the deputy may not")
    expect(runs(cardea, f"{NS}/pods/web/attach?stdout=1", "deputy", as_erin)[0] == 403, "attach is another request")


@story.chapter
def a_review_says_what_the_request_would_get(cardea):
    policy(cardea, "franks-logs", "Allow", "frank", ["pods/log", "pods"], "object.metadata.name == 'x'", verbs=("get", "list", "watch"))
    for verb, resource, subresource in (("get", "pods", "log"), ("get", "pods", ""), ("list", "pods", ""), ("watch", "pods", "")):
        attributes = {"verb": verb, "resource": resource, "subresource": subresource, "namespace": "default", "version": "v1"}
        status, _, body = cardea.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                                         {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": "frank", "resourceAttributes": attributes}})
        expect(status == 201 and not body["status"]["allowed"] and "conditionSetChain" not in body["status"] and "if" not in body["status"].get("reason", ""), body)
    expect(as_user(cardea, "frank", "GET", f"{NS}/pods/web/log")[0] == 403, "a read is folded")


# --- audit

@story.chapter
def the_end_of_a_stream_is_recorded(cardea, folder):
    stream, file, status, _ = spdy(cardea, f"{NS}/pods/web/exec?command=audited&stdout=1")
    stream.sendall(b"12345")
    expect(file.read(5) == b"12345", "the echo")
    file.close()
    stream.close()

    def event():
        with open(os.path.join(folder, "audit.log")) as log:
            events = [json.loads(line) for line in log]
        return next((e for e in events if "command=audited" in e["requestURI"] and e["stage"] == "ResponseComplete"), None)
    found = eventually("the event of the end", event)
    notes = found["annotations"]
    expect(found["user"]["username"] == "admin" or found["user"]["groups"], found["user"])
    expect(found["responseStatus"]["code"] == 101, found["responseStatus"])
    expect(notes["streams.cardea.dev/bytes-to-backend"] == "5" and notes["streams.cardea.dev/bytes-to-client"] == "5", notes)
    expect(int(notes["streams.cardea.dev/milliseconds"]) >= 0 and notes["streams.cardea.dev/end"], notes)


# --- kubectl

@story.shared
def kubectl_program():
    found = [path for path in (os.path.join(peers() or "", "kubectl"), os.environ.get("CARDEA_KUBECTL", ""), shutil.which("kubectl") or "") if path and os.access(path, os.X_OK)]
    if not found:
        skip("there is no kubectl: CARDEA_PEERS and CARDEA_KUBECTL name none, and none is on the PATH")
    return found[0]


@story.shared
def kubectl(cardea, kubectl_program):
    def run(*arguments, text=None, code=0):
        done = subprocess.run([kubectl_program, "--kubeconfig", cardea.kubeconfig, *arguments], input=text, capture_output=True, text=True, timeout=120)
        expect(done.returncode == code, f"kubectl {' '.join(arguments)}: {done.returncode} {done.stdout} {done.stderr}")
        return done.stdout
    return run


@story.shared
def speaks_websocket(kubectl_program):
    """Our small kubelet speaks WebSocket alone, kubectl since 1.30."""
    said = subprocess.run([kubectl_program, "version", "--client", "-o", "json"], capture_output=True, text=True, timeout=120).stdout
    minor = int(re.match(r"\d+", json.loads(said)["clientVersion"]["minor"])[0])
    if minor < 30:
        skip(f"kubectl 1.{minor} runs commands over SPDY alone")


@story.chapter
def kubectl_reads_logs(kubectl):
    expect(kubectl("logs", "web", "--tail=1") == "line 9\n", "logs")
    expect(kubectl("logs", "two", "-c", "other").startswith("line 0\n"), "logs of a container")


@story.chapter
def kubectl_runs_commands(kubectl, speaks_websocket):
    expect(kubectl("exec", "web", "--", "echo", "from", "kubectl") == "from kubectl\n", "exec")
    expect(kubectl("exec", "-i", "web", "--", "cat", text="typed") == "typed", "exec -i")
    kubectl("exec", "web", "--", "sh", "-c", "exit 3", code=3)
    expect(json.loads(kubectl("get", "--raw", "/api/v1/nodes/node/proxy/stats/summary"))["target"] == "/stats/summary", "get --raw")


@story.chapter
def kubectl_copies_files(kubectl, folder, speaks_websocket):
    text = os.path.join(folder, "to-copy.txt")
    with open(text, "w") as file:
        file.write("copied\n" * 10_000)
    os.makedirs(os.path.join(folder, "inside"), exist_ok=True)
    kubectl("cp", text, f"default/web:{folder}/inside/there.txt")
    with open(os.path.join(folder, "inside", "there.txt")) as file:
        expect(file.read() == "copied\n" * 10_000, "into the pod")
    kubectl("cp", f"default/web:{folder}/inside/there.txt", os.path.join(folder, "back.txt"))
    with open(os.path.join(folder, "back.txt")) as file:
        expect(file.read() == "copied\n" * 10_000, "and back")


# --- KWOK's kubelet, which speaks SPDY as a real one does

KWOK_CONFIG = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterExec
metadata: {{name: local}}
spec: {{execs: [{{local: {{workDir: {folder}}}}}]}}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterLogs
metadata: {{name: logs}}
spec: {{logs: [{{logsFile: {folder}/kwok-said.log, follow: true}}]}}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterAttach
metadata: {{name: attach}}
spec: {{attaches: [{{logsFile: {folder}/kwok-said.log}}]}}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterPortForward
metadata: {{name: ports}}
spec: {{forwards: [{{target: {{port: {port}, address: {address}}}}}]}}
"""


@story.shared
def kwok(cardea, folder, backend):
    program = os.path.join(peers() or "", "kwok")
    if not peers() or not os.access(program, os.X_OK):
        skip("there is no kwok: CARDEA_PEERS names no folder with one")
    port = free_port()
    at = lambda name: os.path.join(folder, name)
    with open(at("kwok.yaml"), "w") as file:
        file.write(KWOK_CONFIG.format(folder=folder, port=backend.port, address=ADDRESS))
    with open(at("kwok-said.log"), "w") as file:
        file.write("2026-01-01T00:00:00.000000000Z stdout F said by kwok\n")
    cardea.request("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "kwok-node", "annotations": {"kwok.x-k8s.io/node": "fake"}}})
    with open(at("kwok.log"), "w") as log:
        process = subprocess.Popen([program, "--kubeconfig", cardea.kubeconfig, "--config", at("kwok.yaml"), "--manage-nodes-with-annotation-selector", "kwok.x-k8s.io/node=fake",
                                    "--server-address", f"{ADDRESS}:{port}", "--node-ip", ADDRESS, "--node-port", str(port),
                                    "--tls-cert-file", at("kubelet.crt"), "--tls-private-key-file", at("kubelet.key")], stdout=log, stderr=log)
    try:
        eventually("KWOK has the node", lambda: cardea.request("GET", "/api/v1/nodes/kwok-node")[2].get("status", {}).get("daemonEndpoints", {}).get("kubeletEndpoint", {}).get("Port") == port)
        cardea.request("POST", f"{NS}/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "on-kwok"},
                                             "spec": {"nodeName": "kwok-node", "containers": [{"name": "c", "image": "i"}]}})
        eventually("the pod runs", lambda: cardea.request("GET", f"{NS}/pods/on-kwok")[2].get("status", {}).get("phase") == "Running")
        yield port
    finally:
        process.terminate()
        process.wait()


@story.chapter
def kubectl_and_kwok(kwok, kubectl, folder):
    expect(kubectl("logs", "on-kwok").strip().endswith("said by kwok"), kubectl("logs", "on-kwok"))
    expect(kubectl("exec", "on-kwok", "--", "echo", "through", "kwok") == "through kwok\n", "exec")
    # Its exec does not end with its input, also behind a kube-apiserver: files are only read.
    with open(os.path.join(folder, "at-kwok.txt"), "w") as file:
        file.write("x" * 200_000)
    kubectl("cp", f"default/on-kwok:{folder}/at-kwok.txt", os.path.join(folder, "from-kwok.txt"))
    with open(os.path.join(folder, "from-kwok.txt")) as file:
        expect(file.read() == "x" * 200_000, "cp")


@story.chapter
def kubectl_forwards_a_port(kwok, kubectl_program, cardea):
    process = subprocess.Popen([kubectl_program, "--kubeconfig", cardea.kubeconfig, "port-forward", "pod/on-kwok", ":8080"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        line = process.stdout.readline()
        expect("Forwarding from 127.0.0.1:" in line, line)
        local = int(line.split("127.0.0.1:")[1].split()[0])
        for i in range(3):
            connection = http.client.HTTPConnection("127.0.0.1", local, timeout=60)
            status, _, body = exchange(connection, "GET", f"/forwarded/{i}", None, {})
            connection.close()
            expect(status == 200 and body["target"] == f"/forwarded/{i}", f"{status} {body}")
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    story.main()
