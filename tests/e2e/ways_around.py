"""Attempts of a user with few permissions to get around access control, and their results. docs/advisories.md describes each.

Run one alone by its name: ways_around.py watch_by_another_name
"""
import http.client
import json
import os
import ssl
import tempfile
import urllib.error
import urllib.request

from server import Cardea, expect
from story import Story

story = Story("ways_around")

NAMES = ["watcher", "labeller", "deleter", "getter", "evictor", "scaler", "grantor", "local", "master", "hubert", "writer", "owner", "holder", "heir"]
MERGE, OPS = "application/merge-patch+json", "application/json-patch+json"
SECRETS = "/api/v1/namespaces/x/secrets"
PODS = "/api/v1/namespaces/x/pods"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCESS = "/apis/access.cardea.dev/v1alpha1"
POLICY = "/apis/authorization.openshift.io/v1beta3/namespaces"
GRANTING = ["roles", "rolebindings", "clusterroles", "clusterrolebindings"]
# The example of docs/namespace-policy.md.
POLICY_CONFIG = """resourceGroups:
  mine: [widgets, "resourcegroup:quota"]   # rules say resourcegroup:mine; a group must not contain itself
nodeNames:
  kubelet-01: node-a
"""


class World:
    def __init__(self, server):
        self.server = server
        self.context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))

    def send(self, user, method, path, body=None, kind="application/json"):
        headers = {"Authorization": f"Bearer {user}-token", "Content-Type": kind}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server.base + path, method=method, headers=headers, data=data)
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            return error.code, json.loads(text) if text.startswith("{") else {"message": text}

    def admin(self, method, path, body=None, kind="application/json", want=(200, 201)):
        status, _, answer = self.server.request(method, path, body, {"Content-Type": kind})
        expect(status in want, f"{method} {path}: {status} {answer}")
        return answer

    def allow(self, user, rules):
        self.admin("POST", f"{RBAC}/clusterroles", {"metadata": {"name": user}, "rules": rules})
        self.admin("POST", f"{RBAC}/clusterrolebindings", {
            "metadata": {"name": user}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]})

    def deny(self, user, rules, namespace=None):
        where = f"namespaces/{namespace}/accesspolicies" if namespace else "clusteraccesspolicies"
        self.admin("POST", f"{ACCESS}/{where}", {
            "metadata": {"name": f"not-for-{user}"},
            "spec": {"effect": "Deny", "subjects": [{"kind": "User", "name": user}], "rules": rules}})

    def bound(self, namespace, user, rules):
        """A role of namespace policy, bound to a user."""
        at = f"{POLICY}/{namespace}"
        self.admin("POST", f"{at}/policies", {"metadata": {"name": "default"}}, want=(201, 409))
        self.admin("POST", f"{at}/policybindings", {"metadata": {"name": namespace}, "policyRef": {"namespace": namespace}}, want=(201, 409))
        self.admin("POST", f"{at}/roles", {"metadata": {"name": user, "namespace": namespace}, "rules": rules})
        self.admin("POST", f"{at}/rolebindings", {
            "metadata": {"name": user, "namespace": namespace}, "roleRef": {"namespace": namespace, "name": user}, "userNames": [user]})

    def first_events(self, user, path):
        """The status of a watch, and the names of the events that are there at once."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.server.port, timeout=20, context=self.context)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {user}-token"})
            answer = connection.getresponse()
            lines = [json.loads(line) for line in answer.read().splitlines()]
            return answer.status, [e.get("object", {}).get("metadata", {}).get("name") for e in lines if "object" in e], lines
        finally:
            connection.close()


def rule(group, resources, verbs, names=()):
    return {"apiGroups": [group], "resources": resources, "verbs": verbs, **({"resourceNames": list(names)} if names else {})}


@story.chapter
def watch_by_another_name(world):
    world.allow("watcher", [rule("", ["secrets"], ["get", "list", "watch"], ["allowed"])])
    for name in ("allowed", "forbidden"):
        world.admin("POST", SECRETS, {"metadata": {"name": name}, "data": {"password": "aHVudGVyMg=="}})
    by_path = f"/api/v1/watch/namespaces/x/secrets/allowed?timeoutSeconds=1"
    status, names, _ = world.first_events("watcher", by_path)
    expect((status, names) == (200, ["allowed"]), f"{status} {names}")
    for selector in ("metadata.name%3Dforbidden", "metadata.name!%3Dallowed", "type%3DOpaque", "metadata.name%3Dforbidden,metadata.name%3Dallowed"):
        status, names, lines = world.first_events("watcher", f"{by_path}&fieldSelector={selector}")
        expect("forbidden" not in names, f"{selector} shows {names}")
        expect(status == 400 and lines[0]["message"] == "fieldSelector metadata.name doesn't match requested name" or names == [],
               f"{selector}: {status} {lines}")
    for path in (f"{SECRETS}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dallowed", f"{SECRETS}?fieldSelector=metadata.name%3Dallowed"):
        expect("forbidden" not in json.dumps(world.first_events("watcher", path)[2]), path)
    for path in (SECRETS, f"{SECRETS}?watch=1", f"{SECRETS}?fieldSelector=metadata.name%3Dforbidden", f"{SECRETS}?watch=1&fieldSelector=metadata.name!%3Dforbidden",
                 "/api/v1/watch/namespaces/x/secrets?fieldSelector=metadata.name%3Dallowed", f"{SECRETS}/forbidden", "/api/v1/watch/namespaces/x/secrets/forbidden"):
        expect(world.first_events("watcher", path)[0] == 403, path)


@story.chapter
def granular_reads_nothing(world):
    world.allow("labeller", [rule("", ["configmaps"], ["granular", "granular:labels", "granular:finalizers", "granular:annotations"])])
    path = "/api/v1/namespaces/x/configmaps/c"
    world.admin("POST", "/api/v1/namespaces/x/configmaps", {"metadata": {"name": "c", "annotations": {"note": "hidden-4711"}}, "data": {"password": "hidden-4711"}})
    for target in ("/metadata/finalizers", "/metadata/annotations/x", "/metadata/labels"):
        for op in ("copy", "move"):
            status, answer = world.send("labeller", "PATCH", path, [{"op": op, "from": "/data/password", "path": target}], OPS)
            expect(status == 403 and "hidden" not in json.dumps(answer), f"{op} to {target}: {status} {answer}")
    answers = [world.send("labeller", "PATCH", path, [{"op": "test", "path": "/data/password", "value": guess}, {"op": "add", "path": "/metadata/labels", "value": {}}], OPS)
               for guess in ("hidden-4711", "wrong")]
    expect(answers[0] == answers[1] and answers[0][0] == 403, f"a test tells: {answers}")
    status, answer = world.send("labeller", "PATCH", path, {"metadata": {"labels": {"a": "b"}}}, MERGE)
    expect(status == 200 and answer["kind"] == "ConfigMap" and set(answer["metadata"]) == {"name", "namespace", "uid", "resourceVersion", "labels"}, f"{status} {answer}")


@story.chapter
def a_deletion_tells_nothing(world):
    world.allow("deleter", [rule("", ["configmaps"], ["delete", "deletecollection"])])
    made = world.admin("POST", "/api/v1/namespaces/x/configmaps", {"metadata": {"name": "d", "finalizers": ["example.com/held"]}, "data": {"password": "hidden-4711"}})
    path = "/api/v1/namespaces/x/configmaps/d"
    for preconditions in ({"uid": "wrong"}, {"resourceVersion": "1"}):
        status, answer = world.send("deleter", "DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": preconditions})
        text = json.dumps(answer)
        expect(status == 409 and made["metadata"]["uid"] not in text and made["metadata"]["resourceVersion"] not in text.split('"code"')[0], f"{status} {answer}")
    status, answer = world.send("deleter", "DELETE", "/api/v1/namespaces/x/configmaps?dryRun=All")
    expect(status == 200 and answer["kind"] == "Status" and "hidden" not in json.dumps(answer), f"{status} {answer}")
    status, answer = world.send("deleter", "DELETE", path)
    expect(status == 200 and answer["kind"] == "Status" and answer["details"]["uid"] == made["metadata"]["uid"], f"{status} {answer}")
    world.admin("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)


@story.chapter
def connecting_takes_create(world):
    world.allow("getter", [rule("", ["pods/exec", "pods/attach", "pods/portforward", "pods/log"], ["get"])])
    world.admin("POST", PODS, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    for sub in ("exec", "attach", "portforward"):
        status, answer = world.send("getter", "GET", f"{PODS}/p/{sub}?command=ls")
        expect(status == 403 and f'cannot create resource "pods/{sub}"' in answer["message"], f"{sub}: {status} {answer}")


def access_policy(name, rules):
    return {"metadata": {"name": name}, "spec": {"effect": "Allow", "subjects": [{"kind": "User", "name": "getter"}], "rules": rules}}


@story.chapter
def nobody_grants_a_way_to_what_is_denied_to_them(world):
    world.allow("grantor", [rule("", ["*"], ["*"]), rule("rbac.authorization.k8s.io", GRANTING, ["create"]),
                            rule("access.cardea.dev", ["clusteraccesspolicies", "accesspolicies"], ["create"])])
    world.deny("grantor", [rule("", ["pods"], ["delete", "exec"])])
    for i, (verb, resource) in enumerate((("create", "pods/eviction"), ("create", "pods/*"), ("create", "*/eviction"), ("create", "*"),
                                          ("get", "pods/exec"), ("get", "pods/*"), ("deletecollection", "pods"))):
        rules = [rule("", [resource], [verb])]
        for path in (f"{RBAC}/clusterroles", f"{RBAC}/namespaces/x/roles"):
            status, answer = world.send("grantor", "POST", path, {"metadata": {"name": f"g{i}"}, "rules": rules})
            expect(status == 403, f"{path} {verb} {resource}: {status} {answer}")
        for path in (f"{ACCESS}/clusteraccesspolicies", f"{ACCESS}/namespaces/x/accesspolicies"):
            status, answer = world.send("grantor", "POST", path, access_policy(f"g{i}", rules))
            expect(status == 403, f"{path} {verb} {resource}: {status} {answer}")
    status, answer = world.send("grantor", "POST", f"{RBAC}/clusterroles", {"metadata": {"name": "fine"}, "rules": [rule("", ["pods", "pods/log"], ["get"])]})
    expect(status == 201, f"{status} {answer}")


@story.chapter
def a_denial_of_a_namespace_is_not_granted_by_the_cluster(world):
    delete = [rule("", ["configmaps"], ["delete"])]
    world.allow("local", [rule("", ["*"], ["*"]), rule("rbac.authorization.k8s.io", GRANTING, ["create"]),
                          rule("access.cardea.dev", ["clusteraccesspolicies"], ["create"])])
    world.deny("local", delete, "x")
    for path, body in ((f"{RBAC}/clusterroles", {"metadata": {"name": "l"}, "rules": delete}),
                       (f"{RBAC}/namespaces/x/roles", {"metadata": {"name": "l"}, "rules": delete}),
                       (f"{ACCESS}/clusteraccesspolicies", access_policy("l", delete))):
        status, answer = world.send("local", "POST", path, body)
        expect(status == 403 and "a permission that a policy may deny to this user" in answer["message"], f"{path}: {status} {answer}")
    status, answer = world.send("local", "POST", f"{RBAC}/namespaces/default/roles", {"metadata": {"name": "l"}, "rules": delete})
    expect(status == 201, f"elsewhere: {status} {answer}")
    # The master policy gives a user everything, and a namespace denies one thing to this user.
    world.bound("master", "master", [{"verbs": ["*"], "resourceKinds": ["*"]}])
    world.deny("master", delete, "x")
    gift = {"metadata": {"name": "gift", "namespace": "master"}, "rules": [{"verbs": ["delete"], "resourceKinds": ["configmaps"]}]}
    status, answer = world.send("master", "POST", f"{POLICY}/master/roles", gift)
    expect(status == 403, f"master role: {status} {answer}")
    world.admin("POST", f"{POLICY}/master/roles", gift)
    world.admin("POST", f"{POLICY}/x/policybindings", {"metadata": {"name": "master"}, "policyRef": {"namespace": "master"}}, want=(201, 409))
    for space, wanted in (("x", 403), ("master", 403)):
        status, answer = world.send("master", "POST", f"{POLICY}/{space}/rolebindings", {
            "metadata": {"name": "gift", "namespace": space}, "roleRef": {"namespace": "master", "name": "gift"}, "userNames": ["getter"]})
        expect(status == wanted, f"binding in {space}: {status} {answer}")


@story.chapter
def a_namespace_role_gives_no_way_to_what_is_denied(world):
    world.bound("x", "hubert", [{"verbs": ["*"], "resourceKinds": ["*"]},
                                {"deny": True, "verbs": ["delete", "exec"], "resourceKinds": ["pods"]}])
    for i, given in enumerate(({"verbs": ["create"], "resourceKinds": ["pods/eviction"]}, {"verbs": ["create"], "resourceKinds": ["*"]},
                               {"verbs": ["create"], "resourceKinds": ["pods/exec"]}, {"verbs": ["get"], "resourceKinds": ["pods/exec"]},
                               {"verbs": ["exec"], "resourceKinds": ["pods/exec"]})):
        for more in ({}, {"apiGroups": [""]}, {"apiGroups": ["*"]}):
            status, answer = world.send("hubert", "POST", f"{POLICY}/x/roles", {"metadata": {"name": f"h{i}", "namespace": "x"}, "rules": [given | more]})
            expect(status == 403, f"{given | more}: {status} {answer}")
    status, answer = world.send("hubert", "POST", f"{POLICY}/x/roles", {
        "metadata": {"name": "fine", "namespace": "x"}, "rules": [{"verbs": ["create", "get"], "resourceKinds": ["pods", "configmaps"]}]})
    expect(status == 201, f"{status} {answer}")


def refused_roles(world, user, rules, namespace="x"):
    """Each rule is refused in a Role that the user writes."""
    for i, one in enumerate(rules):
        status, answer = world.send(user, "POST", f"{RBAC}/namespaces/{namespace}/roles", {"metadata": {"name": f"{user}-{i}"}, "rules": [one]})
        expect(status == 403, f"{user} gives {one}: {status} {answer}")


@story.chapter
def fields_of_whole_objects_and_no_more_are_given_away(world):
    """Who may update and patch gives away fields; an excluded one, or the names of new objects, by no spelling."""
    world.allow("writer", [rule("", ["configmaps", "pods"], ["update", "patch"]), rule("rbac.authorization.k8s.io", GRANTING, ["create"])])
    world.admin("POST", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets", {
        "metadata": {"name": "guarded"}, "spec": {"uncoveredPermissions": ["granular:label(guarded.example.com)", "granular:nodeAssignment"]}})
    fine = {"metadata": {"name": "fine-labels"}, "rules": [rule("", ["configmaps"], ["granular", "granular:label(app)"])]}
    status, answer = world.send("writer", "POST", f"{RBAC}/namespaces/x/roles", fine)
    expect(status == 201, f"{status} {answer}")
    # A chain of two: the role for oneself, and more with it.
    status, answer = world.send("writer", "POST", f"{RBAC}/namespaces/x/rolebindings", {
        "metadata": {"name": "fine-labels"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "fine-labels"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "writer"}]})
    expect(status == 201, f"{status} {answer}")
    many = [f"w{i}" for i in range(60)]
    refused_roles(world, "writer", [
        rule("", ["pods"], ["granular:nodeAssignment"]), rule("", ["configmaps"], ["granular:label(guarded.example.com)"]),
        rule("", ["configmaps"], ["granular:labels", "granular:label(guarded.example.com)"]), rule("", ["configmaps"], ["granular:identity"]),
        rule("", ["configmaps"], ["granular:metadata"]), rule("", ["configmaps"], ["*"]), rule("", ["*"], ["granular:labels"]),
        rule("*", ["configmaps"], ["granular:labels"]), rule("", ["configmaps/status"], ["granular:labels"]), rule("", ["secrets"], ["granular:data"]),
        rule("", ["configmaps"], ["granular:data"], [""]), rule("", ["configmaps"], ["granular:labels", "-granular:labels", "delete"]),
        rule("", ["configmaps"], ["granular:label(app)", "create"]), rule("later.example.com", ["bombs"], ["granular:selfDestruct"]),
        {"apiGroups": [""] + many, "resources": ["configmaps"] + many, "verbs": ["granular:labels"] + many, "resourceNames": many}])


@story.chapter
def a_policy_admin_gets_no_more_by_rbac(world):
    """What a namespace policy gives may be given by RBAC. The verbs that replace checks are not among it, by no way round."""
    world.admin("POST", "/api/v1/namespaces", {"metadata": {"name": "own"}})
    world.bound("own", "owner", [{"verbs": ["*"], "resourceKinds": ["*", "-secrets", "-policies"]},
                                 {"verbs": ["*"], "resourceKinds": ["roles", "rolebindings", "accesspolicies"]}])
    at = f"{RBAC}/namespaces/own"
    status, answer = world.send("owner", "POST", f"{at}/roles", {"metadata": {"name": "fine"}, "rules": [rule("", ["pods", "configmaps"], ["get", "delete"])]})
    expect(status == 201, f"{status} {answer}")
    group = "rbac.authorization.k8s.io"
    many = [f"w{i}" for i in range(60)]
    refused_roles(world, "owner", [
        rule("", ["secrets"], ["get"]), rule("", ["*"], ["get"]), rule("", ["*", "-secrets", "-policies"], ["get"]), rule("", ["pods"], ["*"]),
        rule("", ["secrets"], ["list"], [""]), rule("", ["pods", "secrets"], ["get", "-get"]),
        rule(group, ["roles"], ["escalate"]), rule(group, ["roles"], ["bind"]), rule("access.cardea.dev", ["accesspolicies"], ["deny"]),
        {"apiGroups": [""] + many, "resources": ["secrets"] + many, "verbs": ["get"] + many, "resourceNames": many}], "own")
    for verb in ("escalate", "bind", "deny"):
        status, answer = world.send("owner", "POST", f"{ACCESS}/namespaces/own/accesspolicies", {
            "metadata": {"name": verb}, "spec": {"effect": "Allow", "subjects": [{"kind": "User", "name": "owner"}], "rules": [rule(group, ["roles"], [verb])]}})
        expect(status == 403, f"{verb}: {status} {answer}")
    # A binding to a role of others is as good as the role.
    world.admin("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "reads-secrets"}, "rules": [rule("", ["secrets"], ["get"])]})
    status, answer = world.send("owner", "POST", f"{at}/rolebindings", {
        "metadata": {"name": "b"}, "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "reads-secrets"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "owner"}]})
    expect(status == 403, f"{status} {answer}")
    expect(world.send("owner", "GET", "/api/v1/namespaces/own/secrets")[0] == 403, "owner reads secrets")


@story.chapter
def a_condition_is_passed_on_and_never_weakened(world):
    """Whoever has a permission under a condition gives it on under that condition at least; from hand to hand it does not grow."""
    rules = [rule("", ["configmaps"], ["create", "update"])]
    for user in ("holder", "heir"):
        world.allow(user, [rule("access.cardea.dev", ["clusteraccesspolicies", "accesspolicies"], ["create", "update", "patch", "get"])])

    def policy(name, subject, expression, **more):
        return {"metadata": {"name": name}, "spec": {"effect": "Allow", "subjects": [{"kind": "User", "name": subject}], "rules": rules, "expression": expression, **more}}

    def creates(user, name, data):
        return world.send(user, "POST", "/api/v1/namespaces/x/configmaps", {"metadata": {"name": name}, "data": data})[0]

    own = "object.data.class == 'dev' && object.data.owner == request.userInfo.username"
    world.admin("POST", f"{ACCESS}/clusteraccesspolicies", policy("held", "holder", own))
    weaker = ("true", own, "object.data.class == 'dev'", "object.data.owner == 'holder'", "object.data.class == 'dev' && object.data.owner == 'heir'",
              "object.data.class == 'dev' && object.data.owner == 'holder' || request.userInfo.username == 'heir'",
              "object.data.?class.orValue('dev') == 'dev' && object.data.owner == 'holder'",
              "oldObject.data.class == 'dev' && oldObject.data.owner == 'holder'",
              "object.data.all(k, object.data[k] in ['dev', 'holder'])",
              "!(object.data.class != 'dev' || object.data.owner != 'holder' || request.userInfo.username != 'heir') || request.verb == 'create'",
              "authorizer.group('').resource('configmaps').check('create').allowed()",
              "object.data.`class` == 'dev' && object.`data.owner` == 'holder'")
    for i, expression in enumerate(weaker):
        for path in (f"{ACCESS}/clusteraccesspolicies", f"{ACCESS}/namespaces/x/accesspolicies"):
            status, answer = world.send("holder", "POST", path, policy(f"weaker-{i}", "heir", expression))
            expect(status == 403, f"{expression}: {status} {answer}")
    same = "object.data.class == 'dev' && object.data.owner == 'holder'"
    wider = [rule("", ["configmaps"], ["create", "delete"]), rule("", ["*"], ["create"]), rule("*", ["configmaps"], ["create"])]
    for i, one in enumerate(wider):
        status, answer = world.send("holder", "POST", f"{ACCESS}/clusteraccesspolicies", policy(f"wider-{i}", "heir", same, rules=[one]))
        expect(status == 403, f"{one}: {status} {answer}")
    status, answer = world.send("holder", "POST", f"{ACCESS}/clusteraccesspolicies", policy("given", "heir", f"{same} && object.data.size in ['s', 'm']"))
    expect(status == 201, f"{status} {answer}")
    good = {"class": "dev", "owner": "holder", "size": "s"}
    expect(creates("heir", "good", good) == 201, "what was given does not work")
    for i, bad in enumerate(({"class": "prod"}, {"owner": "heir"}, {"size": "l"})):
        expect(creates("heir", f"bad-{i}", good | bad) == 403, f"{bad}")
    # The heir gives on what was given, not what the holder has; nor by changing the policy that gives it.
    status, answer = world.send("heir", "POST", f"{ACCESS}/clusteraccesspolicies", policy("more", "heir", same))
    expect(status == 403, f"{status} {answer}")
    status, answer = world.send("heir", "PATCH", f"{ACCESS}/clusteraccesspolicies/given", {"spec": {"expression": same}}, MERGE)
    expect(status == 403, f"{status} {answer}")
    status, answer = world.send("heir", "PATCH", f"{ACCESS}/clusteraccesspolicies/given", {"spec": {"expression": f"{same} && object.data.size == 's'"}}, MERGE)
    expect(status == 200, f"a stronger one: {status} {answer}")
    # A denial, under whatever condition, ends it.
    world.deny("holder", [rule("", ["configmaps"], ["update"])])
    status, answer = world.send("holder", "POST", f"{ACCESS}/clusteraccesspolicies", policy("late", "heir", f"{same} && object.data.size == 's'"))
    expect(status == 403, f"{status} {answer}")


@story.shared
def world():
    """A server with a namespace `x`."""
    with tempfile.TemporaryDirectory() as folder:
        tokens = os.path.join(folder, "tokens.csv")
        with open(tokens, "w") as file:
            file.write("".join(f"{name}-token,{name},{i}\n" for i, name in enumerate(NAMES, 1)))
        config = os.path.join(folder, "policy.yaml")
        with open(config, "w") as file:
            file.write(POLICY_CONFIG)
        with Cardea("--token-auth-file", tokens, "--policy-config", config) as server:
            world = World(server)
            world.admin("POST", "/api/v1/namespaces", {"metadata": {"name": "x"}})
            yield world


if __name__ == "__main__":
    story.main()
