"""Other API servers behind this one: APIServices, the way of a request there and back, discovery, and what an attacker would try.

The server behind is small_backend.py. With $CARDEA_PEERS (a folder with sample-apiserver or metrics-server) these stand behind it, too.
"""
import base64
import contextlib
import http.client
import json
import os
import re
import ssl
import subprocess
import tempfile
import time

import yaml
from server import Cardea, eventually, exchange, expect, free_port, skip
from small_backend import APISERVICES, GROUP, SmallBackend, WARES, certificates
from small_kubelet import SmallKubelet
from story import Story
from streams_story import RBAC, as_user, policy
from websocket_watches import Client

story = Story("aggregation")

NS = "/api/v1/namespaces/default"
USERS = ["alice", "bob", "carol", "dave", "erin", "frank", "deputy", "nobody"]
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
FACTS = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


# --- the servers

@story.shared
def folder():
    with tempfile.TemporaryDirectory() as path:
        with open(os.path.join(path, "users.csv"), "w") as file:
            file.writelines(f"token-{user},{user},uid-{i},\"staff,group {i}\"\n" for i, user in enumerate(USERS))
        yield path


@story.shared
def backend(folder):
    with SmallBackend(folder) as backend:
        yield backend


def serving(folder, *flags):
    return Cardea("--token-auth-file", os.path.join(folder, "users.csv"), "--stream-reauthorization-period=50ms", "--disable-admission-plugins", "ServiceAccount", *flags)


def create(server, path, body):
    status, _, answer = server.request("POST", path, body)
    expect(status in (201, 409), f"POST {path}: {status} {answer}")


def condition(server, name):
    status, _, body = server.request("GET", f"{APISERVICES}/{name}")
    expect(status == 200, f"{name}: {status} {body}")
    return next((c for c in body.get("status", {}).get("conditions", []) if c["type"] == "Available"), None)


def wait_for(server, name, reason, status=None):
    def reached():
        found = condition(server, name)
        return found if found and found["reason"] == reason else None
    found = eventually(f"{name} has the reason {reason}", reached)
    expect(found["status"] == (status or ("True" if reason in ("Passed", "Local") else "False")), f"{found}")
    return found


def register(server, backend, **more):
    backend.believe(server.request("GET", FACTS)[2]["data"]["requestheader-client-ca-file"])
    create(server, f"{NS}/services", backend.external_service())
    create(server, APISERVICES, backend.api_service(**more))
    wait_for(server, f"v1.{GROUP}", "Passed")


@story.shared
def cardea(folder, backend):
    with serving(folder, "--backend-address-exceptions=127.0.0.1/32") as server:
        register(server, backend)
        yield server


def grant(server, user, verbs, resources=("wares",), name=None):
    name = name or f"{user}-{'-'.join(verbs)}"
    create(server, f"{RBAC}/clusterroles", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
                                            "rules": [{"verbs": list(verbs), "apiGroups": [GROUP], "resources": list(resources)}]})
    create(server, f"{RBAC}/clusterrolebindings", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
                                                   "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                                                   "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]})
    return name


def last(backend):
    """The last request of a client. The server in front asks questions of its own, at any time."""
    return [r for r in backend.seen if sent(r, "x-remote-user") != ["system:kube-aggregator"]][-1]


def sent(request, name):
    return [value for key, value in request.pairs if key == name]


def raw_get(server, target, *lines, user="alice"):
    """Bytes that no library would send. Returns the status and the body."""
    context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=context)
    connection.connect()
    head = [f"GET {target} HTTP/1.1", "Host: localhost", f"Authorization: Bearer token-{user}", *lines, "", ""]
    connection.sock.sendall("\r\n".join(head).encode())
    response = http.client.HTTPResponse(connection.sock)
    response.begin()
    body = response.read().decode(errors="replace")
    connection.close()
    return response.status, body


# --- the way there and back

@story.chapter
def a_request_arrives_with_its_user(cardea, backend):
    grant(cardea, "alice", ["get", "list", "create", "update", "patch", "delete", "watch"])
    status, answer = as_user(cardea, "alice", "POST", f"{WARES}?fieldManager=a%20b", {"X-Mine": "yes"}, {"kind": "Ware"})
    expect(status == 200 and answer["method"] == "POST", f"{status} {answer}")
    request = last(backend)
    expect(request.target == f"{WARES}?fieldManager=a+b" and json.loads(request.body) == {"kind": "Ware"}, request.describe())
    expect(sent(request, "x-remote-user") == ["alice"] and sent(request, "x-remote-uid") == ["uid-0"], request.pairs)
    expect(sent(request, "x-remote-group") == ["staff", "group 0", "system:authenticated"], request.pairs)
    expect(sent(request, "x-mine") == ["yes"] and not sent(request, "authorization") and sent(request, "audit-id"), request.pairs)
    expect(sent(request, "x-forwarded-for") == ["127.0.0.1"], request.pairs)
    subject = dict(pair[0] for pair in request.certificate["subject"])
    expect(subject == {"commonName": "front-proxy-client"}, f"the certificate of {subject}")


@story.chapter
def answers_come_back_as_they_are(cardea, backend):
    connection = cardea.connect()
    connection.request("GET", f"{WARES}/one")
    answer = connection.getresponse()
    body = answer.read()
    expect(answer.status == 200 and answer.headers["X-From"] == "backend" and answer.headers["ETag"] == '"one"', f"{answer.status} {answer.headers}")
    expect(int(answer.headers["Content-Length"]) == len(body) and answer.headers["Audit-Id"] == sent(last(backend), "audit-id")[0], f"{answer.headers}")
    ports = set()
    for _ in range(20):
        connection.request("GET", f"{WARES}/one")
        connection.getresponse().read()
        ports.add(last(backend).port)
    connection.close()
    expect(len(ports) == 1, f"{len(ports)} connections for one client after the other")


@story.chapter
def who_may_not_is_refused_here(cardea, backend):
    seen = len(backend.seen)
    for user, method in (("nobody", "GET"), ("nobody", "DELETE"), ("nobody", "POST")):
        status, message = as_user(cardea, user, method, f"{WARES}/one" if method != "POST" else WARES)
        expect(status == 403 and GROUP in message, f"{status} {message}")
    status, message = as_user(cardea, "nobody", "GET", f"/apis/{GROUP}/v1/wares?watch=1")
    expect(status == 403, f"{status} {message}")
    expect(not [r for r in backend.seen[seen:] if "wares" in r.path.split("/")], "a refused request reached the other server")


@story.chapter
def impersonated_users_arrive_as_themselves(cardea, backend):
    create(cardea, f"{RBAC}/clusterroles", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "acting"},
                                            "rules": [{"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"], "resourceNames": ["bob"]}]})
    create(cardea, f"{RBAC}/clusterrolebindings", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "acting"},
                                                   "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "acting"},
                                                   "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "deputy"}]})
    grant(cardea, "bob", ["get"])
    status, answer = as_user(cardea, "deputy", "GET", f"{WARES}/one", {"Impersonate-User": "bob"})
    expect(status == 200, f"{status} {answer}")
    names = [key for key, _ in last(backend).pairs]
    expect(sent(last(backend), "x-remote-user") == ["bob"] and not [n for n in names if n.startswith("impersonate")], last(backend).pairs)
    status, answer = as_user(cardea, "deputy", "GET", f"{WARES}/one", {"Impersonate-User": "alice"})
    expect(status == 403, f"{status} {answer}")


@story.chapter
def a_conditional_allow_is_none_for_another_server(cardea, backend):
    """An error is never an allow: nobody would settle the condition."""
    policy(cardea, "small-wares", "Allow", "carol", ["wares"], "object.spec.size < 3", verbs=("create",), groups=(GROUP,))
    seen = len(backend.seen)
    status, message = as_user(cardea, "carol", "POST", WARES, body={"kind": "Ware", "spec": {"size": 1}})
    expect(status == 403, f"{status} {message}")
    policy(cardea, "large-wares", "Deny", "dave", ["wares"], "object.spec.size > 3", verbs=("create",), groups=(GROUP,))
    grant(cardea, "dave", ["create"])
    status, message = as_user(cardea, "dave", "POST", WARES, body={"kind": "Ware", "spec": {"size": 1}})
    expect(status == 403, f"a conditional denial was not taken for one: {status} {message}")
    grant(cardea, "erin", ["granular"])
    status, message = as_user(cardea, "erin", "POST", WARES, body={"kind": "Ware"})
    expect(status == 403, f"permissions on fields went to another server: {status} {message}")
    expect(not [r for r in backend.seen[seen:] if r.method == "POST"], "such a request reached the other server")


# --- attacks

@story.chapter(needs=["a_request_arrives_with_its_user"])
def names_of_users_cannot_be_smuggled(cardea, backend):
    tries = (["X-Remote-User: admin", "X-Remote-Group: system:masters", "X-Remote-Extra-Scopes: all", "X-Remote-Uid: 0"],
             ["x-remote-user: admin", "X-REMOTE-GROUP: system:masters"],
             ["Connection: X-Remote-User, X-Remote-Group", "X-Remote-User: admin"],
             ["Connection: close, X-Remote-User"], ["Connection: X-Remote-Uid", "Connection: x-remote-group"],
             ["Impersonate-Extra-Scopes: all"],
             ["Proxy-Authorization: Basic YQ==", "TE: trailers", "Trailer: X-Remote-User"])
    for lines in tries:
        status, body = raw_get(cardea, f"{WARES}/one", *lines)
        if lines == ["Impersonate-Extra-Scopes: all"]:
            expect(status in (400, 403, 500), f"{lines}: {status}")  # extra of nobody
            continue
        expect(status == 200, f"{lines}: {status} {body}")
        request = last(backend)
        expect(sent(request, "x-remote-user") == ["alice"] and sent(request, "x-remote-uid") == ["uid-0"], f"{lines}: {request.pairs}")
        expect("system:masters" not in sent(request, "x-remote-group") and not [p for p in request.pairs if p[0].startswith("x-remote-extra")], f"{lines}: {request.pairs}")
        expect(not sent(request, "proxy-authorization") and not sent(request, "te"), f"{request.pairs}")


@story.chapter(needs=["a_request_arrives_with_its_user"])
def circles_end(cardea, backend):
    raw_get(cardea, f"{WARES}/one", "Cardea-Via: a", "Cardea-Via: b, c")
    via = sent(last(backend), "cardea-via")
    expect(len(via) == 1 and via[0].startswith("a, b, c, ") and len(via[0].split(",")) == 4, f"{via}")
    own = via[0].split(", ")[-1]
    for hops in (own, f"x, {own}, y", ",".join("abcdefghijklmnopq")):
        seen = len(backend.seen)
        status, body = raw_get(cardea, f"{WARES}/one", f"Cardea-Via: {hops}")
        expect(status == 508, f"{hops}: {status} {body}")
        expect(not [r for r in backend.seen[seen:] if sent(r, "x-remote-user") == ["alice"]], "it was handed on")


@story.chapter(needs=["a_request_arrives_with_its_user"])
def paths_mean_the_same_on_both_sides(cardea, backend):
    for path in (f"/apis/{GROUP}/v1/namespaces/default/../other/wares/one", f"/apis/{GROUP}/v1/namespaces/default/%2e%2e/other/wares/one", f"{WARES}//one",
                 f"{WARES}/./one", f"/apis/{GROUP}/v1//wares", f"{WARES}/..%2f..%2fother%2fwares%2fone"):
        seen = len(backend.seen)
        status, body = raw_get(cardea, path)
        expect(status in (400, 403, 404), f"{path}: {status} {body}")
        expect(not [r for r in backend.seen[seen:] if "wares" in r.path.split("/")], f"{path} reached the other server as {last(backend).target}")
    status, _ = raw_get(cardea, f"{WARES}/a%3Fwatch=1%26b%23c")
    expect(status == 200 and last(backend).target == f"{WARES}/a%3Fwatch=1&b%23c", last(backend).target)
    # Who may list is not served a watch by a query that two servers read in two ways.
    grant(cardea, "frank", ["list"])
    for query in ("a=b;watch=true", "watch=true"):
        status, body = raw_get(cardea, f"{WARES}?{query}", user="frank")
        expect(status == 403 or "watch" not in last(backend).query, f"{query}: {last(backend).target}")
    # Another server's paths are not there.
    seen = len(backend.seen)
    for path in ("/metrics", f"/apis/{GROUP}/v2/wares", f"/apis/{GROUP}", f"//apis/{GROUP}/v1/wares"):
        raw_get(cardea, path)
    expect(not [r for r in backend.seen[seen:] if sent(r, "x-remote-user") == ["alice"]], "another path was handed on")


@story.chapter
def the_machine_itself_is_no_other_server(folder, backend):
    """Who may write APIServices and Services must not reach what trusts this machine."""
    with serving(folder) as server:
        for i, address in enumerate(("127.0.0.1", "localhost", "169.254.169.254")):
            service = backend.external_service(f"inside{i}")
            service["spec"]["externalName"] = address
            create(server, f"{NS}/services", service)
            create(server, APISERVICES, backend.api_service(group=f"inside{i}.example.com", service=f"inside{i}"))
            found = wait_for(server, f"v1.inside{i}.example.com", "FailedDiscoveryCheck")
            expect("address not allowed" in found["message"], found)
            status, _, body = server.request("GET", f"/apis/inside{i}.example.com/v1/wares")
            expect(status == 503 and body.strip() == b"service unavailable" or "unavailable" in str(body), f"{status} {body}")


@story.chapter
def built_in_versions_stay_here(cardea, backend):
    name = "v1.authorization.k8s.io"
    status, _, object = cardea.request("GET", f"{APISERVICES}/{name}")
    object["spec"] = backend.api_service(group="authorization.k8s.io")["spec"]
    status, _, body = cardea.request("PUT", f"{APISERVICES}/{name}", object)
    expect(status == 200, f"{status} {body}")
    wait_for(cardea, name, "BuiltIn")
    status, _, body = cardea.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectreviews", {})
    status, _, body = cardea.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                                     {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}})
    expect(status == 201 and body["status"]["allowed"], f"{status} {body}")
    status, _, object = cardea.request("GET", f"{APISERVICES}/{name}")
    del object["spec"]["service"], object["spec"]["caBundle"]
    expect(cardea.request("PUT", f"{APISERVICES}/{name}", object)[0] == 200, "it cannot be made local again")
    wait_for(cardea, name, "Local")


# --- streams

def open_get(server, path, user):
    context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=context)
    connection.request("GET", path, headers={"Authorization": f"Bearer token-{user}"})
    return connection, connection.getresponse()


@story.chapter
def watches_pass_and_end_with_their_permission(cardea, backend):
    name = grant(cardea, "erin", ["watch"], name="erin-watches")
    connection, answer = open_get(cardea, f"{WARES}?watch=1&of=erin", "erin")
    expect(answer.status == 200, f"{answer.status}")
    for line in (b'{"type":"ADDED"}\n', b'{"type":"DELETED"}\n'):
        backend.say("of=erin", line)
        expect(answer.readline() == line, "an event is lost")
    expect(cardea.request("DELETE", f"{RBAC}/clusterrolebindings/{name}")[0] == 200, "the binding stays")
    try:
        rest = answer.read()
    except (http.client.IncompleteRead, OSError) as error:
        rest = getattr(error, "partial", b"")
    expect(rest == b"", f"more than nothing came after the permission had gone: {rest}")
    backend.say("of=erin", None)
    connection.close()


@story.chapter
def a_watch_that_the_server_ends_is_complete(cardea, backend):
    connection = cardea.connect()
    connection.request("GET", f"{WARES}?watch=1&of=admin")
    answer = connection.getresponse()
    backend.say("of=admin", b"{}\n")
    backend.say("of=admin", None)
    expect(answer.read() == b"{}\n", "the watch is not complete")
    connection.close()


@story.chapter
def upgrades_pass_and_end_with_their_permission(cardea, backend):
    name = grant(cardea, "frank", ["get"], ["wares/stream"], name="frank-streams")
    client = Client(cardea, f"{WARES}/one/stream", {"Authorization": "Bearer token-frank", "X-Remote-User": "admin"}, certificate=False)
    expect(client.status == 101, f"{client.status}")
    expect(sent(last(backend), "x-remote-user") == ["frank"] and not sent(last(backend), "authorization"), last(backend).pairs)
    client.socket.sendall(b"there and back")
    expect(client.file.read(14) == b"there and back", "the bytes do not come back")
    expect(cardea.request("DELETE", f"{RBAC}/clusterrolebindings/{name}")[0] == 200, "the binding stays")
    try:
        rest = client.file.read()
    except OSError:
        rest = b""
    expect(rest == b"", "the tunnel is still open")


# --- bad servers

@story.chapter
def bad_answers_stay_where_they_are(cardea, backend):
    status, _, body = cardea.request("GET", f"{WARES}/redirects")
    expect(status == 502 and b"which is not permitted" in as_bytes(body), f"{status} {body}")
    status, _, body = cardea.request("GET", f"{WARES}/garbage")
    expect(status == 503 and b"error trying to reach service" in as_bytes(body), f"{status} {body}")
    status, _, body = cardea.request("GET", f"{WARES}/hangs?timeout=200ms")
    expect(status == 504 and b"Timeout" in as_bytes(body), f"{status} {body}")
    eventually("the call to the server that hangs is given up", lambda: "hangs" in backend.ended)
    for name in ("resets", "drips"):
        backend.say(name, b"")
        try:
            status, _, body = cardea.request("GET", f"{WARES}/{name}?timeout=500ms")
            broke = False
        except (OSError, http.client.HTTPException):
            broke = True
        expect(broke, f"{name}: a part was taken for the whole: {status} {body}")
    expect(cardea.request("GET", f"{WARES}/one")[0] == 200, "a good request fails afterwards")


def as_bytes(body):
    return body if isinstance(body, bytes) else json.dumps(body).encode() if isinstance(body, dict) else str(body).encode()


# --- availability

@story.chapter
def conditions_have_kubernetes_words(cardea, backend):
    def service(name, **spec):
        create(cardea, f"{NS}/services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})

    def told(group, reason, message, **more):
        create(cardea, APISERVICES, backend.api_service(group=group, **more))
        found = wait_for(cardea, f"v1.{group}", reason)
        expect(found["message"] == message, f"{found['message']} is not {message}")
        status, _, body = cardea.request("GET", f"/apis/{group}/v1/wares")
        expect(status == 503 and as_bytes(body).strip() == b"service unavailable", f"{status} {body}")

    told("lost.example.com", "ServiceNotFound", 'service/lost in "default" is not present', service="lost", port=443)
    service("ported", ports=[{"name": "https", "port": 443}])
    told("ported.example.com", "ServicePortError", 'service/ported in "default" is not listening on port 444', service="ported", port=444)
    told("empty.example.com", "EndpointsNotFound", 'cannot find endpointslices for service/ported in "default"', service="ported", port=443)
    create(cardea, "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
           {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "of-ported", "labels": {"kubernetes.io/service-name": "ported"}},
            "addressType": "IPv4", "ports": [{"name": "https", "port": 443}], "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": False}}]})
    found = wait_for(cardea, "v1.empty.example.com", "MissingEndpoints")
    expect(found["message"] == 'endpointslices for service/ported in "default" have no addresses with port name "https"', found)
    metrics = as_bytes(cardea.request("GET", "/metrics")[2]).decode()
    for line in ('{name="v1.empty.example.com"} 1', f'{{name="v1.{GROUP}"}} 0', '{name="v1.apps"} 0'):
        expect(f"aggregator_unavailable_apiservice{line}\n" in metrics, f"the metrics lack {line}")
    # A wrong certificate, and a server that is not there.
    create(cardea, APISERVICES, backend.api_service(group="strange.example.com", caBundle=cardea_authority(cardea)))
    found = wait_for(cardea, "v1.strange.example.com", "FailedDiscoveryCheck")
    expect(found["message"].startswith(f"failing or missing response from https://127.0.0.1:{backend.port}/apis/strange.example.com/v1: "), found)
    create(cardea, APISERVICES, backend.api_service(group="gone.example.com", port=free_port()))
    wait_for(cardea, "v1.gone.example.com", "FailedDiscoveryCheck")
    create(cardea, APISERVICES, {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.local.example.com"},
                                 "spec": {"group": "local.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}})
    found = wait_for(cardea, "v1.local.example.com", "Local")
    expect(found["message"] == "Local APIServices are always available", found)
    # The service comes: the condition follows.
    service("lost", type="ExternalName", externalName="127.0.0.1")
    wait_for(cardea, "v1.lost.example.com", "FailedDiscoveryCheck")


def cardea_authority(server):
    with open(os.path.join(server.data_dir, "ca.crt"), "rb") as file:
        return base64.b64encode(file.read()).decode()


@story.chapter
def certificates_need_not_be_checked(cardea, backend):
    create(cardea, f"{NS}/services", backend.external_service("unchecked"))
    backend.documents["/apis/unchecked.example.com/v1"] = {"kind": "APIResourceList", "groupVersion": "unchecked.example.com/v1", "resources": []}
    create(cardea, APISERVICES, backend.api_service(group="unchecked.example.com", service="unchecked", insecureSkipTLSVerify=True))
    wait_for(cardea, "v1.unchecked.example.com", "Passed")
    status, _, body = cardea.request("GET", "/apis/unchecked.example.com/v1/things")
    expect(status == 200, f"{status} {body}")


# --- discovery

def groups(server):
    return [group["name"] for group in server.request("GET", "/apis")[2]["groups"]]


def discovered(server):
    items = server.request("GET", "/apis", headers={"Accept": AGGREGATED})[2]["items"]
    return {item["metadata"]["name"]: item for item in items}


@story.chapter
def discovery_shows_other_servers(cardea, backend):
    names = groups(cardea)
    expect(GROUP in names and names.index(GROUP) > names.index("apps"), f"{names}")
    status, _, group = cardea.request("GET", f"/apis/{GROUP}")
    expect(status == 200 and group["kind"] == "APIGroup" and group["preferredVersion"]["groupVersion"] == f"{GROUP}/v1", f"{status} {group}")
    status, headers, resources = cardea.request("GET", f"/apis/{GROUP}/v1")
    expect(status == 200 and resources["resources"][0]["name"] == "wares" and headers["X-From"] == "backend", f"{status} {resources}")
    item = discovered(cardea)[GROUP]
    version = item["versions"][0]
    ware = version["resources"][0]
    expect(version["freshness"] == "Current" and ware["responseKind"] == {"group": "", "version": "", "kind": "Ware"} and ware["scope"] == "Namespaced", f"{item}")
    expect(ware["shortNames"] == ["wr"] and ware["subresources"][0]["subresource"] == "status", f"{ware}")
    expect(f"/apis/{GROUP}/v1" in cardea.request("GET", "/")[2]["paths"], "the paths lack it")


@story.chapter(needs=["discovery_shows_other_servers"])
def priorities_decide_about_the_order(cardea, backend):
    for version, priority in (("v2", 5), ("v3alpha1", 20), ("v1beta1", 5)):
        create(cardea, APISERVICES, backend.api_service(version=version, versionPriority=priority))
        wait_for(cardea, f"{version}.{GROUP}", "Passed")
    create(cardea, APISERVICES, backend.api_service(group="first.example.com", groupPriorityMinimum=19000))
    order = eventually("the group with the highest priority is there", lambda: [n for n in groups(cardea) if n in ("first.example.com", "apps", GROUP)] if "first.example.com" in groups(cardea) else None)
    expect(order == ["first.example.com", "apps", GROUP], f"{order}")
    versions = [v["version"] for v in cardea.request("GET", f"/apis/{GROUP}")[2]["versions"]]
    expect(versions == ["v3alpha1", "v1", "v2", "v1beta1"], f"{versions}")
    expect([v["version"] for v in discovered(cardea)[GROUP]["versions"]] == versions, "the two forms differ")
    for version in ("v2", "v3alpha1", "v1beta1"):
        cardea.request("DELETE", f"{APISERVICES}/{version}.{GROUP}")
    cardea.request("DELETE", f"{APISERVICES}/v1.first.example.com")
    eventually("deleted versions go", lambda: [v["version"] for v in cardea.request("GET", f"/apis/{GROUP}")[2]["versions"]] == ["v1"] and "first.example.com" not in groups(cardea))


@story.chapter
def servers_that_are_away_are_stale(cardea, backend):
    create(cardea, APISERVICES, backend.api_service(group="away.example.com", service="away"))
    wait_for(cardea, "v1.away.example.com", "ServiceNotFound")
    item = eventually("it is in discovery", lambda: discovered(cardea).get("away.example.com"))
    expect(item["versions"] == [{"version": "v1", "freshness": "Stale"}], f"{item}")
    cardea.request("DELETE", f"{APISERVICES}/v1.away.example.com")
    eventually("it goes", lambda: "away.example.com" not in discovered(cardea))
    status, _, body = cardea.request("GET", "/apis/away.example.com/v1/wares")
    expect(status == 404, f"{status} {body}")


def status_of(server, path, headers):
    connection = server.connect()
    connection.request("GET", path, headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


@story.chapter
def openapi_is_one_document(cardea, backend):
    status, headers, index = cardea.request("GET", "/openapi/v3")
    index = json.loads(as_bytes(index))
    entry = index["paths"][f"apis/{GROUP}/v1"]
    expect(status == 200 and entry == {"serverRelativeURL": f"/openapi/v3/apis/{GROUP}/v1?hash=AB"} and "hash=CD" not in json.dumps(index), f"{entry}")
    expect(status_of(cardea, "/openapi/v3", {"If-None-Match": headers["ETag"]}) == 304, "the ETag does not hold")
    status, headers, document = cardea.request("GET", entry["serverRelativeURL"])
    expect(status == 200 and document["info"]["title"] == "wares", f"{status} {document}")
    status, headers, document = cardea.request("GET", "/openapi/v2", headers={"Accept": "application/json"})
    expect(f"/apis/{GROUP}/v1/wares" in document["paths"] and "example.Ware" in document["definitions"] and "example.Unused" not in document["definitions"], "the document lacks it")
    meta = document["definitions"]["example.Ware"]["properties"]["metadata"]["$ref"]
    expect(meta.endswith("ObjectMeta_v2") and document["definitions"][meta.split("/")[-1]]["description"] == "another one", f"{meta}")
    expect("not ours to say" not in json.dumps(document["paths"]["/apis/apps/v1/deployments"]) if "/apis/apps/v1/deployments" in document["paths"] else True, "a server describes the paths of another")
    expect(status_of(cardea, "/openapi/v2", {"Accept": "application/json", "If-None-Match": headers["ETag"]}) == 304, "the ETag does not hold")


# --- what other servers need

@story.chapter
def the_authentication_facts_are_kept(cardea):
    data = cardea.request("GET", FACTS)[2]["data"]
    expect(json.loads(data["requestheader-allowed-names"]) == ["front-proxy-client"] and json.loads(data["requestheader-username-headers"]) == ["X-Remote-User"], f"{data}")
    expect(json.loads(data["requestheader-group-headers"]) == ["X-Remote-Group"] and json.loads(data["requestheader-extra-headers-prefix"]) == ["X-Remote-Extra-"], f"{data}")
    with open(os.path.join(cardea.data_dir, "front-proxy-ca.crt")) as file:
        expect(data["requestheader-client-ca-file"] == file.read() and "BEGIN CERTIFICATE" in data["client-ca-file"], "another CA")
    expect(cardea.request("DELETE", FACTS)[0] == 200, "it cannot be deleted")
    eventually("it is made again", lambda: cardea.request("GET", FACTS)[2].get("data") == data)
    cardea.request("PATCH", FACTS, {"data": {"client-ca-file": "mine"}}, {"Content-Type": "application/merge-patch+json"})
    eventually("it is put right", lambda: cardea.request("GET", FACTS)[2].get("data") == data)
    status, _, role = cardea.request("GET", f"{RBAC}/namespaces/kube-system/roles/extension-apiserver-authentication-reader")
    expect(status == 200 and role["rules"][0]["resourceNames"] == ["extension-apiserver-authentication"], f"{status} {role}")


@story.chapter
def a_second_cardea_stands_behind(cardea, folder):
    """It believes the first about users, decides by its own rules, and speaks HTTP/2."""
    trust = os.path.join(cardea.data_dir, "front-proxy-ca.crt")
    with Cardea("--requestheader-client-ca-file", trust, "--requestheader-allowed-names=front-proxy-client", "--requestheader-username-headers=X-Remote-User",
                "--requestheader-uid-headers=X-Remote-Uid", "--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                "--cert-san=behind.default.svc") as behind:
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
        create(behind, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
               {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.behind.example.com"},
                "spec": {"group": "behind.example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}, "versions": [version]}})
        things = "/apis/behind.example.com/v1/namespaces/default/things"
        eventually("the definition is served", lambda: behind.request("GET", things)[0] == 200)
        create(cardea, f"{NS}/services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "behind"}, "spec": {"type": "ExternalName", "externalName": "127.0.0.1"}})
        create(cardea, APISERVICES, {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.behind.example.com"},
                                     "spec": {"group": "behind.example.com", "version": "v1", "groupPriorityMinimum": 1500, "versionPriority": 10, "caBundle": cardea_authority(behind),
                                              "service": {"name": "behind", "namespace": "default", "port": behind.port}}})
        wait_for(cardea, "v1.behind.example.com", "Passed")
        status, _, thing = cardea.request("POST", things, {"apiVersion": "behind.example.com/v1", "kind": "Thing", "metadata": {"name": "one"}, "size": 1})
        expect(status == 201, f"{status} {thing}")
        expect(behind.request("GET", f"{things}/one")[2]["size"] == 1, "it is not there")
        status, _, table = cardea.request("GET", things, headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
        expect(status == 200 and table["kind"] == "Table", f"{status} {table}")
        connection = cardea.connect()
        connection.request("GET", f"{things}?watch=1&resourceVersion={thing['metadata']['resourceVersion']}")
        answer = connection.getresponse()
        behind.request("DELETE", f"{things}/one")
        expect(json.loads(answer.readline())["type"] == "DELETED", "the event does not come")
        connection.close()
        # The first allows alice, the second does not know her.
        create(cardea, f"{RBAC}/clusterroles", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "things"},
                                                "rules": [{"verbs": ["get"], "apiGroups": ["behind.example.com"], "resources": ["things"]}]})
        create(cardea, f"{RBAC}/clusterrolebindings", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "things"},
                                                       "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "things"},
                                                       "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}]})
        status, message = as_user(cardea, "alice", "GET", f"{things}/one")
        expect(status == 403 and 'User "alice"' in message, f"{status} {message}")
        large = {"apiVersion": "behind.example.com/v1", "kind": "Thing", "metadata": {"name": "large"}, "text": "x" * 700_000}
        for i in range(6):
            large["metadata"]["name"] = f"large{i}"
            expect(cardea.request("POST", things, large)[0] == 201, "a large object does not pass")
        status, _, listed = cardea.request("GET", things)
        expect(status == 200 and len(listed["items"]) == 6 and all(len(i["text"]) == 700_000 for i in listed["items"]), "a large answer does not pass")


@story.chapter
def conditions_travel_to_a_server_that_asks_back(cardea, folder):
    """The first server hands a request on that is allowed on conditions; the second asks it for them, and settles them."""
    at = lambda name: os.path.join(folder, name)
    reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews", "/apis/authorization.k8s.io/v1alpha1/authorizationconditionsreviews"
    with open(at("front.kubeconfig"), "w") as f:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "requests", "users": [{"name": "u", "user": {
                       "client-certificate": os.path.join(cardea.data_dir, "admin.crt"), "client-key": os.path.join(cardea.data_dir, "admin.key")}}],
                   "clusters": [{"name": n, "cluster": {"server": cardea.base + path, "certificate-authority": os.path.join(cardea.data_dir, "ca.crt")}} for n, path in zip(("requests", "conditions"), reviews)],
                   "contexts": [{"name": n, "context": {"cluster": n, "user": "u"}} for n in ("requests", "conditions")]}, f)
    with open(at("back.yaml"), "w") as f:
        f.write("apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n- type: Webhook\n  name: front\n  webhook:\n    timeout: 5s\n    subjectAccessReviewVersion: v1\n"
                "    failurePolicy: Deny\n    authorizedTTL: 1s\n    unauthorizedTTL: 1s\n"
                f"    connectionInfo: {{type: KubeConfigFile, kubeConfigFile: {at('front.kubeconfig')}}}\n    conditionsReview: {{version: v1alpha1, kubeConfigContextName: conditions}}\n- {{type: RBAC, name: rbac}}\n")
    trust = os.path.join(cardea.data_dir, "front-proxy-ca.crt")
    with Cardea("--requestheader-client-ca-file", trust, "--requestheader-allowed-names=front-proxy-client", "--requestheader-username-headers=X-Remote-User",
                "--requestheader-uid-headers=X-Remote-Uid", "--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                "--cert-san=back.default.svc", "--authorization-config", at("back.yaml")) as back:
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
        create(back, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
               {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.back.example.com"},
                "spec": {"group": "back.example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}, "versions": [version]}})
        things = "/apis/back.example.com/v1/namespaces/default/things"
        eventually("the definition is served", lambda: back.request("GET", things)[0] == 200)
        create(cardea, f"{NS}/services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "back"}, "spec": {"type": "ExternalName", "externalName": "127.0.0.1"}})
        create(cardea, APISERVICES, {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.back.example.com"},
                                     "spec": {"group": "back.example.com", "version": "v1", "groupPriorityMinimum": 1500, "versionPriority": 10, "caBundle": cardea_authority(back),
                                              "service": {"name": "back", "namespace": "default", "port": back.port}}})
        wait_for(cardea, "v1.back.example.com", "Passed")
        create(cardea, "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies", {
            "apiVersion": "access.cardea.dev/v1alpha1", "kind": "ClusterAccessPolicy", "metadata": {"name": "small-things"},
            "spec": {"effect": "Allow", "subjects": [{"kind": "User", "name": "alice"}], "expression": "object.size < 5",
                     "rules": [{"verbs": ["create"], "apiGroups": ["back.example.com"], "resources": ["things"]}]}})
        thing = lambda name, size: {"apiVersion": "back.example.com/v1", "kind": "Thing", "metadata": {"name": name}, "size": size}
        sent = lambda name, size: as_user(cardea, "alice", "POST", things, body=thing(name, size))
        status, message = sent("small", 1)
        expect(status == 403, f"without the annotation it is folded: {status} {message}")

        def promise(value):
            status, _, body = cardea.request("PATCH", f"{APISERVICES}/v1.back.example.com", {"metadata": {"annotations": {"access.cardea.dev/settles-conditions": value}}},
                                             {"Content-Type": "application/merge-patch+json"})
            expect(status == 200, body)
        promise("true")
        eventually("the small one passes", lambda: sent("small", 1)[0] == 201)
        status, message = sent("large", 9)
        expect(status == 403 and "small-things" in str(message), f"{status} {message}")
        expect(back.request("GET", f"{things}/large")[0] == 404, "what was refused was written")
        promise(None)
        eventually("and folded again", lambda: sent("other", 1)[0] == 403)


@story.chapter
def it_is_known_after_a_restart(folder, backend):
    with serving(folder, "--backend-address-exceptions=127.0.0.1/32") as server:
        register(server, backend)
        expect(server.stop() == 0, "it does not stop well")
        server.start()
        statuses = [server.request("GET", f"{WARES}/one")[0]]
        eventually("it is served again", lambda: statuses.append(server.request("GET", f"{WARES}/one")[0]) or statuses[-1] == 200)
        expect(set(statuses) <= {200, 503}, f"{statuses}")


# --- servers of others

def program(name):
    path = os.path.join(os.environ.get("CARDEA_PEERS", ""), name)
    if not os.environ.get("CARDEA_PEERS") or not os.path.exists(path):
        skip(f"there is no {name}: CARDEA_PEERS names no folder with one")
    return path


@contextlib.contextmanager
def running(folder, name, *arguments):
    """A program that is ended with the block. Its output is shown when something fails."""
    log = os.path.join(folder, f"{name}.log")
    with open(log, "wb") as out:
        process = subprocess.Popen([program(name), *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        yield process
    except BaseException:
        with open(log, errors="replace") as file:
            print(f"--- {name}", *file.readlines()[-30:], "---", sep="\n")
        raise
    finally:
        process.kill()
        process.wait()


def kubectl(server, *arguments, given=None):
    done = subprocess.run([program("kubectl"), "--kubeconfig", server.kubeconfig, *arguments], input=given, capture_output=True, text=True, timeout=120)
    expect(done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}")
    return done.stdout


def served_by(server, name, namespace, port, authority, *versions):
    create(server, f"/api/v1/namespaces/{namespace}/services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"type": "ExternalName", "externalName": "127.0.0.1"}})
    with open(authority, "rb") as file:
        bundle = base64.b64encode(file.read()).decode()
    for one in versions:
        version, _, group = one.partition(".")
        create(server, APISERVICES, {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": one},
                                     "spec": {"group": group, "version": version, "groupPriorityMinimum": 1000, "versionPriority": 15, "caBundle": bundle,
                                              "service": {"name": name, "namespace": namespace, "port": port}}})
    for one in versions:
        eventually(f"{one} is available", lambda: (condition(server, one) or {}).get("status") == "True", 180)


def serving_flags(folder, server, port):
    at = lambda name: os.path.join(folder, f"backend-{name}")
    return ["--bind-address=127.0.0.1", f"--secure-port={port}", f"--tls-cert-file={at('crt')}", f"--tls-private-key-file={at('key')}", f"--kubeconfig={server.kubeconfig}",
            f"--authentication-kubeconfig={server.kubeconfig}", f"--authorization-kubeconfig={server.kubeconfig}"]


@story.chapter
def sample_apiserver_works_behind(folder):
    """Kubernetes' own example of an API server, as it is: it asks Cardea about tokens and permissions."""
    program("sample-apiserver"), program("etcd"), program("kubectl")
    place = os.path.join(folder, "sample")
    os.makedirs(place)
    authority = certificates(place, ["wardle.default.svc"])
    client, peer, port = free_port(), free_port(), free_port()
    store = [f"--data-dir={place}/etcd", f"--listen-client-urls=http://127.0.0.1:{client}", f"--advertise-client-urls=http://127.0.0.1:{client}", f"--listen-peer-urls=http://127.0.0.1:{peer}",
             f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}", f"--initial-cluster=default=http://127.0.0.1:{peer}"]
    with serving(folder, "--backend-address-exceptions=127.0.0.1/32") as server, running(place, "etcd", *store), \
            running(place, "sample-apiserver", f"--etcd-servers=http://127.0.0.1:{client}", "--enable-priority-and-fairness=false", *serving_flags(place, server, port)):
        served_by(server, "wardle", "default", port, authority, "v1alpha1.wardle.example.com", "v1beta1.wardle.example.com")
        expect("flunders" in kubectl(server, "api-resources", "--api-group=wardle.example.com"), "kubectl does not discover it")
        flunder = {"apiVersion": "wardle.example.com/v1alpha1", "kind": "Flunder", "metadata": {"name": "mine", "namespace": "default", "labels": {"a": "b"}}, "spec": {}}
        expect("created" in kubectl(server, "create", "-f", "-", given=json.dumps(flunder)), "it is not created")
        expect("mine" in kubectl(server, "get", "flunders", "-l", "a=b"), "it is not listed")
        expect(json.loads(kubectl(server, "get", "flunders.v1beta1.wardle.example.com", "mine", "-o", "json"))["apiVersion"] == "wardle.example.com/v1beta1", "another version")
        watch = subprocess.Popen([program("kubectl"), "--kubeconfig", server.kubeconfig, "get", "flunders", "--watch", "-o", "name"], stdout=subprocess.PIPE, text=True)
        expect("mine" in watch.stdout.readline(), "the watch does not begin")
        kubectl(server, "label", "flunder", "mine", "c=d")
        expect("mine" in watch.stdout.readline(), "no event")
        watch.kill()
        watch.wait()
        # Permissions: Cardea's, and again Cardea's when the other server asks for them.
        flunders = "/apis/wardle.example.com/v1alpha1/namespaces/default/flunders"
        expect(as_user(server, "alice", "GET", f"{flunders}/mine")[0] == 403, "alice may")
        create(server, f"{RBAC}/clusterroles", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "flunders"},
                                                "rules": [{"verbs": ["get", "create"], "apiGroups": ["wardle.example.com"], "resources": ["flunders"]}]})
        create(server, f"{RBAC}/clusterrolebindings", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "flunders"},
                                                       "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "flunders"},
                                                       "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}]})
        status, answer = eventually("both servers allow alice", lambda: (found := as_user(server, "alice", "GET", f"{flunders}/mine"))[0] == 200 and found)
        expect(answer["metadata"]["name"] == "mine", f"{answer}")
        expect(as_user(server, "alice", "DELETE", f"{flunders}/mine")[0] == 403, "alice may delete it")
        status, message = as_user(server, "alice", "POST", flunders, {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}, {**flunder, "metadata": {"name": "hers"}})
        expect(status == 201, f"{status} {message}")
        # Straight to it, with a token that only Cardea knows.
        context = ssl.create_default_context(cafile=authority)
        context.check_hostname = False
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=context)
        status, _, answer = exchange(connection, "GET", f"{flunders}/mine", None, {"Authorization": "Bearer token-alice"})
        expect(status == 200, f"its own authentication does not work: {status} {answer}")
        status, _, answer = exchange(connection, "GET", f"{flunders}/mine", None, {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"})
        expect(status in (401, 403), f"it believes headers without a certificate: {status} {answer}")
        connection.close()
        expect("deleted" in kubectl(server, "delete", "flunder", "mine"), "it is not deleted")
        kubectl(server, "explain", "flunder.spec")


class Metered(SmallKubelet):
    """A kubelet that says how much its node uses, to everybody."""

    def __init__(self, folder):
        super().__init__(folder)
        self.context.verify_mode = ssl.CERT_NONE

    class connection(SmallKubelet.connection):
        def answer(self, request):
            if request.path != "/metrics/resource":
                return super().answer(request)
            now = time.time()
            text = (f"# TYPE node_cpu_usage_seconds_total counter\nnode_cpu_usage_seconds_total {now % 100000 / 4} {int(now * 1000)}\n"
                    f"# TYPE node_memory_working_set_bytes gauge\nnode_memory_working_set_bytes 1.048576e+08 {int(now * 1000)}\n")
            self.send("200 OK", text.encode(), ["Content-Type: text/plain; version=0.0.4"])
            return True


@story.chapter
def metrics_server_works_behind(folder):
    """`kubectl top` through an unmodified metrics-server, which reads from a kubelet of ours."""
    program("metrics-server"), program("kubectl")
    place = os.path.join(folder, "metrics")
    os.makedirs(place)
    authority = certificates(place, ["metrics-server.kube-system.svc"])
    port = free_port()
    with serving(folder, "--backend-address-exceptions=127.0.0.1/32") as server, Metered(place) as kubelet:
        kubelet.register(server, "metered")
        kubelet.patch_status(server, "/api/v1/nodes/metered", {"capacity": {"cpu": "1", "memory": "1Gi"}, "allocatable": {"cpu": "1", "memory": "1Gi"}})
        with running(place, "metrics-server", "--kubelet-insecure-tls", "--kubelet-use-node-status-port", "--kubelet-preferred-address-types=InternalIP", "--metric-resolution=10s", "--kubelet-request-timeout=5s",
                     *serving_flags(place, server, port)):
            served_by(server, "metrics-server", "kube-system", port, authority, "v1beta1.metrics.k8s.io")
            items = eventually("the node is metered", lambda: server.request("GET", "/apis/metrics.k8s.io/v1beta1/nodes")[2].get("items"), 180)
            expect(items[0]["metadata"]["name"] == "metered" and items[0]["usage"]["memory"] == "100Mi", f"{items}")
            top = kubectl(server, "top", "nodes")
            expect("metered" in top and "100Mi" in top, top)


@story.chapter
def the_example_of_the_page_works(folder, backend):
    """docs/aggregation.md"""
    page = open(os.path.join(os.path.dirname(__file__), "../../docs/aggregation.md")).read()
    documents = [yaml.safe_load(text) for text in re.search(r"```yaml\n(.*?)```", page, re.S)[1].split("---\n")]
    with serving(folder, "--backend-address-exceptions=127.0.0.1/32") as server:
        service, api_service = documents
        api_service["spec"]["caBundle"], api_service["spec"]["service"]["port"] = backend.bundle(), backend.port
        backend.believe(server.request("GET", FACTS)[2]["data"]["requestheader-client-ca-file"])
        create(server, f"{NS}/services", service)
        create(server, APISERVICES, api_service)
        wait_for(server, api_service["metadata"]["name"], "Passed")
        path = re.search(r"kubectl get --raw (/\S+)", page)[1]
        status, _, body = server.request("GET", path)
        expect(status == 200 and body["kind"] == "Ware", f"{status} {body}")
        table = server.request("GET", f"{APISERVICES}/v1.{GROUP}", headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})[2]
        expect(table["rows"][0]["cells"][:3] == ["v1.wares.example.com", "default/wares", "True"], f"{table['rows'][0]['cells']}")


if __name__ == "__main__":
    story.main()
