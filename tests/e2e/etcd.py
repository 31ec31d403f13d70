"""A real etcd of one member for a story, and a road to it that can be closed.

    with Etcd() as etcd, Cardea(f"--etcd-servers={etcd.url}") as server: ...

The program is $CARDEA_ETCD, the one of $CARDEA_PEERS, or the machine's (Debian's package etcd-server).
"""
import os
import shutil
import socket
import subprocess
import tempfile
import threading

from server import eventually, free_port, skip


def program():
    peers = os.environ.get("CARDEA_PEERS", "")
    for candidate in (os.environ.get("CARDEA_ETCD"), peers and os.path.join(peers, "etcd"), shutil.which("etcd")):
        if candidate and os.path.exists(candidate):
            return candidate
    skip("there is no etcd")


class Etcd:
    def __init__(self, *flags, scheme="http"):
        self.flags = list(flags)
        self.scheme = scheme
        self.folder = tempfile.mkdtemp(prefix="cardea-etcd-")
        self.port, self.peer_port = free_port(), free_port()
        self.process = None

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        peer = f"http://127.0.0.1:{self.peer_port}"
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [program(), "--name=one", f"--data-dir={self.folder}/data", f"--listen-client-urls={self.url}", f"--advertise-client-urls={self.url}",
                 f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=one={peer}", "--log-level=error", *self.flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        eventually("etcd answers", self.answers)

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class Road:
    """Forwards connections to a port. While it is closed nothing passes, in connections that are open too, and nobody is told."""

    def __init__(self, port):
        self.to = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.is_open = threading.Event()
        self.is_open.set()
        self.is_over = False
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.is_open.set()
        self.listener.close()

    def close(self):
        self.is_open.clear()

    def open(self):
        self.is_open.set()

    def accept(self):
        while not self.is_over:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            try:
                other = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                one.close()  # nobody is there now
                continue
            for pair in ((one, other), (other, one)):
                threading.Thread(target=self.carry, args=pair, daemon=True).start()

    def carry(self, source, sink):
        try:
            while data := source.recv(65536):
                self.is_open.wait()
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
