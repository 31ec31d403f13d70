"""A client that only wants to know whether the server is well, beside an attack.

    with Probe(server) as probe:
        attack()
    probe.check("an attack")

It asks /livez again and again, each time on a fresh connection and on one that stays open, as a kubelet or a load balancer does. What is
bounded is the longest wait of this client. The bounds are far above what the server needs and far below what each attack once took, so
that a busy machine does not fail the test. CARDEA_PATIENCE multiplies them, for builds that are slower.
"""
import http.client
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from server import exchange, expect  # noqa: E402

http.client._MAXHEADERS = 1000  # a hundred warnings and more
LONGEST_WAIT = 2.0 * float(os.environ.get("CARDEA_PATIENCE", "1"))


class Probe:
    def __init__(self, server):
        self.server = server
        self.waits = []
        self.failures = []
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.ask, args=(stays,), daemon=True) for stays in (True, False)]

    def ask(self, stays):
        connection = None
        while not self.over.is_set():
            began = time.monotonic()
            try:
                if connection is None:
                    connection = self.server.connect(60)
                status, _, _ = exchange(connection, "GET", "/livez")
                if status != 200:
                    self.failures.append(f"status {status}")
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
                connection = None
            self.waits.append(time.monotonic() - began)
            if connection is not None and not stays:
                connection.close()
                connection = None
            self.over.wait(0.02)
        if connection is not None:
            connection.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        while len(self.waits) < 4:
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        count = len(self.waits)
        while len(self.waits) < count + 4:  # the wait that the attack caused is among them
            time.sleep(0.01)
        self.over.set()
        for thread in self.threads:
            thread.join()

    def check(self, what):
        longest = max(self.waits)
        print(f"  {what}: {len(self.waits)} probes, the longest waited {longest * 1000:.0f} ms")
        expect(not self.failures, f"{what}: the probe failed: {self.failures[:3]}")
        expect(longest < LONGEST_WAIT, f"{what}: /livez took {longest:.1f} s")


def metric(server, name):
    """The sum of all series of a metric."""
    _, _, text = server.request("GET", "/metrics")
    values = [line.rsplit(" ", 1)[1] for line in text.decode().splitlines()
              if line.startswith(name) and line[len(name)] in " {"]
    return sum(float(v) for v in values)


def memory(server):
    """Resident bytes of the server."""
    with open(f"/proc/{server.process.pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
