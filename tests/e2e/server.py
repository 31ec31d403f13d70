"""A server for a story: cardea on a free port with its own data directory, which is removed when the story ends.

    with Cardea() as server:
        status, headers, body = server.request("GET", "/version")

The binary comes from $CARDEA_BINARY. Its log is shown if a story fails.
"""
import http.client
import json
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
READY_SECONDS = 60
PATIENCE = 60


class Skipped(Exception):
    """Raised by `skip`; has the reason."""

    def __init__(self, reason):
        super().__init__(reason)
        self.reason = reason


def skip(reason):
    """Ends the chapter as skipped. A story in which all chapters are skipped is skipped; ctest knows the exit status."""
    raise Skipped(reason)


def binary():
    path = os.environ.get("CARDEA_BINARY")
    if not path:
        sys.exit("CARDEA_BINARY is not set: it names the cardea to test")
    return os.path.abspath(path)


def free_port():
    """A port below those that the kernel gives to outgoing connections, so that none of these takes it before its server does."""
    while True:
        port = random.SystemRandom().randrange(10000, 32768)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def eventually(what, attempt, seconds=PATIENCE):
    """Calls `attempt` until it returns a true value, and returns that."""
    deadline = time.monotonic() + seconds
    while True:
        value = attempt()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"still not so after {seconds} s: {what}")
        time.sleep(0.05)


class Cardea:
    """A running server. Leaving the `with` block kills it and removes its data."""

    running = []  # those inside their `with` blocks

    def __init__(self, *flags, data_dir=None, start_in=None):
        self.flags, self.start_in = list(flags), start_in
        self.folder = tempfile.mkdtemp(prefix="cardea-e2e-")
        self.data_dir = data_dir or os.path.join(self.folder, "data")
        self.log_path = os.path.join(self.folder, "log")
        self.port = free_port()
        self.process = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.show_log()
            self.__exit__(None, None, None)
            raise
        Cardea.running.append(self)
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None and not issubclass(kind, SystemExit):
            self.show_log()
        if self in Cardea.running:
            Cardea.running.remove(self)
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def base(self):
        return f"https://127.0.0.1:{self.port}"

    @property
    def kubeconfig(self):
        return os.path.join(self.data_dir, "admin.kubeconfig")

    def command(self):
        return [binary(), "serve", "--data-dir", self.data_dir, "--secure-port", str(self.port),
                "--bind-address", "127.0.0.1", *self.flags]

    def start(self):
        log = open(self.log_path, "ab")
        self.process = subprocess.Popen(self.command(), cwd=self.start_in, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        deadline = time.monotonic() + READY_SECONDS
        while not self.ready():
            expect(self.alive(), f"the server ended with status {self.process.returncode} before it was ready")
            expect(time.monotonic() < deadline, f"the server was not ready after {READY_SECONDS} s")
            time.sleep(0.02)

    def ready(self):
        try:
            return self.request("GET", "/readyz", seconds=5)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """Kills the process with SIGKILL, like a power cut."""
        if self.alive():
            self.process.kill()
        if self.process is not None:
            self.process.wait()

    def stop(self, sign=signal.SIGINT, seconds=30):
        """Stops the process with SIGTERM; returns the exit status."""
        self.process.send_signal(sign)
        return self.process.wait(seconds)

    def show_log(self):
        if os.path.exists(self.log_path):
            with open(self.log_path, errors="replace") as log:
                lines = log.readlines()
            print("--- the server's log", *lines[-40:], "---", sep="\n", file=sys.stderr)

    def tls(self):
        context = ssl.create_default_context(cafile=os.path.join(self.data_dir, "ca.crt"))
        context.load_cert_chain(os.path.join(self.data_dir, "admin.crt"), os.path.join(self.data_dir, "admin.key"))
        return context

    def connect(self, seconds=PATIENCE):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=seconds, context=self.tls())

    def raw(self, seconds=PATIENCE):
        """A TLS socket with admin's certificate, for bytes that no HTTP library would send."""
        plain = socket.create_connection(("127.0.0.1", self.port), seconds)
        return self.tls().wrap_socket(plain, server_hostname="127.0.0.1")

    def request(self, method, path, body=None, headers=None, seconds=PATIENCE):
        """One request on its own connection: (status, headers, body). JSON is parsed."""
        connection = self.connect(seconds)
        try:
            return exchange(connection, method, path, body, headers)
        finally:
            connection.close()


def exchange(connection, method, path, body=None, headers=None):
    headers = dict(headers or {})
    if body is not None and not isinstance(body, (bytes, str)):
        body = json.dumps(body)
        headers.setdefault("Content-Type", "application/json")
    if isinstance(body, str):
        body = body.encode()
    connection.request(method, path, body=body, headers=headers)
    answer = connection.getresponse()
    data = answer.read()
    if "json" in answer.headers.get("Content-Type", ""):
        data = json.loads(data)
    return answer.status, answer.headers, data
