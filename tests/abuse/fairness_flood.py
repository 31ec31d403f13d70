"""5,000 clients of one tenant ask for the worst thing each, again and again; admin and the health probe are answered meanwhile.

The figures are printed. What fails is a request of admin that is not answered or waits for as long as probe.py allows, and a server that does not come
to rest afterwards. CARDEA_FLOOD_CLIENTS and CARDEA_FLOOD_SECONDS change the size.
"""
import os
import resource
import selectors
import socket
import ssl
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from probe import LONGEST_WAIT  # noqa: E402  (finds tests/e2e too)
from fairness import granted, running, waiting  # noqa: E402
from server import Cardea, eventually, exchange, expect  # noqa: E402
from story import Story  # noqa: E402

story = Story("fairness_flood")
CLIENTS = int(os.environ.get("CARDEA_FLOOD_CLIENTS", "5000"))
SECONDS = float(os.environ.get("CARDEA_FLOOD_SECONDS", "10"))
OBJECTS = 2000
SPACE = "/api/v1/namespaces/default/configmaps"


@story.shared
def server():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as folder:
        users = os.path.join(folder, "users.csv")
        with open(users, "w") as file:
            file.write('tenant-token,tenant,tenant,"everybody"\n')
        with Cardea("--token-auth-file", users) as server:
            granted(server)
            connection = server.connect()
            for i in range(OBJECTS):
                status, _, answer = exchange(connection, "POST", SPACE, {"kind": "ConfigMap", "apiVersion": "v1", "data": {"text": "x" * 300},
                                                                         "metadata": {"name": f"m{i}", "labels": {"n": str(i % 10)}}})
                expect(status == 201, f"{status} {answer}")
            yield server


class Flood:
    """The clients. Each sends its request, and again when the answer has begun; a watch is closed and opened again by another client."""

    def __init__(self, server, path, clients):
        self.server, self.statuses = server, {}
        self.request = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer tenant-token\r\n\r\n".encode()
        self.is_watch = "watch=1" in path
        self.over = threading.Event()
        self.selector = selectors.DefaultSelector()
        self.context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
        self.sockets = [self.connect() for _ in range(clients)]
        self.thread = threading.Thread(target=self.run, daemon=True)

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.server.port), 120)
        sock = self.context.wrap_socket(plain, server_hostname="127.0.0.1")
        sock.setblocking(False)
        self.selector.register(sock, selectors.EVENT_READ)
        return sock

    def send(self, sock):
        try:
            sock.send(self.request)
        except (OSError, ssl.SSLError):
            self.drop(sock)

    def drop(self, sock):
        self.selector.unregister(sock)
        sock.close()
        self.statuses["closed"] = self.statuses.get("closed", 0) + 1

    def run(self):
        for sock in self.sockets:
            self.send(sock)
        while not self.over.is_set() and self.selector.get_map():
            for key, _ in self.selector.select(0.1):
                sock = key.fileobj
                began = False
                try:
                    while True:
                        data = sock.recv(1 << 20)
                        if not data:
                            self.drop(sock)
                            break
                        if data.startswith(b"HTTP/1.1 "):
                            began = data[9:12].decode()
                except (ssl.SSLWantReadError, BlockingIOError):
                    pass
                except OSError:
                    self.drop(sock)
                    continue
                if began:
                    self.statuses[began] = self.statuses.get(began, 0) + 1
                    if sock.fileno() >= 0 and not (self.is_watch and began == "200"):
                        self.send(sock)

    def close(self):
        self.over.set()
        self.thread.join()
        for sock in self.sockets:
            sock.close()


def flooded(server, what, path, clients=CLIENTS):
    flood = Flood(server, path, clients)
    admin, health = server.connect(), server.connect()
    waits = {"admin": [], "health": []}
    exchange(admin, "GET", f"{SPACE}/m1")
    exchange(health, "GET", "/livez")
    flood.thread.start()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for who, connection, target in (("admin", admin, f"{SPACE}/m1"), ("health", health, "/livez")):
            began = time.monotonic()
            expect(exchange(connection, "GET", target)[0] == 200, who)
            waits[who].append(time.monotonic() - began)
        time.sleep(0.005)
    flood.close()
    for who, list_ in waits.items():
        list_.sort()
        print(f"{what}: {who} asked {len(list_)} times, median {list_[len(list_) // 2] * 1000:.1f} ms, 99 % {list_[int(len(list_) * .99)] * 1000:.1f} ms, longest {list_[-1] * 1000:.1f} ms; "
              f"{clients} clients were answered {flood.statuses}", flush=True)
        expect(list_[-1] < LONGEST_WAIT, f"{what}: {who} waited {list_[-1]:.1f} s")
    eventually("all seats are free", lambda: running(server, "global-default") == 0 and waiting(server, "global-default") == 0)


@story.chapter
def watches_of_one_name(server):
    flooded(server, "watches of one name", f"{SPACE}?watch=1&fieldSelector=metadata.name%3Dm7")


@story.chapter
def watches_of_everything(server):
    flooded(server, "watches of everything", f"{SPACE}?watch=1")


@story.chapter
def lists(server):
    flooded(server, "lists", SPACE)


@story.chapter
def selected_lists(server):
    flooded(server, "lists by label", f"{SPACE}?labelSelector=n%3D7")


@story.chapter
def lists_that_find_nothing(server):
    flooded(server, "lists that find nothing", f"{SPACE}?labelSelector=none%3D7&limit=1")


if __name__ == "__main__":
    story.main()
