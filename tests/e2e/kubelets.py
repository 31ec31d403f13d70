"""A user with the certificate of a kubelet: every known way to become cluster-admin must be closed.

The Node authorizer lets a kubelet create pods and request tokens of pods on its node. NodeRestriction limits the objects that those pods may
refer to. It is on whenever that authorizer is in the chain, wherever the chain comes from.
"""
import base64
import http.client
import os
import ssl
import subprocess
import tempfile

from server import Cardea, binary, eventually, exchange, expect, free_port
from story import Story

story = Story("kubelets")

NODE, OTHER = "n1", "n2"
PODS = "/api/v1/namespaces/prey/pods"
ACCOUNTS = "/api/v1/namespaces/prey/serviceaccounts"
MERGE = {"Content-Type": "application/merge-patch+json"}
HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n"


def openssl(*args):
    return subprocess.run(["openssl", *args], check=True, capture_output=True).stdout


class Kubelet:
    """The certificate of one kubelet, from an authority that the server accepts for client certificates."""

    def __init__(self, folder):
        self.folder = folder
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=nodes' CA",
                "-keyout", f"{folder}/ca.key", "-out", f"{folder}/ca.crt", "-addext", "keyUsage=critical,keyCertSign")
        self.request_for(NODE, "kubelet")
        openssl("x509", "-req", "-in", f"{folder}/kubelet.csr", "-CA", f"{folder}/ca.crt", "-CAkey", f"{folder}/ca.key", "-CAcreateserial", "-days", "2",
                "-out", f"{folder}/kubelet.crt")

    def request_for(self, node, name):
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/O=system:nodes/CN=system:node:{node}",
                "-keyout", f"{self.folder}/{name}.key", "-out", f"{self.folder}/{name}.csr")
        with open(f"{self.folder}/{name}.csr", "rb") as f:
            return base64.b64encode(f.read()).decode()

    def ask(self, server, method, path, body=None, headers=None):
        context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
        context.load_cert_chain(f"{self.folder}/kubelet.crt", f"{self.folder}/kubelet.key")
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=context)
        try:
            status, _, said = exchange(connection, method, path, body, headers)
        finally:
            connection.close()
        return status, said

    def refused(self, server, method, path, body=None, headers=None, saying=""):
        status, said = self.ask(server, method, path, body, headers)
        expect(status == 403, f"{method} {path} with {body}: {status} {said}")
        expect(saying in said["message"], f"{method} {path}: {said['message']}")

    def allowed(self, server, method, path, body=None, headers=None):
        status, said = self.ask(server, method, path, body, headers)
        expect(status in (200, 201), f"{method} {path} with {body}: {status} {said}")
        return said


def made(server, path, body):
    status, _, said = server.request("POST", path, body)
    expect(status == 201, f"{path}: {status} {said}")
    return said


def pod(name, spec=None, metadata=None, node=NODE):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name} | (metadata or {}),
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]} | (spec or {})}


def prey(server):
    """A namespace with a service account that may do everything."""
    made(server, "/api/v1/namespaces", {"metadata": {"name": "prey"}})
    made(server, ACCOUNTS, {"metadata": {"name": "boss"}})
    made(server, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        "metadata": {"name": "boss"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "boss", "namespace": "prey"}]})
    eventually("the default service account", lambda: server.request("GET", f"{ACCOUNTS}/default")[0] == 200)


def token_for(kubelet, server, account, of):
    bound = {"apiVersion": "v1", "kind": "Pod", "name": of["metadata"]["name"], "uid": of["metadata"]["uid"]}
    return kubelet.ask(server, "POST", f"{ACCOUNTS}/{account}/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"boundObjectRef": bound}})


def tries_to_become_admin(kubelet, server):
    """A pod with another service account on the kubelet's own node, then its token."""
    kubelet.refused(server, "POST", PODS, pod("evil", {"serviceAccountName": "boss"}), saying="can only create mirror pods")
    kubelet.refused(server, "POST", PODS, pod("evil", {"serviceAccount": "boss"}), saying="can only create mirror pods")
    expect(server.request("GET", f"{PODS}/evil")[0] == 404, "the pod was written")
    status, said = kubelet.ask(server, "POST", f"{ACCOUNTS}/boss/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
    expect(status == 403, f"a token that is bound to no pod: {status} {said}")


def mirror_pods_refer_to_nothing(kubelet, server, uid):
    mirror = {"annotations": {"kubernetes.io/config.mirror": "x"},
              "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": uid, "controller": True}]}

    def volume(**source):
        return {"volumes": [{"name": "v"} | source]}

    def container(**more):
        return {"containers": [{"name": "c", "image": "i"} | more]}
    for spec in ({"serviceAccountName": "boss"}, {"serviceAccount": "boss"}, {"imagePullSecrets": [{"name": "s"}]},
                 {"resourceClaims": [{"name": "r", "resourceClaimName": "r"}]},
                 volume(secret={"secretName": "s"}), volume(configMap={"name": "m"}), volume(persistentVolumeClaim={"claimName": "p"}),
                 volume(ephemeral={"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}}}),
                 volume(csi={"driver": "d"}), volume(azureFile={"secretName": "s", "shareName": "x"}),
                 volume(projected={"sources": [{"serviceAccountToken": {"path": "t"}}]}), volume(projected={"sources": [{"secret": {"name": "s"}}]}),
                 volume(projected={"sources": [{"downwardAPI": {"items": []}}, {"configMap": {"name": "m"}}]}),
                 container(envFrom=[{"secretRef": {"name": "s"}}]), container(env=[{"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]),
                 container(env=[{"name": "E", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}}]),
                 {"initContainers": [{"name": "i", "image": "i", "envFrom": [{"configMapRef": {"name": "m"}}]}]}):
        status, said = kubelet.ask(server, "POST", PODS, pod("mirror", spec, mirror))
        expect(status in (400, 403), f"a mirror pod with {spec}: {status} {said}")
    kubelet.refused(server, "POST", PODS, pod("mirror", {}, mirror, OTHER), saying="nodeName set to itself")
    kubelet.refused(server, "POST", PODS, pod("mirror", {}, {"annotations": mirror["annotations"]}), saying="owner reference")
    written = kubelet.allowed(server, "POST", PODS, pod("mirror", {}, mirror))
    expect(not written["spec"].get("serviceAccountName"), f"the mirror pod was given a service account: {written['spec']}")
    status, said = token_for(kubelet, server, "boss", written)
    expect(status == 403, f"a token bound to a mirror pod: {status} {said}")
    # It cannot be changed into another pod afterwards.
    kubelet.refused(server, "PATCH", f"{PODS}/mirror", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    kubelet.refused(server, "PATCH", f"{PODS}/mirror/ephemeralcontainers", {"spec": {"ephemeralContainers": []}}, MERGE)
    kubelet.refused(server, "PATCH", f"{PODS}/mirror/status", {"metadata": {"labels": {"a": "b"}}}, MERGE, "cannot update labels")
    kubelet.allowed(server, "PATCH", f"{PODS}/mirror/status", {"status": {"phase": "Running"}}, MERGE)
    kubelet.allowed(server, "DELETE", f"{PODS}/mirror?gracePeriodSeconds=0")


def keeps_to_its_node(kubelet, server):
    here, there = made(server, PODS, pod("here")), made(server, PODS, pod("there", {"serviceAccountName": "boss"}, node=OTHER))
    status, said = token_for(kubelet, server, "boss", there)
    expect(status == 403, f"a token of a pod elsewhere: {status} {said}")
    status, said = token_for(kubelet, server, "boss", here)
    expect(status == 403, f"a token of an account that no pod here has: {status} {said}")
    status, said = token_for(kubelet, server, "default", here)
    expect(status == 201, f"the token of a pod on the node: {status} {said}")
    kubelet.refused(server, "PATCH", f"{PODS}/there/status", {"status": {"phase": "Failed"}}, MERGE)
    kubelet.refused(server, "DELETE", f"{PODS}/there")
    kubelet.refused(server, "POST", f"{PODS}/there/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "there"}})
    kubelet.refused(server, "POST", "/api/v1/nodes", {"metadata": {"name": OTHER}}, saying="is not allowed to modify node")
    for change in ({"metadata": {"labels": {"node-restriction.kubernetes.io/a": "b"}}}, {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}},
                   {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}},
                   {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "x", "uid": "y"}]}}):
        for path in (f"/api/v1/nodes/{NODE}", f"/api/v1/nodes/{NODE}/status"):
            before = server.request("GET", f"/api/v1/nodes/{NODE}")[2]
            status, said = kubelet.ask(server, "PATCH", path, change, MERGE)
            after = server.request("GET", f"/api/v1/nodes/{NODE}")[2]
            same = all(after["metadata"].get(k) == before["metadata"].get(k) for k in ("labels", "ownerReferences")) and after["spec"] == before["spec"]
            expect(same, f"{path} took {change}: {status} {said}")
    kubelet.allowed(server, "PATCH", f"/api/v1/nodes/{NODE}", {"metadata": {"labels": {"mine": "yes"}}}, MERGE)
    made(server, "/api/v1/namespaces", {"metadata": {"name": "kube-node-lease"}}) if server.request("GET", "/api/v1/namespaces/kube-node-lease")[0] == 404 else None
    for path, kind, version in (("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", "Lease", "coordination.k8s.io/v1"),
                                ("/apis/storage.k8s.io/v1/csinodes", "CSINode", "storage.k8s.io/v1")):
        thing = {"apiVersion": version, "kind": kind, "metadata": {"name": OTHER}, "spec": {"drivers": []} if kind == "CSINode" else {}}
        kubelet.refused(server, "POST", path, thing)
        kubelet.allowed(server, "POST", path, thing | {"metadata": {"name": NODE}})
    kubelet.refused(server, "POST", "/apis/coordination.k8s.io/v1/namespaces/prey/leases", {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": NODE}})
    for node, check in ((OTHER, kubelet.refused), (NODE, kubelet.allowed)):
        check(server, "POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", {
            "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": f"csr-{node}"},
            "spec": {"signerName": "kubernetes.io/kube-apiserver-client-kubelet", "request": kubelet.request_for(node, f"csr-{node}"), "usages": ["client auth", "digital signature"]}})
    kubelet.refused(server, "POST", "/apis/resource.k8s.io/v1/resourceslices", {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"},
        "spec": {"driver": "d.example.com", "nodeName": OTHER, "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "devices": []}})


@story.shared
def kubelet():
    with tempfile.TemporaryDirectory(prefix="cardea-e2e-kubelets-") as folder:
        yield Kubelet(folder)


@story.shared
def server(kubelet):
    with Cardea(f"--client-ca-file={kubelet.folder}/ca.crt") as server:
        prey(server)
        yield server


@story.shared
def uid(kubelet, server):
    """Labels of the kubelet's node, which it registers itself."""
    return kubelet.allowed(server, "POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})["metadata"]["uid"]


@story.chapter
def by_default_it_does_not_become_admin(kubelet, server, uid):
    tries_to_become_admin(kubelet, server)


@story.chapter
def by_default_its_mirror_pods_refer_to_nothing(kubelet, server, uid):
    mirror_pods_refer_to_nothing(kubelet, server, uid)


@story.chapter
def by_default_it_keeps_to_its_node(kubelet, server, uid):
    keeps_to_its_node(kubelet, server)


@story.chapter
def by_a_file_and_its_reload(kubelet):
    config = f"{kubelet.folder}/authorization.yaml"

    def write(authorizers):
        with open(config + ".new", "w") as f:
            f.write(HEAD + authorizers)
        os.rename(config + ".new", config)
    write("- {type: Node, name: node}\n- {type: RBAC, name: rbac}\n")
    flags = [f"--client-ca-file={kubelet.folder}/ca.crt", f"--authorization-config={config}"]
    with Cardea(*flags) as server:
        prey(server)
        tries_to_become_admin(kubelet, server)
    # A chain that gets the authorizer later also gets the plugin, even if the plugin was switched off.
    for more in ([], ["--disable-admission-plugins=NodeRestriction"]):
        write("- {type: RBAC, name: rbac}\n")
        with Cardea(*flags, *more) as server:
            prey(server)
            kubelet.refused(server, "POST", PODS, pod("evil", {"serviceAccountName": "boss"}), saying="cannot create resource")
            write("- {type: Node, name: node}\n- {type: RBAC, name: rbac}\n")
            eventually("a kubelet that may write its node",
                       lambda: kubelet.ask(server, "POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})[0] in (201, 409))
            tries_to_become_admin(kubelet, server)


@story.chapter
def by_conditions(kubelet):
    """The gate that lets the authorizer decide about objects: the same answers, and reviews show the conditions (docs/admission.md)."""
    with Cardea(f"--client-ca-file={kubelet.folder}/ca.crt", "--feature-gates=NodeConditionalAuthorization=true") as server:
        prey(server)
        kubelet.refused(server, "POST", PODS, pod("evil", {"serviceAccountName": "boss"}), saying="has no Node object")
        uid = kubelet.allowed(server, "POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})["metadata"]["uid"]
        tries_to_become_admin(kubelet, server)
        mirror_pods_refer_to_nothing(kubelet, server, uid)
        keeps_to_its_node(kubelet, server)
        # Kubelets apply and patch their status, renew leases, and make what is gone again.
        kubelet.allowed(server, "PATCH", f"/api/v1/nodes/{NODE}/status", {"status": {"phase": "Running"}}, MERGE)
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": NODE}, "spec": {"holderIdentity": NODE}}
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        kubelet.allowed(server, "PATCH", f"{leases}/{NODE}", {"spec": lease["spec"]}, MERGE)
        kubelet.allowed(server, "DELETE", f"{leases}/{NODE}")
        kubelet.allowed(server, "PUT", f"{leases}/{NODE}", lease)
        kubelet.refused(server, "PUT", f"{leases}/{OTHER}", lease | {"metadata": {"name": OTHER}})

        def review(mode, **attributes):
            spec = {"user": f"system:node:{NODE}", "groups": ["system:nodes"], "resourceAttributes": {"version": "v1", "namespace": "prey"} | attributes}
            if mode:
                spec["conditionalAuthorization"] = {"mode": mode}
            return made(server, "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec})["status"]
        shown = review("HumanReadable", verb="create", resource="pods")
        expect(not shown["allowed"] and f'object.?spec.?nodeName.orValue("") == "{NODE}"' in str(shown["conditionsChain"]) and uid in str(shown["conditionsChain"]), shown)
        expect("mirror pods of its own" in str(shown) and "mirror pods of its own" not in str(review("Optimized", verb="create", resource="pods")), shown)
        expect("mirror pods of its own" in review(None, verb="create", resource="pods")["reason"], "a long condition is shown by its description")
        plain = review(None, verb="delete", resource="pods")
        expect(plain["allowed"] is False and plain["reason"].startswith(f'allowed if oldObject.?spec.?nodeName.orValue("") == "{NODE}" (pods that run on it); '), plain)
        expect(review(None, verb="update", resource="nodes", name=OTHER)["allowed"] is False, "another node")
        expect(review(None, verb="get", resource="nodes", name=NODE)["allowed"] is True, "reads are as before")
        said = subprocess.run([binary(), "can-i", "delete", "pods", "-n", "shop", "--as", "system:node:n1", "--as-group", "system:nodes", "--kubeconfig", server.kubeconfig], capture_output=True, text=True, timeout=60)
        page = open(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "admission.md")).read()
        expect(said.returncode == 3 and said.stdout in page, f"{said.returncode} {said.stdout} {said.stderr}")
    ran = subprocess.run([binary(), "serve", "--data-dir", tempfile.mkdtemp(), "--secure-port", str(free_port()), "--feature-gates=NodeConditionalAuthorization=true,ConditionalAuthorization=false"],
                         capture_output=True, text=True, timeout=60)
    expect(ran.returncode == 2 and "needs the gate ConditionalAuthorization" in ran.stderr, f"{ran.returncode} {ran.stderr}")


@story.chapter
def without_the_plugin(kubelet):
    ran = subprocess.run([binary(), "serve", "--data-dir", tempfile.mkdtemp(), "--secure-port", str(free_port()), "--disable-admission-plugins=NodeRestriction"],
                         capture_output=True, text=True, timeout=60)
    expect(ran.returncode == 2 and "needs the admission plugin `NodeRestriction`" in ran.stderr, f"{ran.returncode} {ran.stderr}")


if __name__ == "__main__":
    story.main()
