"""Servers that ask servers: conditions go down a graph of authorizers and come back to their author, in both dialects.

    front ─► middle ─► author ─► two webhooks side by side

Every arrow is a webhook of the authorization configuration. The front enforces; only the webhooks know what their conditions mean.
"""
import json
import os
import subprocess
import tempfile

from conditional import CM, World, config_map
from conditional_webhooks import BUILT_IN, CEL, FIVE, HEAD, LIST, TREE, Hook, both, condition, folder, listed, tree, webhook  # noqa: F401
from server import Cardea, expect
from story import Story

story = Story("composed_authorizers")
for part in (folder, tree, listed):
    story.shared(part)

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
CONDITIONS = "/apis/authorization.k8s.io/v1alpha1/authorizationconditionsreviews"
USERS = [u for name in ("opaque", "cel", "nobody", "fault-vanish") for u in both(name)]


class Link:
    """The way to a Cardea that is another one's webhook: a kubeconfig with the two contexts, as a user who may ask and nothing else."""

    def __init__(self, folder, server, name):
        self.kubeconfig = f"{folder}/{name}.kubeconfig"
        clusters = [{"name": n, "cluster": {"server": server.base + path, "certificate-authority": os.path.join(server.data_dir, "ca.crt")}}
                    for n, path in (("requests", REVIEWS), ("conditions", CONDITIONS))]
        with open(self.kubeconfig, "w") as f:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "requests", "users": [{"name": "u", "user": {"token": "token-delegator"}}],
                       "clusters": clusters, "contexts": [{"name": n, "context": {"cluster": n, "user": "u"}} for n in ("requests", "conditions")]}, f)


def configured(folder, name, text):
    with open(f"{folder}/{name}.yaml", "w") as f:
        f.write(HEAD + text)
    return f"--authorization-config={folder}/{name}.yaml"


def may_ask(server):
    """A server that asks is bound to Kubernetes' role for it, and to no other."""
    status, _, body = server.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "delegator"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:auth-delegator"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "delegator"}]})
    expect(status == 201, body)


@story.shared
def tokens(folder):
    with open(f"{folder}/tokens", "w") as f:
        f.writelines(f"token-{u},{u},{u}-uid,\"first,second\"\n" for u in USERS)
        f.write("token-delegator,delegator,d\ntoken-stranger,stranger,s\n")
    return f"--token-auth-file={folder}/tokens"


@story.shared
def author(folder, tokens, tree, listed):
    with Cardea(tokens, configured(folder, "author", webhook("trees", tree, TREE) + webhook("lists", listed, LIST) + BUILT_IN)) as server:
        may_ask(server)
        yield server


@story.shared
def chains(folder, tokens, author):
    """Fronts three servers away from the webhooks, for each pair of dialects."""
    servers, fronts = [], {}
    try:
        for inner in (TREE, LIST):
            for outer in (TREE, LIST):
                name = f"{len(fronts)}"
                middle = Cardea(tokens, configured(folder, "middle" + name, webhook("author", Link(folder, author, "to-author" + name), inner) + BUILT_IN)).__enter__()
                servers.append(middle)
                may_ask(middle)
                front = Cardea(tokens, configured(folder, "front" + name, webhook("middle", Link(folder, middle, "to-middle" + name), outer) + BUILT_IN)).__enter__()
                servers.append(front)
                may_ask(front)
                fronts["tree" if inner == TREE else "list", "tree" if outer == TREE else "list"] = World(front)
        yield fronts
    finally:
        for server in reversed(servers):
            server.__exit__(None, None, None)


@story.chapter
def opaque_conditions_come_back_to_their_author(chains, tree, listed):
    for dialects, w in chains.items():
        for user, hook in zip(both("opaque"), (tree, listed)):
            before = len(hook.second)
            w.allowed(user, "POST", CM, config_map(f"{user}-one", labels={"ok": "yes"}))
            w.refused(user, "POST", CM, config_map(f"{user}-two"))
            w.refused(user, "POST", CM, config_map("bad-one", labels={"ok": "yes"}), saying="the author says Deny")
            expect(w.admin("GET", f"{CM}/bad-one")[0] == 404 and w.admin("GET", f"{CM}/{user}-two")[0] == 404, f"{dialects}: what was refused was written")
            sent = hook.second[before:]
            expect(len(sent) == 3, f"{dialects} {user}: the webhook was asked {len(sent)} times")
            about = [r["request"].get("admissionRequest", r["request"]) for r in sent]
            expect({a["userInfo"]["username"] for a in about} == {user}, about)
            # Its own conditions, unchanged, after three servers.
            texts = sorted((c["type"], c["condition"]) for c in conditions_in(sent[0]["request"]))
            expect(texts == [("example.com/opaque", "bad"), ("example.com/opaque", "label")], f"{dialects}: {texts}")


def conditions_in(value):
    """All conditions, wherever they stand."""
    if isinstance(value, dict):
        if "id" in value and "type" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from conditions_in(item)


@story.chapter
def cel_needs_no_second_call(chains, tree, listed):
    before = len(tree.second) + len(listed.second)
    for w in chains.values():
        for user in both("cel"):
            w.allowed(user, "POST", CM, config_map(f"good-{user}"))
            w.refused(user, "POST", CM, config_map(f"bad-{user}"), saying="example.com/no-bad")
    expect(len(tree.second) + len(listed.second) == before, "the author of conditions in CEL was asked")


@story.chapter
def a_webhook_that_fails_far_away_fails_closed(chains):
    for w in chains.values():
        for user in both("fault-vanish"):
            w.refused(user, "POST", CM, config_map("vanished", labels={"ok": "yes"}))
            expect(w.admin("GET", f"{CM}/vanished")[0] == 404, "it was written")
        for user in both("nobody"):
            w.refused(user, "POST", CM, config_map("vanished"))


# --- reviews by hand

def asked(server, user, as_list, token="delegator", attributes=None):
    spec = {"user": user, "uid": f"{user}-uid", "groups": ["first", "second", "system:authenticated"],
            "resourceAttributes": attributes or {"verb": "create", "version": "v1", "resource": "configmaps", "namespace": "default"}}
    spec.update({"conditionalAuthorization": {"mode": "HumanReadable"}} if as_list else {"authorizationOptions": {"handledDecisionTypes": FIVE}})
    status, _, body = World(server).as_user(token, "POST", REVIEWS, {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec})
    expect(status == 201, body)
    return body["status"].get("conditionsChain" if as_list else "conditionalDecision")


def settled(server, decision, user, token="delegator", **changes):
    about = {"uid": "u", "operation": "CREATE", "namespace": "default", "name": "x", "userInfo": {"username": user, "uid": f"{user}-uid", "groups": ["second", "first", "system:authenticated"]},
             "resource": {"group": "", "version": "v1", "resource": "configmaps"}, "kind": {"group": "", "version": "v1", "kind": "ConfigMap"}, "object": config_map("x", labels={"ok": "yes"})}
    about.update(changes)
    request = {"decision": decision, "admissionRequest": about} if isinstance(decision, dict) else {**about, "conditionSets": decision}
    status, _, body = World(server).as_user(token, "POST", CONDITIONS, {"apiVersion": "authorization.k8s.io/v1alpha1", "kind": "AuthorizationConditionsReview", "request": request})
    expect(status == 201, f"{status} {body}")
    said = body["response"]
    return said["decision"]["type"] == "Allow" if isinstance(decision, dict) else said["allowed"], json.dumps(said)


@story.chapter
def a_server_evaluates_what_it_issued(author):
    for user in both("opaque"):
        for as_list in (False, True):
            decision = asked(author, user, as_list)
            shown = list(conditions_in(decision))
            expect({c["type"] for c in shown} == {"access.cardea.dev/sealed"}, shown)
            expect(settled(author, decision, user)[0], f"{user} {as_list}: {settled(author, decision, user)}")


@story.chapter
def forged_and_stale_conditions_fail_closed(author, tree, listed):
    for user in both("opaque"):
        for as_list in (False, True):
            decision = asked(author, user, as_list)
            before = len(tree.second) + len(listed.second)
            attempts = {
                "another user": dict(userInfo={"username": "nobody", "uid": f"{user}-uid", "groups": ["first", "second", "system:authenticated"]}),
                "another group": dict(userInfo={"username": user, "uid": f"{user}-uid", "groups": ["first", "second", "third", "system:authenticated"]}),
                "no user": dict(userInfo={}),
                "another resource": dict(resource={"group": "", "version": "v1", "resource": "secrets"}),
                "another namespace": dict(namespace="kube-system"),
                "another operation": dict(operation="DELETE"),
                "a subresource": dict(subResource="status"),
            }
            for what, changes in attempts.items():
                allowed, said = settled(author, decision, user, **changes)
                expect(not allowed and "was not issued" in said or "another operation" in said, f"{user} {as_list} {what}: {said}")
            forged = json.loads(json.dumps(decision))
            for c in conditions_in(forged):
                c["condition"] = c["condition"].replace('"label"', '"anything"').replace('"bad"', '"never"')
            expect(not settled(author, forged, user)[0], "a changed text")
            plain = json.loads(json.dumps(decision))
            for c in conditions_in(plain):
                c["type"], c["condition"] = "example.com/opaque", "label"
            allowed, said = settled(author, plain, user)
            expect(not allowed and "not evaluated for others" in said, f"without a seal: {said}")
            expect(len(tree.second) + len(listed.second) == before, "the webhook was asked about what its server did not issue")
    # What one server was given, another one cannot use.
    may = author.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "stranger"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:auth-delegator"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "stranger"}]})
    expect(may[0] == 201, may)
    expect(not settled(author, asked(author, "opaque", False), "opaque", token="stranger")[0], "another asker")


@story.chapter
def a_restart_keeps_the_seal(folder, tokens, tree, listed):
    """The keys follow from the key of service accounts, so that a restart, or another replica with the same key, opens what was sealed before."""
    with Cardea(tokens, configured(folder, "restarted", webhook("trees", tree, TREE) + webhook("lists", listed, LIST) + BUILT_IN)) as server:
        may_ask(server)
        decision = asked(server, "opaque", False)
        server.stop()
        server.start()
        expect(settled(server, decision, "opaque")[0], "what was sealed before")


@story.chapter
def can_i_shows_what_is_inside(author):
    from server import binary
    ran = subprocess.run([binary(), "can-i", "create", "configmaps", "-n", "default", "--as", "opaque", "--kubeconfig", author.kubeconfig], capture_output=True, text=True, timeout=60)
    expect(ran.returncode == 3 and "allowed if label (example.com/opaque)" in ran.stdout and "denied if bad (example.com/opaque)" in ran.stdout, ran.stdout + ran.stderr)


# --- circles

@story.chapter
def a_circle_is_found_and_allows_nothing(folder, tokens):
    """Two servers that ask each other, and one that asks itself. RBAC behind them still decides."""
    first, second = Cardea(tokens), Cardea(tokens)
    for server in (first, second):  # the files name each other, so the folders must be there
        os.makedirs(server.data_dir, exist_ok=True)
    with first, second:
        for server in (first, second):
            may_ask(server)
            server.stop()
        for a, b, name in ((first, second, "first"), (second, first, "second")):
            a.flags.append(configured(folder, name, webhook("other", Link(folder, b, f"circle-{name}"), TREE).replace("10m", "1s") + BUILT_IN))
        first.start()
        second.start()
        for server in (first, second):
            w = World(server)
            status, _, body = w.as_user("nobody", "GET", "/api/v1/namespaces/default/secrets")
            expect(status in (403, 500), f"{status} {body}")
            status, _, body = w.as_user("nobody", "POST", CM, config_map("circle"))
            expect(status in (403, 500), f"{status} {body}")
        with open(first.log_path) as a, open(second.log_path) as b:
            expect("asked in a circle" in a.read() + b.read() or "asked in a circle" in str(body), f"no word about the circle: {body}")
        expect(first.request("GET", CM)[0] == 200, "administrators are not part of it")
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": "u", "nonResourceAttributes": {"path": "/", "verb": "get"}}}
        status, _, body = first.request("POST", REVIEWS, review, {"Cardea-Via": ", ".join(["anything"] * 17)})
        expect(status == 508 and "too many servers" in body["message"], f"{status} {body}")
        expect(first.request("POST", REVIEWS, review, {"Cardea-Via": ", ".join(["anything"] * 16)})[0] == 201, "as many as are allowed")


if __name__ == "__main__":
    story.main()
