"""A kubelet for stories: it has one node, speaks TLS, and knows just enough of a kubelet's paths.

    with SmallKubelet(folder) as kubelet:
        kubelet.register(server)                  # a Node with its address and port
        kubelet.run_pod(server, "web", ["shell"])  # a Pod on it
        kubelet.seen                              # the requests that reached it

exec and attach speak WebSocket (v5.channel.k8s.io and v4) and run the command on this machine; for SPDY/3.1 the bytes after the upgrade
come back as they are. Other paths answer with a description of the request. It misbehaves for containers with these names: `hangs` never
answers, `drips` sends its log byte by byte, `resets` breaks the connection, `garbage` speaks something else, `redirects` sends the client
elsewhere, `refuses` says no.
"""
import base64
import contextlib
import hashlib
import json
import os
import select
import socket
import socketserver
import ssl
import struct
import subprocess
import threading
from urllib.parse import parse_qs, unquote, urlsplit

from peer import openssl

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CHANNELS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255


def own_address():
    """An address of this machine that is not loopback, if there is one. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))
        return probe.getsockname()[0]
    return "127.0.0.1"


ADDRESS = own_address()


def certificates(folder):
    """A CA, a kubelet's certificate for 127.0.0.1, and one for the API server to show to it."""
    at = lambda name: os.path.join(folder, name)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", at("ca.key"), "-out", at("ca.crt"), "-subj", "/CN=kubelets", "-days", "3")
    for name, subject, more in (("kubelet", "/CN=node", "subjectAltName=IP:127.0.0.1,IP:" + ADDRESS), ("apiserver", "/CN=apiserver/O=system:masters", "extendedKeyUsage=clientAuth")):
        with open(at(f"{name}.ext"), "w") as file:
            file.write(more + "\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", at(f"{name}.key"), "-out", at(f"{name}.csr"), "-subj", subject)
        openssl("x509", "-req", "-in", at(f"{name}.csr"), "-CA", at("ca.crt"), "-CAkey", at("ca.key"), "-CAcreateserial", "-days", "3", "-extfile", at(f"{name}.ext"), "-out", at(f"{name}.crt"))


class Request:
    """What reached the kubelet."""

    def __init__(self, method, target, headers, body, certificate):
        self.method, self.target, self.headers, self.body, self.certificate = method, target, headers, body, certificate
        parts = urlsplit(target)
        self.path, self.query = unquote(parts.path), parse_qs(parts.query, keep_blank_values=True)

    def describe(self):
        return {"method": self.method, "target": self.target, "headers": self.headers, "body": self.body.decode(errors="replace")}


class Connection:
    """One connection: reads a request, and answers it in one of the ways above."""

    def __init__(self, stream, kubelet):
        self.stream, self.kubelet = stream, kubelet
        self.file = stream.makefile("rb")

    def serve(self):
        while (request := self.read()) is not None:
            self.kubelet.seen.append(request)
            self.kubelet.connections[request.target] = self
            if not self.answer(request):
                return

    def read(self):
        line = self.file.readline().split()
        if len(line) != 3:
            return None
        headers = {}
        while (field := self.file.readline().strip()):
            name, _, value = field.decode().partition(":")
            headers[name.lower()] = value.strip()
        body = self.file.read(int(headers.get("content-length", 0)))
        certificate = self.stream.getpeercert() if hasattr(self.stream, "getpeercert") else None
        return Request(line[0].decode(), line[1].decode(), headers, body, certificate)

    def send(self, status, body=b"", headers=()):
        lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
        self.stream.sendall("\r\n".join(lines).encode() + body)

    def answer(self, request):
        """Returns whether the connection can be used again."""
        last = request.path.rstrip("/").split("/")[-1]
        misbehave = getattr(self, f"misbehave_{last}", None)
        if misbehave:
            misbehave(request)
            return False
        if request.path.startswith("/containerLogs/"):
            return self.logs(request)
        if "upgrade" in request.headers:
            return self.upgrade(request)
        if request.path.startswith("/moved"):
            self.send("302 Found", b"", [f"Location: {request.query['to'][0]}"])
        elif request.path.startswith("/page"):
            self.send("200 OK", b"<a href='/next'>next</a>", ["Content-Type: text/html", "Access-Control-Allow-Origin: *"])
        else:
            self.send("200 OK", json.dumps(request.describe()).encode(), ["Content-Type: application/json", "X-From: kubelet"])
        return request.headers.get("connection") != "close"

    # --- good behaviour

    def logs(self, request):
        lines = [f"line {i}\n" for i in range(10)][-int(request.query.get("tailLines", [10])[0]):]
        if "follow" not in request.query:
            self.send("200 OK", "".join(lines).encode(), ["Content-Type: text/plain"])
            return False
        self.stream.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for line in lines:
            self.chunk(line.encode())
        while (more := self.kubelet.next_line(request.target)) is not None:
            self.chunk(more)
        self.stream.sendall(b"0\r\n\r\n")
        return False

    def chunk(self, data):
        self.stream.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def upgrade(self, request):
        if request.headers["upgrade"].lower() != "websocket":
            self.stream.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n")
            self.echo()
            return False
        offered = [p.strip() for p in request.headers.get("sec-websocket-protocol", "").split(",")]
        chosen = next((p for p in CHANNELS if p in offered), "")
        if not chosen:
            self.send("400 Bad Request", b"no protocol that I know", ["Connection: close"])
            return False
        accept = base64.b64encode(hashlib.sha1((request.headers["sec-websocket-key"] + GUID).encode()).digest()).decode()
        self.stream.sendall(f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol: {chosen}\r\n\r\n".encode())
        self.run(request)
        return False

    def echo(self):
        while (data := self.file.read1(65536)):
            self.stream.sendall(data)
        self.kubelet.ended.append("spdy")

    def run(self, request):
        """Runs the command with the streams of the WebSocket. One thread: OpenSSL's connections are for one at a time."""
        pipe = subprocess.PIPE
        process = subprocess.Popen(request.query.get("command", ["cat"]), stdin=pipe, stdout=pipe, stderr=pipe, cwd=self.kubelet.folder)
        if "input" not in request.query:
            process.stdin.close()
        outputs = {process.stdout: STDOUT, process.stderr: STDERR}
        received = bytearray()
        while outputs:
            ready = [self.stream] if self.stream.pending() else select.select([self.stream, *outputs], [], [])[0]
            for source in ready:
                if source is self.stream:
                    data = self.stream.recv(65536)
                    if not data:
                        process.kill()
                        process.wait()
                        self.kubelet.ended.append("left")
                        return
                    received += data
                    self.feed(process, received)
                elif (data := os.read(source.fileno(), 32768)):
                    self.message(outputs[source], data)
                else:
                    del outputs[source]
        code = process.wait()
        status = {"metadata": {}, "status": "Success"} if code == 0 else {
            "metadata": {}, "status": "Failure", "reason": "NonZeroExitCode", "message": f"command terminated with non-zero exit code: {code}",
            "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]}}
        with contextlib.suppress(OSError):
            self.message(ERROR, json.dumps(status).encode())
            self.stream.sendall(b"\x88\x02\x03\xe8")
        self.kubelet.ended.append("exec")

    def feed(self, process, received):
        """Gives the command what came for it."""
        while (data := self.frame(received)) is not None:
            if data[:1] == bytes([STDIN]) and not process.stdin.closed:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.write(data[1:])
                    process.stdin.flush()
            elif data == bytes([CLOSE, STDIN]):
                process.stdin.close()

    def message(self, channel, data):
        size = len(data) + 1
        head = bytes([0x82]) + (bytes([size]) if size < 126 else b"\x7e" + struct.pack(">H", size))
        self.stream.sendall(head + bytes([channel]) + data)

    @staticmethod
    def frame(received):
        """Takes the payload of the next frame; None: it is not there yet."""
        if len(received) < 2:
            return None
        size, at = received[1] & 127, 2
        if size == 126:
            size, at = int.from_bytes(received[2:4], "big"), 4
        elif size == 127:
            size, at = int.from_bytes(received[2:10], "big"), 10
        if len(received) < at + 4 + size:
            return None
        mask, data = received[at:at + 4], received[at + 4:at + 4 + size]
        del received[:at + 4 + size]
        return bytes(b ^ mask[i % 4] for i, b in enumerate(data))

    # --- bad behaviour

    def misbehave_hangs(self, request):
        self.file.read()  # until the other side gives up
        self.kubelet.ended.append("hangs")

    def misbehave_resets(self, request):
        self.stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbefore the reset")
        self.kubelet.wait_for_line(request.target)
        self.reset()

    def misbehave_garbage(self, request):
        self.stream.sendall(b"\x00\x01\x02 this is not HTTP\r\n\r\n")

    def misbehave_redirects(self, request):
        self.send("302 Found", b"", ["Location: https://169.254.169.254/latest/meta-data"])

    def misbehave_refuses(self, request):
        self.send("400 Bad Request", b"container refuses is waiting to start", ["Content-Type: text/plain"])

    def misbehave_drips(self, request):
        self.stream.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for byte in b"drip drop":
            self.chunk(bytes([byte]))
        self.stream.sendall(b"0\r\n\r\n")

    def reset(self):
        self.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.file.close()
        self.stream.close()


class SmallKubelet:
    connection, bound = Connection, ADDRESS

    def __init__(self, folder, tls=True):
        self.folder, self.tls = folder, tls
        self.seen, self.ended, self.connections, self.lines = [], [], {}, {}
        self.changed = threading.Condition()
        if tls:
            certificates(folder)
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(os.path.join(folder, "kubelet.crt"), os.path.join(folder, "kubelet.key"))
            self.context.load_verify_locations(os.path.join(folder, "ca.crt"))
            self.context.verify_mode = ssl.CERT_OPTIONAL

    def __enter__(self):
        kubelet = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                with contextlib.suppress(OSError, ValueError):
                    stream = kubelet.context.wrap_socket(self.request, server_side=True) if kubelet.tls else self.request
                    connection = kubelet.connection(stream, kubelet)
                    try:
                        connection.serve()
                    finally:
                        with contextlib.suppress(OSError):
                            connection.file.close()
                            stream.close()

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads, allow_reuse_address = True, True

            def handle_error(self, *_):
                pass
        self.server = Server((self.bound, 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def flags(self):
        """For the API server."""
        at = lambda name: os.path.join(self.folder, name)
        return ["--kubelet-client-certificate", at("apiserver.crt"), "--kubelet-client-key", at("apiserver.key"), "--kubelet-certificate-authority", at("ca.crt"),
                "--kubelet-preferred-address-types", "InternalIP"]

    # --- its objects

    def register(self, server, name="node", address=ADDRESS):
        server.request("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        status = {"addresses": [{"type": "InternalIP", "address": address}], "daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}}}
        self.patch_status(server, f"/api/v1/nodes/{name}", status)

    def run_pod(self, server, name, containers, node="node", namespace="default", ip=None, port=None):
        spec = {"containers": [{"name": c, "image": "i", **({"ports": [{"containerPort": port}]} if port else {})} for c in containers]}
        if node:
            spec["nodeName"] = node
        path = f"/api/v1/namespaces/{namespace}/pods"
        code, _, body = server.request("POST", path, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
        assert code in (201, 409), (code, body)
        running = [{"name": c, "image": "i", "imageID": "i", "ready": True, "restartCount": 0, "state": {"running": {}}} for c in containers]
        status = {"phase": "Running", "containerStatuses": running, "conditions": [{"type": "Ready", "status": "True"}]}
        if ip:
            status.update({"podIP": ip, "podIPs": [{"ip": ip}]})
        self.patch_status(server, f"{path}/{name}", status)

    @staticmethod
    def patch_status(server, path, status):
        code, _, body = server.request("PATCH", f"{path}/status", {"status": status}, {"Content-Type": "application/merge-patch+json"})
        assert code == 200, (code, body)

    # --- what a followed log says next

    def say(self, target_part, line):
        """Sends another line; None ends the log."""
        with self.changed:
            self.lines.setdefault(target_part, []).append(line)
            self.changed.notify_all()

    def next_line(self, target):
        def waiting():
            return next((lines for part, lines in self.lines.items() if part in target and lines), None)
        with self.changed:
            self.changed.wait_for(lambda: waiting() is not None, 60)
            lines = waiting()
            return lines.pop(0) if lines else None

    wait_for_line = next_line

    def last(self):
        return self.seen[-1]
