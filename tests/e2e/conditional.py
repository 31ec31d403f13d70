"""Conditions: requests that are allowed or denied because of the object that they write.

Users come from a token file. They have only the permissions that access policies give them.
"""
import json
import os
import re
import socket
import ssl
import subprocess
import tempfile

from server import Cardea, binary, eventually, exchange, expect, free_port
from story import Story

story = Story("conditional")

POLICIES = "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies"
USERS = ["alice", "bob", "eve", "carol", "approver", "issuer", "finisher", "agent", "auditor", "labeller", "namer", "signer", "writer", "deleter", "binder", "granter", "friend",
         "scaler", "reporter", "evictor", "placer", "versioned"]
CM = "/api/v1/namespaces/default/configmaps"


class World:
    def __init__(self, server):
        self.server = server

    def admin(self, method, path, body=None, headers=None):
        return self.server.request(method, path, body, headers)

    def anonymous_tls(self):
        return ssl.create_default_context(cafile=os.path.join(self.server.data_dir, "ca.crt"))

    def as_user(self, user, method, path, body=None, content_type=None):
        import http.client
        connection = http.client.HTTPSConnection("127.0.0.1", self.server.port, timeout=60, context=self.anonymous_tls())
        headers = {"Authorization": f"Bearer token-{user}"}
        if content_type:
            headers["Content-Type"] = content_type
            body = json.dumps(body)
        try:
            return exchange(connection, method, path, body, headers)
        finally:
            connection.close()

    def policy(self, name, effect, user=None, verbs=("*",), groups=("",), resources=("*",), expression="", namespace=None, description="", names=None):
        rule = {"verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources)}
        if names:
            rule["resourceNames"] = names
        spec = {"effect": effect, "rules": [rule], "expression": expression, "description": description}
        if user:
            spec["subjects"] = [{"kind": "User", "name": user}]
        kind = "AccessPolicy" if namespace else "ClusterAccessPolicy"
        path = f"/apis/access.cardea.dev/v1alpha1/namespaces/{namespace}/accesspolicies" if namespace else POLICIES
        status, _, body = self.admin("POST", path, {"apiVersion": "access.cardea.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec})
        expect(status == 201, f"policy {name}: {status} {body}")

    def allowed(self, user, method, path, body=None, content_type=None):
        status, _, said = self.as_user(user, method, path, body, content_type)
        expect(status in (200, 201), f"{user} {method} {path} should be allowed: {status} {said}")
        return said

    def refused(self, user, method, path, body=None, content_type=None, saying=None):
        status, _, said = self.as_user(user, method, path, body, content_type)
        expect(status == 403, f"{user} {method} {path} should be refused: {status} {said}")
        if saying:
            expect(saying in said["message"], f"{saying!r} is not in {said['message']!r}")
        return said


def volume(name, storage_class):
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"storageClassName": storage_class, "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp/x"}}}


def config_map(name, data=None, labels=None, **meta):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels or {}, **meta}, "data": data or {}}


def documented(language, number=0):
    """A block of docs/conditional-authorization.md."""
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "conditional-authorization.md")
    with open(page, encoding="utf-8") as f:
        blocks = re.findall(r"^```(\w*)\n(.*?)^```$", f.read(), re.M | re.S)
    return [text for name, text in blocks if name == language][number]


@story.chapter
def volumes_of_one_class(w):
    """The example of the page, with the results that the page names."""
    status, _, said = w.admin("POST", POLICIES, documented("yaml"), {"Content-Type": "application/yaml"})
    expect(status == 201, f"the example of the page: {status} {said}")
    path = "/api/v1/persistentvolumes"
    told = documented("", 0).replace("\n", " ").strip()
    w.refused("alice", "POST", path, volume("x", "prod"), saying=told)
    question, _, answer = documented("console").partition("$ cardea can-i ")[2].partition("\n")
    code, said = run_can_i(w.server.kubeconfig, *question.split())
    expect(code == 3 and said == answer, f"{code} {said!r}, the page says {answer!r}")
    expect(ask_can_i(w, "bob", "create", "persistentvolumes")[0] == 1, "the example concerns Bob")
    w.allowed("alice", "POST", path, volume("mine", "dev"))
    w.refused("alice", "POST", path, volume("other", "prod"), saying="clusteraccesspolicy.access.cardea.dev/dev-volumes")
    said = w.refused("alice", "POST", path, volume("other", "prod"))
    expect("volumes of class dev only" in said["message"], said["message"])
    expect(w.admin("GET", f"{path}/other")[0] == 404, "a refused volume was written")
    w.admin("POST", path, volume("theirs", "prod"))
    changed = volume("mine", "dev")
    changed["metadata"]["labels"] = {"a": "b"}
    w.allowed("alice", "PUT", f"{path}/mine", changed)
    w.refused("alice", "PATCH", f"{path}/theirs", {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json")
    w.refused("alice", "DELETE", f"{path}/theirs")
    w.allowed("alice", "DELETE", f"{path}/mine")
    status = w.as_user("alice", "DELETE", f"{path}/nothing")[0]
    expect(status == 404, f"deleting nothing is {status}")


@story.chapter
def sensitive_field_unchanged(w):
    w.policy("sensitive", "Allow", "carol", ("update", "patch"), resources=("configmaps",), expression="object.data.secret == oldObject.data.secret")
    w.admin("POST", CM, config_map("sensitive", {"secret": "x", "open": "1"}))
    w.allowed("carol", "PUT", f"{CM}/sensitive", config_map("sensitive", {"secret": "x", "open": "2"}))
    w.refused("carol", "PUT", f"{CM}/sensitive", config_map("sensitive", {"secret": "y", "open": "2"}))
    for kind, good, bad in [("application/merge-patch+json", {"data": {"open": "3"}}, {"data": {"secret": "z"}}),
                            ("application/strategic-merge-patch+json", {"data": {"open": "4"}}, {"data": {"secret": "z"}}),
                            ("application/json-patch+json", [{"op": "replace", "path": "/data/open", "value": "5"}],
                             [{"op": "replace", "path": "/data/secret", "value": "z"}])]:
        w.allowed("carol", "PATCH", f"{CM}/sensitive", good, kind)
        w.refused("carol", "PATCH", f"{CM}/sensitive", bad, kind)
    # A dry run is decided like the real request.
    w.refused("carol", "PUT", f"{CM}/sensitive?dryRun=All", config_map("sensitive", {"secret": "y"}))
    w.allowed("carol", "PUT", f"{CM}/sensitive?dryRun=All", config_map("sensitive", {"secret": "x"}))
    expect(w.admin("GET", f"{CM}/sensitive")[2]["data"] == {"secret": "x", "open": "5"}, "the data is not what was allowed")
    # The secret stays the same, but no policy allows the creation of the object.
    status = w.as_user("carol", "POST", CM, config_map("fresh", {"secret": "x"}))[0]
    expect(status == 403, f"creating is {status}")




def make_csr(folder):
    key, out = os.path.join(folder, "k.pem"), os.path.join(folder, "r.pem")
    made = subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", out, "-subj", "/CN=x"],
                          capture_output=True)
    expect(made.returncode == 0, made.stderr.decode())
    with open(out, "rb") as f:
        import base64
        return base64.b64encode(f.read()).decode()


@story.chapter
def one_signer(w):
    w.policy("signer", "Allow", "approver", ("create",), ("certificates.k8s.io",), ("certificatesigningrequests",),
             "object.spec.signerName == 'example.com/good'")
    request = make_csr(w.server.folder)
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

    def csr(name, signer):
        return {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
                "spec": {"signerName": signer, "request": request, "usages": ["client auth"]}}
    w.allowed("approver", "POST", path, csr("good", "example.com/good"))
    w.refused("approver", "POST", path, csr("bad", "example.com/bad"))


@story.chapter
def one_audience(w):
    w.policy("audience", "Allow", "issuer", ("create",), resources=("serviceaccounts/token",), expression="object.spec.audiences == ['vault']")
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    eventually("the default service account", lambda: w.admin("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200)

    def token(*audiences):
        return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": list(audiences)}}
    w.allowed("issuer", "POST", path, token("vault"))
    w.refused("issuer", "POST", path, token("api"))
    w.refused("issuer", "POST", path, token("vault", "api"))


@story.chapter
def own_finalizer(w):
    mine = "example.com/mine"
    w.policy("finalizer", "Allow", "finisher", ("update", "patch"), resources=("configmaps",),
             expression=f"object.data == oldObject.data && object.metadata.?finalizers.orValue([]).filter(f, f != '{mine}') == "
                        f"oldObject.metadata.?finalizers.orValue([]).filter(f, f != '{mine}')")
    w.admin("POST", CM, config_map("held", {"a": "1"}, finalizers=["example.com/other", mine]))
    w.refused("finisher", "PATCH", f"{CM}/held", {"metadata": {"finalizers": [mine]}}, "application/merge-patch+json")
    w.refused("finisher", "PATCH", f"{CM}/held", {"data": {"a": "2"}}, "application/merge-patch+json")
    w.allowed("finisher", "PATCH", f"{CM}/held", {"metadata": {"finalizers": ["example.com/other"]}}, "application/merge-patch+json")
    expect(w.admin("GET", f"{CM}/held")[2]["metadata"]["finalizers"] == ["example.com/other"], "the finalizers are not what was allowed")


@story.chapter
def own_node(w):
    w.policy("own-node", "Allow", "agent", ("create", "update"), resources=("pods",), expression="object.spec.nodeName == request.userInfo.username")

    def pod(name, node):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}}
    path = "/api/v1/namespaces/default/pods"
    w.allowed("agent", "POST", path, pod("here", "agent"))
    w.refused("agent", "POST", path, pod("there", "elsewhere"))


@story.chapter
def reviews_of_some_users(w):
    w.policy("reviews", "Allow", "auditor", ("create",), ("authorization.k8s.io",), ("subjectaccessreviews",), "object.spec.user.startsWith('team-')")

    def review(user):
        return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
                "spec": {"user": user, "resourceAttributes": {"verb": "get", "resource": "pods"}}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    w.allowed("auditor", "POST", path, review("team-a"))
    w.refused("auditor", "POST", path, review("root"))
    # The other kinds of reviews too: local, about oneself, and of conditions.
    w.policy("local-reviews", "Allow", "auditor", ("create",), ("authorization.k8s.io",), ("localsubjectaccessreviews", "authorizationconditionsreviews"),
             "has(object.request) ? object.request.operation == 'CREATE' : object.spec.user.startsWith('team-')")
    path = "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews"
    for user, check in (("team-a", w.allowed), ("root", w.refused)):
        local = review(user) | {"kind": "LocalSubjectAccessReview"}
        local["spec"]["resourceAttributes"]["namespace"] = "default"
        check("auditor", "POST", path, local)
    path = "/apis/authorization.k8s.io/v1alpha1/authorizationconditionsreviews"
    sets = [{"authorizerName": "access", "conditions": [{"id": "a", "effect": "Allow", "type": "k8s.io/cel", "condition": "true"}]}]
    for operation, check in (("CREATE", w.allowed), ("DELETE", w.refused)):
        check("auditor", "POST", path, {"apiVersion": "authorization.k8s.io/v1alpha1", "kind": "AuthorizationConditionsReview",
                                        "request": {"conditionSets": sets, "operation": operation}})


@story.chapter
def labels_and_names(w):
    w.policy("labels", "Allow", "labeller", ("create",), resources=("configmaps",), expression="'team' in object.metadata.labels")
    w.allowed("labeller", "POST", CM, config_map("labelled", labels={"team": "x"}))
    w.refused("labeller", "POST", CM, config_map("bare"))
    w.policy("names", "Allow", "namer", ("create",), resources=("configmaps",), expression="object.metadata.name.matches('^safe-[a-z]+$')")
    w.allowed("namer", "POST", CM, config_map("safe-one"))
    w.refused("namer", "POST", CM, config_map("unsafe"))


@story.chapter
def secondary_check(w):
    w.policy("sign", "Allow", "signer", ("create",), ("certificates.k8s.io",), ("certificatesigningrequests",),
             "authorizer.group('certificates.k8s.io').resource('signers').name(object.spec.signerName).check('sign').allowed()")
    w.policy("may-sign", "Allow", "signer", ("sign",), ("certificates.k8s.io",), ("signers",), names=["example.com/mine"])
    request = make_csr(w.server.folder)
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

    def csr(name, signer):
        return {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
                "spec": {"signerName": signer, "request": request, "usages": ["client auth"]}}
    w.allowed("signer", "POST", path, csr("signed", "example.com/mine"))
    w.refused("signer", "POST", path, csr("unsigned", "example.com/theirs"))


@story.shared
def secrets_by_name(w):
    """The policies of the chapter on partial evaluation: Alice without conditions, Bob with some, Eve never."""
    w.policy("chapter", "Allow", None, ("create",), resources=("secrets",),
             expression="request.userInfo.username == 'alice' || (request.userInfo.username == 'bob' && object.metadata.name.startsWith('bob-'))")


@story.chapter
def alice_bob_and_eve(w, secrets_by_name):
    def secret(name):
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}
    path = "/api/v1/namespaces/default/secrets"
    w.allowed("alice", "POST", path, secret("anything"))
    w.allowed("bob", "POST", path, secret("bob-1"))
    w.refused("bob", "POST", path, secret("anything-else"))
    w.refused("eve", "POST", path, secret("eve-1"))
    # Eve announces a body and never sends it: the refusal comes without it.
    plain = socket.create_connection(("127.0.0.1", w.server.port), 20)
    with w.anonymous_tls().wrap_socket(plain, server_hostname="127.0.0.1") as sock:
        sock.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token-eve\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n".encode())
        answer = sock.recv(65536)
    expect(answer.startswith(b"HTTP/1.1 403"), f"Eve, without a body: {answer[:200]!r}")
    # Bob may still be allowed, so the server waits for his body.
    plain = socket.create_connection(("127.0.0.1", w.server.port), 20)
    with w.anonymous_tls().wrap_socket(plain, server_hostname="127.0.0.1") as sock:
        body = json.dumps(secret("bob-2")).encode()
        sock.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token-bob\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        sock.sendall(body)
        answer = sock.recv(65536)
    expect(answer.startswith(b"HTTP/1.1 201"), f"Bob, in two parts: {answer[:200]!r}")


@story.chapter
def update_that_creates(w):
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    w.policy("lease-update", "Allow", "writer", ("update", "patch"), ("coordination.k8s.io",), ("leases",), "object.metadata.labels.kind == 'ok'")
    w.policy("lease-create", "Allow", "writer", ("create",), ("coordination.k8s.io",), ("leases",), "object.metadata.labels.creator == 'me'")

    def lease(name, **labels):
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "labels": labels}, "spec": {"holderIdentity": "x"}}
    w.allowed("writer", "PUT", f"{path}/both", lease("both", kind="ok", creator="me"))
    w.refused("writer", "PUT", f"{path}/one", lease("one", creator="me"))
    w.refused("writer", "PUT", f"{path}/two", lease("two", kind="ok"))
    apply = "application/apply-patch+yaml"
    w.allowed("writer", "PATCH", f"{path}/applied?fieldManager=t", lease("applied", kind="ok", creator="me"), apply)
    w.refused("writer", "PATCH", f"{path}/three?fieldManager=t", lease("three", kind="ok"), apply)
    # The object exists now: no question about creation is asked.
    known = lease("both", kind="ok")
    known["metadata"]["resourceVersion"] = w.admin("GET", f"{path}/both")[2]["metadata"]["resourceVersion"]
    w.allowed("writer", "PUT", f"{path}/both", known)
    for name in ("one", "two", "three"):
        expect(w.admin("GET", f"{path}/{name}")[0] == 404, f"{name} was written")


@story.chapter
def collections(w):
    path = "/api/v1/namespaces/many/configmaps"
    w.admin("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "many"}})
    w.policy("collect", "Allow", "deleter", ("deletecollection",), resources=("configmaps",), expression="oldObject.metadata.labels.junk == 'yes'", namespace="many")
    for name in ("a", "b"):
        w.admin("POST", path, config_map(name, labels={"junk": "yes"}))
    w.admin("POST", path, config_map("keep", labels={"junk": "no"}))
    # A user who may not list does not learn which objects a selector finds.
    for selector in ("labelSelector=junk%3Dno", "labelSelector=junk%3Dyes"):
        w.refused("deleter", "DELETE", f"{path}?{selector}", saying='this needs the verb "list"')
    w.policy("look", "Allow", "deleter", ("list",), resources=("configmaps",), namespace="many")
    w.refused("deleter", "DELETE", path + "?labelSelector=junk%3Dno")
    w.allowed("deleter", "DELETE", path + "?labelSelector=junk%3Dyes")
    names = [c["metadata"]["name"] for c in w.admin("GET", path)[2]["items"]]
    expect("keep" in names and "a" not in names, f"left are {names}")
    w.allowed("deleter", "DELETE", path + "?labelSelector=junk%3Dnothing")
    w.refused("deleter", "DELETE", CM)  # another namespace
    # An object that may not be deleted stops the rest; those before it are deleted, as in Kubernetes.
    for name in ("a", "z"):
        w.admin("POST", path, config_map(name, labels={"junk": "yes"}))
    w.refused("deleter", "DELETE", path + "?labelSelector=junk")
    names = {c["metadata"]["name"] for c in w.admin("GET", path)[2]["items"]}
    expect("keep" in names, f"left are {names}")


@story.chapter
def subresources(w):
    """Each object is decided by its own content."""
    pods, merge = "/api/v1/namespaces/default/pods", "application/merge-patch+json"
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    w.admin("POST", deployments, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "sized"},
                                  "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}})
    w.policy("scale", "Allow", "scaler", ("update", "patch"), ("apps",), ("deployments/scale",), "object.spec.replicas <= 3 && oldObject.spec.replicas >= 1")

    def scale(n):
        return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "sized", "namespace": "default"}, "spec": {"replicas": n}}
    w.allowed("scaler", "PUT", f"{deployments}/sized/scale", scale(2))
    w.refused("scaler", "PUT", f"{deployments}/sized/scale", scale(4))
    w.allowed("scaler", "PATCH", f"{deployments}/sized/scale", {"spec": {"replicas": 3}}, merge)
    w.refused("scaler", "PATCH", f"{deployments}/sized/scale", {"spec": {"replicas": 5}}, merge)
    w.refused("scaler", "PATCH", f"{deployments}/sized", {"spec": {"replicas": 2}}, merge)
    expect(w.admin("GET", f"{deployments}/sized")[2]["spec"]["replicas"] == 3, "the size is not what was allowed")

    def pod(name):
        status, _, said = w.admin("POST", pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
        expect(status == 201, f"{status} {said}")
    pod("watched")
    w.policy("report", "Allow", "reporter", ("update", "patch"), ("",), ("pods/status",), "object.status.phase != 'Failed' && object.spec == oldObject.spec")
    w.allowed("reporter", "PATCH", f"{pods}/watched/status", {"status": {"phase": "Running"}}, merge)
    w.refused("reporter", "PATCH", f"{pods}/watched/status", {"status": {"phase": "Failed"}}, merge)
    expect(w.admin("GET", f"{pods}/watched")[2]["status"]["phase"] == "Running", "the status is not what was allowed")

    w.policy("place", "Allow", "placer", ("create",), ("",), ("pods/binding", "bindings"), "object.target.name.startsWith('edge-')")

    def binding(node):
        return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "watched"}, "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
    w.refused("placer", "POST", f"{pods}/watched/binding", binding("core-1"))
    w.refused("placer", "POST", "/api/v1/namespaces/default/bindings", binding("core-1"))
    w.allowed("placer", "POST", f"{pods}/watched/binding?dryRun=All", binding("edge-1"))
    expect("nodeName" not in w.admin("GET", f"{pods}/watched")[2]["spec"], "a dry run was written")
    w.allowed("placer", "POST", f"{pods}/watched/binding", binding("edge-1"))
    expect(w.admin("GET", f"{pods}/watched")[2]["spec"]["nodeName"] == "edge-1", "not bound")

    pod("old-1")
    w.policy("evict", "Allow", "evictor", ("create",), ("",), ("pods/eviction",), "object.metadata.name.startsWith('old-')")

    def eviction(name):
        return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}}
    w.refused("evictor", "POST", f"{pods}/watched/eviction", eviction("watched"))
    w.allowed("evictor", "POST", f"{pods}/old-1/eviction?dryRun=All", eviction("old-1"))
    expect(w.admin("GET", f"{pods}/old-1")[0] == 200 and w.admin("GET", f"{pods}/watched")[0] == 200, "what was refused or tried was done")
    w.allowed("evictor", "POST", f"{pods}/old-1/eviction", eviction("old-1"))


@story.chapter(needs=["labels_and_names"])
def dry_runs(w):
    """Decided like the real request, and nothing is written."""
    w.policy("dry", "Allow", "labeller", ("delete", "update"), resources=("configmaps",), expression="oldObject.metadata.labels.team == 'x'")
    w.refused("labeller", "POST", f"{CM}?dryRun=All", config_map("dry"))
    w.allowed("labeller", "POST", f"{CM}?dryRun=All", config_map("dry", labels={"team": "x"}))
    expect(w.admin("GET", f"{CM}/dry")[0] == 404, "a dry run was written")
    w.admin("POST", CM, config_map("dry", labels={"team": "y"}))
    w.refused("labeller", "DELETE", f"{CM}/dry?dryRun=All")
    w.allowed("labeller", "DELETE", f"{CM}/labelled?dryRun=All")
    expect(w.admin("GET", f"{CM}/labelled")[0] == 200, "a dry run deleted")
    w.policy("only-dry", "Allow", "eve", ("create",), resources=("configmaps",), expression="options.?dryRun.orValue([]) == ['All']")
    w.allowed("eve", "POST", f"{CM}?dryRun=All", config_map("of-eve"))
    w.refused("eve", "POST", CM, config_map("of-eve"))


@story.chapter
def version_of_the_request(w):
    """Conditions see the object in the version of the request."""
    w.policy("hpa", "Allow", "versioned", ("create", "update"), ("autoscaling",), ("horizontalpodautoscalers",),
             "request.apiVersion == 'v1' ? object.spec.targetCPUUtilizationPercentage <= 80 && (oldObject == null || has(oldObject.spec.targetCPUUtilizationPercentage)) : "
             "object.spec.metrics.all(m, m.resource.target.averageUtilization <= 80)")
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}

    def one(name, percent):
        return {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name},
                "spec": {"scaleTargetRef": target, "maxReplicas": 3, "targetCPUUtilizationPercentage": percent}}

    def two(name, percent):
        metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}}
        return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name},
                "spec": {"scaleTargetRef": target, "maxReplicas": 3, "metrics": [metric]}}
    for version, make in (("v1", one), ("v2", two)):
        path = f"/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers"
        w.allowed("versioned", "POST", path, make(f"hpa-{version}", 70))
        w.refused("versioned", "POST", path, make("hpa-other", 90))
        w.allowed("versioned", "PUT", f"{path}/hpa-{version}", make(f"hpa-{version}", 80))
        w.refused("versioned", "PUT", f"{path}/hpa-{version}", make(f"hpa-{version}", 90))
    w.allowed("versioned", "PUT", "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers/hpa-v2", one("hpa-v2", 60))


@story.chapter
def after_mutation(w):
    """Conditions see the object that will be written: with defaults, changes of plugins, and the generated name."""
    w.policy("mutated", "Allow", "versioned", ("create",), ("",), ("services", "pods", "configmaps"),
             "request.resource == 'services' ? object.spec.type == 'ClusterIP' && object.spec.clusterIP != '' : "
             "request.resource == 'pods' ? object.spec.serviceAccountName == 'default' && object.spec.restartPolicy == 'Always' : object.metadata.name.size() > 4")
    w.allowed("versioned", "POST", "/api/v1/namespaces/default/services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "plain"}, "spec": {"ports": [{"port": 80}]}})
    w.refused("versioned", "POST", "/api/v1/namespaces/default/services",
              {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "named"}, "spec": {"type": "ExternalName", "externalName": "a.b"}})
    w.allowed("versioned", "POST", "/api/v1/namespaces/default/pods",
              {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mutated"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    made = config_map("", generateName="gen-")
    del made["metadata"]["name"]
    w.allowed("versioned", "POST", CM, made)


@story.chapter
def denies(w):
    w.policy("all-of-writer", "Allow", "writer", ("create",), resources=("secrets",))
    w.policy("no-restricted", "Deny", None, ("create",), resources=("secrets",), expression="has(object.metadata.labels) && 'restricted' in object.metadata.labels",
             description="nothing restricted")

    def secret(name, **labels):
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "labels": labels}}
    path = "/api/v1/namespaces/default/secrets"
    w.allowed("writer", "POST", path, secret("free"))
    w.refused("writer", "POST", path, secret("held", restricted="yes"), saying="nothing restricted")
    # An error in a Deny condition denies; in an Allow condition it counts as false.
    w.policy("broken", "Deny", "writer", ("create",), resources=("secrets",), expression="object.data.missing == 'x'")
    w.refused("writer", "POST", path, secret("free-2"))
    w.admin("DELETE", f"{POLICIES}/broken")
    w.allowed("writer", "POST", path, secret("free-2"))
    # Reads have no conditions: a policy that could deny denies.
    w.policy("read", "Allow", "writer", ("list",), resources=("secrets",), expression="object.x == 1")
    w.refused("writer", "GET", path)
    w.admin("DELETE", f"{POLICIES}/no-restricted")


def nor_through_rbac(w):
    """A user to whom a policy denies something cannot grant it by a Role or RoleBinding either."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"

    def role(name, verbs, resources):
        return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}, "rules": [{"verbs": verbs, "apiGroups": [""], "resources": resources}]}

    def binding(name, kind="Role"):
        return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
                "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "friend"}]}
    everything = ["get", "update", "delete", "deletecollection"]
    holds = {**role("granter-rbac", everything, ["configmaps", "endpoints"]), "kind": "ClusterRole"}
    holds["rules"].append({"verbs": ["create"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"]})
    for path, body in ((f"{rbac}/clusterroles", holds),
                       (f"{rbac}/clusterrolebindings", {**binding("granter-rbac", "ClusterRole"), "kind": "ClusterRoleBinding", "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "granter"}]}),
                       (f"{rbac}/namespaces/default/roles", role("deleter", ["delete"], ["configmaps"]))):
        status, _, said = w.admin("POST", path, body)
        expect(status == 201, f"{said}")
    roles, bindings = f"{rbac}/namespaces/default/roles", f"{rbac}/namespaces/default/rolebindings"
    for verbs in (["delete"], ["deletecollection"], ["*"]):
        w.refused("granter", "POST", roles, role("given", verbs, ["configmaps"]), saying="may deny" if verbs != ["*"] else "not currently held")
    w.refused("granter", "POST", bindings, binding("deleter"), saying="may deny")
    w.allowed("granter", "POST", roles, role("given-endpoints", ["delete"], ["endpoints"]))
    w.allowed("granter", "POST", bindings, binding("given-endpoints"))
    # A denial on a condition is a denial too.
    w.policy("granter-denied-if", "Deny", "granter", ("update",), ("",), ("endpoints",), "object.metadata.name == 'x'")
    w.refused("granter", "POST", roles, role("given-updates", ["update"], ["endpoints"]), saying="may deny")
    w.admin("DELETE", f"{POLICIES}/granter-denied-if")
    w.allowed("granter", "POST", roles, role("given-updates", ["update"], ["endpoints"]))


@story.chapter
def nobody_grants_what_they_lack(w):
    """A user who may write policies still cannot grant more than they hold, and cannot deny without the permission for it."""
    w.policy("granter-writes", "Allow", "granter", ("create", "update", "get", "list", "patch", "delete", "deletecollection"), ("access.cardea.dev",), ("clusteraccesspolicies",), "true")

    def mine(name, effect, rules=None):
        spec = {"effect": effect, "subjects": [{"kind": "User", "name": "friend"}], "expression": "true"}
        if rules:
            spec["rules"] = rules
        return {"apiVersion": "access.cardea.dev/v1alpha1", "kind": "ClusterAccessPolicy", "metadata": {"name": name}, "spec": spec}
    secrets = [{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}]
    w.refused("granter", "POST", POLICIES, mine("everything", "Allow"), saying="not currently held")
    w.refused("granter", "POST", POLICIES, mine("secrets", "Allow", secrets), saying="not currently held")
    w.refused("granter", "POST", POLICIES, mine("no-friend", "Deny"), saying="deny")
    expect(w.admin("GET", f"{POLICIES}/everything")[0] == 404, "a refused policy was stored")
    # They may grant their own permissions, also if only an expression limits these.
    w.policy("granter-holds", "Allow", "granter", ("get",), ("",), ("configmaps",))
    w.allowed("granter", "POST", POLICIES, mine("maps", "Allow", [{"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}]))
    narrow = mine("narrow", "Allow")
    narrow["spec"]["expression"] = "request.verb == 'get' && request.apiGroup == '' && request.resource == 'configmaps' && request.subresource == ''"
    w.allowed("granter", "POST", POLICIES, narrow)
    wider = json.loads(json.dumps(narrow))
    wider["metadata"]["name"] = "wider"
    wider["spec"]["expression"] = narrow["spec"]["expression"].replace("== 'get'", "in ['get', 'delete']")
    w.refused("granter", "POST", POLICIES, wider, saying="not currently held")
    narrow["spec"]["expression"] = wider["spec"]["expression"]
    eventually("a controller has written the status", lambda: w.admin("GET", f"{POLICIES}/narrow")[2].get("status", {}).get("conditions"))
    narrow["metadata"]["resourceVersion"] = w.admin("GET", f"{POLICIES}/narrow")[2]["metadata"]["resourceVersion"]
    w.refused("granter", "PUT", f"{POLICIES}/narrow", narrow, saying="not currently held")
    # They cannot grant a permission that a policy may deny to them, although they hold it.
    w.policy("granter-denied", "Deny", "granter", ("delete",), ("",), ("configmaps",))
    w.policy("granter-holds-more", "Allow", "granter", ("get", "delete"), ("",), ("configmaps", "endpoints"))
    w.refused("granter", "POST", POLICIES, mine("denied", "Allow", [{"verbs": ["delete"], "apiGroups": [""], "resources": ["configmaps"]}]), saying="may deny")
    w.allowed("granter", "POST", POLICIES, mine("undenied", "Allow", [{"verbs": ["delete"], "apiGroups": [""], "resources": ["endpoints"]}]))
    nor_through_rbac(w)
    # Every way to remove a denial needs the permission to deny, and so does a grant that outranks others.
    w.refused("granter", "POST", POLICIES, mine("no-opinion", "NoOpinion"), saying='the verb "deny"')
    denial = f"{POLICIES}/granter-denied"
    w.refused("granter", "DELETE", denial, saying='the verb "deny"')
    w.refused("granter", "PATCH", denial, {"spec": {"effect": "NoOpinion"}}, content_type="application/merge-patch+json", saying='the verb "deny"')
    owner = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone"}]
    w.refused("granter", "PATCH", denial, {"metadata": {"ownerReferences": owner}}, content_type="application/merge-patch+json", saying='the verb "deny"')
    w.refused("granter", "DELETE", f"{POLICIES}?fieldSelector=metadata.name%3Dgranter-denied", saying='the verb "deny"')
    expect(w.admin("GET", denial)[0] == 200, "a denial was lifted")
    # Or with the verbs for it.
    w.policy("granter-denies", "Allow", "granter", ("deny", "escalate"), ("access.cardea.dev",), ("clusteraccesspolicies",))
    w.allowed("granter", "POST", POLICIES, wider)
    w.allowed("granter", "POST", POLICIES, mine("no-friend", "Deny", [{"verbs": ["list"], "apiGroups": [""], "resources": ["configmaps"]}]))
    w.refused("friend", "GET", CM, saying="no-friend")
    w.allowed("granter", "DELETE", denial)
    w.refused("friend", "GET", "/api/v1/namespaces/default/secrets/free")


@story.chapter
def refusals_quote_nothing(w):
    """A user who may not change an object does not learn its content from errors."""
    w.policy("own-secrets", "Allow", "namer", ("patch",), resources=("secrets",), expression="oldObject.metadata.name == 'own'")
    for name in ("own", "foreign"):
        status = w.admin("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": name}, "stringData": {"password": "hidden-text"}})[0]
        expect(status == 201, f"secret {name}: {status}")
    for body, kind in (({"kind": "X"}, "merge-patch"), ({"metadata": {"labels": "x"}}, "strategic-merge-patch"), ([{"op": "add", "path": "/kind", "value": "X"}], "json-patch")):
        status, _, said = w.as_user("namer", "PATCH", "/api/v1/namespaces/default/secrets/foreign", body, f"application/{kind}+json")
        expect(status >= 400 and "aGlkZGVu" not in json.dumps(said) and "password" not in json.dumps(said), f"{kind}: {status} {said}")
    w.allowed("namer", "PATCH", "/api/v1/namespaces/default/secrets/own", {"metadata": {"labels": {"a": "b"}}}, content_type="application/merge-patch+json")


@story.chapter
def not_compiling(w):
    w.policy("nonsense", "Allow", "binder", ("create",), resources=("configmaps",), expression="object.")
    w.refused("binder", "POST", CM, config_map("nope"))
    policy = eventually("a status", lambda: w.admin("GET", f"{POLICIES}/nonsense")[2].get("status"))
    ready = [c for c in policy["conditions"] if c["type"] == "Ready"][0]
    expect(ready["status"] == "False" and "does not compile" in ready["message"], ready)
    w.policy("typo", "Allow", "binder", ("create",), ("apps",), ("deployments",), expression="object.spec.replikas < 3")
    policy = eventually("a status", lambda: w.admin("GET", f"{POLICIES}/typo")[2].get("status"))
    checked = [c for c in policy["conditions"] if c["type"] == "TypeChecked"][0]
    expect(checked["status"] == "False" and "apps/v1" in checked["message"], checked)


@story.chapter
def self_description(w, secrets_by_name):
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    attributes = {"verb": "create", "group": "", "version": "v1", "resource": "secrets", "namespace": "default"}

    def review(**more):
        return {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes, **more}}
    plain = w.allowed("bob", "POST", path, review())["status"]
    expect(plain["allowed"] is False and plain["reason"].startswith("allowed if ") and "conditionalDecision" not in plain, plain)
    five = ["Allow", "Deny", "NoOpinion", "ConditionsMap", "Union"]
    tree = w.allowed("bob", "POST", path, review(authorizationOptions={"handledDecisionTypes": five}))["status"]
    entries = {e["authorizerName"]: e["decision"] for e in tree["conditionalDecision"]["union"]}
    expect(tree["conditionalDecision"]["type"] == "Union" and entries["access"]["type"] == "ConditionsMap", tree)
    condition = entries["access"]["conditionsMap"]["allowConditions"][0]
    expect(condition["condition"] == "object.metadata.name.startsWith(\"bob-\")", condition)
    chain = w.allowed("bob", "POST", path, review(conditionalAuthorization={"mode": "HumanReadable"}))["status"]["conditionsChain"]
    expect(chain[0]["authorizerName"] == "access" and chain[0]["conditions"][0]["effect"] == "Allow", chain)
    for wrong in ([], ["Allow"], five + ["Allow"]):
        status, _, said = w.as_user("bob", "POST", path, review(authorizationOptions={"handledDecisionTypes": wrong}))
        expect(status == 422, f"{wrong}: {status} {said}")
    both = review(authorizationOptions={"handledDecisionTypes": five}, conditionalAuthorization={"mode": "Optimized"})
    expect(w.as_user("bob", "POST", path, both)[0] == 422, "both dialects at once")
    # The answer can be sent back with an object.
    for resource in ("authorizationconditionsreviews", "admissionconditionsreviews"):
        for name, outcome in (("bob-9", "Allow"), ("x", "NoOpinion")):
            review_of = {"apiVersion": "authorization.k8s.io/v1alpha1", "kind": "AuthorizationConditionsReview",
                         "request": {"decision": tree["conditionalDecision"],
                                     "admissionRequest": {"uid": "u1", "operation": "CREATE", "namespace": "default", "userInfo": {"username": "bob"},
                                                          "object": {"metadata": {"name": name}}}}}
            status, _, said = w.admin("POST", f"/apis/authorization.k8s.io/v1alpha1/{resource}", review_of)
            expect(status == 201, f"{status} {said}")
            expect(said["response"]["uid"] == "u1" and said["response"]["decision"]["type"] == outcome, said["response"])
    seed = {"apiVersion": "authorization.k8s.io/v1alpha1", "kind": "AuthorizationConditionsReview",
            "request": {"conditionSets": chain, "operation": "CREATE", "object": {"metadata": {"name": "bob-1"}}}}
    said = w.admin("POST", "/apis/authorization.k8s.io/v1alpha1/authorizationconditionsreviews", seed)[2]
    expect(said["response"]["allowed"] is True, said)


@story.chapter
def reviews_in_our_order(w, secrets_by_name):
    """The sender of a review cannot hide a denial behind an answer of a later authorizer."""
    w.policy("reviewer", "Allow", "carol", ("create",), ("authorization.k8s.io",), ("authorizationconditionsreviews",))
    denial = {"authorizerName": "access", "conditions": [{"id": "example.com/no", "type": "k8s.io/authorization-cel", "effect": "Deny", "condition": "object.metadata.name == 'x'"}]}
    allowed = {"authorizerName": "rbac", "allowed": True}
    for resource in ("authorizationconditionsreviews", "admissionconditionsreviews"):  # also under the proposal's first name, for a user who is no administrator
        for sets in ([allowed, denial], [denial, allowed]):
            for name, outcome in (("x", False), ("y", True)):
                review = {"apiVersion": "authorization.k8s.io/v1alpha1", "kind": "AuthorizationConditionsReview",
                          "request": {"conditionSets": sets, "operation": "CREATE", "object": {"metadata": {"name": name}}}}
                said = w.allowed("carol", "POST", f"/apis/authorization.k8s.io/v1alpha1/{resource}", review)
                expect(said["response"]["allowed"] is outcome, f"{resource} {sets} {name}: {said['response']}")
    listed = w.admin("GET", "/apis/authorization.k8s.io/v1alpha1")[2]["resources"]
    expect("authorizationconditionsreviews" in [r["name"] for r in listed], f"{listed}")


@story.chapter
def batches_with_conditions(w, secrets_by_name):
    def batch(**more):
        items = [{"resourceAttributes": {"verb": verb, "version": "v1", "resource": "secrets", "namespace": "default"}} for verb in ("create", "list")]
        status, _, said = w.admin("POST", "/apis/access.cardea.dev/v1alpha1/batchsubjectaccessreviews",
                                  {"apiVersion": "access.cardea.dev/v1alpha1", "kind": "BatchSubjectAccessReview", "spec": {"user": "bob", "items": items, **more}})
        return status, said["status"]["items"] if status == 201 else said
    status, plain = batch()
    expect(status == 201 and plain[0]["allowed"] is False and "conditionsChain" not in plain[0], plain)
    status, said = batch(conditionalAuthorization={"mode": "HumanReadable"})
    expect(status == 201 and said[0]["allowed"] is False, said)
    expect(said[0]["conditionsChain"][0]["conditions"][0]["condition"] == 'object.metadata.name.startsWith("bob-")', said)
    five = ["Allow", "Deny", "NoOpinion", "ConditionsMap", "Union"]
    status, said = batch(authorizationOptions={"handledDecisionTypes": five})
    expect(status == 201 and "conditionalDecision" in said[0], said)
    status, said = batch(conditionalAuthorization={"mode": "Sometimes"})
    expect(status == 422, f"{status} {said}")


@story.chapter
def more_conditions_than_one_set_may_have(w):
    for i in range(130):
        w.policy(f"crowd-{i}", "Allow", "labeller", ("create",), resources=("limitranges",), expression=f"object.metadata.name == 'n{i}'")
    path = "/api/v1/namespaces/default/limitranges"

    def limits(name):
        return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": name}, "spec": {"limits": []}}
    w.allowed("labeller", "POST", path, limits("n129"))
    w.refused("labeller", "POST", path, limits("n130"))
    # A review tells of those that fit, and the others allow nothing there.
    asked = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
             "spec": {"user": "labeller", "conditionalAuthorization": {"mode": "HumanReadable"},
                      "resourceAttributes": {"verb": "create", "version": "v1", "resource": "limitranges", "namespace": "default"}}}
    status, _, said = w.admin("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", asked)
    expect(status == 201 and len(said["status"]["conditionsChain"][0]["conditions"]) == 128, f"{status} {said}")
    # Beside an unconditional permission they do no harm.
    w.policy("crowd-all", "Allow", "labeller", ("create",), resources=("limitranges",))
    w.allowed("labeller", "POST", path, limits("n130"))


@story.chapter
def request_to_be(w):
    """Conditions on impersonatedRequest, sent back: evaluated with it, and never without it."""
    for name, effect, expression in (("reads-for-others", "Allow", "impersonatedRequest.verb == 'get' && 'staff' in impersonatedRequest.userInfo.groups"),
                                     ("no-secrets-for-others", "Deny", "impersonatedRequest.resource == 'secrets'")):
        w.policy(name, effect, "friend", ("impersonate",), resources=("users",), expression=expression)
    asked = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
             "spec": {"user": "friend", "resourceAttributes": {"verb": "impersonate", "version": "v1", "resource": "users", "name": "jane"}}}

    def answer(**how):
        status, _, said = w.admin("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {**asked, "spec": {**asked["spec"], **how}})
        expect(status == 201, f"{status} {said}")
        return said["status"]
    tree = answer(authorizationOptions={"handledDecisionTypes": ["Allow", "Deny", "NoOpinion", "ConditionsMap", "Union"]})["conditionalDecision"]
    chain = answer(conditionalAuthorization={"mode": "Optimized"})["conditionsChain"]

    def review(request, **to_be):
        return w.admin("POST", "/apis/authorization.k8s.io/v1alpha1/authorizationconditionsreviews",
                       {"apiVersion": "authorization.k8s.io/v1alpha1", "kind": "AuthorizationConditionsReview", "request": {**request, **to_be}})
    in_tree, in_list = {"decision": tree, "admissionRequest": {"uid": "u"}}, {"conditionSets": chain}
    staff = {"userInfo": {"username": "jane", "groups": ["staff"]}, "resource": "pods"}
    for to_be, outcome in (({**staff, "verb": "get"}, "Allow"), ({**staff, "verb": "delete"}, "NoOpinion"), ({**staff, "verb": "get", "resource": "secrets"}, "Deny"),
                           ({"verb": "get", "resource": "pods"}, "NoOpinion")):
        said = review(in_tree, impersonatedRequest=to_be)[2]["response"]["decision"]
        expect(said["type"] == outcome, f"{to_be}: {said}")
        said = review(in_list, impersonatedRequest=to_be)[2]["response"]
        expect((said["allowed"], said.get("denied", False)) == (outcome == "Allow", outcome == "Deny"), f"{to_be}: {said}")
    said = review(in_tree)[2]["response"]["decision"]
    expect(said["type"] == "Deny" and "impersonatedRequest" in said["deny"]["evaluationError"], said)
    said = review(in_list)[2]["response"]
    expect(said["denied"] is True and "impersonatedRequest" in said["evaluationError"], said)
    for wrong in ("x", {"verb": 5}, {"userInfo": {"groups": "staff"}}, {"userInfo": {"extra": {"a": [1]}}}):
        status, _, said = review(in_tree, impersonatedRequest=wrong)
        expect(status == 422 and "request.impersonatedRequest" in said["message"], f"{wrong}: {status} {said}")


def ask_can_i(w, user, *words):
    config = os.path.join(w.server.folder, "kubeconfig")
    text = {"apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "k", "cluster": {"server": w.server.base, "certificate-authority": os.path.join(w.server.data_dir, "ca.crt")}}],
            "users": [{"name": "u", "user": {"token": f"token-{user}"}}],
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]}
    with open(config, "w") as f:
        json.dump(text, f)
    return run_can_i(config, *words)


def run_can_i(kubeconfig, *words):
    ran = subprocess.run([binary(), "can-i", *words, "--kubeconfig", kubeconfig], capture_output=True, text=True, timeout=60)
    return ran.returncode, ran.stdout + ran.stderr


@story.chapter
def can_i(w, secrets_by_name):
    def ask(user, *words):
        return ask_can_i(w, user, *words)
    code, said = ask("alice", "create", "secrets", "-n", "default")
    expect(code == 0 and said.startswith("yes\n"), said)
    code, said = ask("bob", "create", "secrets", "-n", "default")
    expect(code == 3 and "yes, if" in said and "startsWith" in said, f"{code} {said}")
    code, said = ask("eve", "create", "secrets", "-n", "default")
    expect(code == 1 and said.startswith("no"), f"{code} {said}")
    code, said = ask("bob", "create")
    expect(code == 2, said)
    # For another user, if the sender may do this.
    w.policy("as-bob", "Allow", "agent", ("impersonate",), ("",), ("users",), names=["bob"])
    code, said = ask("agent", "create", "secrets", "-n", "default", "--as", "bob")
    expect(code == 3 and "startsWith" in said, f"{code} {said}")
    code, said = ask("eve", "create", "secrets", "-n", "default", "--as", "bob")
    expect(code not in (0, 1, 3), f"{code} {said}")


@story.chapter
def dra(w):
    """Validation refuses such claims too, as in Kubernetes. The condition of a policy has the first word, and reviews show its outcome."""
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "adminAccess": True}}]}}
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": spec}
    template = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "t"}, "spec": {"spec": spec}}
    for labels, outcome in ((None, "Deny"), ({"resource.kubernetes.io/admin-access": "true"}, "Allow")):
        space = "dra-yes" if labels else "dra-no"
        w.admin("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space, "labels": labels or {}}})
        for resource, body in (("resourceclaims", claim), ("resourceclaimtemplates", template)):
            status, _, said = w.as_user("agent", "POST", f"/apis/resource.k8s.io/v1/namespaces/{space}/{resource}", body)
            expect(status == 201 if labels else status == 403 and "dra-admin-access" in said["message"], f"{resource} in {space}: {status} {said}")
            review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                      "spec": {"authorizationOptions": {"handledDecisionTypes": ["Allow", "Deny", "NoOpinion", "ConditionsMap", "Union"]},
                               "resourceAttributes": {"verb": "create", "group": "resource.k8s.io", "version": "v1", "resource": resource, "namespace": space}}}
            decision = w.allowed("agent", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)["status"]["conditionalDecision"]
            ids = [c["id"] for e in decision["union"] for c in e["decision"].get("conditionsMap", {}).get("denyConditions", [])]
            expect(ids == ["clusteraccesspolicy.access.cardea.dev/dra-admin-access"], f"{ids}")
            asked = {"apiVersion": "authorization.k8s.io/v1alpha1", "kind": "AuthorizationConditionsReview",
                     "request": {"decision": decision, "admissionRequest": {"uid": "u", "operation": "CREATE", "namespace": space, "object": body}}}
            said = w.admin("POST", "/apis/authorization.k8s.io/v1alpha1/authorizationconditionsreviews", asked)[2]["response"]["decision"]
            expect(said["type"] == outcome, f"{resource} in {space}: {said}")
    plain = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "p"},
             "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}}
    w.allowed("agent", "POST", "/apis/resource.k8s.io/v1/namespaces/dra-no/resourceclaims", plain)


@story.chapter(needs=["dra"])
def the_policy_of_dra_is_kept(w):
    path = "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies/dra-admin-access"
    first = w.admin("GET", path)[2]
    weaker = [{"op": "replace", "path": "/spec/expression", "value": "false"}], [{"op": "replace", "path": "/spec/rules/0/verbs", "value": ["create"]}], [{"op": "remove", "path": "/spec/description"}]
    for patch in weaker:
        status, _, said = w.admin("PATCH", path, patch, {"Content-Type": "application/json-patch+json"})
        expect(status == 200, f"{status} {said}")
        eventually("a change is undone", lambda: w.admin("GET", path)[2].get("spec") == first["spec"])
    status, _, said = w.admin("DELETE", path)
    expect(status == 200, f"{status} {said}")
    eventually("a deleted policy is put back", lambda: w.admin("GET", path)[2].get("spec") == first["spec"])


@story.chapter(needs=["update_that_creates", "denies", "nobody_grants_what_they_lack"])
def numbers(w):
    lines = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in w.admin("GET", "/metrics")[2].decode().splitlines() if not line.startswith("#")}
    for line in ('authorization_attempts_total{result="conditional"}', 'authorization_duration_seconds_count{result="conditional"}',
                 'apiserver_authorization_decisions_total{type="Access",name="access",decision="conditional"}',
                 'apiserver_authorization_decisions_total{type="Access",name="access",decision="allowed"}',
                 'apiserver_authorization_decisions_total{type="Access",name="access",decision="denied"}',
                 'cardea_authorization_conditions_evaluation_seconds_count{name="access",evaluator="in_process"}',
                 'cardea_authorization_conditions_evaluation_errors_total{name="access",effect="Deny"}',
                 'cardea_authorization_conditions_evaluation_errors_total{name="access",effect="Allow"}'):
        expect(lines.get(line, 0) > 0, f"{line} is {lines.get(line)}")


@story.chapter
def unsafe_start():
    ran = subprocess.run([binary(), "serve", "--disable-admission-plugins=AuthorizationConditionsEnforcer", "--data-dir", tempfile.mkdtemp(),
                          "--secure-port", str(free_port())], capture_output=True, text=True, timeout=60)
    expect(ran.returncode == 2 and "AuthorizationConditionsEnforcer" in ran.stderr, f"{ran.returncode} {ran.stderr}")


@story.chapter
def without_the_gate(tokens):
    with Cardea("--feature-gates=ConditionalAuthorization=false", f"--token-auth-file={tokens}") as server:
        w = World(server)
        w.policy("names", "Allow", "namer", ("create",), resources=("configmaps",), expression="object.metadata.name.startsWith('safe-')")
        w.policy("plain", "Allow", "alice", ("create",), resources=("configmaps",))
        w.refused("namer", "POST", CM, config_map("safe-one"))
        w.allowed("alice", "POST", CM, config_map("one"))
        status = w.admin("POST", "/apis/authorization.k8s.io/v1alpha1/authorizationconditionsreviews", {})[0]
        expect(status == 404, f"without the gate there is no such resource: {status}")


@story.shared
def tokens():
    with tempfile.TemporaryDirectory(prefix="cardea-e2e-tokens-") as folder:
        tokens = os.path.join(folder, "tokens")
        with open(tokens, "w") as f:
            for u in USERS:
                f.write(f"token-{u},{u},{u}-uid\n")
        yield tokens


@story.shared
def w(tokens):
    with Cardea(f"--token-auth-file={tokens}", "--dra-admin-access-policy") as server:
        w = World(server)
        for user in USERS:  # every user may ask about themselves, as RBAC's defaults allow
            w.policy(f"self-{user}", "Allow", user, ("create",), ("authorization.k8s.io",), ("selfsubjectaccessreviews",))
        spec = {"effect": "Allow", "rules": [{"verbs": ["get"], "nonResourceURLs": ["/api", "/api/*", "/apis", "/apis/*"]}]}
        w.admin("POST", POLICIES, {"apiVersion": "access.cardea.dev/v1alpha1", "kind": "ClusterAccessPolicy", "metadata": {"name": "discovery"}, "spec": spec})
        w.policy("agent-dra", "Allow", "agent", ("create",), ("resource.k8s.io",), ("resourceclaims", "resourceclaimtemplates"))
        yield w


if __name__ == "__main__":
    story.main()
