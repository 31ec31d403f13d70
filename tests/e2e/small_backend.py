"""An API server for stories that stands behind another one: it speaks TLS, serves the group `wares.example.com`, and remembers its requests.

    with SmallBackend(folder) as backend:
        backend.register(server)      # a Service and an APIService
        backend.seen                  # the requests that reached it

It answers requests for objects with a description of the request. A watch (`watch=1`) sends the events of `say`; after an upgrade the
bytes come back as they are. It misbehaves for objects with these names: `hangs` never answers, `drips` sends its answer byte by byte and
does not end it, `resets` breaks the connection, `garbage` speaks something else, `redirects` sends the client elsewhere.
"""
import base64
import json
import os
import ssl

from peer import openssl
from small_kubelet import Connection, Request, SmallKubelet

GROUP = "wares.example.com"
WARES = f"/apis/{GROUP}/v1/namespaces/default/wares"
APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
RESOURCES = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/v1", "resources": [
    {"name": "wares", "singularName": "ware", "namespaced": True, "kind": "Ware", "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"], "shortNames": ["wr"]},
    {"name": "wares/status", "singularName": "", "namespaced": True, "kind": "Ware", "verbs": ["get", "update"]}]}
V3 = {"openapi": "3.0.0", "info": {"title": "wares", "version": "1"}, "paths": {f"/apis/{GROUP}/v1/": {}}}
V2 = {"swagger": "2.0", "info": {"title": "wares", "version": "1"},
      "paths": {f"/apis/{GROUP}/v1/wares": {"get": {"responses": {"200": {"description": "OK", "schema": {"$ref": "#/definitions/example.Ware"}}}}},
                "/apis/apps/v1/deployments": {"get": {"responses": {"200": {"description": "not ours to say"}}}}},
      "definitions": {"example.Ware": {"type": "object", "properties": {"metadata": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}}},
                      "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {"type": "object", "description": "another one"},
                      "example.Unused": {"type": "object"}}}


def certificates(folder, names):
    """A CA, and a certificate of it with these names. Returns the path of the CA."""
    at = lambda name: os.path.join(folder, f"backend-{name}")
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", at("ca.key"), "-out", at("ca.crt"), "-subj", "/CN=backends", "-days", "3")
    with open(at("ext"), "w") as file:
        file.write("subjectAltName=" + ",".join(f"DNS:{name}" for name in names) + "\n")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", at("key"), "-out", at("csr"), "-subj", "/CN=backend")
    openssl("x509", "-req", "-in", at("csr"), "-CA", at("ca.crt"), "-CAkey", at("ca.key"), "-CAcreateserial", "-days", "3", "-extfile", at("ext"), "-out", at("crt"))
    return at("ca.crt")


class BackendConnection(Connection):
    def read(self):
        line = self.file.readline().split()
        if len(line) != 3:
            return None
        pairs = []
        while (field := self.file.readline().strip()):
            name, _, value = field.decode().partition(":")
            pairs.append((name.lower(), value.strip()))
        headers = dict(pairs)
        body = self.file.read(int(headers.get("content-length", 0)))
        request = Request(line[0].decode(), line[1].decode(), headers, body, self.stream.getpeercert())
        request.pairs, request.port = pairs, self.stream.getpeername()[1]
        return request

    def answer(self, request):
        last = request.path.rstrip("/").split("/")[-1]
        if misbehave := getattr(self, f"misbehave_{last}", None):
            misbehave(request)
            return False
        if "upgrade" in request.headers:
            return self.upgrade(request)
        if "watch" in request.query:
            return self.watch(request)
        document = self.kubelet.documents.get(request.path)
        if document is not None:
            self.kubelet.asked.append(request)
        return self.say(200, document if document is not None else {"kind": "Ware", "apiVersion": f"{GROUP}/v1", "metadata": {"name": last}, **request.describe()})

    def say(self, status, document):
        self.send(f"{status} OK", json.dumps(document).encode(), ["Content-Type: application/json", "X-From: backend", "ETag: \"one\""])
        return True

    def upgrade(self, request):
        self.stream.sendall(f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {request.headers['upgrade']}\r\n\r\n".encode())
        self.echo()
        return False

    def watch(self, request):
        self.stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        while (event := self.kubelet.next_line(request.target)) is not None:
            self.chunk(event)
        self.stream.sendall(b"0\r\n\r\n")
        return True

    def misbehave_drips(self, request):
        self.stream.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        self.chunk(b"drip")
        self.file.read()  # until the other side gives up
        self.kubelet.ended.append("drips")


class SmallBackend(SmallKubelet):
    connection = BackendConnection

    def __init__(self, folder, service="wares", namespace="default", address="127.0.0.1"):
        self.service, self.namespace, self.bound = service, namespace, address
        super().__init__(folder, tls=False)
        self.tls = True
        self.authority = certificates(folder, [f"{service}.{namespace}.svc"])
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(os.path.join(folder, "backend-crt"), os.path.join(folder, "backend-key"))
        self.asked = []  # requests for documents, which the server in front makes by itself
        self.documents = {f"/apis/{GROUP}/v1": RESOURCES, "/openapi/v3": {"paths": {f"apis/{GROUP}/v1": {"serverRelativeURL": f"/openapi/v3/apis/{GROUP}/v1?hash=AB"},
                                                                                  "apis/apps/v1": {"serverRelativeURL": "/openapi/v3/apis/apps/v1?hash=CD"}}},
                          f"/openapi/v3/apis/{GROUP}/v1": V3, "/openapi/v2": V2}

    def believe(self, authorities):
        """The CAs (PEM) of proxies in front."""
        self.context.load_verify_locations(cadata=authorities)
        self.context.verify_mode = ssl.CERT_OPTIONAL

    def bundle(self):
        with open(self.authority, "rb") as file:
            return base64.b64encode(file.read()).decode()

    def api_service(self, version="v1", group=GROUP, service=None, port=None, **spec):
        if "insecureSkipTLSVerify" not in spec:
            spec.setdefault("caBundle", self.bundle())
        return {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": f"{version}.{group}"},
                "spec": {"group": group, "version": version, "groupPriorityMinimum": 2000, "versionPriority": 10,
                         "service": {"name": service or self.service, "namespace": self.namespace, "port": port or self.port}, **spec}}

    def external_service(self, name=None):
        return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name or self.service}, "spec": {"type": "ExternalName", "externalName": self.bound}}
