"""Shared parts of the stories about impersonation: users with tokens, grants by RBAC, requests with any headers."""
import http.client
import json
import os
import ssl

from server import eventually, expect

RBAC = "/apis/rbac.authorization.k8s.io/v1"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
AUTHENTICATION = "authentication.k8s.io"


def write_tokens(path, users):
    """A --token-auth-file with `token-NAME` for each user. `users` may be (name, groups)."""
    with open(path, "w") as out:
        for user in users:
            name, groups = (user, ()) if isinstance(user, str) else user
            more = f',"{",".join(groups)}"' if groups else ""
            out.write(f"token-{name},{name},uid-{name}{more}\n")


def rule(verbs, resources, groups=("",), names=None):
    out = {"verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources)}
    if names is not None:
        out["resourceNames"] = list(names)
    return out


def subject(name):
    parts = name.split(":")
    if name.startswith("system:serviceaccount:") and len(parts) == 4:
        return {"kind": "ServiceAccount", "namespace": parts[2], "name": parts[3]}
    return {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name}


class World:
    """One server and its clients."""

    def __init__(self, server):
        self.server = server
        self.count = 0

    def send(self, token, method, path, headers=(), body=None):
        """`headers` are pairs, so that a header may be repeated. Returns (status, headers, body)."""
        context = ssl.create_default_context(cafile=os.path.join(self.server.data_dir, "ca.crt"))
        connection = http.client.HTTPSConnection("127.0.0.1", self.server.port, timeout=60, context=context)
        try:
            connection.putrequest(method, path)
            if token:
                connection.putheader("Authorization", f"Bearer {token}")
            for name, value in headers:
                connection.putheader(name, value)
            data = None if body is None else json.dumps(body).encode()
            if data is not None:
                connection.putheader("Content-Type", "application/json")
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            answer = connection.getresponse()
            said = answer.read()
            if "json" in answer.headers.get("Content-Type", ""):
                said = json.loads(said)
            return answer.status, answer.headers, said
        finally:
            connection.close()

    def admin(self, method, path, body=None, ok=(200, 201)):
        status, _, said = self.server.request(method, path, body)
        expect(status in ok, f"{method} {path}: {status} {said}")
        return said

    def grant(self, user, *rules, namespace=None):
        """Creates a role and its binding; returns the name of both."""
        self.count += 1
        name = f"grant-{self.count}"
        where = f"{RBAC}/namespaces/{namespace}/" if namespace else f"{RBAC}/"
        kind = "Role" if namespace else "ClusterRole"
        self.admin("POST", where + kind.lower() + "s", {"metadata": {"name": name}, "rules": list(rules)})
        self.admin("POST", where + kind.lower() + "bindings", {"metadata": {"name": name}, "subjects": [subject(user)],
                                                              "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}})
        return name

    def revoke(self, name):
        self.admin("DELETE", f"{RBAC}/clusterrolebindings/{name}")

    def settle(self):
        """Waits until the authorizer knows all grants so far; kube-apiserver needs a moment. The last grant is seen last."""
        user = f"sentinel-{self.count}"
        self.grant(user, rule(["get"], ["sentinels"]))
        self.grant(user, rule(["get"], ["sentinels"]), namespace="default")
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
                  "spec": {"user": user, "resourceAttributes": {"verb": "get", "resource": "sentinels", "namespace": "default"}}}
        cluster = json.loads(json.dumps(review))
        del cluster["spec"]["resourceAttributes"]["namespace"]
        for one in (review, cluster):
            eventually("grants are known", lambda: self.admin("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", one)["status"]["allowed"])

    def make_account(self, namespace, name):
        if namespace not in ("default", "kube-system"):
            self.server.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        self.admin("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": name}}, ok=(201, 409))

    def make_node(self, name):
        self.admin("POST", "/api/v1/nodes", {"metadata": {"name": name}}, ok=(201, 409))

    def make_pod(self, namespace, name, account="default", node=None):
        spec = {"serviceAccountName": account, "containers": [{"name": "c", "image": "i"}]}
        if node:
            spec["nodeName"] = node
        self.admin("POST", f"/api/v1/namespaces/{namespace}/pods", {"metadata": {"name": name}, "spec": spec})

    def account_token(self, namespace, account, pod=None):
        spec = {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": pod}} if pod else {}
        return self.admin("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token", {"spec": spec})["status"]["token"]


def as_user(name, *groups, uid=None, extra=()):
    """Impersonation headers in the form of client libraries."""
    out = [("Impersonate-User", name)] + [("Impersonate-Group", g) for g in groups]
    if uid:
        out.append(("Impersonate-Uid", uid))
    return out + [("Impersonate-Extra-" + escaped(key), value) for key, value in extra]


def escaped(key):
    token = set("!#$&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return "".join(chr(b) if chr(b) in token else "%%%02X" % b for b in key.encode())
