"""OpenShift's own `oc` on Cardea: `oc policy`, `oc adm policy`, `oc auth`, and what they change for the people they name.

`oc policy can-i` was removed from oc: the chapters whose names end in `_4_5` run a release that has it.
Only with `./dev test --with-peers`. The commands of docs/ecosystem.md are among those that the chapters run.
"""
import json
import os
import subprocess
import tempfile

from cluster import program
from server import Cardea, expect
from story import Story

story = Story("oc_story")

USERS = ("alice", "bob", "carol", "dora")
PODS = "/api/v1/namespaces/shop/pods"
POLICY = "/apis/authorization.openshift.io/v1beta3/namespaces/shop/"


class Shop:
    """A server with a namespace `shop`, and people with tokens: dora is in the group `team`."""

    def __init__(self, server, folder):
        self.server, self.folder = server, folder

    def oc(self, *arguments, name="oc", token=None, fails=False, stdin=None):
        """Runs `oc` in the namespace `shop`; returns its output. With `fails` it must fail, and its errors come first."""
        access = ["--kubeconfig", self.server.kubeconfig] if token is None else [
            "--kubeconfig", "/dev/null", "--server", self.server.base, "--certificate-authority", f"{self.server.data_dir}/ca.crt", "--token", token]
        done = subprocess.run([program(name), *access, "-n", "shop", *arguments], input=stdin, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                              env={**os.environ, "HOME": self.folder})
        said = f"oc {' '.join(arguments)}: {done.stderr}{done.stdout}"
        expect((done.returncode != 0) == fails, said)
        expect("couldn't find" not in done.stderr and "panic" not in done.stderr, said)
        return done.stderr + done.stdout if fails else done.stdout

    def may(self, user, path=PODS):
        """Whether `user` may get `path`; asked with a token alone, without the certificate."""
        done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", f"{self.server.data_dir}/ca.crt", "-H", f"Authorization: Bearer {user}",
                               self.server.base + path], stdout=subprocess.PIPE, text=True, check=True)
        expect(done.stdout in ("200", "403"), f"{user} {path}: {done.stdout}")
        return done.stdout == "200"

    def bindings(self, resource="rolebindings"):
        """The bindings of the namespace, or of the cluster without those that the server made: name -> (role, subjects)."""
        where = "/namespaces/shop" if resource == "rolebindings" else ""
        status, _, said = self.server.request("GET", f"/apis/rbac.authorization.k8s.io/v1{where}/{resource}")
        expect(status == 200, f"{said}")
        return {b["metadata"]["name"]: (f"{b['roleRef']['kind']}/{b['roleRef']['name']}", sorted(f"{s['kind']}/{s['name']}" for s in b.get("subjects", [])))
                for b in said["items"] if "kubernetes.io/bootstrapping" not in b["metadata"].get("labels", {})}


@story.shared
def shop():
    program("oc")
    with tempfile.TemporaryDirectory(prefix="cardea-oc-") as folder:
        with open(f"{folder}/users.csv", "w") as out:
            for user in USERS:
                out.write(f'{user},{user},uid-{user},"{"team" if user == "dora" else ""}"\n')
        with Cardea("--token-auth-file", f"{folder}/users.csv") as server:
            expect(server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})[0] == 201, "no namespace")
            yield Shop(server, folder)


def listed(text, what):
    """The names after `Users:` or `Groups:` in the output of who-can."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(what + ":"))
    names = [lines[at][len(what) + 1:].strip()]
    for line in lines[at + 1:]:
        if not line.startswith("        "):
            break
        names.append(line.strip())
    return names


@story.chapter
def a_role_is_given_to_a_user_and_taken_back(shop):
    expect(not shop.may("alice"), "alice may read pods from the start")
    said = shop.oc("policy", "add-role-to-user", "view", "alice", "bob")
    expect('clusterrole.rbac.authorization.k8s.io/view added: ["alice" "bob"]' in said, said)
    expect(shop.bindings() == {"view": ("ClusterRole/view", ["User/alice", "User/bob"])}, f"{shop.bindings()}")
    expect(shop.may("alice") and shop.may("bob") and not shop.may("carol"), "the role is not in force")
    expect(not shop.may("alice", "/api/v1/namespaces/default/pods"), "the role reaches another namespace")
    shop.oc("policy", "add-role-to-user", "view", "alice")  # once more
    expect(list(shop.bindings()) == ["view"], f"a second binding for the same: {shop.bindings()}")
    said = shop.oc("policy", "remove-role-from-user", "view", "alice")
    expect('view removed: "alice"' in said, said)
    expect(not shop.may("alice") and shop.may("bob"), "the role was not taken from alice alone")
    shop.oc("policy", "remove-role-from-user", "view", "bob")
    expect(not shop.may("bob") and not shop.bindings(), f"left: {shop.bindings()}")


@story.chapter
def a_role_is_given_to_a_group_and_a_service_account(shop):
    shop.oc("policy", "add-role-to-group", "view", "team")
    expect(shop.may("dora") and not shop.may("alice"), "the group's role is not in force")
    shop.oc("policy", "remove-role-from-group", "view", "team")
    expect(not shop.may("dora"), "the group still has its role")
    shop.oc("policy", "add-role-to-user", "edit", "-z", "default")
    expect(shop.bindings() == {"edit": ("ClusterRole/edit", ["ServiceAccount/default"])}, f"{shop.bindings()}")
    shop.oc("policy", "remove-role-from-user", "edit", "-z", "default")
    expect(not shop.bindings(), f"left: {shop.bindings()}")


@story.chapter
def a_role_of_the_namespace_is_bound_by_a_name_of_ones_own(shop):
    shop.oc("create", "role", "reader", "--verb=get,list", "--resource=pods")
    shop.oc("adm", "policy", "add-role-to-user", "reader", "carol", "--role-namespace=shop", "--rolebinding-name=readers")
    expect(shop.bindings() == {"readers": ("Role/reader", ["User/carol"])}, f"{shop.bindings()}")
    expect(shop.may("carol"), "the role is not in force")
    shop.oc("adm", "policy", "add-role-to-user", "reader", "bob", "--role-namespace=shop", "--rolebinding-name=readers")
    expect(shop.bindings()["readers"][1] == ["User/bob", "User/carol"], f"{shop.bindings()}")
    expect("found for role reader, not view" in shop.oc("adm", "policy", "add-role-to-user", "view", "bob", "--rolebinding-name=readers", fails=True), "another role got the binding's name")
    said = shop.oc("adm", "policy", "remove-user", "carol")
    expect("Removing shop/reader from users [carol] in project shop." in said, said)
    expect(not shop.may("carol"), "carol was not removed")
    expect("Removing shop/reader from users [bob]" in shop.oc("policy", "remove-user", "bob"), "bob was not removed")
    expect(not shop.bindings(), f"left: {shop.bindings()}")


@story.chapter
def a_group_leaves_the_namespace(shop):
    shop.oc("adm", "policy", "add-role-to-group", "view", "team", "guests")
    shop.oc("policy", "remove-group", "guests")
    expect(shop.bindings() == {"view": ("ClusterRole/view", ["Group/team"])}, f"{shop.bindings()}")
    said = shop.oc("policy", "remove-group", "team", "nobody")
    expect("Removing view from groups [team]" in said and "Groups [nobody] were not bound" in said, said)
    expect(not shop.may("dora") and not shop.bindings(), "the group is still there")


@story.chapter
def cluster_roles_are_given_and_taken_back(shop):
    shop.oc("adm", "policy", "add-cluster-role-to-user", "view", "alice")
    expect(shop.may("alice") and shop.may("alice", "/api/v1/pods"), "the cluster role is not in force")
    expect(shop.bindings("clusterrolebindings").get("view") == ("ClusterRole/view", ["User/alice"]), f"{shop.bindings('clusterrolebindings')}")
    shop.oc("adm", "policy", "add-cluster-role-to-group", "view", "team", "--rolebinding-name=team-views")
    expect(shop.may("dora", "/api/v1/pods"), "the group's cluster role is not in force")
    shop.oc("adm", "policy", "remove-cluster-role-from-user", "view", "alice")
    expect(not shop.may("alice", "/api/v1/pods") and shop.may("dora", "/api/v1/pods"), "not taken from alice alone")
    shop.oc("adm", "policy", "remove-cluster-role-from-group", "view", "team")
    expect(not shop.may("dora", "/api/v1/pods"), "the group still has it")
    expect(not set(shop.bindings("clusterrolebindings")) & {"view", "team-views"}, f"left: {shop.bindings('clusterrolebindings')}")


@story.chapter
def dry_runs_change_nothing(shop):
    said = shop.oc("policy", "add-role-to-user", "view", "alice", "--dry-run=client", "-o", "json")
    expect([s["name"] for s in json.loads(said)["subjects"]] == ["alice"], said)
    expect(not shop.bindings() and not shop.may("alice"), "a dry run gave a role")


@story.chapter
def who_gives_roles_must_hold_them(shop):
    said = shop.oc("policy", "add-role-to-user", "view", "bob", token="carol", fails=True)
    expect('User "carol" cannot list resource "rolebindings"' in said, said)
    shop.oc("create", "role", "binder", "--verb=get,list,create,update,delete", "--resource=rolebindings.rbac.authorization.k8s.io")
    shop.oc("policy", "add-role-to-user", "binder", "carol", "--role-namespace=shop")
    said = shop.oc("policy", "add-role-to-user", "admin", "carol", token="carol", fails=True)
    expect("is attempting to grant RBAC permissions not currently held" in said, said)
    expect(list(shop.bindings()) == ["binder"], f"{shop.bindings()}")
    shop.oc("policy", "remove-user", "carol")


@story.chapter
def who_can_names_users_and_groups(shop):
    shop.oc("policy", "add-role-to-user", "view", "alice")
    shop.oc("policy", "add-role-to-group", "edit", "team")
    for command in (("policy",), ("adm", "policy")):
        said = shop.oc(*command, "who-can", "list", "pods")
        expect("Namespace: shop" in said and "Verb:      list" in said and "Resource:  pods" in said, said)
        expect("alice" in listed(said, "Users") and {"team", "system:masters"} <= set(listed(said, "Groups")), said)
    said = shop.oc("policy", "who-can", "delete", "deployments.apps", "web")
    expect("Resource:  deployments.apps" in said and "alice" not in listed(said, "Users") and "team" in listed(said, "Groups"), said)
    said = shop.oc("policy", "who-can", "get", "pods", "--subresource=log")
    expect("Resource:  pods/log" in said and "alice" in listed(said, "Users"), said)
    said = shop.oc("policy", "who-can", "get", "pods", "-A")
    expect("Namespace: <all>" in said and "alice" not in listed(said, "Users"), said)
    expect("no resource" not in shop.oc("policy", "who-can", "get", "nodes"), "nodes are not known")
    answer = json.loads(shop.oc("policy", "who-can", "list", "pods", "-o", "json"))
    expect("alice" in answer["users"] and answer["namespace"] == "shop", f"{answer}")
    for user in ("alice", "bob"):
        said = shop.oc("policy", "who-can", "list", "pods", token=user, fails=True)
        expect(f'User "{user}" cannot create resource "localresourceaccessreviews" in API group "authorization.openshift.io" in the namespace "shop"' in said, said)
    shop.oc("policy", "remove-user", "alice")
    shop.oc("policy", "remove-group", "team")


@story.chapter
def a_denial_of_namespace_policy_counts_in_who_can_and_is_stronger_than_a_role(shop):
    shop.oc("policy", "add-role-to-user", "view", "alice", "bob")
    for kind, body in (("policies", {"kind": "Policy", "metadata": {"name": "default"}}),
                       ("policybindings", {"kind": "PolicyBinding", "metadata": {"name": "shop"}, "policyRef": {"namespace": "shop"}}),
                       ("roles", {"kind": "Role", "metadata": {"name": "no-pods"}, "rules": [{"deny": True, "verbs": ["*"], "resourceKinds": ["pods"]}]}),
                       ("rolebindings", {"kind": "RoleBinding", "metadata": {"name": "no-pods"}, "roleRef": {"namespace": "shop", "name": "no-pods"}, "userNames": ["bob"]})):
        status, _, said = shop.server.request("POST", POLICY + kind, {"apiVersion": "authorization.openshift.io/v1beta3", **body})
        expect(status == 201, f"{said}")
    expect(shop.may("alice") and not shop.may("bob"), "the denial is not in force")
    users = listed(shop.oc("policy", "who-can", "list", "pods"), "Users")
    expect("alice" in users and "bob" not in users, f"{users}")
    said = shop.oc("auth", "can-i", "list", "pods", "--as=bob", fails=True)
    expect(said.split()[:1] == ["no"] and "no-pods" in said, said)
    said = shop.oc("get", "roles.authorization.openshift.io", "-o", "name")
    expect(said.split() == ["role.authorization.openshift.io/no-pods"], said)
    shop.oc("delete", "rolebindings.authorization.openshift.io", "no-pods")
    expect(shop.may("bob"), "the denial is still in force")
    shop.oc("policy", "remove-user", "alice", "bob")


@story.chapter
def can_i_asks_kubernetes_reviews(shop):
    shop.oc("policy", "add-role-to-user", "view", "alice")
    expect(shop.oc("auth", "can-i", "list", "pods", token="alice").strip() == "yes", "alice may list pods")
    expect(shop.oc("auth", "can-i", "delete", "pods", token="alice", fails=True).split()[:1] == ["no"], "alice may not delete pods")
    table = shop.oc("auth", "can-i", "--list", token="alice")
    expect(any(line.startswith("pods ") and "[get list watch]" in line for line in table.splitlines()), table)
    expect("alice" in shop.oc("auth", "whoami", token="alice"), "alice is somebody else")
    shop.oc("policy", "remove-user", "alice")


@story.chapter
def reconciling_writes_roles_and_bindings(shop):
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "lister", "namespace": "shop"}, "rules": [rule]}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "lister", "namespace": "shop"},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lister"}, "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "carol"}]}
    for _ in range(2):
        shop.oc("auth", "reconcile", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [role, binding]}))
        expect(shop.may("carol"), "the role is not in force")
    shop.oc("policy", "remove-user", "carol")


@story.chapter
def can_i_of_openshift_4_5(shop):
    def can_i(*arguments, **more):
        return shop.oc("policy", "can-i", *arguments, name="oc-4-5", **more).strip()

    shop.oc("policy", "add-role-to-user", "view", "alice")
    shop.oc("policy", "add-role-to-group", "edit", "team")
    expect(can_i("list", "pods", token="alice") == "yes" and can_i("delete", "pods", token="alice") == "no", "about oneself")
    can_i("delete", "pods", "--quiet", token="alice", fails=True)
    expect(can_i("list", "pods", "--all-namespaces", token="alice") == "no" and can_i("list", "pods", "--all-namespaces") == "yes", "in all namespaces")
    expect(can_i("list", "pods", "--ignore-scopes", token="alice") == "yes", "without scopes")
    expect("tokens have no scopes here" in can_i("list", "pods", "--scopes=user:full", token="alice", fails=True), "with scopes")
    expect(can_i("list", "pods", "--user=alice") == "yes" and can_i("list", "pods", "--user=bob") == "no", "about another")
    expect(can_i("delete", "deployments.apps", "web", "--groups=team", "--user=x") == "yes", "about a group")
    said = can_i("list", "pods", "--user=bob", token="alice", fails=True)
    expect("(Forbidden)" in said and 'User "alice" cannot create resource "' in said and "subjectaccessreviews" in said, f"alice asked about bob: {said}")
    for who in ({"token": "alice"}, {}):
        table = can_i("--list", *([] if who else ["--user=alice"]), **who)
        expect(table.splitlines()[1].split() == ["VERBS", "NON-RESOURCE", "URLS", "RESOURCE", "NAMES", "API", "GROUPS", "RESOURCES"], table)
        expect(any("get list watch" in line and " pods" in line.replace("[", " ") for line in table.splitlines()), table)
    shop.oc("policy", "remove-user", "alice")
    shop.oc("policy", "remove-group", "team")


@story.chapter
def roles_and_who_can_of_openshift_4_5(shop):
    shop.oc("policy", "add-role-to-user", "view", "alice", name="oc-4-5")
    expect(shop.may("alice"), "the role is not in force")
    expect("alice" in listed(shop.oc("policy", "who-can", "list", "pods", name="oc-4-5"), "Users"), "alice is not listed")
    shop.oc("policy", "remove-role-from-user", "view", "alice", name="oc-4-5")
    expect(not shop.may("alice") and not shop.bindings(), "the role is still there")


if __name__ == "__main__":
    story.main()
