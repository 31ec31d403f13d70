"""PermissionMaps: administrators add permissions to fields of kinds that they did not write.

A map lets an operator cordon nodes, and nothing else of them. Other maps are about custom resources, which come and go. A writer of
maps gives away no more than what they hold. The example comes from docs/field-permissions.md.
"""
import json
import os
import re
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request

from server import Cardea, binary, eventually, expect
from story import Story

story = Story("permission_maps")

MERGE = "application/merge-patch+json"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
MAPS = "/apis/access.cardea.dev/v1alpha1/permissionmaps"
SETS = "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GADGETS = "/apis/example.com/v1/gadgets"
USERS = ("cordoner", "mapper", "nodes", "gadgeteer", "plain")


def definition(spec, tags=None):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "gadgets.example.com"},
            "spec": {"group": "example.com", "scope": "Cluster", "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {
                         "type": "object", "properties": {
                             "spec": {"type": "object", **(tags or {}), "properties": spec},
                             "status": {"type": "object", "properties": {"conditions": {
                                 "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                                 "items": {"type": "object", "required": ["type"], "properties": {
                                     "type": {"type": "string"}, "status": {"type": "string"}}}}}}}}}}]}}


SPEC = {"power": {"type": "string", "description": "On or off."}, "size": {"type": "integer"},
        "slots": {"type": "object", "additionalProperties": {"type": "object", "properties": {"on": {"type": "boolean"}}}}}


def a_map(name, group, resource, permissions):
    return {"metadata": {"name": name}, "spec": {"group": group, "resource": resource, "permissions": permissions}}


class World:
    def __init__(self, server):
        self.server = server
        self.context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))

    def admin(self, method, path, body=None, kind="application/json", want=(200, 201)):
        status, _, answer = self.server.request(method, path, body, {"Content-Type": kind})
        expect(status in want, f"{method} {path}: {status} {answer}")
        return answer

    def send(self, user, method, path, body=None, kind=MERGE):
        request = urllib.request.Request(self.server.base + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": f"Bearer {user}-token", "Content-Type": kind})
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def allowed(self, *request):
        status, answer = self.send(*request)
        expect(status in (200, 201), f"{request}: {status} {answer}")
        return answer

    def refused(self, code, parts, *request):
        status, answer = self.send(*request)
        expect(status == code, f"{request}: expected {code}, got {status} {answer}")
        for part in parts:
            expect(part in answer["message"], f"expected {part!r} in {answer['message']!r}")
        return answer

    def allow(self, user, *rules):
        name = f"{user}-{len(self.admin('GET', RBAC + '/clusterroles')['items'])}"
        self.admin("POST", RBAC + "/clusterroles", {
            "metadata": {"name": name}, "rules": [{"apiGroups": [g], "resources": r, "verbs": v} for g, r, v in rules]})
        self.admin("POST", RBAC + "/clusterrolebindings", {
            "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]})


def run(*words):
    done = subprocess.run([binary(), *words], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


@story.chapter
def an_operator_may_cordon_nodes_and_nothing_else(world):
    page = open(os.path.join(os.path.dirname(__file__), "../../docs/field-permissions.md")).read()
    blocks = [json.loads(b) for b in re.findall(r"```json\n(.*?)```", page, re.S) if '"PermissionMap"' in b]
    expect(len(blocks) == 1, f"the page has {len(blocks)} maps")
    world.admin("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    world.allow("cordoner", ("", ["nodes"], ["get", "granular", "granular:cordon"]))
    world.refused(403, ["field spec.unschedulable", "granular:specification"], "cordoner", "PATCH", "/api/v1/nodes/n", {"spec": {"unschedulable": True}})
    world.admin("POST", MAPS, blocks[0])
    node = world.allowed("cordoner", "PATCH", "/api/v1/nodes/n", {"spec": {"unschedulable": True}})
    expect(node["spec"]["unschedulable"], node)
    world.refused(403, ["field spec.podCIDR"], "cordoner", "PATCH", "/api/v1/nodes/n", {"spec": {"unschedulable": False, "podCIDR": "10.0.0.0/24"}})
    world.refused(403, ["field metadata.labels.a"], "cordoner", "PATCH", "/api/v1/nodes/n", {"metadata": {"labels": {"a": "b"}}})
    world.allowed("cordoner", "PATCH", "/api/v1/nodes/n", {"spec": {"unschedulable": False}})


@story.chapter(needs=["an_operator_may_cordon_nodes_and_nothing_else"])
def the_map_is_shown_where_people_look(world):
    kubeconfig = os.path.join(world.server.data_dir, "admin.kubeconfig")
    code, text = run("explain-permissions", "nodes", "--kubeconfig", kubeconfig)
    expect(code == 0 and "granular:cordon\n    fields      spec.unschedulable\n" in text and "added by the PermissionMap nodes" in text, text)
    code, text = run("explain-permissions", "nodes")
    expect(code == 0 and "granular:cordon" not in text, text)
    code, text = run("can-i", "patch", "nodes", "n", "--field", "spec.unschedulable", "--kubeconfig", kubeconfig, "--as", "cordoner")
    expect(code == 0 and text.startswith("yes"), text)
    said = "The permission `granular:cordon` covers it (PermissionMap `nodes`)."
    spec = world.admin("GET", "/openapi/v3/api/v1")["components"]["schemas"]["io.k8s.api.core.v1.NodeSpec"]["properties"]["unschedulable"]
    expect(spec["description"].endswith(said) and spec["x-kubernetes-permission-verb"] == "cordon", spec)
    expect(world.admin("GET", "/openapi/v2")["definitions"]["io.k8s.api.core.v1.NodeSpec"]["properties"]["unschedulable"]["description"].endswith(said), "OpenAPI 2")
    kubectl = os.environ.get("CARDEA_KUBECTL")
    if kubectl:
        done = subprocess.run([kubectl, "--kubeconfig", kubeconfig, "explain", "nodes.spec.unschedulable"], capture_output=True, text=True, timeout=60)
        expect("granular:cordon" in " ".join(done.stdout.split()), done.stdout + done.stderr)
        done = subprocess.run([kubectl, "--kubeconfig", kubeconfig, "get", "permissionmaps"], capture_output=True, text=True, timeout=60)
        expect(done.stdout.split("\n")[0].split() == ["NAME", "GROUP", "RESOURCE", "AGE"] and "nodes" in done.stdout, done.stdout + done.stderr)
    # A type that many kinds share: the kind itself says it.
    world.admin("POST", MAPS, a_map("images", "apps", "deployments", [{"field": "spec.template.spec.containers[*].image", "verb": "containerImage"}]))
    schemas = world.admin("GET", "/openapi/v3/apis/apps/v1")["components"]["schemas"]
    expect("granular:containerImage" in schemas["io.k8s.api.apps.v1.Deployment"]["description"], schemas["io.k8s.api.apps.v1.Deployment"])
    expect("granular:" not in json.dumps(schemas["io.k8s.api.core.v1.Container"]), "a type that other kinds use too")
    expect("granular:containerImage" not in json.dumps(schemas["io.k8s.api.apps.v1.DaemonSet"]), "another kind")


@story.chapter(needs=["an_operator_may_cordon_nodes_and_nothing_else"])
def a_map_that_does_not_fit_is_refused(world):
    cases = [("", "nodes", {"field": "spec.unscheduleable", "verb": "cordon"}, "spec.permissions[0].field", "`spec` has no field `unscheduleable`"),
             ("", "nodes", {"field": "spec", "verb": "cordon"}, "spec.permissions[0].field", "granular:specification guards it already"),
             ("", "nodes", {"field": "spec.unschedulable", "verb": "cordon"}, "spec.permissions[0].field", "guards it already, by the PermissionMap `nodes`"),
             ("", "nodes", {"field": "metadata.uid", "verb": "cordon"}, "spec.permissions[0].field", "must not be in the metadata"),
             ("", "nodes", {"field": "spec.podCIDRs[*]", "verb": "example.com/range", "parameter": "mapKey"}, "spec.permissions[0].parameter", "values of a map"),
             ("", "nodes", {"field": "status.images[*].names", "verb": "example.com/images"}, "spec.permissions[0].field", "changes as one"),
             ("", "nodes", {"field": "spec.podCIDR", "verb": "granular:range"}, "spec.permissions[0].verb", "without `granular:`"),
             ("", "nodes", {"field": "spec.podCIDR", "verb": "range"}, "spec.permissions[0].verb", "must have a prefix"),
             ("", "nodes", {"field": "spec.podCIDR", "verb": "apps.k8s.io/range"}, "spec.permissions[0].verb", "reserved"),
             ("", "nodes", {"field": "spec..podCIDR", "verb": "example.com/range"}, "spec.permissions[0].field", "must be a path of names"),
             ("", "nodes", {"field": "spec.podCIDR", "verb": "example.com/range", "parameter": "self.x"}, "spec.permissions[0].parameter", "Unsupported value"),
             ("", "nodes/status", {"field": "spec.podCIDR", "verb": "example.com/range"}, "spec.resource", "RFC 1123"),
             ("", "bindings", {"field": "target.name", "verb": "example.com/range"}, "spec.resource", "not stored")]
    for group, resource, entry, at, why in cases:
        answer = world.admin("POST", MAPS, a_map("odd", group, resource, [entry]), want=(422,))
        expect(at in answer["message"] and why in answer["message"], f"{entry}: {answer['message']}")
    answer = world.admin("POST", MAPS, a_map("odd", "", "nodes", [{"field": "spec.podCIDR", "verb": "a.b/c"}] * 2), want=(422,))
    expect("Duplicate value" in answer["message"], answer)
    answer = world.admin("POST", MAPS, a_map("odd", "", "nodes", []), want=(422,))
    expect("spec.permissions: Required value" in answer["message"], answer)


@story.chapter(needs=["an_operator_may_cordon_nodes_and_nothing_else"])
def a_writer_of_maps_gives_away_only_what_they_hold(world):
    node = {"field": "spec.providerID", "verb": "example.com/provider"}
    world.allow("mapper", ("access.cardea.dev", ["permissionmaps"], ["get", "create", "update", "patch", "delete"]))
    lacks = ['may not change the permissions on fields of "nodes"', 'the verb "escalate"']
    world.refused(403, lacks, "mapper", "POST", MAPS, a_map("mine", "", "nodes", [node]), "application/json")
    # Nodes without their status are not enough, nor is one of them.
    world.allow("mapper", ("", ["nodes"], ["create", "update", "patch"]))
    world.refused(403, lacks, "mapper", "POST", MAPS, a_map("mine", "", "nodes", [node]), "application/json")
    # Neither may they change the map of somebody else so that it permits more.
    world.refused(403, lacks, "mapper", "PATCH", MAPS + "/nodes", {"spec": {"permissions": [{"field": "spec.unschedulable", "verb": "cordon"}, node]}})
    world.refused(403, lacks, "mapper", "PATCH", MAPS + "/nodes", {"spec": {"permissions": [{"field": "spec.unschedulable", "verb": "example.com/other"}]}})
    # To change nothing needs nothing; to take away, neither.
    world.allowed("mapper", "PATCH", MAPS + "/nodes", {"metadata": {"labels": {"a": "b"}}})
    world.allow("mapper", ("", ["nodes/status"], ["create", "update", "patch"]))
    world.allowed("mapper", "POST", MAPS, a_map("mine", "", "nodes", [node]), "application/json")
    world.refused(403, ['may not change the permissions on fields of "secrets"'], "mapper", "PATCH", MAPS + "/mine", {
        "spec": {"resource": "secrets", "permissions": [{"field": "immutable", "verb": "example.com/immutable"}]}})
    world.allowed("mapper", "DELETE", MAPS + "/mine")
    # What a policy denies them for some nodes they do not give to others for all.
    policies = "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies"
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "mapper"}
    world.admin("POST", policies, {"metadata": {"name": "not-this-node"}, "spec": {
        "effect": "Deny", "subjects": [subject], "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["update", "patch"]}],
        "expression": "object.metadata.name == 'n'"}})
    world.refused(403, ["is forbidden"], "mapper", "POST", MAPS, a_map("mine", "", "nodes", [node]), "application/json")
    world.admin("DELETE", policies + "/not-this-node")
    # What they hold under a condition is not enough.
    world.admin("POST", policies, {"metadata": {"name": "own-secrets"}, "spec": {
        "effect": "Allow", "subjects": [subject], "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "update", "patch"]}],
        "expression": "object.metadata.name == 'own'"}})
    world.refused(403, ['may not change the permissions on fields of "secrets"'], "mapper", "POST", MAPS,
                  a_map("mine", "", "secrets", [{"field": "immutable", "verb": "example.com/immutable"}]), "application/json")
    world.admin("DELETE", policies + "/own-secrets")
    # With `escalate` they may.
    world.allow("gadgeteer", ("access.cardea.dev", ["permissionmaps"], ["create", "delete", "escalate"]))
    world.allowed("gadgeteer", "POST", MAPS, a_map("mine", "", "nodes", [node]), "application/json")
    # What a set keeps shut by a verb of the map is not opened by deleting the map.
    world.admin("POST", SETS, {"metadata": {"name": "provider"}, "spec": {"uncoveredPermissions": ["granular:example.com/provider"]}})
    world.refused(403, ["field spec.providerID", "granular:example.com/provider"], "mapper", "PATCH", "/api/v1/nodes/n", {"spec": {"providerID": "x://y"}})
    world.refused(403, ["granular:example.com/provider"], "mapper", "DELETE", MAPS + "/mine")
    world.refused(403, ["granular:example.com/provider"], "mapper", "PATCH", MAPS + "/mine", {"spec": {"permissions": [{"field": "spec.podCIDR", "verb": "example.com/range"}]}})
    world.refused(403, ["granular:example.com/provider"], "mapper", "PATCH", MAPS + "/mine", {"metadata": {"ownerReferences": [
        {"apiVersion": "v1", "kind": "Node", "name": "gone", "uid": "00000000-0000-0000-0000-000000000000"}]}})
    world.allowed("gadgeteer", "DELETE", MAPS + "/mine")
    world.admin("DELETE", SETS + "/provider")


@story.chapter(needs=["an_operator_may_cordon_nodes_and_nothing_else"])
def maps_of_custom_resources_wait_for_them(world):
    world.allow("plain", ("example.com", ["gadgets"], ["get", "granular", "granular:example.com/power", "granular:example.com/slot(a)"]))
    status, headers, answer = world.server.request("POST", MAPS, a_map("gadgets", "example.com", "gadgets", [
        {"field": "spec.power", "verb": "example.com/power"},
        {"field": "spec.slots[*]", "verb": "example.com/slot", "parameter": "mapKey"}]), {"Content-Type": "application/json"})
    expect(status == 201 and 'there is no resource' in headers.get("Warning", ""), f"{status} {headers.get('Warning')} {answer}")

    # Nobody takes a field from a map that waits, nor writes one with less than the whole resource.
    other = a_map("another", "example.com", "gadgets", [{"field": "spec.power", "verb": "example.com/weak"}])
    expect("by the PermissionMap `gadgets`" in world.admin("POST", MAPS, other, want=(422,))["message"], "two maps for one field")
    world.allow("mapper", ("example.com", ["gadgets"], ["create", "update", "patch"]))
    world.refused(403, ["gadgets/scale, gadgets/status"], "mapper", "POST", MAPS, other, "application/json")

    def serve(document):
        world.admin("POST", DEFINITIONS, document)
        eventually("the definition is served", lambda: world.server.request("GET", GADGETS)[0] == 200)
        world.admin("POST", GADGETS, {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"power": "off"}})

    def remove():
        world.admin("DELETE", DEFINITIONS + "/gadgets.example.com")
        eventually("the definition is gone", lambda: world.server.request("GET", GADGETS)[0] == 404)

    for _ in range(2):  # it goes, and comes back
        serve(definition(SPEC))
        world.allowed("plain", "PATCH", GADGETS + "/g", {"spec": {"power": "on"}})
        world.allowed("plain", "PATCH", GADGETS + "/g", {"spec": {"slots": {"a": {"on": True}}}})
        world.refused(403, ["field spec.slots.b", "granular:example.com/slot(b)"], "plain", "PATCH", GADGETS + "/g", {"spec": {"slots": {"b": {"on": True}}}})
        world.refused(403, ["field spec.size"], "plain", "PATCH", GADGETS + "/g", {"spec": {"size": 1}})
        remove()
    # Another definition of the name, in which the entries do not fit: they add nothing, and break nothing.
    serve(definition({"size": {"type": "integer"}, "power": {"type": "string", "x-kubernetes-permission-verb": "example.com/own"}}))
    world.refused(403, ["field spec.power", "granular:example.com/own"], "plain", "PATCH", GADGETS + "/g", {"spec": {"power": "on"}})
    remove()
    serve(definition(SPEC))
    shown = world.admin("GET", "/openapi/v3/apis/example.com/v1")["components"]["schemas"]["com.example.v1.Gadget"]
    expect("On or off. The permission `granular:example.com/power`" in shown["properties"]["spec"]["properties"]["power"]["description"], shown)
    kubeconfig = os.path.join(world.server.data_dir, "admin.kubeconfig")
    code, text = run("explain-permissions", "gadgets", "--kubeconfig", kubeconfig)
    for part in ("granular:example.com/slot(<key>)", "added by the PermissionMap gadgets", "granular:specification\n", "granular:condition(<type>)\n"):
        expect(code == 0 and part in text, f"{part}: {text}")


@story.chapter(needs=["maps_of_custom_resources_wait_for_them"])
def custom_resources_without_tags_have_the_general_permissions(world):
    world.allow("gadgeteer", ("example.com", ["gadgets"], ["get", "granular", "granular:specification"]),
                ("example.com", ["gadgets/status"], ["granular", "granular:condition(Ready)"]))
    world.allowed("gadgeteer", "PATCH", GADGETS + "/g", {"spec": {"size": 3}})
    world.allowed("gadgeteer", "PATCH", GADGETS + "/g/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    world.refused(403, ['granular:condition(Other)'], "gadgeteer", "PATCH", GADGETS + "/g/status", {
        "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "True"}]}})
    world.refused(403, ["field metadata.labels.a"], "gadgeteer", "PATCH", GADGETS + "/g", {"metadata": {"labels": {"a": "b"}}})


@story.chapter(needs=["an_operator_may_cordon_nodes_and_nothing_else", "maps_of_custom_resources_wait_for_them"])
def a_map_ends_with_its_deletion(world):
    world.allowed("plain", "PATCH", GADGETS + "/g", {"spec": {"power": "off"}})
    world.admin("DELETE", MAPS + "/gadgets")
    world.refused(403, ["field spec.power"], "plain", "PATCH", GADGETS + "/g", {"spec": {"power": "on"}})
    world.admin("PATCH", MAPS + "/nodes", {"spec": {"permissions": [{"field": "spec.podCIDR", "verb": "example.com/range"}]}}, MERGE)
    world.refused(403, ["field spec.unschedulable"], "cordoner", "PATCH", "/api/v1/nodes/n", {"spec": {"unschedulable": True}})
    world.admin("DELETE", MAPS + "/nodes")
    expect("granular:" not in json.dumps(world.admin("GET", "/openapi/v3/api/v1")["components"]["schemas"]["io.k8s.api.core.v1.NodeSpec"]), "OpenAPI still shows it")


@story.chapter
def a_value_may_need_a_permission_of_its_own(world):
    """Who may write pods sets hostNetwork to false, and to true only with the excluded permission."""
    pods = "/api/v1/namespaces/default/pods"

    def pod(name, **spec):
        return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}

    world.admin("POST", MAPS, a_map("pods", "", "pods", [{"field": "spec.hostNetwork", "verb": "example.com/hostNetwork", "parameter": "self"}]))
    answer = world.admin("POST", SETS, {"metadata": {"name": "host"}, "spec": {"uncoveredPermissions": ["granular:example.com/hostNetwork"]}}, want=(422,))
    expect("no kind has this permission" in answer["message"], answer)  # it has a parameter
    world.admin("POST", SETS, {"metadata": {"name": "host"}, "spec": {"uncoveredPermissions": ["granular:example.com/hostNetwork(true)"]}})
    world.allow("plain", ("", ["pods"], ["get", "create", "update", "patch", "delete"]))
    world.allowed("plain", "POST", pods, pod("a"), "application/json")
    world.allowed("plain", "POST", pods, pod("b", hostNetwork=False), "application/json")
    world.refused(403, ["field spec.hostNetwork", "granular:example.com/hostNetwork(true) itself"], "plain", "POST", pods, pod("c", hostNetwork=True), "application/json")
    world.allow("plain", ("", ["pods"], ["granular:example.com/hostNetwork(true)"]))
    world.allowed("plain", "POST", pods, pod("c", hostNetwork=True), "application/json")
    world.admin("DELETE", SETS + "/host")
    world.admin("DELETE", MAPS + "/pods")


@story.chapter
def a_field_has_no_second_name_on_creation(world):
    """What the server makes of another field that the client wrote is written by the client."""
    account = "/api/v1/namespaces/default/serviceaccounts"
    world.admin("POST", account, {"metadata": {"name": "boss"}})
    cases = (
        ("secrets", "data[*]", "mapKey", "(tls)", "/api/v1/namespaces/default/secrets", {"stringData": {"tls": "evil"}}, {"stringData": {"other": "fine"}}),
        ("pods", "spec.serviceAccountName", "self", "(boss)", "/api/v1/namespaces/default/pods",
         {"spec": {"serviceAccount": "boss", "containers": [{"name": "c", "image": "i"}]}}, {"spec": {"containers": [{"name": "c", "image": "i"}]}}),
        ("nodes", "spec.podCIDR", None, "", "/api/v1/nodes", {"spec": {"podCIDRs": ["10.0.0.0/24"]}}, {"spec": {}}),
    )
    for resource, field, parameter, value, path, bad, good in cases:
        entry = {"field": field, "verb": "example.com/kept"}
        if parameter:
            entry["parameter"] = parameter
        world.admin("POST", MAPS, a_map("alias", "", resource, [entry]))
        world.admin("POST", SETS, {"metadata": {"name": "alias"}, "spec": {"uncoveredPermissions": [f"granular:example.com/kept{value}"], "resources": [{"resource": resource}]}})
        world.allow("gadgeteer", ("", [resource], ["get", "create"]))
        world.refused(403, ["granular:example.com/kept"], "gadgeteer", "POST", path, {"metadata": {"name": f"bad-{resource}"}, **bad}, "application/json")
        world.allowed("gadgeteer", "POST", path, {"metadata": {"name": f"good-{resource}"}, **good}, "application/json")
        world.admin("DELETE", SETS + "/alias")
        world.admin("DELETE", MAPS + "/alias")


@story.chapter
def a_map_keeps_nobody_out_and_is_not_slipped_away(world):
    """An excluded verb on a field shuts it for all who lack it, so whoever puts it there must hold it. The last finalizer of a map is not taken by others either."""
    entry = {"field": "data[*]", "verb": "example.com/shut"}
    world.admin("POST", MAPS, a_map("known", "", "secrets", [{"field": "data[*]", "verb": "example.com/shut"}]))
    world.admin("POST", SETS, {"metadata": {"name": "shut"}, "spec": {"uncoveredPermissions": ["granular:example.com/shut"]}})
    world.allow("plain", ("access.cardea.dev", ["permissionmaps"], ["get", "create", "update", "patch", "delete"]), ("", ["configmaps"], ["get", "create", "update", "patch"]))
    world.refused(403, ["granular:example.com/shut"], "plain", "POST", MAPS, a_map("lock", "", "configmaps", [entry]), "application/json")
    world.admin("DELETE", SETS + "/shut")
    world.admin("PATCH", MAPS + "/known", {"metadata": {"finalizers": ["example.com/x"]}}, MERGE)
    world.admin("DELETE", MAPS + "/known")
    world.admin("POST", SETS, {"metadata": {"name": "shut"}, "spec": {"uncoveredPermissions": ["granular:example.com/shut"]}})
    world.refused(403, ["granular:example.com/shut"], "plain", "PATCH", MAPS + "/known", {"metadata": {"finalizers": None}})
    world.admin("DELETE", SETS + "/shut")
    world.allowed("plain", "PATCH", MAPS + "/known", {"metadata": {"finalizers": None}})
    many = [{"field": f"data.f{i}", "verb": "example.com/v", "parameter": "self", "parameterExpression": "self"} for i in range(9)]
    answer = world.admin("POST", MAPS, a_map("many", "junk.example.com", "things", many), want=(422,))
    expect("no more than 8 entries" in answer["message"], answer)
    long = [{"field": "data.f", "verb": "example.com/v", "parameter": "self", "parameterExpression": "'" + "a" * 600 + "'"}]
    answer = world.admin("POST", MAPS, a_map("long", "junk.example.com", "things", long), want=(422,))
    expect("512" in answer["message"], answer)


@story.chapter
def a_set_may_be_about_one_resource(world):
    world.allow("nodes", ("", ["nodes", "configmaps"], ["get", "update", "patch"]))
    world.admin("POST", "/api/v1/nodes", {"metadata": {"name": "labelled"}})
    world.admin("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "labelled"}})
    world.admin("POST", SETS, {"metadata": {"name": "labels"}, "spec": {"uncoveredPermissions": ["granular:labels"], "resources": [{"resource": "nodes"}]}})
    label = {"metadata": {"labels": {"a": "b"}}}
    world.refused(403, ["field metadata.labels.a", "granular:labels itself"], "nodes", "PATCH", "/api/v1/nodes/labelled", label)
    world.allowed("nodes", "PATCH", "/api/v1/namespaces/default/configmaps/labelled", label)
    for resources, why in (([{"resource": "gizmos"}], "no kind has this permission"), ([{"group": "apps", "resource": "nodes"}], "no kind has this permission"),
                           ([{"resource": ""}], "spec.resources[0].resource"), ([{"resource": "nodes"}] * 2, "Duplicate value"),
                           ([{"resource": "nodes/status"}], "spec.resources[0].resource")):
        answer = world.admin("POST", SETS, {"metadata": {"name": "odd"}, "spec": {"uncoveredPermissions": ["granular:labels"], "resources": resources}}, want=(422,))
        expect(why in answer["message"], answer)
    world.admin("DELETE", SETS + "/labels")
    world.allowed("nodes", "PATCH", "/api/v1/nodes/labelled", label)


@story.chapter
def maps_survive_a_restart():
    with tempfile.TemporaryDirectory(prefix="cardea-maps-") as folder:
        with Cardea(data_dir=folder) as first:
            world = World(first)
            world.admin("POST", DEFINITIONS, definition(SPEC))
            for body in (a_map("nodes", "", "nodes", [{"field": "spec.unschedulable", "verb": "cordon"}]),
                         a_map("gadgets", "example.com", "gadgets", [{"field": "spec.power", "verb": "example.com/power"}])):
                world.admin("POST", MAPS, body)
        with Cardea(data_dir=folder) as second:
            kubeconfig = os.path.join(second.data_dir, "admin.kubeconfig")
            for resource, verb in (("nodes", "granular:cordon"), ("gadgets", "granular:example.com/power")):
                code, text = run("explain-permissions", resource, "--kubeconfig", kubeconfig)
                expect(code == 0 and verb in text, f"{resource}: {text}")


@story.chapter
def without_the_feature_there_are_no_maps():
    with Cardea("--feature-gates=FineGrainedAuthorization=false") as bare:
        expect(bare.request("GET", MAPS)[0] == 404, "maps are served that nobody follows")


@story.shared
def world():
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as tokens:
        tokens.write("".join(f"{name}-token,{name},{name}\n" for name in USERS))
        tokens.flush()
        with Cardea("--token-auth-file", tokens.name) as server:
            yield World(server)


if __name__ == "__main__":
    story.main()
