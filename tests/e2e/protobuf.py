"""Answers and bodies in Kubernetes' Protobuf: objects, lists, watches, errors, and what has no such form.

With $CARDEA_PEERS (a folder with kube-apiserver and etcd) every chapter is told of the real server too.
"""
import json
import os
import struct
import tempfile

from peer import Kube, peers
from server import Cardea, eventually, expect, skip
from story import Story

story = Story("protobuf")

PROTOBUF = "application/vnd.kubernetes.protobuf"
PARTIAL = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
MAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


# --- as much of the format as the story needs

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """[(number, value)] of one message: bytes, or a number."""
    at, found = 0, []
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        found.append((tag >> 3, value))
    return found


def first(data, *numbers):
    for number in numbers:
        data = next((value for n, value in fields(data) if n == number), None)
        if data is None:
            return None
    return data


def write(number, value):
    def long(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + long(n >> 7)
    if isinstance(value, str):
        value = value.encode()
    return long(number << 3) + long(value) if isinstance(value, int) else long(number << 3 | 2) + long(len(value)) + value


def enveloped(version, kind, message):
    return b"k8s\0" + write(1, write(1, version) + write(2, kind)) + write(2, message) + b"\x1a\0\"\0"


def opened(data):
    """(apiVersion, kind, message) of an object in its envelope."""
    expect(data[:4] == b"k8s\0", f"no envelope: {data[:60]!r}")
    expect([n for n, _ in fields(data[4:])] == [1, 2, 3, 4], f"an envelope of other parts: {data[:60]!r}")
    return first(data[4:], 1, 1).decode(), first(data[4:], 1, 2).decode(), first(data[4:], 2)


def name_of(message):
    return first(message, 1, 1).decode()


def frames(answer, count):
    """The first events of a watch: [(type, apiVersion, kind, message)]."""
    found = []
    while len(found) < count:
        size, = struct.unpack(">I", answer.read(4))
        event = answer.read(size)
        found.append((first(event, 1).decode(), *opened(first(event, 2, 1))))
    return found


# --- the servers

def prepared(server):
    for name, data in (("one", {"a": "1"}), ("two", {})):
        server.request("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"app": name}}, "data": data})
    server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                               "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}})
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"a": 1}}
    eventually("widgets are served", lambda: server.request("POST", WIDGETS, widget)[0] in (201, 409))
    return server


@story.shared
def cardea():
    with Cardea() as server:
        yield prepared(server)


@story.shared
def kube():
    if not peers():
        skip("there is no kube-apiserver: CARDEA_PEERS names no folder with one")
    with Kube("--authorization-mode=RBAC") as server:
        yield prepared(server)


def get(server, path, accept=PROTOBUF, status=200, kind=PROTOBUF):
    code, headers, body = server.request("GET", path, headers={"Accept": accept})
    expect(code == status, f"GET {path} as {accept} answers {code}: {body!r}")
    expect(headers["Content-Type"] == kind, f"GET {path} as {accept} is {headers['Content-Type']}")
    return body


# --- the chapters

@story.told_of_both
def an_object_in_protobuf_has_the_fields_of_its_json(server):
    plain = get(server, f"{MAPS}/one", "application/json", kind="application/json")
    version, kind, message = opened(get(server, f"{MAPS}/one"))
    expect((version, kind) == ("v1", "ConfigMap"), f"{version} {kind}")
    meta = plain["metadata"]
    expect(name_of(message) == "one" and first(message, 1, 3) == b"default", "name or namespace")
    expect(first(message, 1, 5).decode() == meta["uid"], "uid")
    expect(first(message, 1, 6).decode() == meta["resourceVersion"], "resourceVersion")
    expect(first(message, 2) == write(1, "a") + write(2, "1"), "data")
    expect([n for n, _ in fields(first(message, 1))] == [1, 2, 3, 4, 5, 6, 7, 8, 11, 17], "fields of the metadata")


@story.told_of_both
def a_list_has_the_messages_of_its_items(server):
    version, kind, message = opened(get(server, MAPS))
    expect((version, kind) == ("v1", "ConfigMapList"), f"{version} {kind}")
    expect(first(message, 1, 2), "the list has no resourceVersion")
    items = [value for number, value in fields(message) if number == 2]
    one = opened(get(server, f"{MAPS}/one"))[2]
    expect(one in items, "an item is not what a get answers")
    _, _, chosen = opened(get(server, f"{MAPS}?labelSelector=app%3Dtwo"))
    expect([name_of(v) for n, v in fields(chosen) if n == 2] == ["two"], "a selection")
    _, _, page = opened(get(server, f"{MAPS}?limit=1"))
    expect(first(page, 1, 3) and first(page, 1, 4) is not None, "a page has no continue token")
    _, _, none = opened(get(server, "/api/v1/namespaces/default/pods"))
    expect([n for n, _ in fields(none)] == [1], "an empty list has items")


@story.told_of_both
def the_client_chooses_by_weights_and_order(server):
    js, yaml = "application/json", "application/yaml"
    for accept, kind in ((f"{PROTOBUF},{js}", PROTOBUF), (f"{js},{PROTOBUF}", js), (f"{js};q=0.5,{PROTOBUF};q=0.8", PROTOBUF),
                         (f"{PROTOBUF};q=0.1,{yaml}", yaml), (f"*/*,{PROTOBUF};q=0.5", PROTOBUF), ("*/*", js), (f"text/html,{PROTOBUF}", PROTOBUF)):
        get(server, f"{MAPS}/one", accept, kind=kind)
    table = "application/json;as=Table;g=meta.k8s.io;v=v1"
    get(server, MAPS, f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1,{table}", kind=js)


@story.told_of_both
def partial_metadata_of_every_kind(server):
    for path, name in ((f"{MAPS}/one", "one"), (f"{WIDGETS}/w", "w")):
        version, kind, message = opened(get(server, path, PARTIAL))
        expect((version, kind) == ("meta.k8s.io/v1", "PartialObjectMetadata"), f"{version} {kind}")
        expect([n for n, _ in fields(message)] == [1] and name_of(message) == name, f"{message!r}")
    for path, name in ((MAPS, "one"), (WIDGETS, "w")):
        version, kind, message = opened(get(server, path, PARTIAL_LIST))
        expect((version, kind) == ("meta.k8s.io/v1", "PartialObjectMetadataList"), f"{version} {kind}")
        expect(name in [name_of(v) for n, v in fields(message) if n == 2], f"{message!r}")


@story.told_of_both
def what_has_no_protobuf_is_not_acceptable(server):
    for path in (WIDGETS, f"{WIDGETS}/w", f"{WIDGETS}?watch=1"):
        version, kind, message = opened(get(server, path, status=406))
        expect((version, kind) == ("v1", "Status"), f"{version} {kind}")
        expect(first(message, 3) == b"only the following media types are accepted: application/json, application/yaml, " + PROTOBUF.encode(), f"{message!r}")
        get(server, f"{WIDGETS}/w", f"{PROTOBUF},application/json", kind="application/json")
    table = f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1"
    for path in (MAPS, f"{MAPS}/one"):
        # Nothing that the client accepts can hold the error.
        body = get(server, path, table, status=406, kind="application/json")
        expect(body["message"] == f"only the following media types are accepted: application/json, application/yaml, {PROTOBUF}", f"{body}")


@story.told_of_both
def errors_have_the_format_that_was_chosen(server):
    version, kind, message = opened(get(server, f"{MAPS}/none", status=404))
    expect((version, kind) == ("v1", "Status"), f"{version} {kind}")
    expect((first(message, 2), first(message, 4), first(message, 6)) == (b"Failure", b"NotFound", 404), f"{message!r}")
    expect(first(message, 5, 1) == b"none" and first(message, 5, 3) == b"configmaps", f"{message!r}")
    get(server, f"{MAPS}/none", f"application/json,{PROTOBUF}", status=404, kind="application/json")
    get(server, f"{MAPS}/none", f"{PARTIAL},application/json", status=404, kind="application/json")
    get(server, f"{MAPS}/none", PARTIAL, status=404, kind="application/json")
    get(server, "/apis/apps/v1/nothing", status=404)
    version = get(server, "/version", status=406)
    expect(first(opened(version)[2], 3) == b"406: Not Acceptable\n\nAvailable representations: application/json", f"{version!r}")
    get(server, "/version", f"{PROTOBUF},application/json", kind="application/json")


@story.told_of_both
def discovery_in_protobuf(server):
    expect(opened(get(server, "/api"))[1] == "APIVersions", "/api")
    expect(opened(get(server, "/apis"))[1] == "APIGroupList", "/apis")
    expect(opened(get(server, "/apis/apps"))[1] == "APIGroup", "/apis/apps")
    _, kind, message = opened(get(server, "/api/v1"))
    expect(kind == "APIResourceList" and first(message, 1) == b"v1", "/api/v1")
    pods = next(v for n, v in fields(message) if n == 2 and first(v, 1) == b"pods")
    expect(b"watch" in [v for _, v in fields(first(pods, 4))], f"{pods!r}")


@story.told_of_both
def a_body_in_protobuf(server):
    message = write(1, write(1, "sent")) + write(2, write(1, "k") + write(2, "v"))
    headers = {"Content-Type": PROTOBUF, "Accept": PROTOBUF}
    server.request("DELETE", f"{MAPS}/sent")
    status, _, body = server.request("POST", MAPS, enveloped("v1", "ConfigMap", message), headers)
    expect(status == 201 and name_of(opened(body)[2]) == "sent", f"{status} {body!r}")
    status, _, body = server.request("PUT", f"{MAPS}/sent", enveloped("v1", "ConfigMap", message + write(4, 0)), headers)
    expect(status == 200 and first(opened(body)[2], 4) == 0, f"an explicit false is not kept: {status} {body!r}")
    options = enveloped("v1", "DeleteOptions", write(5, "All"))
    status, _, body = server.request("DELETE", f"{MAPS}/sent", options, headers)
    expect(status == 200 and opened(body)[1] == "Status", f"{status} {body!r}")
    get(server, f"{MAPS}/sent")
    status, _, body = server.request("DELETE", f"{MAPS}?labelSelector=app%3Dnone", enveloped("v1", "DeleteOptions", b""), headers)
    expect(status == 200 and opened(body)[1] == "ConfigMapList", f"{status} {body!r}")
    review = write(2, write(2, write(1, "/version") + write(2, "get")) + write(3, "jane"))
    status, _, body = server.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", enveloped("authorization.k8s.io/v1", "SubjectAccessReview", review), headers)
    expect(status == 201 and first(opened(body)[2], 3, 1) == 0, f"{status} {body!r}")


@story.told_of_both
def a_scale_and_a_token_in_protobuf(server):
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
                  "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}},
                           "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}
    server.request("POST", "/apis/apps/v1/namespaces/default/deployments", deployment)
    version, kind, message = opened(get(server, "/apis/apps/v1/namespaces/default/deployments/d/scale"))
    expect((version, kind) == ("autoscaling/v1", "Scale") and first(message, 2, 1) == 0, f"{version} {kind} {message!r}")
    server.request("POST", "/api/v1/namespaces/default/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})
    status, _, body = server.request("POST", "/api/v1/namespaces/default/serviceaccounts/robot/token",
                                     enveloped("authentication.k8s.io/v1", "TokenRequest", write(2, write(4, 3600))), {"Content-Type": PROTOBUF, "Accept": PROTOBUF})
    expect(status == 201 and opened(body)[1] == "TokenRequest" and len(first(opened(body)[2], 3, 1)) > 100, f"{status} {body!r}")


BAD_BODIES = {
    "nothing": b"",
    "no magic": b"{}",
    "the magic alone": b"k8s\0",
    "a broken envelope": b"k8s\0\x0a\x7f",
    "a truncated message": enveloped("v1", "ConfigMap", b"\x0a\x7f"),
    "an overlong varint": enveloped("v1", "ConfigMap", b"\xff" * 10 + b"\x01"),
    "a field of the wrong wire type": enveloped("v1", "ConfigMap", b"\x08\x01"),
    "field number 0": enveloped("v1", "ConfigMap", b"\0\0"),
    "an unknown wire type": enveloped("v1", "ConfigMap", b"\xfe\x06"),
    "a known field of an unknown wire type": enveloped("v1", "ConfigMap", b"\x0f"),
    "a length below zero": enveloped("v1", "ConfigMap", b"\x0a" + b"\xff" * 9 + b"\x01"),
    "a group that does not end": enveloped("v1", "ConfigMap", b"\x4b"),
    "a message that is a number": enveloped("v1", "ConfigMap", write(1, b"\x08\x01")),
    "an envelope of numbers": b"k8s\0\x10\x01",
    "more after the envelope": enveloped("v1", "ConfigMap", write(1, write(1, "x"))) + b"\xff",
    "a time of texts": enveloped("v1", "ConfigMap", write(1, write(1, "x") + write(9, b"\x0a\0"))),
    "an end of a group": enveloped("v1", "ConfigMap", b"\x0c"),
    "another version": enveloped("v2", "ConfigMap", write(1, write(1, "x"))),
    "another group": enveloped("apps/v1", "ConfigMap", write(1, write(1, "x"))),
    "another kind": enveloped("v1", "Secret", write(1, write(1, "x"))),
    "an unknown kind": enveloped("v1", "Nonsense", write(1, write(1, "x"))),
    "JSON in the envelope": b"k8s\0" + write(1, write(1, "v1") + write(2, "ConfigMap")) + write(2, b'{"metadata":{"name":"x"}}') + write(3, "") + write(4, "application/json"),
}
GOOD_BODIES = {
    "a version that is none": enveloped("a/b/c", "ConfigMap", write(1, write(1, "x"))),
    "no kind in the envelope": b"k8s\0" + write(2, write(1, write(1, "x"))),
    "unknown fields": enveloped("v1", "ConfigMap", write(1, write(1, "x")) + write(99, "?") + write(98, 7)),
    "an unknown group": enveloped("v1", "ConfigMap", write(1, write(1, "x")) + b"\x4b\x53\x54\x4c"),
    "metadata in two pieces": enveloped("v1", "ConfigMap", write(1, write(1, "y") + write(3, "default")) + write(1, write(1, "x"))),
}


@story.told_of_both
def broken_bodies_are_refused(server):
    def send(body):
        return server.request("POST", f"{MAPS}?dryRun=All", body, {"Content-Type": PROTOBUF, "Accept": "application/json"})
    for what, body in BAD_BODIES.items():
        status, _, answer = send(body)
        expect(status == 400, f"{what}: {status} {answer}")
    for what, body in GOOD_BODIES.items():
        status, _, answer = send(body)
        expect(status == 201 and answer["metadata"]["name"] == "x", f"{what}: {status} {answer}")


@story.chapter
def a_custom_resource_is_not_read_from_protobuf(cardea):
    """kube-apiserver 1.36 ends the connection without an answer."""
    status, _, answer = cardea.request("POST", WIDGETS, enveloped("example.com/v1", "Widget", b""), {"Content-Type": PROTOBUF, "Accept": "application/json"})
    expect(status == 415, f"{status} {answer}")


@story.chapter
def broken_bodies_have_the_same_texts(cardea, kube):
    for what, body in BAD_BODIES.items():
        texts = [server.request("POST", f"{MAPS}?dryRun=All", body, {"Content-Type": PROTOBUF, "Accept": "application/json"})[2]["message"] for server in (cardea, kube)]
        if what not in ("another version", "another group"):  # we do not know which of them are registered there
            expect(texts[0] == texts[1], f"{what}:\n  {texts[0]}\n  {texts[1]}")


@story.told_of_both
def a_watch_is_frames(server):
    server.request("DELETE", f"{MAPS}/seen")
    connection = server.connect()
    connection.request("GET", f"{MAPS}?watch=1&fieldSelector=metadata.name%3Dseen", headers={"Accept": f"{PROTOBUF};stream=watch"})
    answer = connection.getresponse()
    expect((answer.status, answer.headers["Content-Type"]) == (200, f"{PROTOBUF};stream=watch"), f"{answer.status} {answer.headers}")
    seen = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "seen"}}
    server.request("POST", MAPS, seen)
    got = get(server, f"{MAPS}/seen")
    server.request("PUT", f"{MAPS}/seen", {**seen, "data": {"a": "b"}})
    server.request("DELETE", f"{MAPS}/seen")
    events = frames(answer, 3)
    expect([(e[0], e[2]) for e in events] == [("ADDED", "ConfigMap"), ("MODIFIED", "ConfigMap"), ("DELETED", "ConfigMap")], f"{events}")
    expect(events[0][1:] == opened(got), "an event has another object than a get")
    expect(first(events[1][3], 2) == write(1, "a") + write(2, "b"), "data of the second event")
    revisions = [int(first(e[3], 1, 6)) for e in events]
    expect(revisions == sorted(set(revisions)), f"{revisions}")
    connection.close()


@story.told_of_both
def a_streaming_list_ends_with_a_bookmark(server):
    for accept, path, kind in ((PROTOBUF, MAPS, "ConfigMap"), (PARTIAL, MAPS, "PartialObjectMetadata"), (PARTIAL, WIDGETS, "PartialObjectMetadata")):
        connection = server.connect()
        connection.request("GET", f"{path}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&limit=500",
                           headers={"Accept": accept})
        answer = connection.getresponse()
        expect((answer.status, answer.headers["Content-Type"]) == (200, f"{PROTOBUF};stream=watch"), f"{answer.status} {answer.headers}")
        while True:
            event, _, found, message = frames(answer, 1)[0]
            expect(found == kind, f"{event} of a {found}")
            if event == "BOOKMARK":
                break
            expect(event == "ADDED", event)
        expect(first(message, 1, 12) == write(1, "k8s.io/initial-events-end") + write(2, "true"), f"{message!r}")
        connection.close()


@story.told_of_both
def an_error_in_a_watch_is_a_frame(server):
    connection = server.connect()
    connection.request("GET", f"{MAPS}?watch=1&resourceVersion=1", headers={"Accept": PROTOBUF})
    answer = connection.getresponse()
    event, version, kind, message = frames(answer, 1)[0]
    if event == "ERROR":  # a server that has not compacted its history yet goes on from there
        expect((version, kind, first(message, 6)) == ("v1", "Status", 410), f"{version} {kind} {message!r}")
    connection.close()


STRANGE = "<a> && b\u2028\u2029\u202a \b\f\x01\x7f€"
ESCAPED = r"\u003ca\u003e \u0026\u0026 b\u2028\u2029".encode() + "\u202a ".encode() + rb"\b\f\u0001" + "\x7f€".encode()


@story.told_of_both
def texts_in_json_are_escaped_as_go_escapes_them(server):
    """A client may compare the data of a ControllerRevision, byte by byte, with what it would write itself."""
    def raw(method, path, body=None):
        connection = server.connect()
        connection.request(method, path, body and json.dumps(body, ensure_ascii=False).encode(), {"Content-Type": "application/json", "Accept": "application/json"})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        expect(answer.status < 300, f"{method} {path}: {answer.status} {data!r}")
        return data

    revisions = "/apis/apps/v1/namespaces/default/controllerrevisions"
    for path, version, kind, rest in ((MAPS, "v1", "ConfigMap", {"data": {"text": STRANGE}}),
                                      (WIDGETS, "example.com/v1", "Widget", {"spec": {"text": STRANGE, "<&>": 1}}),
                                      (revisions, "apps/v1", "ControllerRevision", {"revision": 1, "data": {"text": STRANGE}})):
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": "strange", "annotations": {"text": STRANGE}}, **rest}
        answers = {"create": raw("POST", path, body), "get": raw("GET", f"{path}/strange"), "list": raw("GET", path), "pretty": raw("GET", f"{path}/strange?pretty=true"),
                   "watch": raw("GET", f"{path}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dstrange")}
        raw("DELETE", f"{path}/strange")
        for what, data in answers.items():
            expect(data.count(b'"text":' + (b" " if what == "pretty" else b"") + b'"' + ESCAPED + b'"') == 2, f"{what} of a {kind}: {data!r}")
            expect(b"<" not in data and b"&" not in data, f"{what} of a {kind}: {data!r}")


@story.chapter
def an_audit_event_shows_the_answer_as_json():
    with tempfile.TemporaryDirectory() as folder:
        policy, log = os.path.join(folder, "policy.yaml"), os.path.join(folder, "audit.log")
        with open(policy, "w") as file:
            json.dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
                       "rules": [{"level": "RequestResponse", "resources": [{"group": "", "resources": ["configmaps"]}], "namespaces": ["default"]}]}, file)
        with Cardea("--audit-policy-file", policy, "--audit-log-path", log, "--audit-log-mode", "blocking") as server:
            message = write(1, write(1, "seen")) + write(2, write(1, "k") + write(2, "v"))
            headers = {"Content-Type": PROTOBUF, "Accept": PROTOBUF}
            expect(server.request("POST", MAPS, enveloped("v1", "ConfigMap", message), headers)[0] == 201, "no object")
            get(server, f"{MAPS}/seen")
            get(server, MAPS)
            get(server, f"{MAPS}/none", status=404)
            with open(log) as file:
                events = [json.loads(line) for line in file]
    shown = {(e["verb"], e["objectRef"].get("name", "")): e for e in events if e["user"]["username"] != "system:apiserver"}
    expect(shown["create", "seen"]["requestObject"]["data"] == {"k": "v"}, "the object that was sent")
    for verb in ("create", "get"):
        expect(shown[verb, "seen"]["responseObject"]["data"] == {"k": "v"}, f"the answer of {verb}")
    expect(shown["list", ""]["responseObject"]["kind"] == "ConfigMapList", "the answer of list")
    expect(shown["get", "none"]["responseObject"]["reason"] == "NotFound", "the answer to a get of nothing")


if __name__ == "__main__":
    story.main()
