"""A small cluster for stories about the bridge: an HTTPS server that authorizes and admits as kube-apiserver does, with a Cardea as its authorization and admission webhook.

    with SmallCluster(folder) as cluster:
        cluster.connect(cardea)
        cluster.as_user("alice", "POST", "/api/v1/persistentvolumes", volume)

The token of a user is `token-USER`. It stores objects and checks nothing else about them. What can be switched:

    cluster.configuration    the ValidatingWebhookConfiguration; None: there is none
    cluster.api_services     [(group, version, is_remote)]
    cluster.rbac             {(user, verb, resource)}: what it allows itself, after Cardea had no opinion
    cluster.admission_is_off the configuration is there, and admission does not heed it
    cluster.keeps_answers    "allowed", "other" or "": which answers authorization keeps
"""
import copy
import http.client
import http.server
import json
import os
import ssl
import threading
import uuid

from hooks import certificate
from server import exchange

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get"}
OPERATIONS = {"create": "CREATE", "update": "UPDATE", "patch": "UPDATE", "delete": "DELETE"}


class Refused(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message


class Asked:
    """A request: what it is about, by its method and path."""

    def __init__(self, user, method, path):
        self.user, self.path = user, path
        parts = path.strip("/").split("/")
        self.group, self.version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
        parts = parts[2:] if parts[0] == "api" else parts[3:]
        self.namespace = ""
        if parts[0] == "namespaces" and len(parts) > 2:
            self.namespace, parts = parts[1], parts[2:]
        self.resource, self.name, self.subresource = (parts + ["", ""])[:3]
        if self.resource == "namespaces":
            self.namespace = self.name
        self.verb = VERBS[method]
        if self.verb == "delete" and not self.name:
            self.verb = "deletecollection"

    def groups(self):
        return ["system:authenticated"]


class SmallCluster:
    def __init__(self, folder):
        self.objects, self.rbac, self.kept = {}, set(), {}
        self.configuration, self.cardea = None, None
        self.admission_is_off, self.keeps_answers = False, ""
        self.api_services = [("", "v1", False), ("apps", "v1", False), ("remote.example", "v1", True), ("example.com", "v1", False)]
        files = certificate(folder, "cluster", ["IP:127.0.0.1"], "cluster-ca")
        self.ca = os.path.join(folder, "cluster-ca.crt")
        cluster = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                user = self.headers.get("Authorization", "").removeprefix("Bearer token-")
                try:
                    status, document = cluster.serve(user, self.command, self.path.split("?")[0], json.loads(body) if body else None)
                except Refused as refused:
                    status = refused.status
                    document = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "message": refused.message}
                text = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.base = f"https://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def connect(self, cardea):
        self.cardea = cardea

    def configure(self, configuration):
        self.configuration = configuration

    def allow(self, user, verb, resource):
        self.rbac.add((user, verb, resource))

    def as_user(self, user, method, path, body=None, content_type="application/json"):
        connection = http.client.HTTPSConnection("127.0.0.1", self.server.server_port, timeout=60, context=ssl.create_default_context(cafile=self.ca))
        try:
            status, _, said = exchange(connection, method, path, None if body is None else json.dumps(body), {"Authorization": f"Bearer token-{user}", "Content-Type": content_type})
            return status, said
        finally:
            connection.close()

    def ask_cardea(self, path, document, token):
        """Cardea's answer; None if it gave none."""
        context = ssl.create_default_context(cafile=os.path.join(self.cardea.data_dir, "ca.crt"))
        connection = http.client.HTTPSConnection("127.0.0.1", self.cardea.port, timeout=60, context=context)
        try:
            status, _, answer = exchange(connection, "POST", path, document, {"Authorization": f"Bearer {token}"})
            return answer if status in (200, 201) else None
        except OSError:
            return None
        finally:
            connection.close()

    def authorize(self, user, groups, attributes):
        spec = {"user": user, "groups": groups, "resourceAttributes": {k: v for k, v in attributes.items() if v}}
        key = json.dumps(spec, sort_keys=True)
        review = self.kept.get(key) if self.keeps_answers else None
        review = review or self.ask_cardea(REVIEWS, {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}, "kube")
        status = review["status"] if review else {}
        if self.keeps_answers == ("allowed" if status.get("allowed") else "other"):
            self.kept[key] = review
        if status.get("allowed"):
            return True
        return not status.get("denied") and (user, attributes["verb"], attributes["resource"]) in self.rbac

    def admit(self, asked, operation, new, old):
        if self.configuration is None or self.admission_is_off:
            return
        for hook in self.configuration["webhooks"]:
            if not any(self.matches(rule, asked, operation) for rule in hook["rules"]):
                continue
            resource = {"group": asked.group, "version": asked.version, "resource": asked.resource}
            kind = {"group": asked.group, "version": asked.version, "kind": (new or old)["kind"]}
            request = {"uid": str(uuid.uuid4()), "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource, "operation": operation,
                       "name": asked.name, "namespace": asked.namespace, "userInfo": {"username": asked.user, "groups": asked.groups()},
                       "object": new, "oldObject": old, "dryRun": False, "options": {}}
            if asked.subresource:
                request["subResource"] = request["requestSubResource"] = asked.subresource
            path = "/" + hook["clientConfig"]["url"].split("/", 3)[3]
            answer = self.ask_cardea(path, {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}, "admission")
            if answer is None or answer["response"]["uid"] != request["uid"]:
                if hook["failurePolicy"] != "Ignore":
                    raise Refused(500, f'failed calling webhook "{hook["name"]}"')
            elif not answer["response"]["allowed"]:
                raise Refused(403, f'admission webhook "{hook["name"]}" denied the request: {answer["response"]["status"]["message"]}')

    @staticmethod
    def matches(rule, asked, operation):
        def listed(key, value):
            return "*" in rule[key] or value in rule[key]
        name = asked.resource + (f"/{asked.subresource}" if asked.subresource else "")
        return listed("operations", operation) and listed("apiGroups", asked.group) and listed("apiVersions", asked.version) and (
            name in rule["resources"] or "*/*" in rule["resources"] or (not asked.subresource and "*" in rule["resources"]))

    def serve(self, user, method, path, body):
        if method == "GET" and user == "bridge":
            return 200, self.seen_by_the_bridge(path)
        asked = Asked(user, method, path)
        if asked.resource == "selfsubjectreviews":
            self.admit(asked, "CREATE", body, None)
            return 201, body
        if asked.resource == "selfsubjectaccessreviews":
            attributes = body["spec"]["resourceAttributes"]
            return 201, {**body, "status": {"allowed": self.authorize(user, asked.groups(), attributes)}}
        attributes = {"verb": asked.verb, "group": asked.group, "version": asked.version, "resource": asked.resource, "subresource": asked.subresource,
                      "namespace": asked.namespace, "name": asked.name}
        if not self.authorize(user, asked.groups(), attributes):
            raise Refused(403, f'{asked.resource} "{asked.name}" is forbidden: User "{user}" cannot {asked.verb} resource "{asked.resource}"')
        if asked.group == "remote.example":
            return 201, {"servedBy": "another server"}  # whose admission is its own
        return self.write(asked, body)

    def seen_by_the_bridge(self, path):
        if path.startswith(CONFIGURATIONS):
            if self.configuration is None or path != f'{CONFIGURATIONS}/{self.configuration["metadata"]["name"]}':
                raise Refused(404, "not found")
            return self.configuration
        if path == "/apis/apiregistration.k8s.io/v1/apiservices":
            return {"kind": "APIServiceList", "items": [{"spec": {"group": g, "version": v, **({"service": {"namespace": "x", "name": "y"}} if remote else {})}}
                                                        for g, v, remote in self.api_services]}
        if path in self.objects:
            return self.objects[path]
        raise Refused(404, "not found")

    def write(self, asked, body):
        if asked.verb == "create":
            name = asked.name or body["metadata"]["name"]
            made = Asked(asked.user, "POST", asked.path)
            made.name = name
            self.admit(made, "CREATE", body, None)
            self.objects[f"{asked.path}/{name}"] = body
            return 201, body
        if asked.verb == "deletecollection":
            for path in [p for p in self.objects if p.startswith(asked.path + "/")]:
                each = Asked(asked.user, "DELETE", path)
                self.admit(each, "DELETE", None, self.objects[path])
                del self.objects[path]
            return 200, {}
        path = asked.path.removesuffix(f"/{asked.subresource}") if asked.subresource else asked.path
        if path not in self.objects:
            raise Refused(404, "not found")
        old = self.objects[path]
        if asked.verb == "get":
            return 200, old
        if asked.verb == "delete":
            self.admit(asked, "DELETE", None, old)
            del self.objects[path]
            return 200, old
        new = merged(old, body) if asked.verb == "patch" else body
        self.admit(asked, "UPDATE", new, old)
        self.objects[path] = new
        return 200, new


def merged(old, patch):
    new = copy.deepcopy(old)
    for key, value in patch.items():
        if isinstance(value, dict) and isinstance(new.get(key), dict):
            new[key] = merged(new[key], value)
        else:
            new[key] = value
    return new
