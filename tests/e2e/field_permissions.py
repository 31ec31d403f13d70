"""Field permissions: permissions on parts of objects, over HTTPS.

An operator that may write only fields with its prefix, a field that even users who may update everything may not set, and
the same for built-in kinds through an UncoveredPermissionSet. The examples come from docs/field-permissions.md.
"""
import base64
import copy
import json
import os
import re
import socket
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request

from hooks import Hooks
from server import Cardea, eventually, expect
from story import Story

story = Story("field_permissions")

USERS = "".join(f"{name}-token,{name},{i}\n" for i, name in enumerate(["operator", "editor", "admin2", "labeller", "blind", "nobody", "star", "maker"], 1))
JSON, MERGE, STRATEGIC, OPS, APPLY = ("application/json", "application/merge-patch+json", "application/strategic-merge-patch+json",
                                      "application/json-patch+json", "application/apply-patch+yaml")
SAFE = ["granular", "granular:label(super.safe.com)", "granular:annotation(super.safe.com)", "granular:finalizer(super.safe.com)",
        "granular:condition(SuperSafe)"]

WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
    "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
             "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {
                 "type": "object", "properties": {
                     "spec": {"type": "object", "x-kubernetes-permission-verb": "specification", "properties": {
                         "size": {"type": "integer"},
                         "selfDestruct": {"type": "boolean", "x-kubernetes-permission-verb": "example.com/selfDestruct",
                                          "x-kubernetes-permission-excluded": True}}},
                     "data": {"type": "object", "additionalProperties": {"type": "string"}},
                     "status": {"type": "object", "x-kubernetes-permission-verb": "status", "properties": {
                         "phase": {"type": "string"},
                         "conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                                        "x-kubernetes-permission-verb": "conditions", "items": {
                                            "type": "object", "required": ["type"], "x-kubernetes-permission-verb": "condition",
                                            "x-kubernetes-permission-parameter": "listKey:type",
                                            "properties": {"type": {"type": "string"}, "status": {"type": "string"}}}}}}}}}}]}}


class World:
    def __init__(self, server):
        self.server = server
        self.context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))

    def send(self, user, method, path, body=None, kind=JSON, headers=None):
        headers = dict(headers or {})
        if user:
            headers["Authorization"] = f"Bearer {user}-token"
            data = None if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
            if data is not None:
                headers["Content-Type"] = kind
            request = urllib.request.Request(self.server.base + path, method=method, headers=headers, data=data)
            try:
                with urllib.request.urlopen(request, context=self.context, timeout=60) as answer:
                    return answer.status, json.loads(answer.read())
            except urllib.error.HTTPError as error:
                text = error.read().decode()
                try:
                    return error.code, json.loads(text)
                except ValueError:
                    return error.code, {"message": text}
        status, _, answer = self.server.request(method, path, body, {**headers, "Content-Type": kind})
        return status, answer

    def admin(self, method, path, body=None, kind=JSON, want=(200, 201)):
        status, answer = self.send(None, method, path, body, kind)
        expect(status in want, f"{method} {path}: {status} {answer}")
        return answer

    def allow(self, user, group, resources, verbs):
        name = re.sub(r"[^a-z0-9]+", "-", f"{user}-{group or 'core'}-{'-'.join(resources)}".lower())
        self.admin("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {
            "metadata": {"name": name}, "rules": [{"apiGroups": [group], "resources": resources, "verbs": verbs}]})
        self.admin("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
            "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]})

    def refused(self, answer, *parts):
        status, body = answer
        expect(status == 403, f"expected 403, got {status} {body}")
        for part in parts:
            expect(part in body["message"], f"expected {part!r} in {body['message']!r}")
        return body

    def metric(self, name):
        text = self.server.request("GET", "/metrics")[2]
        text = text.decode() if isinstance(text, bytes) else text
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name))


def ways(path, change, current_of):
    """The same change of the current object as an update and as each kind of patch; `change` is a merge patch."""
    def merged(target, patch):
        if not isinstance(patch, dict):
            return patch
        out = dict(target) if isinstance(target, dict) else {}
        for key, value in patch.items():
            if value is None:
                out.pop(key, None)
            else:
                out[key] = merged(out.get(key), value)
        return out

    yield "update", ("PUT", path, merged(current_of(), change), JSON)
    yield "merge patch", ("PATCH", path, change, MERGE)
    current = current_of()
    whole = merged(current, change)
    ops = [{"op": "add" if key not in current else "replace", "path": f"/{key}", "value": whole[key]} for key in change]
    yield "JSON patch", ("PATCH", path, ops, OPS)


def operator_story(world, base, group, resource, current_of, custom):
    """Story 1 for one object: everything with the prefix is allowed, everything else is refused, one field at a time."""
    world.allow("operator", group, [resource, resource + "/status"], ["get", *SAFE])
    path = base
    good = [{"metadata": {"labels": {"super.safe.com/a": "1"}}}, {"metadata": {"annotations": {"super.safe.com/b": "2"}}},
            {"metadata": {"labels": {"super.safe.com/a": None}}}]
    bad = [({"metadata": {"labels": {"app": "z"}}}, "metadata.labels.app", "granular:label(app)"),
           ({"metadata": {"labels": {"super.safe.com.evil/a": "z"}}}, "metadata.labels.super.safe.com.evil/a", "granular:label(super.safe.com.evil)"),
           ({"metadata": {"annotations": {"note": "z"}}}, "metadata.annotations.note", "granular:annotation(note)"),
           ({"metadata": {"finalizers": ["other.com/f"]}}, 'metadata.finalizers["other.com/f"]', "granular:finalizer(other.com)"),
           ({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1"}]}}, "metadata.ownerReferences", "granular:ownerReferences")]
    bad += [({"spec": {"size": 7}}, "spec.size", "granular:specification"), ({"data": {"k": "w"}}, "data.k", "no field permission covers it")] if custom else [
        ({"spec": {"replicas": 7}}, "spec.replicas", "granular:replicaCount"), ({"spec": {"paused": True}}, "spec.paused", "granular:specification")]
    for change in good:
        for name, request in ways(path, change, current_of):
            status, answer = world.send("operator", *request)
            expect(status == 200, f"{resource}: {name} of {change}: {status} {answer}")
    for change, field, verb in bad:
        before = current_of()
        for name, request in ways(path, change, current_of):
            world.refused(world.send("operator", *request), f"field {field}", verb)
            # An allowed field together with a refused one changes nothing.
        mixed = {**change, "metadata": {**change.get("metadata", {}), "annotations": {**change.get("metadata", {}).get("annotations", {}), "super.safe.com/z": "1"}}}
        world.refused(world.send("operator", "PATCH", path, mixed, MERGE))
        expect(current_of() == before, f"{resource}: {change} changed something")
    # Finalizers: it may add and remove its own, beside a finalizer of another writer.
    world.admin("PATCH", path, {"metadata": {"finalizers": ["other.com/f"]}}, MERGE)
    for value in (["other.com/f", "super.safe.com/f"], ["super.safe.com/f", "other.com/f"], ["other.com/f"]):
        status, answer = world.send("operator", "PATCH", path, {"metadata": {"finalizers": value}}, MERGE)
        expect(status == 200, f"finalizers {value}: {status} {answer}")
    world.refused(world.send("operator", "PATCH", path, {"metadata": {"finalizers": None}}, MERGE), "granular:finalizer(other.com)")
    world.admin("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
    # Apply.
    shell = {"apiVersion": current_of()["apiVersion"], "kind": current_of()["kind"], "metadata": {"name": current_of()["metadata"]["name"]}}
    mine = copy.deepcopy(shell)
    mine["metadata"]["labels"] = {"super.safe.com/applied": "1"}
    status, answer = world.send("operator", "PATCH", path + "?fieldManager=operator", mine, APPLY)
    expect(status == 200, f"apply: {status} {answer}")
    theirs = copy.deepcopy(shell)
    theirs["metadata"]["labels"] = {"super.safe.com/applied": "1", "app": "taken"}
    world.refused(world.send("operator", "PATCH", path + "?fieldManager=operator&force=true", theirs, APPLY), "field metadata.labels.app")
    status, answer = world.send("operator", "PATCH", path + "?fieldManager=operator", shell, APPLY)
    expect(status == 200 and "super.safe.com/applied" not in answer["metadata"].get("labels", {}), f"giving up what was applied: {status} {answer}")
    # Objects that it may not create, delete or name.
    world.refused(world.send("operator", "DELETE", path), "cannot delete resource")
    made = copy.deepcopy(shell)
    made["metadata"] = {"name": "new", "labels": {"super.safe.com/a": "1"}}
    world.refused(world.send("operator", "POST", path.rsplit("/", 1)[0], made), "field metadata.name", "granular:identity")
    world.refused(world.send("operator", "PATCH", path.rsplit("/", 1)[0] + "/new?fieldManager=o", made, APPLY), "field metadata.name", "granular:identity")
    # The status: conditions by their type.
    conditions = [{"type": "Ready", "status": "True"}, {"type": "SuperSafe", "status": "False"}]
    world.admin("PATCH", path + "/status", {"status": {"conditions": conditions}}, MERGE)
    ours, other = copy.deepcopy(conditions), copy.deepcopy(conditions)
    ours[1]["status"], other[0]["status"] = "True", "False"
    for name, request in ways(path + "/status", {"status": {"conditions": ours}}, current_of):
        status, answer = world.send("operator", *request)
        expect(status == 200, f"{resource}: {name} of SuperSafe: {status} {answer}")
        world.admin("PATCH", path + "/status", {"status": {"conditions": conditions}}, MERGE)
    for name, request in ways(path + "/status", {"status": {"conditions": other}}, current_of):
        world.refused(world.send("operator", *request), 'field status.conditions[type="Ready"].status', "granular:condition(Ready)")
    world.refused(world.send("operator", "PATCH", path + "/status", {"status": {"conditions": ours[1:]}}, MERGE), "granular:condition(Ready)")
    phase = {"status": {"phase": "x"}} if custom else {"status": {"replicas": 3}}
    world.refused(world.send("operator", "PATCH", path + "/status", phase, MERGE), "not covered by granular:status")
    # Dry runs are decided in the same way.
    world.refused(world.send("operator", "PATCH", path + "?dryRun=All", {"metadata": {"labels": {"app": "z"}}}, MERGE), "granular:label(app)")


@story.shared
def widget(world):
    """A custom kind and an object of it: its path."""
    world.admin("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS)
    widgets = "/apis/example.com/v1/namespaces/default/widgets"
    eventually("widgets are served", lambda: world.send(None, "GET", widgets)[0] == 200)
    world.admin("POST", widgets, {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "labels": {"app": "x"}},
                                  "spec": {"size": 1}, "data": {"k": "v"}})
    return widgets + "/w"


@story.shared
def deployment(world):
    """A Deployment: its path."""
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    world.admin("POST", deployments, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": {"app": "x"}}, "spec": {
        "replicas": 1, "selector": {"matchLabels": {"app": "x"}}, "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
    return deployments + "/d"


@story.chapter
def an_operator_owns_some_labels_of_a_custom_resource(world, widget):
    operator_story(world, widget, "example.com", "widgets", lambda: world.admin("GET", widget), True)


@story.chapter
def an_operator_owns_some_labels_of_a_deployment(world, deployment):
    operator_story(world, deployment, "apps", "deployments", lambda: world.admin("GET", deployment), False)
    status, answer = world.send("operator", "PATCH", deployment, {"metadata": {"labels": {"super.safe.com/s": "1"}}}, STRATEGIC)
    expect(status == 200, f"strategic merge patch: {status} {answer}")
    world.refused(world.send("operator", "PATCH", deployment, {"spec": {"template": {"metadata": {"labels": {"super.safe.com/s": "1"}}}}}, STRATEGIC),
                  "field spec.template.metadata.labels.super.safe.com/s", "granular:specification")
    # A scale is one field of the object.
    world.allow("labeller", "apps", ["deployments/scale"], ["granular", "granular:replicaCount"])
    status, answer = world.send("labeller", "PATCH", deployment + "/scale", {"spec": {"replicas": 2}}, MERGE)
    expect(status == 200, f"scale: {status} {answer}")
    world.refused(world.send("operator", "PATCH", deployment + "/scale", {"spec": {"replicas": 3}}, MERGE), "cannot patch resource")


@story.chapter(needs=["an_operator_owns_some_labels_of_a_custom_resource"])
def what_a_refusal_says(world, widget):
    body = world.refused(world.send("operator", "PATCH", widget, {"metadata": {"labels": {"app": "z"}}}, MERGE))
    expect(body["message"] == 'widgets.example.com "w" is forbidden: User "operator" cannot granular:label(app) resource "widgets" in API group "example.com" '
           'in the namespace "default": field metadata.labels.app: not covered by granular:metadata, granular:labels, granular:label(app)', body["message"])
    cause = body["details"]["causes"][0]
    expect(cause["field"] == "metadata.labels.app" and '"granular:label(app)"' in cause["message"], f"{cause}")
    # Without `granular` the refusal has the ordinary words.
    body = world.refused(world.send("nobody", "PATCH", widget, {"metadata": {"labels": {"app": "z"}}}, MERGE))
    expect(body["message"] == 'widgets.example.com "w" is forbidden: User "nobody" cannot patch resource "widgets" in API group "example.com" in the namespace "default"', body["message"])
    # And it is sent before the body arrives.
    with socket.create_connection(("127.0.0.1", world.server.port), 60) as plain, world.context.wrap_socket(plain, server_hostname="127.0.0.1") as raw:
        raw.sendall((f"PATCH {widget} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer nobody-token\r\nContent-Type: {MERGE}\r\nContent-Length: 3000000\r\n\r\n").encode())
        expect(raw.recv(100).startswith(b"HTTP/1.1 403"), "the body of a request was waited for that is refused whatever it says")
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {
        "namespace": "default", "verb": "granular:label(super.safe.com)", "group": "example.com", "resource": "widgets"}}}
    for user, allowed in (("operator", True), ("nobody", False)):
        _, answer = world.send(user, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
        expect(answer["status"]["allowed"] == allowed, f"review of {user}: {answer}")
    # A user who may impersonate another user may change the fields that the other may change.
    headers = {"Impersonate-User": "operator"}
    status, _ = world.send(None, "PATCH", widget, {"metadata": {"labels": {"super.safe.com/i": "1"}}}, MERGE, headers)
    expect(status == 200, f"as the operator: {status}")
    world.refused(world.send(None, "PATCH", widget, {"metadata": {"labels": {"app": "z"}}}, MERGE, headers), "granular:label(app)")
    # A user cannot grant a verb that they do not have.
    world.allow("operator", "rbac.authorization.k8s.io", ["roles"], ["create"])
    role = {"metadata": {"name": "r"}, "rules": [{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["granular:label(super.safe.com)"]}]}
    status, answer = world.send("operator", "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", role)
    expect(status == 201, f"a verb that it has: {status} {answer}")
    role = {"metadata": {"name": "r2"}, "rules": [{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["granular:label(app)"]}]}
    world.refused(world.send("operator", "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", role), "granular:label(app)")
    # A user who may write parts of an object but not read it sees its identity, and the fields that they sent.
    world.allow("blind", "example.com", ["widgets"], ["granular", "granular:labels"])
    status, answer = world.send("blind", "PATCH", widget, {}, MERGE)
    expect(status == 200 and answer["kind"] == "Widget" and set(answer) == {"kind", "apiVersion", "metadata"}, f"blind: {status} {answer}")
    world.admin("PATCH", widget, {"data": {"k": "hidden-4711"}}, MERGE)
    for patch, kind in (({"metadata": {"labels": "x"}}, MERGE), ([{"op": "replace", "path": "/spec", "value": "x"}], OPS), ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, MERGE)):
        status, answer = world.send("blind", "PATCH", widget, patch, kind)
        expect(status in (200, 400, 403, 422) and "hidden-4711" not in json.dumps(answer), f"blind reads: {status} {answer}")
    expect("deletionTimestamp" not in world.admin("GET", widget)["metadata"], "who may write labels has deleted it")


@story.chapter(needs=["an_operator_owns_some_labels_of_a_custom_resource"])
def what_the_audit_log_says(world, widget):
    world.refused(world.send("operator", "PATCH", widget + "?fieldManager=audited", {"metadata": {"labels": {"super.safe.com/audit": "1", "zone": "z"}}}, MERGE))

    def annotations():
        with open(world.audit_log) as log:
            events = [json.loads(line) for line in log if "fieldManager=audited" in line]
        return events and events[-1].get("annotations")
    found = eventually("the audit log tells of it", annotations)
    prefix = "granular.authorization.k8s.io/"
    expect(found.get(prefix + "marker") == "granular" and found.get(prefix + "denied-field") == "metadata.labels.zone", f"{found}")
    expect(found["authorization.k8s.io/decision"] == "forbid" and "field metadata.labels.zone: not covered by" in found["authorization.k8s.io/reason"], f"{found}")
    expect(found.get(prefix + "checks") == "granular:metadata-,granular:labels-,granular:label(super.safe.com)+,granular:label(zone)-", f"{found}")
    # Each decision is counted, with the verbs that were asked. A change may be judged more than once, before and after admission.
    names = ['cardea_field_permission_results_total{result="covered"}', 'cardea_field_permission_results_total{result="refused"}',
             "cardea_field_permission_checks_count", "cardea_field_permission_checks_sum"]
    for label, status in (("super.safe.com/counted", 200), ("zone", 403)):
        before = [world.metric(name) for name in names]
        expect(world.send("operator", "PATCH", widget, {"metadata": {"labels": {label: "1"}}}, MERGE)[0] == status, label)
        covered, refused, judged, asked = [world.metric(name) - old for name, old in zip(names, before)]
        expect((covered > 0, refused) == (status == 200, 0 if status == 200 else 1), f"{label}: {covered} covered, {refused} refused")
        expect(judged == covered + refused and asked == 3 * judged, f"{label}: {asked} verbs in {judged} decisions")


@story.chapter(needs=["an_operator_owns_some_labels_of_a_custom_resource"])
def bad_input(world, widget):
    for key in ("a),granular:labels", 'q"uote', "new\nline", "x" * 10240, "granular:label(super.safe.com)", "super.safe.com)/a", "é/a", "/a"):
        status, answer = world.send("operator", "PATCH", widget, {"metadata": {"labels": {key: "1"}}}, MERGE)
        expect(status == 403, f"{key[:40]!r}: {status} {answer}")
        expect(len(answer["message"]) < 2000, f"{key[:40]!r}: a message of {len(answer['message'])} characters")
    checks = world.metric("cardea_field_permission_checks_sum")
    body = world.refused(world.send("operator", "PATCH", widget, {"metadata": {"annotations": {f"p{i:05}/a": "1" for i in range(10000)}}}, MERGE))
    expect("granular:annotation(p00000)" in body["message"], body["message"])
    world.allow("star", "example.com", ["widgets"], ["granular", *(f"granular:annotation(p{i:05})" for i in range(200))])
    world.refused(world.send("star", "PATCH", widget, {"metadata": {"annotations": {f"p{i:05}/a": "1" for i in range(10000)}}}, MERGE),
                  "too many field permissions required")
    expect(world.metric("cardea_field_permission_checks_sum") - checks <= 110, "more verbs were asked than there may be")
    for tags, part in (({"x-kubernetes-permission-verb": "Thing"}, "lowerCamelCase"), ({"x-kubernetes-permission-verb": "mine"}, "must have a prefix"),
                       ({"x-kubernetes-permission-excluded": True}, "x-kubernetes-permission-verb: Required value"),
                       ({"x-kubernetes-permission-verb": "a.b/c", "x-kubernetes-permission-parameter": "mapKey"}, "additionalProperties of a map")):
        crd = copy.deepcopy(WIDGETS)
        crd["metadata"]["name"], crd["spec"]["names"] = "gadgets.example.com", {"plural": "gadgets", "kind": "Gadget"}
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["data"].update(tags)
        status, answer = world.send(None, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
        expect(status == 422 and part in answer["message"], f"{tags}: {status} {answer}")


@story.chapter
def a_new_field_is_for_nobody(world, widget):
    """A new field that even users who may update everything may not set."""
    widgets = "/apis/example.com/v1/namespaces/default/widgets"
    full = ["create", "get", "list", "patch", "update"]
    world.allow("editor", "example.com", ["widgets", "widgets/status"], full)
    world.allow("admin2", "example.com", ["widgets"], [*full, "granular:example.com/selfDestruct"])
    world.allow("star", "example.com", ["widgets/status"], ["*"])
    status, answer = world.send("editor", "PATCH", widget, {"spec": {"size": 5}, "data": {"k": "e"}}, MERGE)
    expect(status == 200, f"the editor edits: {status} {answer}")
    for name, request in ways(widget, {"spec": {"selfDestruct": True}}, lambda: world.admin("GET", widget)):
        body = world.refused(world.send("editor", *request), "field spec.selfDestruct", "granular:example.com/selfDestruct")
    config = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"selfDestruct": True}}
    world.refused(world.send("editor", "PATCH", widget + "?fieldManager=e", config, APPLY), "field spec.selfDestruct")
    world.refused(world.send("editor", "POST", widgets, {**config, "metadata": {"name": "w2"}}), "field spec.selfDestruct")
    world.refused(world.send("editor", "PATCH", widgets + "/w3?fieldManager=e", {**config, "metadata": {"name": "w3"}}, APPLY), "field spec.selfDestruct")
    status, _ = world.send("editor", "POST", widgets, {**config, "metadata": {"name": "w2"}, "spec": {"size": 1}})
    expect(status == 201, "what is not excluded is created as ever")
    status, answer = world.send("admin2", "PATCH", widget, {"spec": {"selfDestruct": True}}, MERGE)
    expect(status == 200, f"granted by name: {status} {answer}")
    world.refused(world.send("editor", "PATCH", widget, {"spec": {"selfDestruct": None}}, MERGE), "field spec.selfDestruct")
    status, answer = world.send("editor", "PATCH", widget, {"spec": {"size": 6}}, MERGE)
    expect(status == 200 and answer["spec"]["selfDestruct"] is True, f"beside it: {status} {answer}")
    # A policy that changes objects of other users cannot set it.
    world.admin("POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", {
        "metadata": {"name": "smuggler"}, "spec": {
            "matchConstraints": {"resourceRules": [{"apiGroups": ["example.com"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["widgets"]}]},
            "matchConditions": [{"name": "asked", "expression": "has(object.data) && 'boom' in object.data"}],
            "failurePolicy": "Fail", "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": '[JSONPatch{op: "add", path: "/spec/selfDestruct", value: true}]'}}]}})
    world.admin("POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", {"metadata": {"name": "smuggler"}, "spec": {"policyName": "smuggler"}})
    body = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w4"}, "spec": {"size": 1}, "data": {"boom": "1"}}
    world.refused(world.send("editor", "POST", widgets, body), "field spec.selfDestruct", "granular:example.com/selfDestruct")
    world.refused(world.send("editor", "PATCH", widgets + "/w2", {"data": {"boom": "1"}}, MERGE), "field spec.selfDestruct")
    status, answer = world.send("admin2", "POST", widgets, body)
    expect(status == 201 and answer["spec"]["selfDestruct"] is True, f"who may, may through a policy too: {status} {answer}")
    world.admin("DELETE", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/smuggler")
    # A webhook cannot set it either.
    with Hooks(tempfile.mkdtemp(prefix="cardea-hook-")) as hooks:
        patch = [{"op": "add", "path": "/spec/selfDestruct", "value": True}]
        hooks.answers["/smuggle"] = lambda review: hooks.review(review, allowed=True, patch=patch)
        world.admin("POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", {"metadata": {"name": "smuggler"}, "webhooks": [{
            "name": "smuggler.example.com", "clientConfig": hooks.at("/smuggle"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "rules": [{"apiGroups": ["example.com"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["widgets"]}]}]})
        body = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w5"}, "spec": {"size": 1}}
        eventually("the webhook is asked", lambda: hooks.take() or world.send(None, "POST", widgets + "?dryRun=All", body)[0] == 0)
        world.refused(world.send("editor", "POST", widgets, body), "field spec.selfDestruct", "granular:example.com/selfDestruct")
        world.refused(world.send("editor", "PATCH", widgets + "/w2", {"data": {"a": "1"}}, MERGE), "field spec.selfDestruct")
        status, answer = world.send("admin2", "POST", widgets, body)
        expect(status == 201 and answer["spec"]["selfDestruct"] is True, f"who may, may through a webhook too: {status} {answer}")
        world.admin("DELETE", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/smuggler")


@story.chapter
def other_versions(world):
    """Fields that one version has and another one has not, and the scale of a custom resource."""
    crd = copy.deepcopy(WIDGETS)
    crd["metadata"]["name"], crd["spec"]["names"] = "gizmos.example.com", {"plural": "gizmos", "kind": "Gizmo"}
    first = crd["spec"]["versions"][0]
    first["subresources"]["scale"] = {"specReplicasPath": ".spec.count", "statusReplicasPath": ".status.count"}
    first["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["count"] = {
        "type": "integer", "x-kubernetes-permission-verb": "example.com/count", "x-kubernetes-permission-excluded": True}
    second = copy.deepcopy(first)
    second.update({"name": "v2", "storage": False, "subresources": {}})
    for name in ("selfDestruct", "count"):
        del second["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][name]
    third = copy.deepcopy(first)  # has the field, without permissions on it
    third.update({"name": "v3", "storage": False, "subresources": {}})
    third["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["count"] = {"type": "integer"}
    crd["spec"]["versions"] += [second, third]
    status, headers, answer = world.server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
    expect(status == 201 and "differ in the permissions on their fields" in headers.get("Warning", ""), f"{status} {headers.get('Warning')} {answer}")
    v1, v2, v3 = ("/apis/example.com/%s/namespaces/default/gizmos" % v for v in ("v1", "v2", "v3"))
    eventually("gizmos are served", lambda: world.send(None, "GET", v2)[0] == 200)
    world.admin("POST", v1, {"apiVersion": "example.com/v1", "kind": "Gizmo", "metadata": {"name": "g"}, "spec": {"size": 1, "selfDestruct": True, "count": 1}})
    world.allow("editor", "example.com", ["gizmos", "gizmos/scale"], ["get", "patch", "update"])
    world.allow("maker", "example.com", ["gizmos"], ["create", "get", "patch", "update"])
    made = {"apiVersion": "example.com/v3", "kind": "Gizmo", "metadata": {"name": "h"}, "spec": {"size": 1, "count": 1}}
    for way in (("POST", v3, made), ("PATCH", v3 + "/h?fieldManager=m", made, APPLY)):
        world.refused(world.send("maker", *way), "field spec.count", "granular:example.com/count")
    del made["spec"]["count"]
    status, answer = world.send("maker", "POST", v3, made)
    expect(status == 201, f"without the field: {status} {answer}")
    world.refused(world.send("maker", "PATCH", v3 + "/h", {"spec": {"count": 1}}, MERGE), "field spec.count")
    other = world.admin("GET", v2 + "/g")
    expect("selfDestruct" not in other["spec"], "v2 has no such field")
    other["spec"]["size"] = 2
    world.refused(world.send("editor", "PUT", v2 + "/g", other), "field spec.count", "granular:example.com/count")
    world.refused(world.send("editor", "PATCH", v1 + "/g/scale", {"spec": {"replicas": 4}}, MERGE), "field spec.count", "gizmos/scale")
    world.allow("labeller", "example.com", ["gizmos/scale"], ["granular", "granular:replicaCount"])
    world.refused(world.send("labeller", "PATCH", v1 + "/g/scale", {"spec": {"replicas": 4}}, MERGE), "field spec.count")
    world.allow("star", "example.com", ["gizmos/scale"], ["granular", "granular:replicaCount", "granular:example.com/count"])
    status, answer = world.send("star", "PATCH", v1 + "/g/scale", {"spec": {"replicas": 4}}, MERGE)
    expect(status == 200 and world.admin("GET", v1 + "/g")["spec"]["count"] == 4, f"{status} {answer}")
    # The stored version counts even if it is not served.
    stored = world.admin("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gizmos.example.com")
    stored["spec"]["versions"][0]["served"] = False
    world.admin("PUT", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gizmos.example.com", stored)
    eventually("v1 is gone", lambda: world.send(None, "GET", v1)[0] == 404)
    other = world.admin("GET", v2 + "/g")
    other["apiVersion"], other["spec"] = "example.com/v2", {"size": 3}
    world.refused(world.send("editor", "PUT", v2 + "/g", other), "granular:example.com/")


@story.chapter
def builtins(world):
    """The same on built-in kinds."""
    world.allow("editor", "", ["namespaces", "pods", "pods/binding", "bindings", "configmaps"], ["create", "get", "patch", "update"])
    compared = world.metric("cardea_field_comparisons_total")
    world.send("editor", "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "m"}, "data": {"a": "1"}})
    status, _ = world.send("editor", "PATCH", "/api/v1/namespaces/default/configmaps/m", {"data": {"a": "2"}}, MERGE)
    expect(status == 200 and world.metric("cardea_field_comparisons_total") == compared, "fields were compared for somebody who may change all of them")
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    world.admin("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}}, want=(201, 409))
    for name in ("p", "q"):
        world.admin("POST", "/api/v1/namespaces/default/pods", {**pod, "metadata": {"name": name}})
    status, _, answer = world.server.request("POST", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets", {
        "metadata": {"name": "guarded"}, "spec": {"uncoveredPermissions": ["granular:label(pod-security.kubernetes.io)", "granular:nodeAssignment"]}})
    expect(status == 201, f"UncoveredPermissionSet: {status} {answer}")
    space = "/api/v1/namespaces/default"
    status, _ = world.send("editor", "PATCH", space, {"metadata": {"labels": {"team": "a"}}}, MERGE)
    expect(status == 200, "other labels are as free as they were")
    world.refused(world.send("editor", "PATCH", space, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}, MERGE),
                  "field metadata.labels.pod-security.kubernetes.io/enforce", "granular:label(pod-security.kubernetes.io)")
    world.refused(world.send("editor", "POST", "/api/v1/namespaces", {"metadata": {"name": "n", "labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}),
                  "granular:label(pod-security.kubernetes.io)")
    status, answer = world.send("editor", "POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    expect(status == 201, f"a namespace without: {status} {answer}")
    placed = copy.deepcopy(pod)
    placed["metadata"]["name"], placed["spec"]["nodeName"] = "r", "node-1"
    world.refused(world.send("editor", "POST", "/api/v1/namespaces/default/pods", placed), "field spec.nodeName", "granular:nodeAssignment")
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "node-1"}}
    world.refused(world.send("editor", "POST", "/api/v1/namespaces/default/pods/p/binding", binding), "field spec.nodeName", "pods/binding")
    world.refused(world.send("editor", "POST", "/api/v1/namespaces/default/bindings", binding), "field spec.nodeName")
    expect("nodeName" not in world.admin("GET", "/api/v1/namespaces/default/pods/p")["spec"], "the pod was bound")
    world.allow("editor", "", ["pods/binding", "namespaces/x"], ["granular:nodeAssignment"])
    status, answer = world.send("editor", "POST", "/api/v1/namespaces/default/pods/p/binding", binding)
    expect(status == 201, f"a scheduler that has it: {status} {answer}")
    # A verb that no schema produces would protect nothing.
    for verb in ("granular:noSuchThing", "granular:labels(x)", "granular:label"):
        status, _, answer = world.server.request("POST", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets", {
            "metadata": {"name": "odd"}, "spec": {"uncoveredPermissions": ["granular:labels", verb]}})
        expect(status == 422 and "spec.uncoveredPermissions[1]" in answer["message"] and "no kind has this permission" in answer["message"], f"{status} {answer}")
    status, _, answer = world.server.request("POST", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets", {
        "metadata": {"name": "wrong"}, "spec": {"uncoveredPermissions": ["label(x)", "granular:label(a b)", "granular:label(x"]}})
    expect(status == 422 and answer["message"].count("must be the verb of a field permission") == 3, f"{status} {answer}")
    world.admin("DELETE", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets/guarded")
    # One key, and the others of its prefix are free.
    world.admin("POST", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets", {
        "metadata": {"name": "one-key"}, "spec": {"uncoveredPermissions": ["granular:label(pod-security.kubernetes.io/enforce)"]}})
    status, answer = world.send("editor", "PATCH", space, {"metadata": {"labels": {"pod-security.kubernetes.io/warn": "baseline"}}}, MERGE)
    expect(status == 200, f"another key: {status} {answer}")
    enforce = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}
    world.refused(world.send("editor", "PATCH", space, enforce, MERGE), "needs granular:label(pod-security.kubernetes.io/enforce) itself")
    world.refused(world.send("editor", "POST", "/api/v1/namespaces", {"metadata": {"name": "n2", **enforce["metadata"]}}), "granular:label(pod-security.kubernetes.io/enforce)")
    # Who goes on by single permissions does not hold the verb, and is not told that they need it.
    world.allow("labeller", "", ["namespaces"], ["get", "granular", "granular:labels"])
    for user, text in (("editor", ' is needed besides "patch"'), ("labeller", " is needed")):
        _, answer = world.send(user, "PATCH", space, enforce, MERGE)
        expect(answer["details"]["causes"][0]["message"] == 'the verb "granular:label(pod-security.kubernetes.io/enforce)"' + text, answer)
    world.allow("editor", "", ["namespaces", "namespaces/prefix"], ["granular:label(pod-security.kubernetes.io)"])
    world.refused(world.send("editor", "PATCH", space, enforce, MERGE), "granular:label(pod-security.kubernetes.io/enforce)")
    world.allow("editor", "", ["namespaces", "namespaces/key"], ["granular:label(pod-security.kubernetes.io/enforce)"])
    status, answer = world.send("editor", "PATCH", space, enforce, MERGE)
    expect(status == 200, f"with the permission itself: {status} {answer}")
    world.admin("PATCH", space, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": None, "pod-security.kubernetes.io/warn": None}}}, MERGE)
    world.admin("DELETE", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets/one-key")
    status, _ = world.send("editor", "PATCH", space, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}, MERGE)
    expect(status == 200, "without the set the label is one like any other")


@story.chapter
def an_apply_takes_only_what_one_may_write(world):
    """An apply that repeats values does not make its sender the owner of fields that the sender may not write, nor takes them from others."""
    path = "/api/v1/namespaces/default/configmaps/owned"
    world.admin("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "owned"}, "data": {"made": "1"}})

    def config(data=None, **metadata):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", **metadata}, **({"data": data} if data else {})}

    def apply(user, manager, body):
        return world.send(user, "PATCH", f"{path}?fieldManager={manager}&force=true", body, APPLY)

    def owned(manager):
        entries = [m for m in world.admin("GET", path)["metadata"]["managedFields"] if m["manager"] == manager and m["operation"] == "Apply"]
        return entries[0]["fieldsV1"] if entries else {}

    for manager in ("boss", "deputy"):
        expect(apply(None, manager, config({"a": "1", "b": "1"}, annotations={"k": "v"}))[0] == 200, manager)
    bossy = owned("boss")
    world.allow("maker", "", ["configmaps"], ["get", "granular", "granular:label(mine)"])
    # Its own label, and values as they are.
    status, answer = apply("maker", "maker", config({"a": "1", "made": "1"}, annotations={"k": "v"}, labels={"mine": "1"}))
    expect(status == 200, f"{status} {answer}")
    expect(owned("maker") == {"f:metadata": {"f:labels": {"f:mine": {}}}}, f"maker owns {owned('maker')}")
    # As the boss, without what the boss applied: the deputy still owns it, so that no value changes.
    status, answer = apply("maker", "boss", config(labels={"mine": "1"}))
    expect(status == 200, f"{status} {answer}")
    expect(owned("boss") == {**bossy, "f:metadata": {**bossy["f:metadata"], "f:labels": {"f:mine": {}}}}, f"the boss owns {owned('boss')}")
    expect(owned("deputy") == bossy, f"the deputy owns {owned('deputy')}")
    world.refused(apply("maker", "boss", config({"a": "2"}, labels={"mine": "1"})), "field data.a")
    # With the permission it is as ever.
    world.allow("maker", "", ["configmaps", "configmaps/x"], ["granular:data"])
    expect(apply("maker", "maker", config({"a": "1"}, labels={"mine": "1"}))[0] == 200, "an apply")
    expect(owned("maker") == {"f:data": {"f:a": {}}, "f:metadata": {"f:labels": {"f:mine": {}}}}, f"maker owns {owned('maker')}")


@story.chapter
def documented(world, deployment):
    """The example of the page, word by word."""
    page = open(os.path.join(os.path.dirname(__file__), "../../docs/field-permissions.md")).read()
    blocks = [b for b in re.findall(r"```json\n(.*?)```", page, re.S) if '"PermissionMap"' not in b]  # permission_maps.py has that one
    expect(len(blocks) == 3, f"{len(blocks)} examples")
    role, refusal, uncovered = map(json.loads, blocks)
    role["metadata"]["name"] = "documented"
    world.admin("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", role)
    world.admin("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        "metadata": {"name": "documented"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "documented"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "labeller"}]})
    status, answer = world.send("labeller", "PATCH", deployment, {"metadata": {"labels": {"super.safe.com/doc": "1"}}}, MERGE)
    expect(status == 200, f"{status} {answer}")
    _, answer = world.send("labeller", "PATCH", deployment, {"metadata": {"labels": {"app": "other"}}}, MERGE)
    expect(answer == refusal, f"{json.dumps(answer, indent=2)}")
    world.admin("POST", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets", uncovered)
    world.admin("DELETE", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets/" + uncovered["metadata"]["name"])


@story.chapter
def subresources(world, deployment):
    """A request that writes the object under another name does not bypass an excluded permission."""
    core, apps, csrs = "/api/v1/namespaces/default", deployment, "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    every = ["create", "get", "patch", "update"]
    world.allow("admin2", "", ["nodes/status", "namespaces/status", "namespaces/finalize", "pods/status", "pods/ephemeralcontainers", "pods/resize", "pods/binding", "bindings",
                               "pods/eviction", "serviceaccounts/token"], every)
    world.allow("admin2", "apps", ["deployments/scale", "deployments/status"], every)
    world.allow("admin2", "storage.k8s.io", ["volumeattachments/status"], every)
    world.allow("admin2", "certificates.k8s.io", ["certificatesigningrequests/approval", "certificatesigningrequests/status"], every)
    world.admin("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {"metadata": {"name": "approver"}, "rules": [
        {"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "verbs": ["approve", "sign"]}]})
    world.admin("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        "metadata": {"name": "approver"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "approver"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "admin2"}]})
    world.admin("POST", "/api/v1/nodes", {"metadata": {"name": "node-9"}})
    world.admin("POST", "/api/v1/namespaces", {"metadata": {"name": "sub"}})
    world.admin("POST", core + "/pods", {"metadata": {"name": "sub"}, "spec": {"containers": [
        {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}]}})
    world.admin("POST", "/apis/storage.k8s.io/v1/volumeattachments", {"metadata": {"name": "sub"}, "spec": {
        "attacher": "a.io", "nodeName": "node-9", "source": {"persistentVolumeName": "pv"}}})
    folder = tempfile.mkdtemp(prefix="cardea-csr-")
    subprocess.run(["openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{folder}/key", "-out", f"{folder}/csr", "-subj", "/CN=sub"], check=True, capture_output=True)
    with open(f"{folder}/csr", "rb") as file:
        world.admin("POST", csrs, {"metadata": {"name": "sub"}, "spec": {"request": base64.b64encode(file.read()).decode(), "signerName": "example.com/s", "usages": ["client auth"]}})
    world.admin("POST", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets", {"metadata": {"name": "subresources"}, "spec": {"uncoveredPermissions": [
        "granular:label(guard.io)", "granular:specification", "granular:replicaCount", "granular:computeResources", "granular:condition(Approved)", "granular:condition(Failed)",
        "granular:condition(Odd)"]}})
    label = {"metadata": {"labels": {"guard.io/x": "1"}}}
    odd = {"status": {"conditions": [{"type": "Odd", "status": "True"}]}}
    for path, patch, field in (
            ("/api/v1/nodes/node-9/status", label, "metadata.labels.guard.io/x"),
            ("/api/v1/nodes/node-9/status", odd, 'status.conditions[type="Odd"]'),
            ("/api/v1/namespaces/sub/status", label, "metadata.labels.guard.io/x"),
            (core + "/pods/sub/status", label, "metadata.labels.guard.io/x"),
            (core + "/pods/sub/ephemeralcontainers", {"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}}, 'spec.ephemeralContainers[name="e"]'),
            (core + "/pods/sub/resize", {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "3"}}}]}}, 'spec.containers[name="c"].resources.limits.cpu'),
            (apps + "/scale", {"spec": {"replicas": 7}}, "spec.replicas"),
            (apps + "/status", odd, 'status.conditions[type="Odd"]'),
            (csrs + "/sub/approval", {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}, 'status.conditions[type="Approved"]'),
            (csrs + "/sub/status", {"status": {"conditions": [{"type": "Failed", "status": "True"}]}}, 'status.conditions[type="Failed"]')):
        own = path.rsplit("/", 1)[0]
        before = world.admin("GET", own)
        world.refused(world.send("admin2", "PATCH", path, patch, MERGE if "certificates" in path or path.endswith("/scale") else STRATEGIC), f"field {field}", "itself, which no other permission implies")
        expect(world.admin("GET", own) == before, f"{path} changed the object")
    space = world.admin("GET", "/api/v1/namespaces/sub")
    space["spec"]["finalizers"] = ["example.com/f"]
    world.refused(world.send("admin2", "PUT", "/api/v1/namespaces/sub/finalize", space), "field spec.finalizers", "granular:specification")
    # Fields that a write of the status does not write are restored, not judged.
    status, answer = world.send("admin2", "PATCH", "/apis/storage.k8s.io/v1/volumeattachments/sub/status", {**label, "status": {"attached": True}}, MERGE)
    expect(status == 200 and answer["status"]["attached"] and "labels" not in answer["metadata"], f"{status} {answer}")
    # A binding adds labels to the pod, under both of its names.
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "sub", **label["metadata"]}, "target": {"kind": "Node", "name": "node-9"}}
    world.allow("star", "", ["bindings"], ["create"])
    world.allow("star", "", ["pods/binding"], ["granular:specification"])
    for user, path in (("admin2", "/pods/sub/binding"), ("admin2", "/bindings"), ("star", "/bindings")):
        world.refused(world.send(user, "POST", core + path, binding), "field metadata.labels.guard.io/x", '"pods/binding"')
    del binding["metadata"]["labels"]
    status, answer = world.send("admin2", "POST", core + "/pods/sub/binding", {**binding, "metadata": {}})
    expect(status == 400 and "name in URL does not match" in answer["message"], f"a binding of nobody: {status} {answer}")
    world.refused(world.send("admin2", "POST", core + "/bindings", binding), "field spec.nodeName", "granular:specification")
    status, answer = world.send("star", "POST", core + "/bindings", binding)
    expect(status == 201, f"a binding with the permission: {status} {answer}")
    # Requests that write no fields are as before.
    status, answer = world.send("admin2", "POST", core + "/serviceaccounts/default/token", {"spec": {}})
    expect(status == 201, f"a token: {status} {answer}")
    status, answer = world.send("admin2", "POST", core + "/pods/sub/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "sub"}})
    expect(status == 201, f"an eviction: {status} {answer}")
    world.admin("DELETE", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets/subresources")


@story.chapter(needs=["an_operator_owns_some_labels_of_a_custom_resource", "an_operator_owns_some_labels_of_a_deployment"])
def gate_off(world, tokens):
    """A server without the feature does not serve excluded fields, because it would not guard them."""
    world.server.stop()
    try:
        with Cardea("--token-auth-file", tokens, "--feature-gates=FineGrainedAuthorization=false", data_dir=world.server.data_dir) as server:
            bare = World(server)
            expect(bare.send(None, "GET", "/apis/example.com/v1/namespaces/default/widgets/w")[0] == 404, "a version with an excluded field is served")
            definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
            told = eventually("the definition says why", lambda: [
                c for c in bare.admin("GET", definition)["status"]["conditions"] if c["type"] == "PermissionsGuarded" and c["status"] == "False"])
            expect(told[0]["reason"] == "FineGrainedAuthorizationOff" and "not served: " in told[0]["message"], told)
            expect(bare.send(None, "GET", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets")[0] == 404, "sets are served that nobody follows")
            expect("x-kubernetes-permissions" not in json.dumps(bare.admin("GET", "/openapi/v3/api/v1")), "OpenAPI shows permissions that nobody follows")
            bare.refused(bare.send("operator", "PATCH", "/apis/apps/v1/namespaces/default/deployments/d", {"metadata": {"labels": {"super.safe.com/a": "1"}}}, MERGE),
                          "cannot patch resource")
    finally:
        world.server.start()
    eventually("the versions are served again, and nothing is left to say", lambda: not [
        c for c in world.admin("GET", definition)["status"]["conditions"] if c["type"] == "PermissionsGuarded"])


@story.shared
def folder():
    with tempfile.TemporaryDirectory(prefix="cardea-fields-") as folder:
        yield folder


@story.shared
def tokens(folder):
    tokens = os.path.join(folder, "users.csv")
    with open(tokens, "w") as f:
        f.write(USERS)
    return tokens


@story.shared
def world(folder, tokens):
    policy, log = os.path.join(folder, "policy.yaml"), os.path.join(folder, "audit.log")
    with open(policy, "w") as f:
        f.write("apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata, users: [operator]}, {level: None}]\n")
    with Cardea("--token-auth-file", tokens, "--audit-policy-file", policy, "--audit-log-path", log, data_dir=os.path.join(folder, "data")) as server:
        world = World(server)
        world.audit_log = log
        yield world


if __name__ == "__main__":
    story.main()
