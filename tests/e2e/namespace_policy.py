"""Namespace policy: Clark owns the cluster, Hubert administers the project `hammer`, Edgar edits in it.

Users come from a token file. They have only the permissions that namespace policy gives them. DeploymentConfig is a custom
resource; its chapters also run with built-in Deployments.
"""
import concurrent.futures
import copy
import http.client
import json
import os
import sqlite3
import ssl
import subprocess
import tempfile

import yaml

from server import Cardea, binary, eventually, exchange, expect
from story import Story

story = Story("namespace_policy")

API = "/apis/authorization.openshift.io/v1beta3/namespaces/"
FLAT = "/apis/authorization.openshift.io/v1"
USERS = ["Clark", "Hubert", "Edgar", "Vera", "ProtectorBot", "DeprotectorBot", "system:node:node-1", "kubelet-02", "Mallory", "Reviewer"]
MERGE, STRATEGIC, JSON_PATCH, APPLY = ("application/merge-patch+json", "application/strategic-merge-patch+json",
                                       "application/json-patch+json", "application/apply-patch+yaml")


class World:
    def __init__(self, server):
        self.server = server
        self.connections = {}

    def admin(self, method, path, body=None, headers=None):
        return self.server.request(method, path, body, headers)

    def as_user(self, user, method, path, body=None, content_type=None):
        context = ssl.create_default_context(cafile=os.path.join(self.server.data_dir, "ca.crt"))
        connection = http.client.HTTPSConnection("127.0.0.1", self.server.port, timeout=60, context=context)
        headers = {"Authorization": f"Bearer token-{user}"}
        if body is not None:
            headers["Content-Type"] = content_type or "application/json"
            body = json.dumps(body)
        try:
            return exchange(connection, method, path, body, headers)
        finally:
            connection.close()

    def answer(self, user, wanted, method, path, body=None, content_type=None, saying=None):
        status, _, said = self.as_user(user, method, path, body, content_type)
        expect(status == wanted, f"{user} {method} {path} should be answered {wanted}, got {status}: {said}")
        for text in [saying] if isinstance(saying, str) else saying or []:
            expect(text in said["message"], f"{text!r} is not in {said['message']!r}")
        return said

    def allowed(self, user, method, path, body=None, content_type=None):
        status, _, said = self.as_user(user, method, path, body, content_type)
        expect(status in (200, 201), f"{user} {method} {path} should be allowed: {status} {said}")
        return said

    def refused(self, user, method, path, body=None, content_type=None, saying=None):
        return self.answer(user, 403, method, path, body, content_type, saying)

    def review(self, asker, namespace, spec, path=None):
        """A SubjectAccessReview's status."""
        body = {"kind": "SubjectAccessReview", "apiVersion": "v1beta3", "metadata": {"name": "q", "namespace": namespace}, "spec": spec}
        said = self.answer(asker, 201, "POST", path or f"/api/v1beta3/ns/{namespace}/subjectAccessReviews", body)
        expect(said["spec"] == spec and said["metadata"]["name"] == "q", f"a review repeats its question: {said}")
        return said["status"]

    def may(self, user, verb, kind, content=None, name=None, namespace="hammer"):
        spec = {"verb": verb, "resourceKind": kind, "userName": user}
        if content is not None:
            spec["content"] = content
        if name:
            spec["resourceName"] = name
        return self.review("Clark", namespace, spec)

    def who_can(self, verb, kind, namespace="hammer", content=None, name=None):
        spec = {"verb": verb, "resourceKind": kind}
        if content is not None:
            spec["content"] = content
        if name:
            spec["resourceName"] = name
        body = {"kind": "ResourceAccessReview", "apiVersion": "v1beta3", "metadata": {"name": "who", "namespace": namespace}, "spec": spec}
        return self.answer("Clark", 201, "POST", f"/api/v1beta3/ns/{namespace}/resourceAccessReviews", body)["status"]


class Built:
    """Built-in Deployments."""
    kind, resource, path = "Deployment", "deployments", "/apis/apps/v1/namespaces/hammer/deployments"
    patches = (MERGE, STRATEGIC, JSON_PATCH)

    @staticmethod
    def make(name, labels=None):
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": labels or {}},
                "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}},
                         "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}}}


class Custom:
    """DeploymentConfigs, which are a custom resource."""
    kind, resource, path = "DeploymentConfig", "deploymentconfigs", "/apis/apps.openshift.io/v1/namespaces/hammer/deploymentconfigs"
    patches = (MERGE, JSON_PATCH)

    @staticmethod
    def make(name, labels=None):
        return {"apiVersion": "apps.openshift.io/v1", "kind": "DeploymentConfig", "metadata": {"name": name, "labels": labels or {}}, "spec": {"replicas": 1}}


DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "deploymentconfigs.apps.openshift.io"},
    "spec": {"group": "apps.openshift.io", "scope": "Namespaced",
             "names": {"plural": "deploymentconfigs", "singular": "deploymentconfig", "kind": "DeploymentConfig", "shortNames": ["dc"]},
             "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                 "type": "object", "properties": {"spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}}}}}}]}}


@story.chapter
def the_master_namespace(w):
    roles = w.admin("GET", API + "master/roles")[2]["items"]
    expect([r["metadata"]["name"] for r in roles] == ["admin", "cluster-admin", "edit", "view"], f"{roles}")
    status, _, said = w.admin("DELETE", "/api/v1/namespaces/master")
    expect(status == 403 and "may not be deleted" in said["message"], f"{status} {said}")
    binding = {"kind": "roleBinding", "name": "Owners", "namespace": "master", "roleRef": {"namespace": "master", "name": "cluster-admin"}, "userNames": ["Clark"]}
    status, _, said = w.admin("POST", API + "master/rolebindings", binding)
    expect(status == 201, f"{said}")
    w.refused("Hubert", "GET", API + "master/roles")


@story.chapter(needs=["the_master_namespace"])
def a_project_is_delegated(w):
    w.allowed("Clark", "POST", "/api/v1/namespaces", {"metadata": {"name": "hammer"}})
    w.allowed("Clark", "POST", "/api/v1/namespaces", {"metadata": {"name": "anvil"}})
    w.allowed("Clark", "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
    eventually("DeploymentConfigs are served", lambda: w.as_user("Clark", "GET", Custom.path)[0] == 200)
    w.refused("Hubert", "GET", "/api/v1/namespaces/hammer/pods")
    w.allowed("Clark", "POST", API + "hammer/rolebindings", {
        "kind": "roleBinding", "name": "ProjectAdmins", "namespace": "hammer", "roleRef": {"namespace": "master", "name": "admin"}, "userNames": ["Hubert"]})
    made = w.allowed("Hubert", "POST", API + "hammer/rolebindings", {
        "kind": "roleBinding", "name": "Editors", "namespace": "hammer", "referencesGlobalRole": True, "roleName": "edit", "userNames": ["Edgar"]})
    expect(made["roleRef"] == {"namespace": "master", "name": "edit"} and "roleName" not in made, f"{made}")
    w.allowed("Hubert", "POST", API + "hammer/rolebindings", {
        "kind": "roleBinding", "name": "Viewers", "roleRef": {"namespace": "master", "name": "view"}, "userNames": ["Vera"]})
    for thing in (Built, Custom):
        w.allowed("Edgar", "POST", thing.path, thing.make("site"))
        w.allowed("Vera", "GET", f"{thing.path}/site")
        w.refused("Vera", "POST", thing.path, thing.make("other"))
    w.refused("Edgar", "GET", API + "hammer/rolebindings")
    w.refused("Edgar", "GET", "/api/v1/namespaces/anvil/pods")
    w.refused("Hubert", "GET", "/api/v1/namespaces/anvil/pods")
    w.refused("Hubert", "DELETE", API + "hammer/policybindings/master")


@story.chapter(needs=["a_project_is_delegated"])
def own_roles_need_their_containers(w):
    labelers = {"kind": "role", "name": "deploymentConfigLabelers", "namespace": "hammer", "rules": [
        {"verbs": ["watch", "list", "get"], "resourceKinds": ["DeploymentConfig", "Deployment"]},
        {"verbs": ["update"], "resourceKinds": ["DeploymentConfig", "Deployment"], "attributeRestrictions": {"fieldsMutatable": ["labels"]}}]}
    w.answer("Hubert", 409, "POST", API + "hammer/roles", labelers, saying=[
        "create policies.authorization.openshift.io", "cluster administrators", 'Policy "default" and PolicyBinding "hammer"'])
    w.refused("Hubert", "POST", API + "hammer/policies", {"kind": "Policy", "name": "Policy", "namespace": "hammer"})
    made = w.allowed("Clark", "POST", API + "hammer/policies", {"kind": "Policy", "name": "Policy", "namespace": "hammer"})
    expect(made["metadata"]["name"] == "default", f"{made}")
    made = w.allowed("Hubert", "POST", API + "hammer/roles", labelers)
    expect(made["rules"][0] == {"verbs": ["watch", "list", "get"], "resourceKinds": ["deploymentconfig", "deployment"]}, f"{made}")
    bots = {"kind": "roleBinding", "name": "DeploymentConfigLabelerBots", "namespace": "hammer",
            "roleRef": {"namespace": "hammer", "name": "deploymentConfigLabelers"}, "userNames": ["ProtectorBot", "DeprotectorBot"]}
    w.answer("Hubert", 409, "POST", API + "hammer/rolebindings", bots, saying="create policybindings.authorization.openshift.io \"hammer\"")
    w.allowed("Clark", "POST", API + "hammer/policybindings", {"kind": "PolicyBinding", "name": "hammer", "namespace": "hammer"})
    w.allowed("Hubert", "POST", API + "hammer/rolebindings", bots)
    w.allowed("Hubert", "POST", API + "hammer/roles", {"kind": "role", "name": "fatFingeredEditor", "namespace": "hammer", "rule": [
        {"Deny": "true", "Verbs": ["delete"], "ResourceKinds": ["DeploymentConfig", "Deployment"], "AttributeRestrictions": {"labelsContain": ["protected"]}}]})
    w.allowed("Hubert", "POST", API + "hammer/rolebindings", {
        "kind": "roleBinding", "name": "FatFingeredEditors", "namespace": "hammer", "roleRef": {"namespace": "hammer", "name": "fatFingeredEditor"}, "userNames": ["Edgar"]})
    w.answer("Hubert", 409, "DELETE", API + "hammer/roles/fatFingeredEditor", saying="hammer/FatFingeredEditors")
    w.answer("Clark", 409, "DELETE", API + "hammer/policies/default", saying="deploymentConfigLabelers")


@story.chapter(needs=["own_roles_need_their_containers"])
def nobody_gives_away_what_they_lack(w):
    wide = {"kind": "role", "name": "wide", "rules": [{"verbs": ["*"], "resourceKinds": ["*"]}]}
    w.refused("Hubert", "POST", API + "hammer/roles", wide, saying=["create", "policies"])
    w.refused("Hubert", "POST", API + "hammer/rolebindings", {
        "kind": "roleBinding", "name": "Friends", "roleRef": {"namespace": "master", "name": "cluster-admin"}, "userNames": ["Mallory"]}, saying="policies")
    w.refused("Edgar", "POST", API + "hammer/roles", {"kind": "role", "name": "mine", "rules": [{"verbs": ["get"], "resourceKinds": ["pods"]}]})
    # The `*` of editors and admins does not let them write other kinds of policy beyond their own permissions.
    access = "/apis/access.cardea.dev/v1alpha1/namespaces/hammer/accesspolicies"
    for user in ("Edgar", "Hubert"):
        for effect in ("Allow", "Deny"):
            w.refused(user, "POST", access, {"metadata": {"name": "mine"}, "spec": {"effect": effect, "subjects": [{"kind": "User", "name": user}]}})
    w.refused("Hubert", "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/hammer/rolebindings", {
        "metadata": {"name": "mine"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "Hubert"}]})
    # They write RBAC roles of what policy gives them, and of nothing else, in whichever words.
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/hammer/"
    for name, rule in (("all", {"resources": ["pods"], "verbs": ["*"]}), ("nameless", {"resources": ["*"], "resourceNames": [""], "verbs": ["list", "create"]}),
                       ("dashed", {"apiGroups": ["authorization.openshift.io"], "resources": ["policies", "-policies"], "verbs": ["create", "-create"]}),
                       ("exempt", {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["escalate"]})):
        w.refused("Hubert", "POST", rbac + "roles", {"metadata": {"name": name}, "rules": [{"apiGroups": [""], **rule}]})
    w.allowed("Hubert", "POST", rbac + "roles", {"metadata": {"name": "own"}, "rules": [{"apiGroups": [""], "resources": ["pods", "secrets"], "verbs": ["get", "list"]}]})
    # A user who may write roles may still not deny.
    w.allowed("Hubert", "POST", API + "hammer/roles", {"kind": "role", "name": "roleWriter", "rules": [
        {"verbs": ["create", "get"], "resourceKinds": ["roles"]}, {"verbs": ["get"], "resourceKinds": ["pods"]}]})
    w.allowed("Hubert", "POST", API + "hammer/rolebindings", {
        "kind": "roleBinding", "name": "RoleWriters", "roleRef": {"namespace": "hammer", "name": "roleWriter"}, "userNames": ["Mallory"]})
    w.allowed("Mallory", "POST", API + "hammer/roles", {"kind": "role", "name": "harmless", "rules": [{"verbs": ["get"], "resourceKinds": ["pods"]}]})
    w.refused("Mallory", "POST", API + "hammer/roles", {"kind": "role", "name": "spite", "rules": [{"deny": True, "verbs": ["*"], "resourceKinds": ["*"]}]}, saying="deny")
    w.refused("Mallory", "POST", API + "hammer/roles", {"kind": "role", "name": "more", "rules": [{"verbs": ["get"], "resourceKinds": ["*", "-pods"]}]})
    w.allowed("Hubert", "DELETE", API + "hammer/rolebindings/RoleWriters")


@story.chapter(needs=["a_project_is_delegated"])
def denials_are_lifted_by_others_who_may_deny(w):
    """A denied user can remove the denial neither for themselves nor for others; the project's admin can remove it for others; the owner can remove the admin's."""
    w.allowed("Clark", "POST", "/api/v1/namespaces", {"metadata": {"name": "chisel"}})
    w.allowed("Clark", "POST", API + "chisel/policies", {"kind": "Policy"})
    w.allowed("Clark", "POST", API + "chisel/policybindings", {"kind": "PolicyBinding", "name": "chisel"})
    one = API + "chisel/rolebindings/NoSecrets"
    for name, rules in (("no-secrets", [{"deny": True, "verbs": ["get"], "resourceKinds": ["secrets"]}]),
                        ("binder", [{"verbs": ["*", "-deny"], "resourceKinds": ["roles", "rolebindings"]}, {"verbs": ["get"], "resourceKinds": ["pods"]}]),
                        ("reader", [{"verbs": ["get"], "resourceKinds": ["pods"]}])):
        w.allowed("Clark", "POST", API + "chisel/roles", {"name": name, "rules": rules})
    for name, where, role, users in (("Admins", "master", "admin", ["Hubert"]), ("Binders", "chisel", "binder", ["Edgar", "Mallory"]),
                                     ("NoSecrets", "chisel", "no-secrets", ["Hubert", "Edgar", "Vera"])):
        w.allowed("Clark", "POST", API + "chisel/rolebindings", {"name": name, "roleRef": {"namespace": where, "name": role}, "userNames": users})
    free = {"rules": [{"verbs": ["get"], "resourceKinds": ["pods"]}]}
    for user, why in (("Edgar", "needs the verb \"deny\" on roles"), ("Mallory", "needs the verb \"deny\" on roles"), ("Hubert", "would get a permission that is denied to this user: get secrets")):
        for method, path, body in (("DELETE", one, None), ("PATCH", one, {"userNames": ["Vera"]}),
                                   ("PATCH", one, {"roleRef": {"name": "reader"}}), ("PATCH", API + "chisel/roles/no-secrets", free)):
            w.refused(user, method, path, body, MERGE if body else None, saying=why)
    left = w.allowed("Hubert", "PATCH", one, {"userNames": ["Hubert", "Edgar"]}, MERGE)
    expect(left["userNames"] == ["Hubert", "Edgar"], f"the admin frees others: {left}")
    w.refused("Hubert", "GET", "/api/v1/namespaces/chisel/secrets/x")
    w.allowed("Clark", "PATCH", one, {"userNames": ["Edgar"]}, MERGE)
    w.answer("Hubert", 404, "GET", "/api/v1/namespaces/chisel/secrets/x")
    # A namespace can be deleted whatever is denied in it.
    w.allowed("Clark", "DELETE", "/api/v1/namespaces/chisel")
    eventually("the namespace is gone", lambda: w.admin("GET", "/api/v1/namespaces/chisel")[0] == 404)


@story.chapter(needs=["own_roles_need_their_containers"])
def bots_change_labels_and_nothing_else(w):
    for thing in (Built, Custom):
        bot, one = "ProtectorBot", f"{thing.path}/site"
        live = w.allowed(bot, "GET", one)
        changed = copy.deepcopy(live)
        changed["metadata"]["labels"] = {"by": "update"}
        w.allowed(bot, "PUT", one, changed)
        for n, kind in enumerate(thing.patches):
            good = [{"op": "add", "path": "/metadata/labels/by", "value": f"patch-{n}"}] if kind == JSON_PATCH else {"metadata": {"labels": {"by": f"patch-{n}"}}}
            bad = [{"op": "replace", "path": "/spec/replicas", "value": 7}] if kind == JSON_PATCH else {"metadata": {"labels": {"by": "x"}}, "spec": {"replicas": 7}}
            w.allowed(bot, "PATCH", one, good, kind)
            w.refused(bot, "PATCH", one, bad, kind)
        config = {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": {"name": "site", "labels": {"applied": "yes"}}}
        w.allowed(bot, "PATCH", one + "?fieldManager=bot", config, APPLY)
        w.refused(bot, "PATCH", one + "?fieldManager=bot&force=true", {**config, "spec": {"replicas": 7}}, APPLY)
        now = w.allowed(bot, "GET", one)
        expect(now["spec"]["replicas"] == 1 and now["metadata"]["labels"]["applied"] == "yes", f"{now}")
        w.refused(bot, "PUT", one, {**now, "spec": {**now["spec"], "replicas": 7}})
        annotated = copy.deepcopy(now)
        annotated["metadata"]["annotations"] = {"a": "b"}
        w.refused(bot, "PUT", one, annotated)
        w.refused(bot, "DELETE", one)
        w.refused(bot, "POST", thing.path, thing.make("new"))
        # The same, by reviews.
        said = w.may(bot, "update", thing.kind, name="site")
        expect(said["allowed"] is False and said["denyReason"].startswith("conditional: "), f"{said}")
        relabelled = copy.deepcopy(now)
        relabelled["metadata"]["labels"]["more"] = "labels"
        said = w.may(bot, "update", thing.kind, relabelled, "site")
        expect(said["allowed"] is True, f"{said}")
        said = w.may(bot, "update", thing.kind, {**now, "spec": {**now["spec"], "replicas": 7}}, "site")
        expect(said["allowed"] is False, f"{said}")
        said = w.may(bot, "get", thing.kind)
        expect(said["allowed"] is True and "hammer" in said["allowReason"], f"{said}")


@story.chapter(needs=["own_roles_need_their_containers"])
def protected_things_stay(w):
    w.allowed("Hubert", "POST", API + "hammer/roles", {"name": "reviewer", "rules": [{"verbs": ["create"], "resourceKinds": ["subjectaccessreviews"]}]})
    w.allowed("Hubert", "POST", API + "hammer/rolebindings", {"name": "Reviewers", "roleRef": {"namespace": "hammer", "name": "reviewer"}, "userNames": ["Reviewer"]})
    for thing in (Built, Custom):
        w.allowed("Edgar", "POST", thing.path, thing.make("safe"))
        w.allowed("Edgar", "POST", thing.path, thing.make("unsafe"))
        w.allowed("ProtectorBot", "PATCH", f"{thing.path}/safe", {"metadata": {"labels": {"protected": "yes"}}}, MERGE)
        w.refused("Edgar", "DELETE", f"{thing.path}/safe", saying="fatFingeredEditor")
        # A user who could remove the label first would not be stopped by it; a rule prevents this by also denying update.
        said = w.may("Edgar", "delete", thing.kind, name="safe")
        expect(said["allowed"] is False and "fatFingeredEditor" in said["denyReason"], f"{said}")
        expect(w.may("Edgar", "delete", thing.kind, name="unsafe")["allowed"] is True, "the stored object decides")
        said = w.may("Edgar", "delete", thing.kind)
        expect(said["allowed"] is False and said["denyReason"].startswith("conditional: "), f"{said}")
        # Who may not read the object does not learn from a question what is in it.
        said = w.review("Reviewer", "hammer", {"verb": "delete", "resourceKind": thing.kind, "userName": "Edgar", "resourceName": "safe"})
        expect(said["allowed"] is False and said["denyReason"].startswith("conditional: ") and "needs the verb" in said["evaluationError"], f"{said}")
        said = w.may("Edgar", "delete", thing.kind, thing.make("safe", {"protected": "yes"}), "safe")
        expect(said["allowed"] is False and "fatFingeredEditor" in said["denyReason"], f"{said}")
        said = w.may("Edgar", "delete", thing.kind, thing.make("unsafe"), "unsafe")
        expect(said["allowed"] is True, f"{said}")
        # A collection can be deleted only if all of its objects may be.
        w.refused("Edgar", "DELETE", thing.path)
        w.allowed("Edgar", "DELETE", f"{thing.path}/unsafe")
        w.allowed("Hubert", "DELETE", f"{thing.path}/safe")


@story.chapter(needs=["own_roles_need_their_containers"])
def a_label_cannot_be_stripped_first(w):
    w.allowed("Hubert", "POST", API + "hammer/roles", {"kind": "role", "name": "hands-off", "rules": [
        {"deny": True, "verbs": ["update", "delete"], "resourceKinds": ["deployments"], "attributeRestrictions": {"labelsContain": ["frozen=yes"]}}]})
    w.allowed("Hubert", "POST", API + "hammer/rolebindings", {
        "kind": "roleBinding", "name": "HandsOff", "roleRef": {"namespace": "hammer", "name": "hands-off"}, "userNames": ["Edgar"]})
    w.allowed("Hubert", "POST", Built.path, Built.make("ice", {"frozen": "yes"}))
    w.refused("Edgar", "PATCH", f"{Built.path}/ice", {"metadata": {"labels": {"frozen": None}}}, MERGE)
    w.refused("Edgar", "DELETE", f"{Built.path}/ice")
    w.allowed("Hubert", "DELETE", f"{Built.path}/ice")


@story.chapter(needs=["own_roles_need_their_containers"])
def a_denial_covers_every_way(w):
    """A denial also holds for evictions, subresources, owners, namespaces, and the verbs of streams."""
    pods, space = "/api/v1/namespaces/hammer/pods", "/api/v1/namespaces/hammer"

    def bind(name, rules):
        w.allowed("Hubert", "POST", API + "hammer/roles", {"kind": "role", "name": name, "rules": rules})
        w.allowed("Hubert", "POST", API + "hammer/rolebindings", {
            "kind": "roleBinding", "name": name, "roleRef": {"namespace": "hammer", "name": name}, "userNames": ["Edgar"]})

    def unbind(name):
        w.allowed("Hubert", "DELETE", API + "hammer/rolebindings/" + name)
        w.allowed("Hubert", "DELETE", API + "hammer/roles/" + name)

    def pod(name):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}

    # The deployments of `fatFingeredEditor`: Edgar may delete those that are not protected.
    w.allowed("Edgar", "DELETE", space + "?dryRun=All")
    w.allowed("Hubert", "POST", Built.path, Built.make("kept", {"protected": "yes"}))
    w.refused("Edgar", "DELETE", space + "?dryRun=All", saying=["deleting the namespace would delete it", "deployments", "fatFingeredEditor"])
    w.allowed("Clark", "DELETE", space + "?dryRun=All")
    gone = {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "gone", "uid": "0"}]}}
    w.refused("Edgar", "PATCH", f"{Built.path}/kept", gone, MERGE, saying="cannot set an ownerRef on a resource you can't delete")
    w.allowed("Hubert", "DELETE", f"{Built.path}/kept")

    w.allowed("Edgar", "POST", pods, pod("stays"))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "stays"}}
    bind("no-delete", [{"deny": True, "verbs": ["delete"], "resourceKinds": ["Pod"]}])
    w.refused("Edgar", "POST", f"{pods}/stays/eviction", eviction, saying="no-delete")
    w.refused("Edgar", "DELETE", pods, saying="no-delete")
    w.refused("Edgar", "DELETE", space + "?dryRun=All", saying="no-delete")
    said = w.may("Edgar", "create", "pods/eviction", name="stays")
    expect(said["allowed"] is False and "no-delete" in said["denyReason"], f"{said}")
    expect("Edgar" not in w.who_can("create", "pods/eviction")["userNames"], "who-can agrees")
    unbind("no-delete")

    bind("no-update", [{"deny": True, "verbs": ["update"], "resourceKinds": ["Pod"]}])
    for part, patch in (("", {"metadata": {"labels": {"a": "b"}}}), ("/status", {"status": {"phase": "Failed"}}), ("/resize", {"spec": {}}), ("/ephemeralcontainers", {"spec": {}})):
        w.refused("Edgar", "PATCH", f"{pods}/stays{part}", patch, MERGE, saying="no-update")
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "stays"}, "target": {"kind": "Node", "name": "n"}}
    w.refused("Edgar", "POST", f"{pods}/stays/binding", binding, saying="no-update")
    w.refused("Edgar", "POST", f"{space}/bindings", binding, saying="no-update")
    unbind("no-update")

    bind("no-exec", [{"deny": True, "verbs": ["exec"], "resourceKinds": ["Pod"]}])
    for method in ("GET", "POST"):
        w.refused("Edgar", method, f"{pods}/stays/exec?command=sh", saying="no-exec")
        expect(w.as_user("Edgar", method, f"{pods}/stays/attach")[0] != 403, "attaching is something else")
    unbind("no-exec")

    w.allowed("Edgar", "POST", Built.path, Built.make("many"))
    bind("no-scaling", [{"deny": True, "verbs": ["update"], "resourceKinds": ["deployments"], "attributeRestrictions": {"fieldsMutatable": ["spec.replicas"]}}])
    w.refused("Edgar", "PATCH", f"{Built.path}/many/scale", {"spec": {"replicas": 5}}, MERGE, saying="no-scaling")
    w.refused("Edgar", "PATCH", f"{Built.path}/many", {"spec": {"replicas": 5}}, MERGE, saying="no-scaling")
    w.allowed("Edgar", "PATCH", f"{Built.path}/many", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    unbind("no-scaling")
    w.allowed("Edgar", "PATCH", f"{Built.path}/many/scale", {"spec": {"replicas": 5}}, MERGE)

    bind("not-stays", [{"deny": True, "verbs": ["get", "delete"], "resourceKinds": ["pods"], "resourceNames": ["stays"]}])
    w.refused("Edgar", "GET", pods, saying="fieldSelector=metadata.name!=NAME")
    w.allowed("Edgar", "GET", pods + "?fieldSelector=metadata.name!%3Dstays")
    w.refused("Edgar", "DELETE", pods)
    w.refused("Edgar", "DELETE", space + "?dryRun=All", saying="not-stays")
    unbind("not-stays")
    w.allowed("Edgar", "DELETE", f"{pods}/stays")
    w.allowed("Edgar", "DELETE", f"{Built.path}/many")


@story.chapter(needs=["own_roles_need_their_containers"])
def editors_hold_no_excluded_field(w):
    """A permission that is excluded from whole objects is granted by name; the `*` of `edit` and `admin` is not enough."""
    sets = "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets"
    status, _, said = w.admin("POST", sets, {"metadata": {"name": "guarded"}, "spec": {"uncoveredPermissions": ["granular:label(guarded.example.com)"]}})
    expect(status == 201, f"{said}")
    label = {"metadata": {"labels": {"guarded.example.com/x": "y"}}}
    w.allowed("Edgar", "POST", Built.path, Built.make("guarded"))
    for user in ("Edgar", "Hubert"):
        w.refused(user, "PATCH", f"{Built.path}/guarded", label, MERGE, saying="granular:label(guarded.example.com)")
        w.allowed(user, "PATCH", f"{Built.path}/guarded", {"metadata": {"labels": {"plain": user}}}, MERGE)
        expect(not w.may(user, "granular:label(guarded.example.com)", "deployments")["allowed"], user)
    w.refused("Hubert", "POST", API + "hammer/roles", {"kind": "role", "name": "guards", "rules": [
        {"verbs": ["granular:label(guarded.example.com)"], "resourceKinds": ["deployments"]}]}, saying="do not hold")
    w.allowed("Clark", "PATCH", f"{Built.path}/guarded", label, MERGE)
    w.admin("DELETE", f"{sets}/guarded")
    w.allowed("Hubert", "DELETE", f"{Built.path}/guarded")
    # They cannot ask in another form for an answer that they may not have.
    local = {"kind": "LocalResourceAccessReview", "apiVersion": "authorization.openshift.io/v1", "verb": "get", "resource": "pods"}
    w.refused("Edgar", "POST", f"{FLAT}/namespaces/hammer/localresourceaccessreviews", local)
    w.allowed("Hubert", "POST", f"{FLAT}/namespaces/hammer/localresourceaccessreviews", local)


@story.chapter(needs=["a_project_is_delegated"])
def kubelets_touch_their_own_pods(w):
    kubelet, pods = "system:node:node-1", "/api/v1/namespaces/hammer/pods"
    w.allowed("Clark", "POST", API + "master/roles", {"kind": "role", "name": "kubelet", "namespace": "master", "rules": [
        {"verbs": ["*"], "resourceKinds": ["Pod"], "attributeRestrictions": {"kind": "sameMinionRestriction"}}]})
    w.allowed("Clark", "POST", API + "master/rolebindings", {
        "kind": "roleBinding", "name": "Kubelets", "namespace": "master", "roleRef": {"namespace": "master", "name": "kubelet"}, "userNames": [kubelet]})

    def pod(name, node):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}}

    w.allowed("Clark", "POST", pods, pod("mine", "node-1"))
    w.allowed("Clark", "POST", pods, pod("theirs", "node-2"))
    w.allowed(kubelet, "GET", f"{pods}/mine")
    w.refused(kubelet, "GET", f"{pods}/theirs")
    w.refused(kubelet, "GET", pods)
    w.refused(kubelet, "GET", f"{pods}?fieldSelector=spec.nodeName%3Dnode-2")
    listed = w.allowed(kubelet, "GET", f"{pods}?fieldSelector=spec.nodeName%3Dnode-1")
    expect([p["metadata"]["name"] for p in listed["items"]] == ["mine"], f"{listed}")
    w.allowed(kubelet, "PATCH", f"{pods}/mine", {"metadata": {"labels": {"seen": "yes"}}}, MERGE)
    w.refused(kubelet, "PATCH", f"{pods}/theirs", {"metadata": {"labels": {"seen": "yes"}}}, MERGE)
    # A kind means its parts: the role names pods alone.
    w.allowed(kubelet, "PATCH", f"{pods}/mine/status", {"status": {"phase": "Running"}}, MERGE)
    w.refused(kubelet, "PATCH", f"{pods}/theirs/status", {"status": {"phase": "Running"}}, MERGE)
    w.refused(kubelet, "POST", pods, pod("elsewhere", "node-2"))
    said = w.may(kubelet, "create", "Pod", pod("new", "node-1"))
    expect(said["allowed"] is True, f"{said}")
    said = w.may(kubelet, "create", "Pod", pod("new", "node-2"))
    expect(said["allowed"] is False, f"{said}")
    said = w.may(kubelet, "delete", "pods", pod("mine", "node-1"), "mine")
    expect(said["allowed"] is True, f"{said}")
    # With its name alone, the question is about the stored object.
    expect(w.may(kubelet, "delete", "pods", name="mine")["allowed"] is True, "its own")
    said = w.may(kubelet, "delete", "pods", name="theirs")
    expect(said["allowed"] is False and "conditional" not in said["denyReason"], f"{said}")
    w.refused(kubelet, "DELETE", f"{pods}/theirs")
    w.allowed(kubelet, "DELETE", f"{pods}/mine")
    said = w.may(kubelet, "delete", "pods", name="nobody")
    expect(said["allowed"] is False and "there is no pods" in said["evaluationError"], f"{said}")


@story.chapter(needs=["bots_change_labels_and_nothing_else"])
def who_can(w):
    said = w.who_can("get", "DeploymentConfig")
    for user in ("Clark", "Hubert", "Edgar", "Vera", "ProtectorBot"):
        expect(user in said["userNames"], f"{user}: {said}")
    expect(said["userNames"] == sorted(said["userNames"]) and "Mallory" not in said["userNames"], f"{said}")
    expect("system:masters" in said["groupNames"], f"{said}")
    said = w.who_can("update", "DeploymentConfig")
    expect("ProtectorBot" in said["userNames"] and "conditional" in said["evaluationError"], f"{said}")
    live = w.allowed("Clark", "GET", f"{Custom.path}/site")
    grown = {**live, "spec": {"replicas": 9}}
    said = w.who_can("update", "DeploymentConfig", content=grown, name="site")
    expect("ProtectorBot" not in said["userNames"] and "Edgar" in said["userNames"], f"{said}")
    relabelled = copy.deepcopy(live)
    relabelled["metadata"]["labels"]["x"] = "y"
    said = w.who_can("update", "DeploymentConfig", content=relabelled, name="site")
    expect("ProtectorBot" in said["userNames"] and "conditional" not in said.get("evaluationError", ""), f"{said}")
    said = w.who_can("create", "roles")
    expect("Edgar" not in said["userNames"] and "Hubert" in said["userNames"], f"{said}")
    # If the policy denies a user, RBAC cannot allow.
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/hammer/"
    for name, users in (("readers", ["Rita", "Mallory"]),):
        w.admin("POST", rbac + "roles", {"metadata": {"name": name}, "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]})
        w.admin("POST", rbac + "rolebindings", {"metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
                                                "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user} for user in users]})
    expect({"Rita", "Mallory"} <= set(w.who_can("get", "secrets")["userNames"]), f"{said}")
    w.allowed("Hubert", "POST", API + "hammer/roles", {"name": "no-secrets", "rules": [{"deny": True, "verbs": ["get"], "resourceKinds": ["secrets"]}]})
    w.allowed("Hubert", "POST", API + "hammer/rolebindings", {"name": "NoSecrets", "roleRef": {"namespace": "hammer", "name": "no-secrets"}, "userNames": ["Mallory"], "groupNames": ["interns"]})
    w.refused("Mallory", "GET", "/api/v1/namespaces/hammer/secrets/x")
    said = w.who_can("get", "secrets")
    expect("Rita" in said["userNames"] and "Mallory" not in said["userNames"], f"{said}")
    expect("\"Mallory\"" in said["evaluationError"] and "members of \"interns\"" in said["evaluationError"], f"{said}")
    # Who is allowed is not among the denied: no namespace denies anything to a user of the master namespace.
    binding = w.allowed("Hubert", "GET", API + "hammer/rolebindings/NoSecrets")
    w.allowed("Hubert", "PUT", API + "hammer/rolebindings/NoSecrets", {**binding, "userNames": ["Mallory", "Clark"]})
    said = w.who_can("get", "secrets")
    expect("Clark" in said["userNames"] and "Clark" not in said["evaluationError"] and "Mallory" in said["evaluationError"], f"{said}")
    # `exec` of pods is asked in one word.
    w.allowed("Hubert", "POST", API + "hammer/roles", {"name": "shells", "rules": [{"verbs": ["exec"], "resourceKinds": ["Pod"]}]})
    w.allowed("Hubert", "POST", API + "hammer/rolebindings", {"name": "Shells", "roleRef": {"namespace": "hammer", "name": "shells"}, "userNames": ["kubelet-02"]})
    for verb, kind in (("exec", "pods"), ("exec", "Pod"), ("create", "pods/exec")):
        said = w.who_can(verb, kind)
        expect({"kubelet-02", "Edgar"} <= set(said["userNames"]) and "Vera" not in said["userNames"], f"{verb} {kind}: {said}")
        expect(w.may("kubelet-02", verb, kind)["allowed"] is True and w.may("Vera", verb, kind)["allowed"] is False, f"{verb} {kind}")
    expect("kubelet-02" not in w.who_can("attach", "pods")["userNames"], "exec is not attach")
    expect(w.may("kubelet-02", "create", "pods")["allowed"] is False and w.may("kubelet-02", "create", "pods/eviction")["allowed"] is False, "nor anything else")
    # The same question in the form that oc sends.
    flat = {"kind": "LocalResourceAccessReview", "apiVersion": "authorization.openshift.io/v1", "namespace": "hammer", "verb": "get",
            "resourceAPIGroup": "", "resourceAPIVersion": "", "resource": "pods", "resourceName": "", "path": "", "isNonResourceURL": False, "content": None}
    said = w.answer("Clark", 201, "POST", f"{FLAT}/namespaces/hammer/localresourceaccessreviews", flat)
    expect(said["kind"] == "ResourceAccessReviewResponse" and said["namespace"] == "hammer" and "Edgar" in said["users"] and "evalutionError" in said, f"{said}")
    w.answer("Hubert", 201, "POST", f"{FLAT}/namespaces/hammer/localresourceaccessreviews", flat)
    w.refused("Hubert", "POST", f"{FLAT}/namespaces/anvil/localresourceaccessreviews", {**flat, "namespace": "anvil"})
    said = w.answer("Clark", 201, "POST", f"{FLAT}/resourceaccessreviews", {**flat, "kind": "ResourceAccessReview", "namespace": ""})
    expect("Edgar" not in said["users"] and "Clark" in said["users"], f"{said}")


@story.chapter(needs=["own_roles_need_their_containers"])
def reviews_by_every_path(w):
    spec = {"verb": "delete", "resourceKind": "pods", "userName": "Edgar"}
    for path in ("/api/v1beta3/ns/hammer/subjectAccessReview", "/api/v1beta3/ns/hammer/subjectaccessreviews", API + "hammer/subjectaccessreviews", API + "hammer/subjectAccessReview"):
        expect(w.review("Clark", "hammer", spec, path)["allowed"] is True, path)
    body = {"kind": "SubjectAccessReview", "apiVersion": "v1beta3", "spec": spec}
    expect(w.answer("Clark", 201, "POST", "/api/v1beta3/ns/hammer/subjectAccessReviews", body)["apiVersion"] == "v1beta3", "the version as it was sent")
    expect(w.review("Hubert", "hammer", {"verb": "get", "resourceKind": "pods"})["allowed"] is True, "about oneself")
    said = w.review("Clark", "hammer", {"verb": "get", "resourceKind": "pods", "groupName": "system:masters"})
    expect(said["allowed"] is True, f"{said}")
    said = w.review("Clark", "hammer", {"verb": "get", "resourceKind": "pods", "userName": "Mallory"})
    expect(said["allowed"] is False and said["denyReason"] != "", f"{said}")
    w.answer("Clark", 422, "POST", API + "hammer/subjectaccessreviews", {**body, "spec": {**spec, "groupName": "x"}}, saying="spec.groupName")
    w.answer("Clark", 422, "POST", API + "hammer/subjectaccessreviews", {**body, "spec": {}}, saying="spec.verb")
    w.answer("Clark", 405, "GET", "/api/v1beta3/ns/hammer/subjectAccessReviews")
    w.answer("Clark", 400, "POST", API + "hammer/subjectaccessreviews", {**body, "metadata": {"namespace": "anvil"}})
    w.refused("Mallory", "POST", API + "hammer/subjectaccessreviews", body)
    flat = {"kind": "SubjectAccessReview", "apiVersion": "authorization.openshift.io/v1", "namespace": "hammer", "verb": "create", "resource": "pods", "user": "Edgar", "groups": [], "scopes": None}
    said = w.answer("Clark", 201, "POST", f"{FLAT}/subjectaccessreviews", flat)
    expect(said["kind"] == "SubjectAccessReviewResponse" and said["allowed"] is True and said["namespace"] == "hammer", f"{said}")
    said = w.answer("Hubert", 201, "POST", f"{FLAT}/namespaces/hammer/localsubjectaccessreviews", {**flat, "kind": "LocalSubjectAccessReview"})
    expect(said["allowed"] is True, f"{said}")
    w.refused("Hubert", "POST", f"{FLAT}/subjectaccessreviews", flat)
    # As `oc policy can-i` sends it: a question about oneself, for every user who may ask it, and the list of permissions.
    personal = {"kind": "SubjectAccessReview", "apiVersion": "authorization.openshift.io/v1", "metadata": {"creationTimestamp": None}, "namespace": "hammer", "verb": "get",
                "resourceAPIGroup": "", "resourceAPIVersion": "", "resource": "pods", "resourceName": "", "path": "", "isNonResourceURL": False, "content": None,
                "user": "", "groups": None, "scopes": []}
    # Nobody needs a binding for that.
    mine = {"kind": "SubjectAccessReview", "apiVersion": "v1beta3", "metadata": {"name": "q", "namespace": "hammer"}, "spec": {"verb": "get", "resourceKind": "pods"}}
    for path in ("/api/v1beta3/ns/hammer/subjectAccessReviews", API + "hammer/subjectaccessreviews", "/api/v1beta3/ns/anvil/subjectAccessReviews"):
        mine["metadata"]["namespace"] = "anvil" if "anvil" in path else "hammer"
        expect(w.answer("Mallory", 201, "POST", path, mine)["status"]["allowed"] is False, path)
    mine["metadata"]["namespace"] = "hammer"
    for other in ({"userName": "Edgar"}, {"groupName": "system:masters"}):
        w.refused("Mallory", "POST", API + "hammer/subjectaccessreviews", {**mine, "spec": {**mine["spec"], **other}})
    w.refused("Mallory", "POST", API + "hammer/resourceaccessreviews", {**mine, "kind": "ResourceAccessReview"})
    w.answer("Nobody", 401, "POST", API + "hammer/subjectaccessreviews", mine)
    expect(w.answer("Edgar", 201, "POST", f"{FLAT}/subjectaccessreviews", personal)["allowed"] is True, "what Edgar may")
    expect(w.answer("DeprotectorBot", 201, "POST", f"{FLAT}/subjectaccessreviews", personal)["allowed"] is False, "what the bot may not")
    w.refused("DeprotectorBot", "POST", f"{FLAT}/subjectaccessreviews", {**personal, "user": "Edgar"})
    rules = {"kind": "SelfSubjectRulesReview", "apiVersion": "authorization.openshift.io/v1", "metadata": {"creationTimestamp": None}, "spec": {"scopes": None}, "status": {"rules": None}}
    said = w.answer("Hubert", 201, "POST", f"{FLAT}/namespaces/hammer/selfsubjectrulesreviews", rules)
    expect(isinstance(said["status"]["rules"], list) and "not complete" in said["status"]["evaluationError"], f"{said}")
    said = w.answer("Clark", 201, "POST", f"{FLAT}/namespaces/hammer/subjectrulesreviews", {**rules, "kind": "SubjectRulesReview", "spec": {"user": "ProtectorBot", "groups": None, "scopes": None}})
    expect(any(r["verbs"] == ["watch", "list", "get"] and "deployments" in r["resources"] for r in said["status"]["rules"]), f"{said}")
    w.refused("DeprotectorBot", "POST", f"{FLAT}/namespaces/hammer/subjectrulesreviews", {**rules, "kind": "SubjectRulesReview", "spec": {"user": "Edgar"}})
    status, _, _ = w.admin("GET", "/api/v1beta3/ns/hammer/pods")
    expect(status == 404, f"nothing else is served there: {status}")


@story.chapter(needs=["own_roles_need_their_containers"])
def documents_by_older_paths(w):
    """Roles and bindings where the design has them, before there were groups."""
    older = "/api/v1beta3/ns/hammer/"
    made = w.answer("Hubert", 201, "POST", older + "roles", {"kind": "role", "apiVersion": "v1beta3", "name": "older", "rules": [{"verbs": ["get"], "resourceKinds": ["pods"]}]})
    expect(w.allowed("Hubert", "GET", older + "roles/older") == made and w.allowed("Hubert", "GET", API + "hammer/roles/older") == made, f"{made}")
    made["rules"][0]["verbs"] = ["list"]
    w.allowed("Hubert", "PUT", older + "roles/older", made)
    binding = {"kind": "roleBinding", "name": "Older", "namespace": "hammer", "roleRef": {"namespace": "hammer", "name": "older"}, "userNames": ["Mallory"]}
    w.allowed("Hubert", "POST", older + "roleBindings", binding)
    w.allowed("Mallory", "GET", "/api/v1/namespaces/hammer/pods")
    w.refused("Mallory", "GET", older + "roles")
    w.refused("Mallory", "DELETE", older + "roleBindings/Older")
    expect("Older" in [b["metadata"]["name"] for b in w.allowed("Hubert", "GET", older + "rolebindings")["items"]], "a list")
    expect(w.allowed("Clark", "GET", older + "policies/default")["roles"]["older"]["rules"][0]["verbs"] == ["list"], "the container")
    w.answer("Clark", 422, "PUT", older + "policyBindings/hammer", {"kind": "PolicyBinding", "metadata": {"name": "hammer"}})
    w.allowed("Hubert", "DELETE", older + "rolebindings/Older")
    w.allowed("Hubert", "DELETE", older + "roles/older")
    w.refused("Mallory", "GET", "/api/v1/namespaces/hammer/pods")
    w.answer("Clark", 404, "GET", older + "roles/older/status")


@story.chapter(needs=["own_roles_need_their_containers"])
def parameters_keep_their_case(w):
    pods = "/api/v1/namespaces/hammer/pods"
    w.allowed("Clark", "POST", pods, {"metadata": {"name": "case"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    made = w.allowed("Clark", "POST", API + "hammer/roles", {"name": "case", "rules": [
        {"verbs": ["GET", "granular", "granular:condition(SuperSafe)"], "resourceKinds": ["pods", "pods/status"]}]})
    expect(made["rules"][0]["verbs"] == ["get", "granular", "granular:condition(SuperSafe)"], f"{made}")
    w.allowed("Clark", "POST", API + "hammer/rolebindings", {"name": "Case", "roleRef": {"namespace": "hammer", "name": "case"}, "userNames": ["Mallory"]})
    for name, answer in (("SuperSafe", w.allowed), ("supersafe", w.refused)):
        answer("Mallory", "PATCH", f"{pods}/case/status", {"status": {"conditions": [{"type": name, "status": "True"}]}}, STRATEGIC)
        expect(w.may("Mallory", f"granular:condition({name})", "pods/status")["allowed"] is (name == "SuperSafe"), name)


@story.chapter(needs=["own_roles_need_their_containers"])
def typos_are_told(w):
    typos = {"kind": "Role", "metadata": {"name": "typos", "namespace": "hammer"}, "rules": [
        {"deny": True, "verbs": ["dellete"], "resourceKinds": ["deploymnets", "DeploymentConfig", "pods/statsu"], "apiGroups": ["aps"]},
        {"verbs": ["update"], "resourceKinds": ["Deployment"], "attributeRestrictions": {"fieldsMutatable": ["labels", "spec.replicsa", "spec.template.spec.containers[*].image"]}}]}
    said = ['rules[0].verbs[0]: unknown verb "dellete"', 'rules[0].resourceKinds[0]: unknown resource "deploymnets"', 'rules[0].resourceKinds[2]: unknown subresource "pods/statsu"',
            'rules[0].apiGroups[0]: unknown API group "aps"', 'rules[1].attributeRestrictions.fieldsMutatable[1]: unknown field "spec.replicsa"']
    status, headers, answer = w.as_user("Hubert", "POST", API + "hammer/roles", typos)
    warned = [text.replace("\\", "") for text in headers.get_all("Warning")]
    expect(status == 201 and warned == [f'299 - "{text}"' for text in said], f"{status} {warned} {answer}")
    status, headers, _ = w.as_user("Hubert", "PUT", API + "hammer/roles/typos", {**answer, "rules": [{"verbs": ["get"], "resourceKinds": ["Deployment", "pods/log"]}]})
    expect(status == 200 and "Warning" not in headers, f"{status} {headers}")
    # The same without a server, which knows no DeploymentConfigs.
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "typos.yaml")
        for document, code, lines in ((typos, 1, sorted(said + ['rules[0].resourceKinds[1]: unknown resource "deploymentconfig"'])),
                                      ({**typos, "rules": [{"verbs": ["get"], "resourceKinds": ["Deployment"]}]}, 0, []), ({**typos, "rules": "all"}, 1, None)):
            with open(path, "w") as f:
                yaml.safe_dump(document, f)
            run = subprocess.run([binary(), "policy", "check", path], capture_output=True, text=True)
            expect(run.returncode == code, f"{document}: {run}")
            if lines is not None:
                expect(sorted(run.stdout.splitlines()) == ["Role hammer/typos: " + line for line in lines], f"{run}")
        expect(subprocess.run([binary(), "policy", "check", path + "x"], capture_output=True).returncode == 2, "a file that is not there")


@story.chapter(needs=["bots_change_labels_and_nothing_else"])
def refusals_teach(w):
    """A refused user learns what decided, whether or not they may read the role."""
    w.refused("ProtectorBot", "PATCH", f"{Built.path}/site", {"spec": {"replicas": 7}}, MERGE, saying='allows changes of the fields "labels" and no others')
    made = w.allowed("Hubert", "POST", API + "hammer/roles", {"name": "careful", "rules": [
        {"deny": True, "verbs": ["delete"], "resourceKinds": ["configmaps"], "description": "configuration is deleted by its owners: ask #platform"},
        {"deny": True, "verbs": ["delete"], "resourceKinds": ["secrets"], "attributeRestrictions": {"labelsContain": ["keep"]}, "description": "kept for the audit"}]})
    expect(made["rules"][0]["description"].startswith("configuration"), f"{made}")
    w.allowed("Hubert", "POST", API + "hammer/rolebindings", {"name": "Careful", "roleRef": {"namespace": "hammer", "name": "careful"}, "userNames": ["Edgar"]})
    w.refused("Edgar", "DELETE", "/api/v1/namespaces/hammer/configmaps/x", saying=["denied by rule in hammer", "configuration is deleted by its owners: ask #platform"])
    w.allowed("Edgar", "POST", "/api/v1/namespaces/hammer/secrets", {"metadata": {"name": "kept", "labels": {"keep": "1"}}})
    w.refused("Edgar", "DELETE", "/api/v1/namespaces/hammer/secrets/kept", saying=['denies objects with the labels "keep"', "kept for the audit"])
    w.refused("Edgar", "GET", API + "hammer/roles/careful")
    w.answer("Hubert", 422, "POST", API + "hammer/roles", {"name": "long", "rules": [{"verbs": ["get"], "resourceKinds": ["pods"], "description": "x" * 513}]}, saying="rules[0].description")
    w.answer("Hubert", 422, "POST", API + "hammer/roles", {"name": "lines", "rules": [{"verbs": ["get"], "resourceKinds": ["pods"], "description": "a\nb"}]}, saying="rules[0].description")
    w.allowed("Hubert", "DELETE", API + "hammer/rolebindings/Careful")
    # Somebody to whom a verb is denied is not told that it is enough.
    w.allowed("Clark", "POST", API + "hammer/roles", {"name": "half", "rules": [
        {"verbs": ["get", "granular", "granular:label(app)"], "resourceKinds": ["configmaps"]}, {"deny": True, "verbs": ["granular:label(app)"], "resourceKinds": ["configmaps"]}]})
    w.allowed("Clark", "POST", API + "hammer/rolebindings", {"name": "Half", "roleRef": {"namespace": "hammer", "name": "half"}, "userNames": ["kubelet-02"]})
    w.allowed("Clark", "POST", "/api/v1/namespaces/hammer/configmaps", {"metadata": {"name": "half"}})
    for label, text in (("app", 'the verb "granular:label(app)" is denied to this user'), ("team", 'the verbs "granular" and "granular:label(team)" are enough for this field')):
        said = w.refused("kubelet-02", "PATCH", "/api/v1/namespaces/hammer/configmaps/half", {"metadata": {"labels": {label: "x"}}}, MERGE)
        expect(said["details"]["causes"][0]["message"] == text, f"{said}")


@story.chapter(needs=["the_master_namespace"])
def hardening_survives_a_restart(w):
    path = API + "master/roles/view"
    role = w.allowed("Clark", "GET", path)
    seeded = role["rules"]
    role["rules"] = [{"verbs": ["get"], "resourceKinds": ["configmaps"]}]
    hardened = w.allowed("Clark", "PUT", path, role)["rules"]

    def restart(*flags):
        w.server.stop()
        w.server.flags += flags
        w.server.start()
        del w.server.flags[len(w.server.flags) - len(flags):]
        return w.allowed("Clark", "GET", path)["rules"]

    expect(restart() == hardened, "an administrator's change is undone")
    with open(w.server.log_path) as log:
        expect('the role "view" of the namespace "master" differs' in log.read(), "nobody is told")
    expect(restart("--reset-bootstrap-policy") == seeded, "the rules of the server are asked for")
    expect(restart() == seeded, "and stay")


@story.chapter(needs=["a_project_is_delegated"])
def bad_documents(w):
    roles = API + "hammer/roles"
    for body, path in (({"rules": [{"denny": True, "verbs": ["get"], "resourceKinds": ["pods"]}]}, "rules[0].denny"),
                       ({"rules": [{"verbs": ["-get"], "resourceKinds": ["pods"]}]}, "rules[0].verbs"),
                       ({"rules": [{"verbs": ["get"], "resourceKinds": ["resourcegroup:nothing"]}]}, "rules[0].resourceKinds[0]"),
                       ({"rules": [{"verbs": ["get"], "resourceKinds": ["pods"], "attributeRestrictions": {"kind": "moonPhase"}}]}, "rules[0].attributeRestrictions"),
                       ({"rules": [{"verbs": ["get"], "resourceKinds": ["pods"]}] * 10000}, "rules"),
                       ({"rules": "all"}, "rules")):
        w.answer("Clark", 422, "POST", roles, {"kind": "Role", "metadata": {"name": "bad"}, **body}, saying=path)
    w.answer("Clark", 422, "POST", API + "hammer/rolebindings", {"name": "bad", "roleRef": {"namespace": "hammer", "name": "nobody"}, "userNames": ["x"]}, saying="hammer/nobody")
    w.answer("Clark", 422, "POST", API + "hammer/rolebindings", {"name": "bad", "roleRef": {"namespace": "anvil", "name": "x"}}, saying="roleRef.namespace")
    w.answer("Clark", 422, "POST", API + "anvil/policies", {"kind": "Policy", "roles": {"a": {"metadata": {"name": "b"}, "rules": []}}}, saying="roles[a].metadata.name")
    w.answer("Clark", 422, "POST", API + "anvil/policybindings", {"kind": "PolicyBinding", "metadata": {"name": "hammer"}}, saying="policyRef.namespace")
    for method in ("PUT", "PATCH"):
        w.answer("Clark", 422, method, API + "hammer/policies/default", {"kind": "Policy", "metadata": {"name": "default"}}, MERGE if method == "PATCH" else None)


@story.chapter(needs=["a_project_is_delegated"])
def many_writers_lose_nothing(w):
    w.allowed("Clark", "POST", API + "anvil/policies", {"kind": "Policy"})

    def write(n):
        context = ssl.create_default_context(cafile=os.path.join(w.server.data_dir, "ca.crt"))
        connection = http.client.HTTPSConnection("127.0.0.1", w.server.port, timeout=120, context=context)
        out = []
        for i in range(25):
            body = json.dumps({"kind": "Role", "metadata": {"name": f"r-{n}-{i}"}, "rules": [{"verbs": ["get"], "resourceKinds": ["pods"]}]})
            out.append(exchange(connection, "POST", API + "anvil/roles", body, {"Authorization": "Bearer token-Clark", "Content-Type": "application/json"})[0])
        connection.close()
        return out

    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        statuses = [s for answers in pool.map(write, range(40)) for s in answers]
    expect(statuses == [201] * 1000, f"{sorted(set(statuses))}")
    listed = w.allowed("Clark", "GET", API + "anvil/roles")["items"]
    expect(len({r["metadata"]["name"] for r in listed}) == 1000, f"{len(listed)}")
    expect(len(w.allowed("Clark", "GET", API + "anvil/policies/default")["roles"]) == 1000, "the container holds them all")


@story.chapter(needs=["a_project_is_delegated"])
def damaged_containers_fail_closed(w):
    """A write behind the server's back: a document that cannot be understood denies, and gives the reason."""
    for name in ("tongs", "bellows", "file"):
        w.allowed("Clark", "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        w.allowed("Clark", "POST", API + f"{name}/policies", {"kind": "Policy"})
        w.allowed("Clark", "POST", API + f"{name}/policybindings", {"kind": "PolicyBinding", "name": name})
        w.allowed("Clark", "POST", API + f"{name}/roles", {"name": "reader", "rules": [{"verbs": ["get", "list"], "resourceKinds": ["pods"]}]})
        w.allowed("Clark", "POST", API + f"{name}/rolebindings", {"name": "Readers", "roleRef": {"namespace": name, "name": "reader"}, "userNames": ["Mallory"]})
        w.allowed("Mallory", "GET", f"/api/v1/namespaces/{name}/pods")
    expect(w.server.stop() == 0, "the server stops")
    db = sqlite3.connect(os.path.join(w.server.data_dir, "store", "cardea.db"))

    def edit(key, change):
        key = f"/registry/authorization.openshift.io/{key}"
        value = json.loads(db.execute("SELECT value FROM live WHERE key = ?", (key,)).fetchone()[0])
        change(value)
        head = {k: value.pop(k) for k in ("kind", "apiVersion", "metadata")}
        db.execute("UPDATE live SET value = ? WHERE key = ?", (json.dumps({**head, **value}, separators=(",", ":")).encode(), key))

    edit("policies/tongs/default", lambda v: v["roles"].pop("reader"))
    edit("policies/bellows/default", lambda v: v["roles"]["reader"]["rules"].append({"verbs": ["get"], "denny": True, "resourceKinds": ["secrets"]}))
    edit("policybindings/file/file", lambda v: v.update(roleBindings={"Readers": "everybody"}))
    db.commit()
    db.close()
    w.server.start()
    for name, why in (("tongs", 'role "tongs/reader" not found'), ("bellows", "denny"), ("file", "roleBindings[Readers]")):
        status, _, said = w.as_user("Mallory", "GET", f"/api/v1/namespaces/{name}/pods")
        text = said if isinstance(said, str) else said.decode() if isinstance(said, bytes) else json.dumps(said)
        expect(status == 500 and why in text, f"{name}: {status} {said}")
        w.allowed("Clark", "GET", f"/api/v1/namespaces/{name}/pods")
    # The errors can be seen, and the document can be deleted.
    w.allowed("Clark", "GET", API + "file/rolebindings")
    w.allowed("Clark", "DELETE", API + "file/rolebindings/Readers")
    w.refused("Mallory", "GET", "/api/v1/namespaces/file/pods")
    w.answer("Clark", 422, "POST", API + "tongs/rolebindings", {"name": "More", "roleRef": {"namespace": "tongs", "name": "reader"}}, saying="tongs/reader")


@story.chapter(needs=["a_project_is_delegated"])
def as_the_page_says(w):
    """The documents of docs/namespace-policy.md, with the results that it names, in their own namespace."""
    page = open(os.path.join(os.path.dirname(__file__), "../../docs/namespace-policy.md")).read()
    role, binding = yaml.safe_load_all(page.split("```yaml\n", 1)[1].split("```", 1)[0])
    for document in (role, binding):
        expect(document["metadata"].pop("namespace") == "hammer", document)
    binding["roleRef"]["namespace"] = "page"
    w.allowed("Clark", "POST", "/api/v1/namespaces", {"metadata": {"name": "page"}})
    w.allowed("Clark", "POST", API + "page/rolebindings", {"name": "Editors", "roleRef": {"namespace": "master", "name": "edit"}, "userNames": binding["userNames"]})
    w.allowed("Clark", "POST", API + "page/policies", {"kind": "Policy"})
    w.allowed("Clark", "POST", API + "page/policybindings", {"kind": "PolicyBinding", "policyRef": {"namespace": "page"}})
    w.allowed("Clark", "POST", API + "page/roles", role)
    w.allowed("Clark", "POST", API + "page/rolebindings", binding)
    path = "/apis/apps/v1/namespaces/page/deployments"
    for name, labels in (("plain", {}), ("kept", {"protected": "true"})):
        made = Built.make(name)
        made["metadata"]["labels"] = labels
        w.allowed("Clark", "POST", path, made)
    w.refused("Edgar", "DELETE", f"{path}/kept")
    w.refused("Edgar", "PATCH", f"{path}/kept", {"metadata": {"labels": {"protected": None}}}, MERGE)
    w.allowed("Edgar", "DELETE", f"{path}/plain")


@story.chapter(needs=["a_project_is_delegated"])
def a_project_goes_with_everything_in_it(w):
    w.allowed("Clark", "DELETE", "/api/v1/namespaces/hammer")
    eventually("the namespace is gone", lambda: w.admin("GET", "/api/v1/namespaces/hammer")[0] == 404)
    expect(w.admin("GET", API + "hammer/policies")[2]["items"] == [], "its policy went with it")
    w.refused("Hubert", "GET", "/api/v1/namespaces/hammer/pods")


@story.shared
def w():
    with tempfile.TemporaryDirectory(prefix="cardea-e2e-tokens-") as folder:
        tokens = os.path.join(folder, "tokens")
        with open(tokens, "w") as f:
            for user in USERS:
                f.write(f"token-{user},{user},{user}-uid\n")
        with Cardea(f"--token-auth-file={tokens}") as server:
            yield World(server)


if __name__ == "__main__":
    story.main()
