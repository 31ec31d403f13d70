"""Acting for another user: constrained impersonation over HTTPS, with tokens of a file and real bound tokens of service accounts.

The two user stories and the list of integration tests of the proposal (KEP-5284), conditions, delegation, attacks.
Chapters about features of Kubernetes also run against a real kube-apiserver if $CARDEA_PEERS names a folder with one.
"""
import json
import os
import re
import socket
import ssl
import subprocess
import tempfile

from conditional_webhooks import BUILT_IN, CEL, HEAD, LIST, TREE, Hook, condition, webhook
from deputies import AUTHENTICATION, WHO, World, as_user, rule, write_tokens
from peer import Kube, openssl, peers
from server import Cardea, binary, expect, skip
from story import Story

story = Story("impersonation")
NO_PEERS = "no kube-apiserver to tell it to as well ($CARDEA_PEERS)"

USERS = ["bob", "eve", "carol", "lucas", "agent", "dave", "mallory", "legacy", "granter", "alice", "nobody", "frank"]
PODS = "/api/v1/namespaces/default/pods"
NODE_PODS = "/api/v1/pods?fieldSelector=spec.nodeName%3D"


def passes(answer, what, status=200):
    expect(answer[0] == status, f"{what}: {answer[0]} instead of {status}: {answer[2]}")
    return answer[2]


def refuses(answer, what, saying, status=403):
    expect(answer[0] == status, f"{what}: {answer[0]} instead of {status}: {answer[2]}")
    expect(isinstance(answer[2], dict) and answer[2].get("kind") == "Status", f"{what}: not a Status: {answer[2]}")
    expect(saying in answer[2]["message"], f"{what}: {saying!r} is not in {answer[2]['message']!r}")
    return answer[2]


# ---- features that Kubernetes has too: run against both servers -----------------------------------------------------


@story.chapter
def user_story_of_the_node(w):
    """Story 1: a controller impersonates the node on which it runs, to list and get the pods there."""
    w.make_account("default", "default")
    for node in ("node1", "node2"):
        w.make_node(node)
        w.make_pod("default", f"on-{node}", node=node)
    w.grant("system:serviceaccount:default:default", rule(["impersonate:associated-node"], ["nodes"], [AUTHENTICATION]))
    w.grant("system:serviceaccount:default:default", rule(["impersonate-on:associated-node:list", "impersonate-on:associated-node:get"], ["pods"]))
    w.settle()
    token = w.account_token("default", "default", "on-node1")
    node1, node2 = as_user("system:node:node1"), as_user("system:node:node2")
    listed = passes(w.send(token, "GET", NODE_PODS + "node1", node1), "the pods of its node")
    expect([p["metadata"]["name"] for p in listed["items"]] == ["on-node1"], f"{listed}")
    passes(w.send(token, "GET", PODS + "/on-node1", node1), "one of them")
    refuses(w.send(token, "GET", NODE_PODS + "node1"), "the controller itself", 'User "system:serviceaccount:default:default" cannot list resource "pods"')
    # The node authorizer decides which objects the node may see.
    refuses(w.send(token, "GET", PODS + "/on-node2", node1), "a pod of another node", 'User "system:node:node1" cannot get resource "pods"')
    refuses(w.send(token, "GET", NODE_PODS + "node2", node2), "another node", "cannot impersonate-on:arbitrary-node:list")
    refuses(w.send(token, "DELETE", PODS + "/on-node1", node1), "another action", "cannot impersonate-on:associated-node:delete")
    refuses(w.send(token, "GET", "/api/v1/nodes/node1", node1), "another resource", "cannot impersonate-on:associated-node:get")
    # A token without a node, although its account may impersonate.
    unbound = w.account_token("default", "default")
    refuses(w.send(unbound, "GET", NODE_PODS + "node1", node1), "a token without a node", "cannot impersonate-on:arbitrary-node:list")
    refuses(w.send(token, "GET", PODS, as_user("bob")), "a user instead of a node", "cannot impersonate-on:user-info:list")
    refuses(w.send(token, "GET", NODE_PODS + "node1", as_user("system:node:node1", "system:nodes")), "its node with a group", 'cannot impersonate resource "users"')


@story.chapter
def user_story_of_the_deputy(w):
    """Story 2: a deputy lets any user reach the console of a virtual machine, in one namespace."""
    w.make_account("deputy-ns", "deputy")
    deputy = "system:serviceaccount:deputy-ns:deputy"
    w.grant(deputy, rule(["impersonate:user-info"], ["users"], [AUTHENTICATION]))
    w.grant(deputy, rule(["impersonate-on:user-info:get"], ["virtualmachines/console"], ["subresources.kubevirt.io"]), namespace="default")
    w.grant("jane", rule(["get"], ["virtualmachines/console"], ["subresources.kubevirt.io"]))
    w.settle()
    token = w.account_token("deputy-ns", "deputy")
    console = "/apis/subresources.kubevirt.io/v1/namespaces/%s/virtualmachines/vm/console"
    # There is no such resource here: 404 shows that the request passed both checks.
    expect(w.send(token, "GET", console % "default", as_user("jane"))[0] == 404, "jane's console")
    refuses(w.send(token, "GET", console % "default", as_user("joe")), "joe may not himself", 'User "joe" cannot get resource "virtualmachines/console"')
    refuses(w.send(token, "GET", console % "kube-system", as_user("jane")), "another namespace", "cannot impersonate-on:user-info:get")
    refuses(w.send(token, "PUT", console % "default", as_user("jane"), {}), "another verb", "cannot impersonate-on:user-info:update")
    refuses(w.send(token, "GET", console % "default", as_user("jane", "vm-admins")), "a group", 'cannot impersonate:user-info resource "groups"')
    refuses(w.send(token, "GET", console % "default"), "the deputy itself", f'User "{deputy}" cannot get')


@story.chapter
def users(w):
    """Impersonating a user: which user, and for which requests."""
    w.grant("carol", rule(["impersonate:user-info"], ["users"], [AUTHENTICATION], ["bob"]))
    w.grant("carol", rule(["impersonate-on:user-info:list", "impersonate-on:user-info:get"], ["pods", "pods/exec"]), namespace="default")
    for user in ("bob", "alice"):
        w.grant(user, rule(["*"], ["*"], ["*"]))
    w.make_pod("default", "web", node="node2")
    w.settle()
    carol = "token-carol"
    passes(w.send(carol, "GET", PODS, as_user("bob")), "listing as bob")
    passes(w.send(carol, "GET", PODS + "/web", as_user("bob")), "getting as bob")
    # The pod has no kubelet; the test only checks that the answer is not 403.
    expect(w.send(carol, "GET", PODS + "/web/exec?command=ls", as_user("bob"))[0] != 403, "exec as bob")
    refuses(w.send(carol, "GET", PODS + "/web/log", as_user("bob")), "log as bob", 'cannot impersonate-on:user-info:get resource "pods/log"')
    refuses(w.send(carol, "PUT", PODS + "/web", as_user("bob"), {}), "updating as bob", "cannot impersonate-on:user-info:update")
    refuses(w.send(carol, "GET", "/api/v1/pods", as_user("bob")), "all namespaces as bob", "cannot impersonate-on:user-info:list")
    refuses(w.send(carol, "GET", PODS, as_user("alice")), "alice", 'users.authentication.k8s.io "alice" is forbidden: User "carol" cannot impersonate:user-info')
    refuses(w.send(carol, "GET", PODS, as_user("bob", uid="7")), "with a uid", 'uids.authentication.k8s.io "7" is forbidden')
    refuses(w.send(carol, "GET", PODS, as_user("bob", extra=[("acme.io/k", "v")])), "with extra", 'userextras.authentication.k8s.io "v" is forbidden')


@story.chapter
def accounts_and_nodes(w):
    w.grant("dave", rule(["impersonate:serviceaccount"], ["serviceaccounts"], [AUTHENTICATION], ["builder"]), namespace="default")
    w.grant("dave", rule(["impersonate:arbitrary-node"], ["nodes"], [AUTHENTICATION], ["node1"]))
    w.grant("dave", rule(["impersonate-on:serviceaccount:create", "impersonate-on:arbitrary-node:create"], ["selfsubjectreviews"], [AUTHENTICATION]))
    w.settle()
    dave = "token-dave"

    def who(name, *groups):
        return w.send(dave, "POST", WHO, as_user(name, *groups), {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})

    is_builder = passes(who("system:serviceaccount:default:builder"), "an account", 201)["status"]["userInfo"]
    expect(is_builder == {"username": "system:serviceaccount:default:builder", "groups": ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]}, is_builder)
    is_node = passes(who("system:node:node1"), "a node", 201)["status"]["userInfo"]
    expect(is_node == {"username": "system:node:node1", "groups": ["system:nodes", "system:authenticated"]}, is_node)
    refuses(who("system:serviceaccount:default:other"), "another account", 'serviceaccounts.authentication.k8s.io "other" is forbidden')
    refuses(who("system:serviceaccount:kube-system:builder"), "another namespace", 'in the namespace "kube-system"')
    refuses(who("system:node:node2"), "another node", 'nodes.authentication.k8s.io "node2" is forbidden')
    refuses(who("system:node:Bad_Name"), "a name that is no node's", "cannot impersonate-on:user-info:create")
    refuses(who("system:node:node1", "system:masters"), "a node with a group", 'users "system:node:node1" is forbidden: User "dave" cannot impersonate resource "users"')


@story.chapter(needs=["users"])
def everything_but(w):
    """Users that no constrained mode gives, whatever is granted; the old verb gives them."""
    w.grant("eve", rule(["impersonate:user-info"], ["*"], [AUTHENTICATION]), rule(["impersonate-on:user-info:list"], ["pods"]))
    w.grant("legacy", rule(["impersonate"], ["*"], ["*"]))
    w.settle()
    for headers, saying in ((as_user("x", "system:masters"), "impersonating the system:masters group is not allowed"),
                            (as_user("x", ""), "impersonating the empty string group is not allowed"),
                            (as_user("x", extra=[("scopes", "v")]), 'an invalid key in extra is not allowed: extra.key: Invalid value: "scopes": must be a domain-prefixed path'),
                            (as_user("x", extra=[("acme.io/k", "")]), "impersonating the empty string value in extra is not allowed"),
                            ([("Impersonate-User", "x"), ("Impersonate-Extra-acme.io%2F%4B", "v")], 'a non-lowercase key in extra is not allowed: "acme.io/K"'),
                            ([("Impersonate-User", "x"), ("Impersonate-Extra-", "v")], "the empty string key in extra")):
        refuses(w.send("token-eve", "GET", PODS, headers), f"{headers}", saying)
    passes(w.send("token-legacy", "GET", PODS, as_user("x", "system:masters")), "the old verb")
    many = as_user("alice", *(f"g{i}" for i in range(3000)))
    passes(w.send("token-eve", "GET", PODS, many), "three thousand groups")


@story.chapter(needs=["users"])
def delegation(w):
    """A user with a permission to impersonate may grant this permission, and no other."""
    w.grant("granter", rule(["create"], ["clusterroles", "clusterrolebindings", "roles", "rolebindings"], ["rbac.authorization.k8s.io"]),
            rule(["impersonate:user-info"], ["users"], [AUTHENTICATION]), rule(["impersonate-on:user-info:list"], ["pods"]))
    w.settle()
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"

    def role(name, *rules):
        return w.send("token-granter", "POST", roles, (), {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": list(rules)})

    passes(role("for-alice", rule(["impersonate:user-info"], ["users"], [AUTHENTICATION]), rule(["impersonate-on:user-info:list"], ["pods"])), "what granter holds", 201)
    passes(w.send("token-granter", "POST", bindings, (), {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "for-alice"},
                                                          "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "mallory"}],
                                                          "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "for-alice"}}), "and its binding", 201)
    w.settle()
    passes(w.send("token-mallory", "GET", PODS, as_user("bob")), "which works")
    for name, more in (("nodes", rule(["impersonate:arbitrary-node"], ["nodes"], [AUTHENTICATION])), ("own-node", rule(["impersonate:associated-node"], ["nodes"], [AUTHENTICATION])),
                       ("groups", rule(["impersonate:user-info"], ["groups"], [AUTHENTICATION])), ("old", rule(["impersonate"], ["users"])),
                       ("update", rule(["impersonate-on:user-info:update"], ["pods"])), ("secrets", rule(["impersonate-on:user-info:list"], ["secrets"])), ("all", rule(["*"], ["users"], [AUTHENTICATION]))):
        refuses(role("more-" + name, more), f"giving away {name}", "is attempting to grant RBAC permissions not currently held")


# ---- features of this server alone ----------------------------------------------------------------------------------


def policy(w, name, user, verbs, resources=("*",), groups=(AUTHENTICATION,), names=None, expression="", effect="Allow", namespace=None):
    spec = {"effect": effect, "subjects": [{"kind": "User", "name": user}], "expression": expression}
    if verbs:
        spec["rules"] = [rule(verbs, resources, groups, names)]
    w.admin("POST", "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies",
            {"apiVersion": "access.cardea.dev/v1alpha1", "kind": "ClusterAccessPolicy", "metadata": {"name": name}, "spec": spec})


def may_act(w, user, mode):
    """Grants the verbs of every request in this mode; another permission names the user to impersonate."""
    policy(w, f"{user}-acts-{mode}", user, None, expression=f"request.verb.startsWith('impersonate-on:{mode}:')")


@story.chapter(using={"w": "conditions"})
def node_foo_only_to_get_pods(w):
    only = "impersonatedRequest.apiGroup == '' && impersonatedRequest.resource == 'pods' && impersonatedRequest.verb == 'get'"
    policy(w, "lucas-node-foo", "lucas", ["impersonate:arbitrary-node"], ["nodes"], names=["foo"], expression=only)
    may_act(w, "lucas", "arbitrary-node")
    # The same by the old verb, which needs no other permission.
    policy(w, "carol-node-foo", "carol", ["impersonate"], ["users"], [""], ["system:node:foo"], only)
    w.grant("system:node:foo", rule(["get", "list", "delete"], ["pods", "secrets"]))
    w.settle()
    foo = as_user("system:node:foo")
    for token in ("token-lucas", "token-carol"):
        passes(w.send(token, "GET", PODS + "/web", foo), f"{token}: getting a pod as foo")
        for method, path in (("GET", PODS), ("DELETE", PODS + "/web"), ("GET", "/api/v1/namespaces/default/secrets/x"), ("GET", "/apis/apps/v1/namespaces/default/pods/web"), ("GET", "/healthz")):
            refuses(w.send(token, method, path, foo), f"{token}: {method} {path} as foo", "")
        refuses(w.send(token, "GET", PODS + "/web", as_user("system:node:bar")), f"{token}: another node", "")
        refuses(w.send(token, "GET", PODS + "/web"), f"{token} as itself", "cannot get")
    said = refuses(w.send("token-lucas", "GET", PODS, foo), "listing", 'nodes.authentication.k8s.io "foo" is forbidden: User "lucas" cannot impersonate:arbitrary-node')
    expect("clusteraccesspolicy.access.cardea.dev/lucas-node-foo" in said["message"], said["message"])


@story.chapter(using={"w": "conditions"})
def lucas_only_with_a_group(w):
    policy(w, "agent-lucas", "agent", ["impersonate:user-info"], ["users"], names=["lucas"], expression="'ai-agent-foo' in impersonatedRequest.userInfo.groups")
    policy(w, "agent-group", "agent", ["impersonate:user-info"], ["groups"], names=["ai-agent-foo", "team"])
    may_act(w, "agent", "user-info")
    w.grant("lucas", rule(["list"], ["configmaps"]))
    w.settle()
    maps = "/api/v1/namespaces/default/configmaps"
    passes(w.send("token-agent", "GET", maps, as_user("lucas", "ai-agent-foo")), "lucas with the group")
    passes(w.send("token-agent", "GET", maps, as_user("lucas", "team", "ai-agent-foo")), "lucas with the group and another")
    for headers in (as_user("lucas"), as_user("lucas", "team"), as_user("lucas", "ai-agent-foo "[:-2]), as_user("lucas", "AI-AGENT-FOO"), as_user("lucas", "x,ai-agent-foo"),
                    as_user("lucas", "team", extra=[("acme.io/groups", "ai-agent-foo")]), as_user("lucas", "team", uid="ai-agent-foo")):
        refuses(w.send("token-agent", "GET", maps, headers), f"{headers}", "")
    refuses(w.send("token-agent", "GET", maps, as_user("alice", "ai-agent-foo")), "another user with the group", 'users.authentication.k8s.io "alice"')


@story.chapter(using={"w": "conditions"})
def alice_for_reads_and_bob_for_anything(w):
    policy(w, "eve-alice", "eve", ["impersonate:user-info"], ["users"], names=["alice"], expression="impersonatedRequest.verb in ['get', 'list', 'watch']")
    policy(w, "eve-bob", "eve", ["impersonate:user-info"], ["users"], names=["bob"])
    may_act(w, "eve", "user-info")
    for user in ("alice", "bob"):
        w.grant(user, rule(["*"], ["configmaps"]))
    w.settle()
    maps = "/api/v1/namespaces/default/configmaps"
    for user in ("alice", "bob"):
        passes(w.send("token-eve", "GET", maps, as_user(user)), f"reading as {user}")
    refuses(w.send("token-eve", "POST", maps, as_user("alice"), {"metadata": {"name": "a"}}), "writing as alice", 'cannot impersonate:user-info resource "users"')
    expect(w.server.request("GET", maps + "/a")[0] == 404, "a refused request wrote")
    passes(w.send("token-eve", "POST", maps, as_user("bob"), {"metadata": {"name": "b"}}), "writing as bob", 201)
    # A Deny condition on the impersonated request also holds for bob; an error in its evaluation denies.
    policy(w, "eve-no-deletes", "eve", ["impersonate:user-info"], ["users"], expression="impersonatedRequest.verb == 'delete'", effect="Deny")
    refuses(w.send("token-eve", "DELETE", maps + "/b", as_user("bob")), "deleting as bob", "")
    passes(w.send("token-eve", "GET", maps + "/b", as_user("bob")), "reading as bob")
    policy(w, "eve-broken", "eve", ["impersonate:user-info"], ["users"], names=["bob"], expression="impersonatedRequest.userInfo.extra['x'][0] == 'y'", effect="Deny")
    refuses(w.send("token-eve", "GET", maps + "/b", as_user("bob")), "a Deny that fails", "")


@story.chapter(using={"w": "conditions"})
def only_for_some_objects(w):
    """What depends on the object is settled with it, for every kind of write, and never before."""
    policy(w, "frank-marks", "frank", ["impersonate:user-info"], ["users"], names=["bob"], expression="(operation == 'DELETE' ? oldObject : object).metadata.?labels.by.orValue('') == 'frank'")
    may_act(w, "frank", "user-info")
    w.grant("bob", rule(["*"], ["configmaps", "pods", "pods/exec"]))
    w.settle()
    maps = "/api/v1/namespaces/default/configmaps"
    bob, frank = as_user("bob"), "token-frank"

    def made(name, labels=None, value="1"):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels or {}}, "data": {"a": value}}

    mark = {"by": "frank"}
    passes(w.send(frank, "POST", maps, bob, made("marked", mark)), "creating with the mark", 201)
    passes(w.send(frank, "PUT", maps + "/marked", bob, made("marked", mark, "2")), "updating with the mark")
    w.admin("POST", maps, made("plain"))
    before = w.server.request("GET", maps + "/plain")[2]
    for method, path, body in (("POST", maps, made("no")), ("POST", maps + "?dryRun=All", made("no")), ("PUT", maps + "/plain", made("plain", None, "2")), ("DELETE", maps + "/plain", None),
                               ("PUT", maps + "/marked", made("marked", None, "3"))):
        said = refuses(w.send(frank, method, path, bob, body), f"{method} {path}", 'users.authentication.k8s.io "bob" is forbidden: User "frank" cannot impersonate:user-info')
        expect("frank-marks" in said["message"], said["message"])
    expect(w.server.request("GET", maps + "/plain")[2] == before, "a refused request wrote")
    expect(w.server.request("GET", maps + "/no")[0] == 404, "a refused request created")
    for method, path in (("GET", maps), ("GET", maps + "/marked"), ("GET", maps + "?watch=1"), ("DELETE", maps), ("GET", PODS + "/web/log"), ("GET", "/version")):
        refuses(w.send(frank, method, path, bob), f"{method} {path}", "cannot impersonate:user-info")
    refuses(w.send(frank, "POST", WHO, bob, {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}), "a review", "cannot impersonate:user-info")
    passes(w.send(frank, "DELETE", maps + "/marked", bob), "deleting with the mark")
    review = {"apiVersion": "access.cardea.dev/v1alpha1", "kind": "ImpersonationReview", "spec": {"user": "frank", "impersonate": {"user": "bob"}, "resourceAttributes": {"verb": "create", "resource": "configmaps", "namespace": "default"}}}
    mode = w.admin("POST", "/apis/access.cardea.dev/v1alpha1/impersonationreviews", review)["status"]["modes"][0]
    expect(not mode["allowed"] and mode["reason"] == "it depends on the object" and "allowed if" in mode["questions"][1]["reason"], mode)


@story.chapter(needs=["lucas_only_with_a_group"], using={"w": "conditions"})
def conditions_for_whoever_asks(w):
    """Reviews show conditions; a caller that cannot take them gets a refusal."""
    attributes = {"verb": "impersonate:user-info", "group": AUTHENTICATION, "version": "v1", "resource": "users", "name": "lucas"}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": "agent", "resourceAttributes": attributes}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    expect(not w.admin("POST", path, review)["status"]["allowed"], "a review without conditions allows")
    review["spec"]["conditionalAuthorization"] = {"mode": "HumanReadable"}
    text = json.dumps(w.admin("POST", path, review)["status"])
    expect("ai-agent-foo" in text and "impersonatedRequest.userInfo.groups" in text, text)
    # Without impersonation it is null: an Allow that reads it allows nothing.
    policy(w, "dave-reads", "dave", ["get", "list"], ["configmaps"], [""], expression="impersonatedRequest.verb == 'list'")
    policy(w, "dave-secrets", "dave", ["list"], ["secrets"], [""], expression="impersonatedRequest == null")
    refuses(w.send("token-dave", "GET", "/api/v1/namespaces/default/configmaps"), "an Allow for impersonation only", "cannot list")
    passes(w.send("token-dave", "GET", "/api/v1/namespaces/default/secrets"), "an Allow for everything else")


@story.chapter
def without_the_gate_nothing_is_allowed_on_conditions(tokens):
    with Cardea("--token-auth-file", tokens) as server:
        w = World(server)
        policy(w, "lucas-node-foo", "carol", ["impersonate"], ["users"], [""], ["system:node:foo"], "impersonatedRequest.verb == 'get'")
        w.grant("system:node:foo", rule(["get", "list"], ["pods"]))
        refuses(w.send("token-carol", "GET", PODS, as_user("system:node:foo")), "a condition without the gate", "")


class Deputies(Hook):
    """A webhook that lets `cel` and `opaque` impersonate any user for reads: on a condition in CEL, which the server evaluates, or on one that only the webhook can evaluate."""

    def decide(self, spec):
        verb = spec.get("resourceAttributes", {}).get("verb", "")
        invited = "conditionalAuthorization" in spec if self.dialect == "list" else "authorizationOptions" in spec
        if not verb.startswith("impersonate") or not invited:
            return {"allowed": False}
        if verb.startswith("impersonate-on:"):
            return {"allowed": True}
        text = "impersonatedRequest.verb in ['get', 'list'] && impersonatedRequest.userInfo.username != 'root'"
        return self.worded([], [condition("reads", text, CEL, "to read") if spec["user"] == "cel" else condition("reads", "reads")])

    def evaluate(self, user, about):
        to_be = self.second[-1]["request"].get("impersonatedRequest", {})
        allowed = to_be.get("verb") in ("get", "list") and to_be["userInfo"]["username"] != "root"
        if self.dialect == "list":
            return {"allowed": allowed, "reason": "its author says so"}
        kind = "Allow" if allowed else "NoOpinion"
        return {"uid": about["uid"], "decision": {"type": kind, kind[0].lower() + kind[1:]: {"reason": "its author says so"}}}


def conditions_of_a_webhook(dialect, how):
    with tempfile.TemporaryDirectory(prefix="cardea-impersonation-") as folder:
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{folder}/hook.key", "-out", f"{folder}/hook.crt",
                "-subj", "/CN=hook", "-days", "3", "-addext", "subjectAltName=IP:127.0.0.1")
        write_tokens(f"{folder}/tokens", ["cel", "opaque"])
        hook = Deputies(folder, dialect)
        with open(f"{folder}/authorization.yaml", "w") as f:
            f.write(HEAD + webhook("deputies", hook, how) + BUILT_IN)
        try:
            with Cardea("--token-auth-file", f"{folder}/tokens", "--authorization-config", f"{folder}/authorization.yaml") as server:
                w = World(server)
                for user in ("jane", "root"):
                    w.grant(user, rule(["*"], ["configmaps"]))
                maps = "/api/v1/namespaces/default/configmaps"
                for user in ("cel", "opaque"):
                    passes(w.send(f"token-{user}", "GET", maps, as_user("jane")), f"{dialect}, {user}: reading")
                    refuses(w.send(f"token-{user}", "POST", maps, as_user("jane"), {"metadata": {"name": "x"}}), f"{dialect}, {user}: writing", "")
                    refuses(w.send(f"token-{user}", "GET", maps, as_user("root")), f"{dialect}, {user}: as root", "")
                asked = {r["request"].get("admissionRequest", r["request"])["userInfo"]["username"] for r in hook.second}
                expect(asked == {"opaque"}, f"the author was asked about {asked}")
        finally:
            hook.stop()


@story.chapter
def conditions_of_a_webhook_as_a_tree():
    conditions_of_a_webhook("tree", TREE)


@story.chapter
def conditions_of_a_webhook_as_a_list():
    conditions_of_a_webhook("list", LIST)


@story.chapter
def the_page(tokens):
    """The examples of docs/impersonation.md."""
    page = open(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "impersonation.md")).read()
    with Cardea("--token-auth-file", tokens) as server:
        w = World(server)
        for block in re.findall(r"```yaml\n(.*?)```", page, re.S):
            for document in block.split("---\n"):
                group, kind = re.search(r"apiVersion: (\S+)\nkind: (\S+)", document).groups()
                space = re.search(r"^  namespace: (\S+)", document, re.M)
                plural = kind.lower().replace("policy", "policie") + "s"
                path = f"/apis/{group}/" + (f"namespaces/{space.group(1)}/" if space else "") + plural
                status, _, said = server.request("POST", path, document, {"Content-Type": "application/yaml"})
                expect(status == 201, f"{document}: {status} {said}")
        for user in ("jane", "alice", "bob", "lucas"):
            w.grant(user, rule(["*"], ["pods", "configmaps"]))
        w.grant("system:node:foo", rule(["*"], ["pods"]))
        maps = "/api/v1/namespaces/default/configmaps"
        passes(w.send("token-carol", "GET", PODS, as_user("jane")), "carol as jane")
        refuses(w.send("token-carol", "GET", "/api/v1/pods", as_user("jane")), "carol elsewhere", "cannot impersonate-on:user-info:list")
        refuses(w.send("token-carol", "GET", PODS, as_user("alice")), "carol as alice", "cannot impersonate:user-info")
        expect(w.send("token-lucas", "GET", PODS + "/none", as_user("system:node:foo"))[0] == 404, "lucas as foo")
        refuses(w.send("token-lucas", "GET", PODS, as_user("system:node:foo")), "lucas as foo, listing", "node foo, only to get pods")
        passes(w.send("token-agent", "GET", maps, as_user("lucas", "ai-agent-foo")), "lucas with the group")
        refuses(w.send("token-agent", "GET", maps, as_user("lucas")), "lucas without the group", "lucas only together with the group ai-agent-foo")
        passes(w.send("token-agent", "GET", maps, as_user("alice")), "alice for reads")
        refuses(w.send("token-agent", "POST", maps, as_user("alice"), {"metadata": {"name": "a"}}), "alice for writes", "alice for reads")
        passes(w.send("token-agent", "POST", maps, as_user("bob"), {"metadata": {"name": "a"}}), "bob for anything", 201)
        marked = {"metadata": {"name": "m", "labels": {"impersonated-by": "dave"}}}
        passes(w.send("token-dave", "POST", maps, as_user("bob"), marked), "dave with his mark", 201)
        refuses(w.send("token-dave", "POST", maps, as_user("bob"), {"metadata": {"name": "n"}}), "dave without it", "to write objects that name dave")
        refuses(w.send("token-dave", "GET", maps, as_user("bob")), "dave for reads", "cannot impersonate:user-info")


@story.chapter
def off_the_old_verb(tokens):
    """What the log shows becomes constrained roles; they allow the same requests, and no others."""
    with tempfile.TemporaryDirectory() as folder:
        log, policy = os.path.join(folder, "audit.log"), os.path.join(folder, "policy.yaml")
        with open(policy, "w") as file:
            file.write("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
        with Cardea("--token-auth-file", tokens, "--audit-log-path", log, "--audit-policy-file", policy) as server:
            w = World(server)
            w.make_account("shop", "till")
            old = [w.grant("legacy", rule(["impersonate"], ["users", "groups", "serviceaccounts"])), w.grant("legacy", rule(["impersonate"], ["userextras/example.com/scopes"], [AUTHENTICATION]))]
            for user in ("alice", "system:serviceaccount:shop:till"):
                w.grant(user, rule(["get", "list", "create"], ["pods", "configmaps"]))
            maps = "/api/v1/namespaces/default/configmaps"
            alice, till = as_user("alice", "dev") + [("Impersonate-Extra-Example.com%2fscopes", "view")], as_user("system:serviceaccount:shop:till")

            def everything():
                return [w.send("token-legacy", "GET", PODS, alice)[0], w.send("token-legacy", "POST", maps, alice, {"metadata": {"generateName": "a"}})[0],
                        w.send("token-legacy", "GET", "/api/v1/pods", till)[0], w.send("token-legacy", "GET", "/version", till)[0]]

            expect(everything() == [200, 201, 200, 200], "by the old verb")
            command = [binary(), "suggest-role", "--impersonation", "--audit-log", log]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            expect(done.returncode == 0 and "`legacy` made 4 requests by the verb `impersonate`, as alice, system:serviceaccount:shop:till" in done.stderr, f"{done.returncode} {done.stderr}")
            listed = json.loads(subprocess.run([*command, "-o", "json"], capture_output=True, text=True, timeout=60).stdout)
            for name in old:
                w.revoke(name)
            expect(everything() == [403] * 4, "without any verb")
            for item in listed["items"]:
                space = item["metadata"].get("namespace")
                path = "/apis/rbac.authorization.k8s.io/v1/" + (f"namespaces/{space}/" if space else "") + item["kind"].lower() + "s"
                status, _, said = server.request("POST", path, item)
                expect(status == 201, f"{item}: {status} {said}")
            expect(everything() == [200, 201, 200, 200], f"by the roles {done.stdout}")
            refuses(w.send("token-legacy", "GET", maps, alice), "another action", "cannot impersonate-on:user-info:list")
            refuses(w.send("token-legacy", "GET", PODS, as_user("bob")), "another user", "cannot impersonate:user-info")
            refuses(w.send("token-legacy", "GET", PODS, as_user("alice", "admins")), "another group", "cannot impersonate:user-info")
            done = subprocess.run([*command, "--user", "nobody"], capture_output=True, text=True, timeout=60)
            expect(done.returncode == 1 and "nobody relies on" in done.stderr, f"{done.returncode} {done.stderr}")
            text = server.request("GET", "/metrics")[2]
            text = text if isinstance(text, str) else text.decode()
            for verb in ("impersonate", "impersonate:user-info", "impersonate-on:serviceaccount:*", "list"):
                line = f'apiserver_authorization_decisions_total_by_verb{{verb="{verb}",decision="allowed"}} '
                expect(line in text and f"{line}0\n" not in text, f"{line} is missing or nought")


def spoken(w, text):
    """Sends bytes as they are, and returns every answer on the connection as (status, body)."""
    context = ssl.create_default_context(cafile=os.path.join(w.server.data_dir, "ca.crt"))
    with socket.create_connection(("127.0.0.1", w.server.port), 60) as plain, context.wrap_socket(plain, server_hostname="127.0.0.1") as s:
        s.sendall(text if isinstance(text, bytes) else text.encode("latin-1"))
        data = b""
        while chunk := s.recv(1 << 16):
            data += chunk
    out = []
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), len(rest))
        body, data = rest[:length], rest[length:]
        out.append((int(head.split()[1]), json.loads(body) if body.startswith(b"{") else body))
    return out


def words(token, *lines, method="POST", body="{}", more="Connection: close\r\n", path=WHO):
    head = "".join(line + "\r\n" for line in lines)
    return (f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            f"{head}{more}\r\n{body}")


def name_in(answer):
    return answer[1]["status"]["userInfo"]["username"]


@story.chapter(needs=["everything_but"])
def attacks(w):
    """A valid token of a user without permissions, and bytes that a proxy or a careless parser might misread."""
    w.grant("eve", rule(["impersonate-on:user-info:create"], ["selfsubjectreviews"], [AUTHENTICATION]))
    status, said = spoken(w, words("token-nobody"))[0]
    expect(status == 201 and said["status"]["userInfo"]["username"] == "nobody", f"{status} {said}")
    # Hop by hop: a proxy on the way may have removed the header, or would remove it (CVE-2021-31999).
    for value in ("Impersonate-User", "impersonate-user", "IMPERSONATE-USER", "close, Impersonate-User", "close,impersonate-user", "Impersonate-User, close", "keep-alive ,\timpersonate-group",
                  "Impersonate-Extra-Scopes", "impersonate-uid", ",,Impersonate-User,,", "close, x, impersonate-anything"):
        for headers in ((), ("Impersonate-User: alice",)):
            for token in ("token-nobody", "token-legacy"):
                status, said = spoken(w, words(token, f"Connection: {value}", *headers))[0]
                expect(status == 400 and said["kind"] == "Status" and "Connection" in said["message"], f"Connection: {value} {headers}: {status} {said}")
    status, said = spoken(w, words("token-nobody", "Connection: close", "connection: Impersonate-User", more=""))[0]
    expect(status == 400, f"a second Connection header: {status} {said}")
    # Requests that HTTP itself forbids are refused before.
    for lines in (["Impersonate-User: ali", " ce"], ["Impersonate-User:", " alice"], ["Impersonate-User:", "\talice"], ["Impersonate-User : alice"], [" Impersonate-User: alice"],
                  ["Impersonate-User\t: alice"], ["Impersonate-User: a\x00b"], ["Impersonate-User: a\rImpersonate-Group: system:masters"], ["Impersonate-User: a\x0bb"], ["Impersonate-User"],
                  ["X: y\r\n Impersonate-User: alice"], ["Impersonate-Us\xe9r: alice"]):
        status, _ = spoken(w, words("token-nobody", *lines))[0]
        expect(status == 400, f"{lines}: {status}")
    for lines, saying in ((["Impersonate-User: a", "Impersonate-User: b"], "once"), (["Impersonate-User: a", "impersonate-user: a"], "once"), (["Impersonate-User:"], "is empty"),
                          (["Impersonate-User:  "], "is empty"), (["Impersonate-User: ", "Impersonate-User: alice"], "is empty"), (["Impersonate-Group: system:masters"], "without impersonating a user name"),
                          (["Impersonate-Uid: 7"], "without impersonating a user name"), (["Impersonate-Extra-acme.io%2fk: v"], "without impersonating a user name"),
                          (["Impersonate-User: \xff"], "UTF-8"), (["Impersonate-User: a", "Impersonate-Group: \xc0\xaf"], "UTF-8"), (["Impersonate-User: a", "Impersonate-Extra-k%FF: v"], "UTF-8")):
        for token in ("token-nobody", "token-legacy"):
            status, said = spoken(w, words(token, *lines))[0]
            expect(status == 400 and said["kind"] == "Status" and saying in said["message"], f"{lines}: {status} {said}")
    # Other spellings of the header that count, and spellings that do not.
    for line in ("impersonate-user: alice", "IMPERSONATE-USER: alice", "Impersonate-User:alice", "Impersonate-User: \t alice\t "):
        status, said = spoken(w, words("token-nobody", line))[0]
        expect(status == 403 and "impersonate-on:user-info:create" in said["message"], f"{line}: {status} {said}")
        expect(name_in(spoken(w, words("token-legacy", line))[0]) == "alice", line)
    for line in ("Impersonate_User: alice", "X-Impersonate-User: alice", "Impersonate-Users: alice", "Impersonate: alice", "Impersonate-User-: alice"):
        expect(name_in(spoken(w, words("token-nobody", line))[0]) == "nobody", line)
    # Keys of extra: lower-cased, then decoded, once. No constrained mode takes a key that is not a path, whatever it contains.
    for key, meant in (("acme.io%2Fk", "acme.io/k"), ("ACME.IO%2fK", "acme.io/k"), ("acme.io%252fk", "acme.io%2fk"), ("a%zz", "a%zz"), ("a%", "a%"), ("a%4", "a%4"), ("a%0d%0aImpersonate-Group", "a\r\nimpersonate-group"),
                       ("a%00b", "a\0b"), ("a+b", "a+b"), ("%41", "A"), ("%e1%9b%84", "\u16c4")):
        line = f"Impersonate-Extra-{key}: v"
        got = spoken(w, words("token-legacy", "Impersonate-User: alice", line))[0]
        expect(got[0] == 201 and got[1]["status"]["userInfo"]["extra"] == {meant: ["v"]}, f"{key}: {got}")
        status, said = spoken(w, words("token-eve", "Impersonate-User: alice", line))[0]
        expect(status == 201 if meant == "acme.io/k" else status == 403 and "extra" in said["message"], f"{key}: {status} {said}")
    merged = spoken(w, words("token-eve", "Impersonate-User: alice", "Impersonate-Extra-acme.io%2fk: 1", "IMPERSONATE-EXTRA-ACME.IO%2FK: 2"))[0]
    expect(merged[1]["status"]["userInfo"]["extra"] == {"acme.io/k": ["1", "2"]}, f"{merged}")
    # system:masters in every spelling that decodes to it.
    for line in ("Impersonate-Group: system:masters", "Impersonate-Group:  system:masters \t"):
        status, said = spoken(w, words("token-eve", "Impersonate-User: alice", line))[0]
        expect(status == 403 and "system:masters group is not allowed" in said["message"], f"{status} {said}")
    # Nothing of one request remains for the next one on the connection, and trailers are not headers.
    twice = spoken(w, words("token-legacy", "Impersonate-User: alice", "Impersonate-Group: g", more="") + words("token-legacy", more="") + words("token-nobody"))
    expect([name_in(a) for a in twice] == ["alice", "legacy", "nobody"], f"{twice}")
    chunked = ("POST " + WHO + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token-legacy\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nTrailer: Impersonate-User\r\n"
               "Connection: close\r\n\r\n2\r\n{}\r\n0\r\nImpersonate-User: alice\r\n\r\n")
    status, said = spoken(w, chunked)[0]
    expect(status == 400 or said["status"]["userInfo"]["username"] == "legacy", f"a trailer: {status} {said}")
    # Two lengths: a parser that believes the other one would read a second request here.
    inner = words("token-legacy", "Impersonate-User: alice")
    expect(spoken(w, words("token-nobody", "Transfer-Encoding: chunked", body="0\r\n\r\n" + inner))[0][0] == 400, "a length and chunks")
    # Wrong credentials stay wrong, and an anonymous user may impersonate nobody.
    expect(w.send("no-such-token", "POST", WHO, as_user("alice"), {})[0] == 401, "a wrong token")
    refuses(w.send(None, "GET", PODS, as_user("alice")), "anonymous", 'User "system:anonymous" cannot impersonate-on:user-info:list')
    # Impersonating a user does not include the users that this user may impersonate.
    w.grant("alice", rule(["impersonate"], ["users"]))
    refuses(w.send("token-nobody", "GET", PODS, as_user("alice")), "through alice", "cannot impersonate-on")
    # The message is text for every name.
    said = refuses(w.send("token-nobody", "GET", PODS + "/%3Cscript%3E", as_user("<b>&")), "markup", "cannot impersonate-on")
    said = refuses(w.send("token-eve", "GET", "/api/v1/namespaces/default/secrets", as_user("<b>&")), "markup in a verb", "cannot impersonate-on:user-info:list")
    # Unknown methods are verbs too, of any length.
    for method in ("FROBNICATE", "X" * 200):
        got = spoken(w, words("token-nobody", "Impersonate-User: alice", method=method, path="/healthz"))[0]
        expect(got[0] in (403, 405, 400), f"{method}: {got}")
    # Ten thousand groups: refused at the first, or allowed with one question.
    groups = [f"Impersonate-Group: group-{i}" for i in range(10_000)]
    status, said = spoken(w, words("token-nobody", "Impersonate-User: alice", *groups))[0]
    expect(status == 403 and "cannot impersonate-on" in said["message"], f"{status} {str(said)[:300]}")
    status, said = spoken(w, words("token-eve", "Impersonate-User: alice", *groups))[0]
    expect(status == 201 and len(said["status"]["userInfo"]["groups"]) == 10_001, f"{status} {str(said)[:300]}")
    status, said = spoken(w, words("token-legacy", "Impersonate-User: alice", *groups))[0]
    expect(status == 201 and len(said["status"]["userInfo"]["groups"]) == 10_001, f"{status} {str(said)[:300]}")
    keys = [f"Impersonate-Extra-acme.io%2fk{i}: v" for i in range(9_000)]
    status, said = spoken(w, words("token-eve", "Impersonate-User: alice", *keys))[0]
    expect(status == 201 and len(said["status"]["userInfo"]["extra"]) == 9_000, f"{status} {str(said)[:300]}")


@story.chapter
def revocation_is_immediate(w):
    name = w.grant("nobody", rule(["impersonate:user-info"], ["users"], [AUTHENTICATION]), rule(["impersonate-on:user-info:create"], ["selfsubjectreviews"], [AUTHENTICATION]))
    for _ in range(3):
        passes(w.send("token-nobody", "POST", WHO, as_user("carol"), {}), "granted", 201)
    w.revoke(name)
    refuses(w.send("token-nobody", "POST", WHO, as_user("carol"), {}), "revoked", "cannot impersonate-on:user-info:create")
    # The server does not remember which mode worked: the same words every time.
    old = w.grant("nobody", rule(["impersonate"], ["users"]))
    passes(w.send("token-nobody", "POST", WHO, as_user("carol"), {}), "the old verb", 201)
    w.revoke(old)
    refuses(w.send("token-nobody", "POST", WHO, as_user("carol"), {}), "revoked again", "cannot impersonate-on:user-info:create")


@story.chapter(needs=["everything_but"])
def numbers(w):
    def counted():
        _, _, text = w.server.request("GET", "/metrics")
        lines = (text if isinstance(text, str) else text.decode()).splitlines()
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("apiserver_impersonation_")}

    before = counted()
    w.send("token-nobody", "GET", PODS, as_user("alice"))
    w.send("token-legacy", "GET", PODS, as_user("alice"))
    w.send("token-legacy", "GET", PODS, [("Impersonate-Group", "x")])  # 400s are not counted
    after = counted()
    grown = {key: after[key] - before.get(key, 0) for key in after if "_total" in key and after[key] != before.get(key, 0)}
    expect(grown == {'apiserver_impersonation_attempts_total{mode="",decision="denied"}': 1, 'apiserver_impersonation_attempts_total{mode="legacy",decision="allowed"}': 1,
                     'apiserver_impersonation_authorization_attempts_total{mode="user-info",decision="denied"}': 2,
                     'apiserver_impersonation_authorization_attempts_total{mode="legacy",decision="denied"}': 1,
                     'apiserver_impersonation_authorization_attempts_total{mode="legacy",decision="allowed"}': 1}, f"{grown}")
    for family in ("attempts", "authorization_attempts"):
        expect(f'apiserver_impersonation_{family}_duration_seconds_bucket{{mode="legacy",decision="allowed",le="16.384"}}' in after, sorted(after))


def without_the_gate(kind, tokens):
    with kind("--token-auth-file", tokens, "--authorization-mode=RBAC", "--feature-gates=ConstrainedImpersonation=false") as server:
        w = World(server)
        w.grant("bob", rule(["impersonate:user-info"], ["*"], [AUTHENTICATION]), rule(["impersonate-on:user-info:list"], ["pods"]))
        w.grant("eve", rule(["impersonate"], ["users"]))
        w.grant("alice", rule(["list"], ["pods"]))
        w.settle()
        refuses(w.send("token-bob", "GET", PODS, as_user("alice")), "constrained permissions", 'users "alice" is forbidden: User "bob" cannot impersonate resource "users"')
        passes(w.send("token-eve", "GET", PODS, as_user("alice")), "the old verb")
        # Groups and extra are asked before the uid.
        refuses(w.send("token-eve", "GET", PODS, as_user("alice", "g", uid="7")), "a group and a uid", 'groups "g" is forbidden')
        refuses(w.send("token-eve", "GET", PODS, as_user("alice", uid="7", extra=[("k", "v")])), "extra and a uid", 'userextras.authentication.k8s.io "v" is forbidden')
        refuses(w.send("token-eve", "GET", PODS, [("Impersonate-Group", "g")]), "no name", "requested [{Group  g    }] without impersonating a user", 400)
        refuses(w.send("token-eve", "GET", PODS, [("Impersonate-Uid", "7")]), "no name", "requested [{UID  7  authentication.k8s.io/v1  }] without impersonating a user", 400)
        refuses(w.send("token-eve", "GET", PODS, [("Impersonate-Extra-a", "v")]), "no name", "requested [{UserExtra  v  authentication.k8s.io/v1  a}] without impersonating a user", 400)
        if kind is Cardea:
            text = server.request("GET", "/metrics")[2]
            expect("apiserver_impersonation" not in (text if isinstance(text, str) else text.decode()), "numbers without the gate")


@story.chapter
def without_the_gate_at_cardea(tokens):
    without_the_gate(Cardea, tokens)


@story.chapter
def without_the_gate_at_a_kube_apiserver(tokens):
    if not peers():
        skip(NO_PEERS)
    without_the_gate(Kube, tokens)


@story.shared
def tokens():
    with tempfile.TemporaryDirectory(prefix="cardea-impersonation-") as folder:
        tokens = os.path.join(folder, "tokens")
        write_tokens(tokens, USERS)
        yield tokens


@story.shared
def w(tokens):
    with Cardea("--token-auth-file", tokens, "--authorization-mode=Node,RBAC") as server:
        yield World(server)


@story.shared
def kube(tokens):
    if not peers():
        skip(NO_PEERS)
    with Kube("--token-auth-file", tokens, "--authorization-mode=Node,RBAC") as server:
        yield World(server)


@story.shared
def conditions(tokens):
    """A server with a pod `web`."""
    with Cardea("--token-auth-file", tokens) as server:
        w = World(server)
        w.make_account("default", "default")
        w.make_pod("default", "web")
        yield w


for told in (user_story_of_the_node, user_story_of_the_deputy, users, accounts_and_nodes, everything_but, delegation):
    needs = [f"{name}_at_a_kube_apiserver" for name in story.chapters[told.__name__].needs]
    story.add(f"{told.__name__}_at_a_kube_apiserver", told, needs=needs, using={"w": "kube"})


if __name__ == "__main__":
    story.main()
