"""An admission webhook for stories: an HTTPS server that gives the answers of the story and keeps the reviews that it received.

    with Hooks(folder) as hooks:
        hooks.answers["/deny"] = lambda review: hooks.review(review, allowed=False)
        client_config = hooks.at("/deny")
        ...
        hooks.take()      # [(path with query, headers, the AdmissionReview)] since last time
"""
import base64
import http.server
import json
import os
import socket
import ssl
import subprocess
import threading


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def certificate(folder, name, alternatives, authority="ca"):
    """A certificate signed by the authority of the folder, which is created if it does not exist: (certificate file, key file)."""
    at = lambda file: os.path.join(folder, file)
    if not os.path.exists(at(authority + ".crt")):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", at(authority + ".key"), "-out", at(authority + ".crt"), "-subj", f"/CN={authority}", "-days", "3")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", at(name + ".key"), "-out", at(name + ".csr"), "-subj", f"/CN={name}")
    with open(at(name + ".ext"), "w") as file:
        file.write("subjectAltName=" + ",".join(alternatives))
    openssl("x509", "-req", "-in", at(name + ".csr"), "-CA", at(authority + ".crt"), "-CAkey", at(authority + ".key"), "-CAcreateserial", "-days", "3",
            "-extfile", at(name + ".ext"), "-out", at(name + ".crt"))
    return at(name + ".crt"), at(name + ".key")


def own_address():
    """An address of this machine that other machines could use; None if it has only its loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))
            return s.getsockname()[0]
        except OSError:
            return None


class Hooks:
    def __init__(self, folder, names=("DNS:hook.default.svc",), address="127.0.0.1"):
        self.folder = folder
        self.answers = {}
        self.released = threading.Event()  # slow hooks wait for this
        self._lock = threading.Lock()
        self._asked = []
        files = certificate(folder, "hook", [f"IP:{address}", "DNS:localhost", *names])
        self.ca = open(os.path.join(folder, "ca.crt"), "rb").read()
        hooks = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                try:
                    review = json.loads(body)
                except ValueError:
                    review = body.decode(errors="replace")
                path = self.path.split("?")[0]
                with hooks._lock:
                    hooks._asked.append((self.path, dict(self.headers.items()), review))
                answer = hooks.answers.get(path)
                made = answer(review) if answer else (404, {}, b"no such hook")
                if made is None:  # closes the connection without an answer
                    self.close_connection = True
                    return
                status, headers, text = made if isinstance(made, tuple) else (200, {}, made)
                if not isinstance(text, bytes):
                    text = json.dumps(text).encode()
                self.send_response(status)
                headers = {"Content-Type": "application/json", **headers}
                for key, value in headers.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                try:
                    self.wfile.write(text)
                except OSError:
                    self.close_connection = True  # the client has not waited

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass

        self.server = Server((address, 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.address, self.port = self.server.server_address[:2]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def bundle(self):
        return base64.b64encode(self.ca).decode()

    def at(self, path, **more):
        return {"url": f"https://{self.address}:{self.port}{path}", "caBundle": self.bundle(), **more}

    def take(self):
        with self._lock:
            asked, self._asked = self._asked, []
        return asked

    @staticmethod
    def review(asked, version="v1", uid=None, patch=None, **response):
        """The answer to a review; `patch` is a list of JSON patch operations."""
        response = {"uid": asked["request"]["uid"] if uid is None else uid, **response}
        if patch is not None:
            response["patch"] = base64.b64encode(json.dumps(patch).encode()).decode()
            response.setdefault("patchType", "JSONPatch")
        return {"apiVersion": f"admission.k8s.io/{version}", "kind": "AdmissionReview", "response": response}
