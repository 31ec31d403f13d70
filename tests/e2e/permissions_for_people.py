"""Field permissions for users: the list of them, the users that have them, and the permissions that a user needs.

A bot works with the verb `patch` while its writes are logged. `cardea suggest-role` reads the log; with the role that it
suggests instead, the bot can do the same again, and nothing more. `cardea can-i --field` and `cardea explain-permissions`
explain the same rules.
"""
import json
import os
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request

from server import Cardea, binary, eventually, expect
from story import Story

story = Story("permissions_for_people")

MERGE = "application/merge-patch+json"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
    "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]},
             "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                 "type": "object", "properties": {
                     "spec": {"type": "object", "x-kubernetes-permission-verb": "specification", "properties": {
                         "size": {"type": "integer"},
                         "selfDestruct": {"type": "boolean", "x-kubernetes-permission-verb": "example.com/selfDestruct",
                                          "x-kubernetes-permission-excluded": True}}},
                     "free": {"type": "string"}}}}}]}}
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": {"app": "d"}}, "spec": {
    "replicas": 1, "selector": {"matchLabels": {"app": "d"}},
    "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}


class World:
    def __init__(self, server, log_path):
        self.server = server
        self.context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
        self.log = []
        self.log_path = log_path  # the server's own audit log; None: the test writes the events itself, from the answers

    def admin(self, method, path, body=None, kind="application/json"):
        status, _, answer = self.server.request(method, path, body, {"Content-Type": kind})
        expect(status in (200, 201), f"{method} {path}: {status} {answer}")
        return answer

    def bot(self, method, path, body, kind):
        request = urllib.request.Request(self.server.base + path, method=method, data=json.dumps(body).encode(),
                                         headers={"Authorization": "Bearer bot-token", "Content-Type": kind})
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def record(self, user, verb, path, request, status, answer):
        """One line in the form of the audit log at level RequestResponse."""
        parts = path.split("/")
        group, version, resource, name = parts[2], parts[3], parts[6], parts[7] if len(parts) > 7 else answer["metadata"]["name"]
        self.log.append({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "auditID": f"id-{len(self.log)}",
                         "stage": "ResponseComplete", "requestURI": path, "verb": verb, "user": {"username": user},
                         "objectRef": {"resource": resource, "namespace": "default", "name": name, "apiGroup": group, "apiVersion": version},
                         "responseStatus": {"code": status}, "requestObject": request, "responseObject": answer})

    def logged(self):
        """The lines of the server's log so far."""
        with open(self.log_path) as file:
            return file.read().splitlines(keepends=True)

    def grant(self, name, rules):
        self.admin("POST", RBAC + "/clusterroles", {"metadata": {"name": name}, "rules": rules})
        self.admin("POST", RBAC + "/clusterrolebindings", {
            "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bot"}]})

    def revoke(self, name):
        self.server.request("DELETE", RBAC + f"/clusterrolebindings/{name}")
        self.server.request("DELETE", RBAC + f"/clusterroles/{name}")


def run(*words, want=0):
    done = subprocess.run([binary(), *words], capture_output=True, text=True, timeout=120)
    expect(done.returncode == want, f"cardea {' '.join(words)}: {done.returncode} instead of {want}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def kubeconfig(world, folder):
    path = os.path.join(folder, "bot.kubeconfig")
    with open(path, "w") as out:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "bot",
                   "clusters": [{"name": "c", "cluster": {"server": world.server.base, "certificate-authority": os.path.join(world.server.data_dir, "ca.crt")}}],
                   "users": [{"name": "bot", "user": {"token": "bot-token"}}],
                   "contexts": [{"name": "bot", "context": {"cluster": "c", "user": "bot"}}]}, out)
    return path


@story.chapter
def explaining(world, config, folder):
    out, _ = run("explain-permissions", "deploy")
    expect("granular:replicaCount\n    fields      spec.replicas\n" in out, out)
    # A custom resource: from its file, and from a server that shows the bot its OpenAPI but no definitions.
    path = os.path.join(folder, "crd.json")
    with open(path, "w") as file:
        json.dump(WIDGETS, file)
    from_file, _ = run("explain-permissions", "--file", path)
    from_server, _ = run("explain-permissions", "wd", "--kubeconfig", config)
    expect(from_file == from_server, f"{from_file}\n---\n{from_server}")
    expect("granular:example.com/selfDestruct\n    fields      spec.selfDestruct\n" in from_file and "excluded" in from_file, from_file)
    run("explain-permissions", "nosuch", "--kubeconfig", config, want=1)
    run("explain-permissions", want=2)
    # The same in OpenAPI.
    v2 = world.admin("GET", "/openapi/v2")["definitions"]
    v3 = world.admin("GET", "/openapi/v3/apis/example.com/v1")["components"]["schemas"]
    for types in (v2, v3):
        field = types["com.example.v1.Widget"]["properties"]["spec"]["properties"]["selfDestruct"]
        expect(field["x-kubernetes-permission-verb"] == "example.com/selfDestruct" and field["x-kubernetes-permission-excluded"], field)
    labels = v2["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"]["labels"]
    expect(labels["additionalProperties"]["x-kubernetes-permission-parameter"] == "mapKey", labels)


@story.chapter
def asking(world, config):
    ask = lambda *words, want: run("can-i", *words, "-n", "default", "--kubeconfig", config, want=want)[0]
    out = ask("patch", "deployments", "d", "--field", "metadata.labels.app", want=1)
    expect("no\n  metadata.labels.app would be covered by patch, granular:metadata, granular:labels, granular:label(app)\n" in out, out)
    expect('missing rule: {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["granular", "granular:label(app)"]}' in out, out)
    world.grant("ask", [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["granular", "granular:label(app)"]},
                        {"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["update"]}])
    out = ask("patch", "deployments", "d", "--field", "metadata.labels.app", want=0)
    expect(out == "yes\n  metadata.labels.app is covered by granular:label(app)\n", out)
    out = ask("patch", "deployments", "d", "--field", "spec.replicas", want=1)
    expect('"verbs": ["granular:replicaCount"]' in out, out)
    # The answers come from the server.
    expect(world.bot("PATCH", DEPLOYMENTS + "/d", {"metadata": {"labels": {"app": "e"}}}, MERGE)[0] == 200, "covered, yet refused")
    expect(world.bot("PATCH", DEPLOYMENTS + "/d", {"spec": {"replicas": 4}}, MERGE)[0] == 403, "not covered, yet allowed")
    world.admin("PATCH", DEPLOYMENTS + "/d", {"metadata": {"labels": {"app": "d"}}}, MERGE)
    # A custom resource with an excluded field.
    expect(ask("update", "widgets", "w", "--field", "spec.size", want=0) == "yes\n  spec.size is covered by update\n", "size")
    out = ask("update", "widgets", "w", "--field", "spec.selfDestruct", want=1)
    expect("needs granular:example.com/selfDestruct itself" in out, out)
    ask("update", "widgets", "w", "--field", "spec.nosuch", want=2)
    ask("patch", "deployments", "d", "--field", "status.replicas", want=2)
    expect(ask("patch", "deployments", "d", "-q", "--field", "spec.replicas", want=1) == "", "quiet")
    world.revoke("ask")


@story.chapter
def asking_on_terms(world, config):
    """Conditions on the verb, and on a permission."""
    def policy(name, verb, expression):
        world.admin("POST", "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies", {"metadata": {"name": name}, "spec": {
            "effect": "Allow", "description": name, "subjects": [{"kind": "User", "name": "bot"}], "expression": expression,
            "rules": [{"verbs": [verb], "apiGroups": [""], "resources": ["configmaps"]}]}})

    ask = lambda field, want: run("can-i", "patch", "configmaps", "c", "-n", "default", "--kubeconfig", config, "--field", field, want=want)[0]
    world.admin("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
    world.grant("gate", [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["granular"]}])
    policy("small-notes", "granular:annotation(note)", "object.metadata.annotations.note == 'small'")
    out = ask("metadata.annotations.note", 3)
    expect(out.startswith("yes, if\n") and "small" in out and out.endswith("is covered by granular:annotation(note)\n"), out)
    ask("metadata.annotations.other", 1)
    path = "/api/v1/namespaces/default/configmaps/c"
    for note, want in (("small", 200), ("large", 403)):
        status, answer = world.bot("PATCH", path, {"metadata": {"annotations": {"note": note}}}, MERGE)
        expect(status == want, f"{note}: {status} {answer}")
    policy("small-patches", "patch", "size(object.data) < 2")
    out = ask("data.x", 3)
    expect(out.startswith("yes, if\n") and "object.data" in out and out.endswith("data.x is covered by patch\n"), out)
    world.revoke("gate")


@story.chapter
def suggesting(world, folder):
    world.grant("broad", [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "patch", "update"]},
                          {"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get", "patch"]}])
    widgets = "/apis/example.com/v1/namespaces/default/widgets"
    seen = len(world.logged()) if world.log_path else 0
    for path, name in ((DEPLOYMENTS, "d"), (widgets, "w")):
        world.record("admin", "get", f"{path}/{name}", None, 200, world.admin("GET", f"{path}/{name}"))
    done = [(f"{DEPLOYMENTS}/d", {"metadata": {"labels": {"super.safe.com/a": "1"}}}), (f"{DEPLOYMENTS}/d", {"spec": {"replicas": 3}}),
            (f"{DEPLOYMENTS}/d", {"metadata": {"finalizers": ["super.safe.com/f"]}}), (f"{widgets}/w", {"spec": {"size": 5}})]
    undo = [(f"{DEPLOYMENTS}/d", {"metadata": {"labels": {"super.safe.com/a": None}, "finalizers": None}, "spec": {"replicas": 1}}),
            (f"{widgets}/w", {"spec": {"size": 1}})]

    def work(record):
        for path, patch in done:
            status, answer = world.bot("PATCH", path, patch, MERGE)
            expect(status == 200, f"{patch}: {status} {answer}")
            if record:
                world.record("bot", "patch", path, patch, status, answer)

    work(True)
    for path, patch in undo:
        world.admin("PATCH", path, patch, MERGE)
    log = os.path.join(folder, "audit.log")
    with open(log, "w") as out:
        if world.log_path:
            lines = eventually("everything is logged", lambda: (new := world.logged()[seen:]) and len(new) >= len(done) + len(undo) + 2 and new)
            expect(sum('"username":"bot"' in line for line in lines) == len(done), lines)
            out.writelines(lines)
        else:
            out.writelines(json.dumps(event) + "\n" for event in world.log)
    words = ["suggest-role", "--audit-log", log, "--user", "bot", "--file", os.path.join(folder, "crd.json")]
    text, notes = run(*words)
    expect(notes == "", notes)
    expect('# 3 changes, instead of {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["patch"]}\n' in text, text)
    expect(run(*words)[0] == text, "two runs differ")
    roles = json.loads(run(*words, "-o", "json")[0])["items"]
    expect(len(roles) == 1 and roles[0]["kind"] == "Role" and roles[0]["metadata"]["namespace"] == "default", roles)
    rules = roles[0]["rules"]
    expect([r["verbs"] for r in rules] == [["granular", "granular:finalizer(super.safe.com)", "granular:label(super.safe.com)", "granular:replicaCount"],
                                           ["granular", "granular:specification"], ["get"], ["get"]], rules)
    # With the role the bot can do the same again, and nothing else.
    world.revoke("broad")
    # A patch that replaces a list is judged item by item only for a user who may read it.
    world.grant("small", rules[:2])
    status, answer = world.bot("PATCH", *done[2], MERGE)
    expect(status == 403 and "not covered by granular:metadata, granular:finalizers" in answer["message"], f"{status} {answer}")
    world.revoke("small")
    world.grant("small", rules)
    work(False)
    for path, patch in ((f"{DEPLOYMENTS}/d", {"spec": {"paused": True}}), (f"{DEPLOYMENTS}/d", {"metadata": {"labels": {"app": "z"}}}),
                        (f"{widgets}/w", {"free": "x"})):
        status, answer = world.bot("PATCH", path, patch, MERGE)
        expect(status == 403, f"{patch}: {status} {answer}")
    # No verb can be left out.
    for at, rule in enumerate(rules[:2]):
        for verb in rule["verbs"]:
            for path, patch in undo:
                world.admin("PATCH", path, patch, MERGE)
            world.revoke("small")
            world.grant("small", [*rules[:at], {**rule, "verbs": [v for v in rule["verbs"] if v != verb]}, *rules[at + 1:]])
            answers = [world.bot("PATCH", path, patch, MERGE)[0] for path, patch in done]
            expect(403 in answers, f"without {verb} nothing was refused: {answers}")
    run("suggest-role", "--audit-log", log, "--user", "nobody", want=1)
    run("suggest-role", "--user", "bot", want=2)
    bad = os.path.join(folder, "bad.log")
    with open(bad, "w") as out:
        out.write("{}\nnot json\n")
    expect("line 2" in run("suggest-role", "--audit-log", bad, "--user", "bot", want=2)[1], "the line is not named")


@story.chapter
def scaling(world, folder):
    """A write of a scale: the permissions that it needs, no others, and those that are excluded on the object."""
    if not world.log_path:
        return
    scale, log = f"{DEPLOYMENTS}/d/scale", os.path.join(folder, "scale.log")
    sets = "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets"
    for at, (excluded, verbs) in enumerate((([], ["granular", "granular:replicaCount"]), (["granular:replicaCount"], ["granular", "granular:replicaCount"]),
                                            (["granular:specification"], ["granular", "granular:specification"]))):
        world.admin("PATCH", scale, {"spec": {"replicas": 1}}, MERGE)
        if excluded:
            world.admin("POST", sets, {"metadata": {"name": f"scale-{at}"}, "spec": {"uncoveredPermissions": excluded}})
        seen = len(world.logged())
        world.grant("scaler", [{"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["patch", *excluded]}])
        world.admin("GET", scale)
        status, answer = world.bot("PATCH", scale, {"spec": {"replicas": 5}}, MERGE)
        expect(status == 200, f"{excluded}: {status} {answer}")
        world.revoke("scaler")
        with open(log, "w") as out:
            out.writelines(eventually("the scale is logged", lambda: len(new := world.logged()[seen:]) >= 2 and new))
        words = ["suggest-role", "--audit-log", log, "--user", "bot", "-o", "json"]
        for verb in excluded:
            words += ["--excluded", verb]
        text, notes = run(*words)
        rules = json.loads(text)["items"][0]["rules"]
        expect(notes == "" and rules == [{"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": verbs},
                                         {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}], f"{rules} {notes}")
        for spared in [None, *verbs]:
            world.admin("PATCH", scale, {"spec": {"replicas": 1}}, MERGE)
            world.grant("tiny", [{**rules[0], "verbs": [v for v in verbs if v != spared]}])
            status, answer = world.bot("PATCH", scale, {"spec": {"replicas": 5}}, MERGE)
            expect(status == (200 if spared is None else 403), f"{excluded} without {spared}: {status} {answer}")
            world.revoke("tiny")
        if excluded:
            world.admin("DELETE", f"{sets}/scale-{at}")


@story.shared
def folder():
    with tempfile.TemporaryDirectory() as folder:
        yield folder


@story.shared
def world(folder):
    """A server with a Deployment `d`, a custom kind, and a Widget `w`."""
    users = os.path.join(folder, "users.csv")
    with open(users, "w") as out:
        out.write("bot-token,bot,1\n")
    flags, log_path = ["--token-auth-file", users], None
    if "--audit-log-path" in run("serve", "--help")[0]:
        policy, log_path = os.path.join(folder, "policy.json"), os.path.join(folder, "server.log")
        with open(policy, "w") as out:
            json.dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
                {"level": "RequestResponse", "resources": [{"group": "apps", "resources": ["deployments", "deployments/scale"]}, {"group": "example.com"}]},
                {"level": "None"}]}, out)
        flags += ["--audit-policy-file", policy, "--audit-log-path", log_path]
    with Cardea(*flags) as server:
        world = World(server, log_path)
        world.admin("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS)
        eventually("widgets are served", lambda: server.request("GET", "/apis/example.com/v1/widgets")[0] == 200)
        world.admin("POST", DEPLOYMENTS, DEPLOYMENT)
        world.admin("POST", "/apis/example.com/v1/namespaces/default/widgets",
                    {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}})
        yield world


@story.shared
def config(world, folder):
    return kubeconfig(world, folder)


if __name__ == "__main__":
    story.main()
