"""RBAC with kubectl: default roles, own roles, can-i, reconcile, --as, and the explanation in a 403.

Needs a kubectl: $CARDEA_KUBECTL, the one on the PATH, or $CARDEA_PEERS/kubectl.
"""
import http.client
import json
import os
import shutil
import ssl
import subprocess
import tempfile

from server import Cardea, eventually, expect, skip
from story import Story

story = Story("rbac_story")

USERS = 'alice-token,alice,1\nbob-token,bob,2,"dev"\nnora-token,nora,3\n'

RECONCILED = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: shop}
rules:
- {apiGroups: [""], resources: [pods, configmaps], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: dev}
"""

CYCLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %s, labels: {for: %s}}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {for: %s}}]}
rules: []
"""


def find_kubectl():
    peers = os.environ.get("CARDEA_PEERS", "")
    for path in (os.environ.get("CARDEA_KUBECTL"), shutil.which("kubectl"), peers and os.path.join(peers, "kubectl")):
        if path and os.path.exists(path):
            return path
    skip("no kubectl")


class Cluster:
    """A server, with kubectl and plain requests."""

    def __init__(self, server, path, folder):
        self.server, self.path, self.folder = server, path, folder

    def run(self, *arguments, text=None, token=None):
        command = [self.path, "--kubeconfig", self.server.kubeconfig, "--cache-dir", os.path.join(self.folder, "cache")]
        if token:
            command = [self.path, "--kubeconfig", "/dev/null", "--cache-dir", os.path.join(self.folder, "cache-" + token), "--server", self.server.base,
                       "--certificate-authority", os.path.join(self.server.data_dir, "ca.crt"), "--token", token]
        return subprocess.run([*command, *arguments], input=text, capture_output=True, text=True)

    def kubectl(self, *arguments, **more):
        out = self.run(*arguments, **more)
        expect(out.returncode == 0, f"kubectl {' '.join(arguments)}: {out.stdout}{out.stderr}")
        return out.stdout.strip()

    def can_i(self, *arguments, **more):
        out = self.run("auth", "can-i", *arguments, **more)
        expect(out.stdout.strip() in ("yes", "no"), f"can-i {' '.join(arguments)}: {out.stdout}{out.stderr}")
        return out.stdout.strip() == "yes"

    def raw(self, token, method, path, body=None):
        context = ssl.create_default_context(cafile=os.path.join(self.server.data_dir, "ca.crt"))
        connection = http.client.HTTPSConnection("127.0.0.1", self.server.port, context=context, timeout=60)
        headers = {"Authorization": "Bearer " + token} if token else {}
        connection.request(method, path, body=None if body is None else json.dumps(body), headers={**headers, "Content-Type": "application/json"})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, data


@story.shared
def c():
    """A server with a namespace `shop`."""
    path = find_kubectl()
    with tempfile.TemporaryDirectory(prefix="cardea-rbac-") as folder:
        tokens = os.path.join(folder, "users.csv")
        with open(tokens, "w") as f:
            f.write(USERS)
        with Cardea("--token-auth-file", tokens) as server:
            cluster = Cluster(server, path, folder)
            cluster.kubectl("create", "namespace", "shop")
            yield cluster


@story.chapter
def what_everyone_may_see(c):
    """The paths that every authenticated user may see, and no anonymous user may."""
    expect(c.raw(None, "GET", "/healthz")[0] == 200, "anonymous sees /healthz")
    expect(c.raw(None, "GET", "/version")[0] == 200, "anonymous sees /version")
    expect(c.raw(None, "GET", "/api")[0] == 403, "anonymous does not see /api")
    expect(c.raw("alice-token", "GET", "/apis")[0] == 200, "alice discovers")
    expect(c.raw("alice-token", "GET", "/api/v1/namespaces")[0] == 403, "alice lists no namespaces")
    expect(c.raw("nobody", "GET", "/healthz")[0] == 401, "a wrong token is not anonymous")


@story.chapter
def roles_and_bindings(c):
    """Roles and bindings by kubectl's own commands; they hold for the next request."""
    expect(not c.can_i("get", "pods", "-n", "shop", token="alice-token"), "alice may nothing yet")
    c.kubectl("create", "role", "reader", "-n", "shop", "--verb=get,list", "--resource=pods")
    c.kubectl("create", "rolebinding", "readers", "-n", "shop", "--role=reader", "--user=alice")
    expect(c.can_i("get", "pods", "-n", "shop", token="alice-token"), "alice may get pods")
    expect(not c.can_i("delete", "pods", "-n", "shop", token="alice-token"), "alice may not delete pods")
    expect(not c.can_i("get", "pods", "-n", "default", token="alice-token"), "alice may get pods in shop alone")
    listed = c.kubectl("auth", "can-i", "--list", "-n", "shop", token="alice-token")
    expect("pods" in listed and "selfsubjectaccessreviews" in listed, f"can-i --list tells: {listed}")
    c.kubectl("create", "clusterrole", "counter", "--verb=get", "--resource=nodes")
    c.kubectl("create", "clusterrolebinding", "counters", "--clusterrole=counter", "--group=dev")
    expect(c.can_i("get", "nodes", token="bob-token"), "bob is in dev")
    expect(not c.can_i("get", "nodes", token="alice-token"), "alice is not")


@story.chapter(needs=["roles_and_bindings"])
def as_somebody_else(c):
    """As another user."""
    expect(c.can_i("get", "pods", "-n", "shop", "--as", "alice"), "admin as alice")
    expect(not c.can_i("get", "nodes", "--as", "alice"), "admin as alice has what alice has")
    expect(c.can_i("get", "nodes", "--as", "x", "--as-group", "dev"), "groups count")
    refused = c.run("get", "pods", "-n", "shop", "--as", "admin", token="alice-token")
    expect("cannot impersonate" in refused.stderr, f"alice is not admin: {refused.stderr}")
    c.kubectl("create", "clusterrole", "actor", "--verb=impersonate", "--resource=users", "--resource-name=bob")
    c.kubectl("create", "clusterrolebinding", "actors", "--clusterrole=actor", "--user=alice")
    expect("is forbidden" in c.run("get", "nodes", "--as", "bob", token="alice-token").stderr, "bob without his group")
    expect("cannot impersonate" in c.run("get", "nodes", "--as", "bob", "--as-group", "dev", token="alice-token").stderr, "groups need permission too")


@story.chapter(needs=["roles_and_bindings"])
def reconcile_adds_what_is_missing(c):
    """Reconcile adds missing permissions and reports them."""
    said = c.kubectl("auth", "reconcile", "-f", "-", text=RECONCILED)
    expect("reader reconciled" in said and "readers reconciled" in said, f"reconcile: {said}")
    expect(c.can_i("list", "configmaps", "-n", "shop", token="bob-token"), "bob through dev")


@story.chapter(needs=["roles_and_bindings"])
def nobody_gives_away_what_they_do_not_have(c):
    """A user cannot grant a permission that they do not have."""
    c.kubectl("create", "role", "manager", "-n", "shop", "--verb=*", "--resource=roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io")
    c.kubectl("patch", "role", "manager", "-n", "shop", "--type=json", "-p",
            '[{"op":"replace","path":"/rules/0/verbs","value":["get","create","update","patch","delete"]}]')
    c.kubectl("create", "rolebinding", "managers", "-n", "shop", "--role=manager", "--user=alice")
    refused = c.run("create", "role", "more", "-n", "shop", "--verb=delete", "--resource=secrets", token="alice-token")
    expect('is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["delete"]}' in refused.stderr,
           f"escalation: {refused.stderr}")
    c.kubectl("create", "role", "less", "-n", "shop", "--verb=get", "--resource=pods", token="alice-token")
    refused = c.run("create", "rolebinding", "boss", "-n", "shop", "--clusterrole=cluster-admin", "--user=alice", token="alice-token")
    expect("not currently held" in refused.stderr, f"binding: {refused.stderr}")
    refused = c.run("create", "rolebinding", "none", "-n", "shop", "--role=missing", "--user=alice", token="alice-token")
    expect('rolebindings.rbac.authorization.k8s.io "missing" not found' in refused.stderr, f"missing: {refused.stderr}")


@story.chapter(needs=["nobody_gives_away_what_they_do_not_have"])
def a_403_teaches(c):
    """A 403 explains itself to users who may read the roles, and to no others."""
    status, data = c.raw("alice-token", "DELETE", "/api/v1/namespaces/shop/pods/p")
    answer = json.loads(data)
    causes = answer["details"].get("causes", [])
    expect(status == 403 and any('it lacks verb "delete"' in c["message"] for c in causes), f"the 403 teaches: {answer}")
    expect(answer["message"] == 'pods "p" is forbidden: User "alice" cannot delete resource "pods" in API group "" in the namespace "shop"', answer["message"])
    status, data = c.raw("bob-token", "DELETE", "/api/v1/namespaces/shop/pods/p")
    expect("causes" not in json.loads(data)["details"], "bob may not read roles")


@story.chapter
def aggregation_comes_to_rest(c):
    """Aggregation, also in a circle, comes to an end."""
    for name, own, other in (("one", "a", "b"), ("two", "b", "c"), ("three", "c", "a")):
        c.kubectl("create", "-f", "-", text=CYCLE % (name, own, other))
    c.kubectl("create", "clusterrole", "leaf", "--verb=get", "--resource=nodes")
    c.kubectl("label", "clusterrole", "leaf", "for=c")
    rules = '[{"apiGroups":[""],"resources":["nodes"],"verbs":["get"]}]'
    for name in ("one", "two", "three"):
        eventually(f"{name} has the rules of the circle", lambda: c.kubectl("get", "clusterrole", name, "-o", "jsonpath={.rules}") == rules)
    eventually("admin has rules", lambda: "rolebindings" in c.kubectl("get", "clusterrole", "admin", "-o", "json"))
    expect(c.can_i("create", "rolebindings.rbac.authorization.k8s.io", "-n", "shop", "--as", "root", "--as-group", "system:masters"), "masters may")


@story.chapter
def default_roles_come_back(c):
    """Default roles come back at the next start; those that were opted out stay."""
    c.kubectl("delete", "clusterrolebinding", "system:discovery")
    c.kubectl("annotate", "--overwrite", "clusterrolebinding", "system:basic-user", "rbac.authorization.kubernetes.io/autoupdate=false")
    c.kubectl("patch", "clusterrolebinding", "system:basic-user", "--type=merge", "-p", '{"subjects":[]}')
    expect(c.raw("nora-token", "GET", "/apis")[0] == 403, "discovery is gone")
    c.server.stop()
    c.server.start()
    expect(c.raw("nora-token", "GET", "/apis")[0] == 200, "discovery is back")
    expect(c.raw("nora-token", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {})[0] == 403, "who opted out is left alone")


if __name__ == "__main__":
    story.main()
