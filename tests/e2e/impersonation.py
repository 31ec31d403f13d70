"""Acting for somebody else: constrained impersonation over HTTPS, with tokens of a file and real bound tokens of service accounts.

The two user stories and the list of integration tests of the proposal (KEP-5284), conditions, delegation, attacks.
What Kubernetes has too is also told to a real kube-apiserver when $CARDEA_PEERS names a folder with one.
"""
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile

from deputies import AUTHENTICATION, WHO, World, as_user, rule, write_tokens
from peer import Kube, peers
from server import Cardea, expect, free_port, tell

USERS = ["bob", "eve", "carol", "lucas", "agent", "dave", "mallory", "legacy", "granter", "alice"]
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


# ---- what Kubernetes has too: told to both ---------------------------------------------------------------------------


def user_story_of_the_node(w):
    """Story 1: a controller impersonates the node it is running on to list and get the pods there."""
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
    # The node authorizer decides what the node may see.
    refuses(w.send(token, "GET", PODS + "/on-node2", node1), "a pod of another node", 'User "system:node:node1" cannot get resource "pods"')
    refuses(w.send(token, "GET", NODE_PODS + "node2", node2), "another node", "cannot impersonate-on:arbitrary-node:list")
    refuses(w.send(token, "DELETE", PODS + "/on-node1", node1), "another action", "cannot impersonate-on:associated-node:delete")
    refuses(w.send(token, "GET", "/api/v1/nodes/node1", node1), "another resource", "cannot impersonate-on:associated-node:get")
    # A token that says nothing of a node, though its account may.
    unbound = w.account_token("default", "default")
    refuses(w.send(unbound, "GET", NODE_PODS + "node1", node1), "a token without a node", "cannot impersonate-on:arbitrary-node:list")
    refuses(w.send(token, "GET", PODS, as_user("bob")), "a user instead of a node", "cannot impersonate-on:user-info:list")
    refuses(w.send(token, "GET", NODE_PODS + "node1", as_user("system:node:node1", "system:nodes")), "its node with a group", 'cannot impersonate resource "users"')


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
    # There is no such resource here: 404 says that the request passed both doors.
    expect(w.send(token, "GET", console % "default", as_user("jane"))[0] == 404, "jane's console")
    refuses(w.send(token, "GET", console % "default", as_user("joe")), "joe may not himself", 'User "joe" cannot get resource "virtualmachines/console"')
    refuses(w.send(token, "GET", console % "kube-system", as_user("jane")), "another namespace", "cannot impersonate-on:user-info:get")
    refuses(w.send(token, "PUT", console % "default", as_user("jane"), {}), "another verb", "cannot impersonate-on:user-info:update")
    refuses(w.send(token, "GET", console % "default", as_user("jane", "vm-admins")), "a group", 'cannot impersonate:user-info resource "groups"')
    refuses(w.send(token, "GET", console % "default"), "the deputy itself", f'User "{deputy}" cannot get')


def users(w):
    """Impersonating a user: whom, and for what."""
    w.grant("carol", rule(["impersonate:user-info"], ["users"], [AUTHENTICATION], ["bob"]))
    w.grant("carol", rule(["impersonate-on:user-info:list", "impersonate-on:user-info:get"], ["pods", "pods/exec"]), namespace="default")
    for user in ("bob", "alice"):
        w.grant(user, rule(["*"], ["*"], ["*"]))
    w.make_pod("default", "web", node="node2")
    w.settle()
    carol = "token-carol"
    passes(w.send(carol, "GET", PODS, as_user("bob")), "listing as bob")
    passes(w.send(carol, "GET", PODS + "/web", as_user("bob")), "getting as bob")
    # The pod has no kubelet to talk to; what matters is that nobody says 403.
    expect(w.send(carol, "GET", PODS + "/web/exec?command=ls", as_user("bob"))[0] != 403, "exec as bob")
    refuses(w.send(carol, "GET", PODS + "/web/log", as_user("bob")), "log as bob", 'cannot impersonate-on:user-info:get resource "pods/log"')
    refuses(w.send(carol, "PUT", PODS + "/web", as_user("bob"), {}), "updating as bob", "cannot impersonate-on:user-info:update")
    refuses(w.send(carol, "GET", "/api/v1/pods", as_user("bob")), "all namespaces as bob", "cannot impersonate-on:user-info:list")
    refuses(w.send(carol, "GET", PODS, as_user("alice")), "alice", 'users.authentication.k8s.io "alice" is forbidden: User "carol" cannot impersonate:user-info')
    refuses(w.send(carol, "GET", PODS, as_user("bob", uid="7")), "with a uid", 'uids.authentication.k8s.io "7" is forbidden')
    refuses(w.send(carol, "GET", PODS, as_user("bob", extra=[("acme.io/k", "v")])), "with extra", 'userextras.authentication.k8s.io "v" is forbidden')


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


def everything_but(w):
    """What no constrained mode gives, whatever is granted; the old verb gives it."""
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


def delegation(w):
    """Who holds a permission to impersonate may give it away, and no other."""
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


TOLD_TO_BOTH = [user_story_of_the_node, user_story_of_the_deputy, users, accounts_and_nodes, everything_but, delegation]


def both():
    folder = tempfile.mkdtemp(prefix="cardea-impersonation-")
    try:
        tokens = os.path.join(folder, "tokens")
        write_tokens(tokens, USERS)
        kinds = [Cardea] + ([Kube] if peers() else [])
        if not peers():
            print("no kube-apiserver to tell it to as well ($CARDEA_PEERS)")
        for kind in kinds:
            with kind("--token-auth-file", tokens, "--authorization-mode=Node,RBAC") as server:
                w = World(server)
                for chapter in TOLD_TO_BOTH:
                    chapter(w)
                    print(f"{kind.__name__}: {chapter.__name__}: passed", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    tell("impersonation", both)
