"""Data folders of earlier versions: a server of today opens them, decides the same, and writes to them.

tests/e2e/upgrade/VERSION.tar.gz has the folder `store` that a server of that version left. `upgrade.py --make` writes one with the
server of $CARDEA_BINARY: once for each release, before it is published, and never again.
"""
import glob
import os
import re
import subprocess
import sys
import tarfile
import tempfile

from server import Cardea, binary, expect
from story import Story

story = Story("upgrade")

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(HERE, "upgrade")
RBAC = "/apis/rbac.authorization.k8s.io/v1"
DEFINITION = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "doors.example.com"},
              "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "doors", "singular": "door", "kind": "Door"},
                       "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                           "type": "object", "properties": {"spec": {"type": "object", "properties": {"hinges": {"type": "integer", "default": 2}}}}}}}]}}
WRITTEN = [
    ("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}),
    ("/api/v1/namespaces/shop/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "prices"}, "data": {"tea": "3"}}),
    ("/api/v1/namespaces/shop/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "safe"}, "stringData": {"key": "value"}}),
    ("/apis/apps/v1/namespaces/shop/deployments", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
        "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}}}),
    (f"{RBAC}/namespaces/shop/roles", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "reader"},
                                       "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]}),
    (f"{RBAC}/namespaces/shop/rolebindings", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "reader"},
                                              "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
                                              "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}]}),
    ("/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies", {
        "apiVersion": "access.cardea.dev/v1alpha1", "kind": "ClusterAccessPolicy", "metadata": {"name": "no-secrets"}, "spec": {
            "effect": "Deny", "description": "secrets stay here", "subjects": [{"kind": "User", "name": "jane"}],
            "rules": [{"verbs": ["*"], "apiGroups": [""], "resources": ["secrets"]}]}}),
    ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION),
    ("/apis/example.com/v1/namespaces/shop/doors", {"apiVersion": "example.com/v1", "kind": "Door", "metadata": {"name": "front"}, "spec": {}}),
]
# What jane may do in the namespace `shop`: verb, resource, answer.
DECISIONS = [("get", "configmaps", (True, False)), ("delete", "configmaps", (False, False)), ("get", "secrets", (False, True))]


def decide(server, verb, resource):
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
              "spec": {"user": "jane", "resourceAttributes": {"namespace": "shop", "verb": verb, "resource": resource}}}
    status, _, body = server.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    expect(status == 201, body)
    return body["status"]["allowed"], body["status"].get("denied", False)


def check(server):
    for path, written in WRITTEN:
        status, _, body = server.request("GET", f"{path}/{written['metadata']['name']}")
        expect(status == 200, f"{path}: {body}")
    expect(server.request("GET", "/api/v1/namespaces/shop/configmaps/prices")[2]["data"] == {"tea": "3"}, "the data of an object")
    expect(server.request("GET", "/apis/example.com/v1/namespaces/shop/doors/front")[2]["spec"] == {"hinges": 2}, "the default of a custom resource")
    for verb, resource, wanted in DECISIONS:
        expect(decide(server, verb, resource) == wanted, f"{verb} {resource} is {decide(server, verb, resource)}")


@story.chapter
def folders_of_earlier_versions_are_opened():
    fixtures = sorted(glob.glob(os.path.join(FIXTURES, "*.tar.gz")))
    expect(fixtures, "no folder of an earlier version")
    for fixture in fixtures:
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(fixture) as tar:
                tar.extractall(folder)
            with Cardea(data_dir=folder) as server:
                check(server)
                before = server.request("GET", "/api/v1/namespaces/shop/configmaps/prices")[2]
                before["metadata"]["labels"] = {"seen": "today"}
                status, _, after = server.request("PUT", "/api/v1/namespaces/shop/configmaps/prices", before)
                expect(status == 200, after)
                expect(int(after["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"]), "revisions go on")
                expect(server.stop() == 0, "a clean stop")
                server.start()
                check(server)
                expect(server.stop() == 0, "a clean stop")
            done = subprocess.run([binary(), "store", "verify", "--data-dir", folder], capture_output=True, text=True)
            expect(done.returncode == 0, done.stdout + done.stderr)


def make():
    version = re.match(r"cardea (\S+)", subprocess.run([binary(), "version"], capture_output=True, text=True, check=True).stdout)[1]
    path = os.path.join(FIXTURES, f"{version}.tar.gz")
    expect(not os.path.exists(path), f"{path} is there already")
    with Cardea() as server:
        for where, written in WRITTEN:
            status, _, body = server.request("POST", where, written)
            expect(status == 201, f"{where}: {body}")
        check(server)
        expect(server.stop() == 0, "a clean stop")
        with tarfile.open(path, "w:gz") as tar:
            tar.add(os.path.join(server.data_dir, "store"), "store")
    print(path)


if __name__ == "__main__":
    make() if sys.argv[1:] == ["--make"] else story.main()
