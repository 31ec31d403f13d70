"""Connections that only want to be a burden: floods of empty lines, pipelines, too many at once, and bodies and answers that wait."""
import json
import os
import socket
import ssl
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from probe import Probe, memory, metric  # noqa: E402
from server import Cardea, eventually, expect  # noqa: E402
from story import Story  # noqa: E402

story = Story("connections")

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
MEGABYTE = 1 << 20


@story.shared
def server():
    with Cardea("--token-auth-file", tokens()) as server:
        yield server


def tokens():
    import tempfile
    file = tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False)
    file.write('tenant-token,tenant,1,"tenants"\n')
    file.close()
    os.chmod(file.name, 0o600)
    return file.name


def stranger(server, seconds=60):
    """A TLS connection without a certificate."""
    context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
    return context.wrap_socket(socket.create_connection(("127.0.0.1", server.port), seconds), server_hostname="127.0.0.1")


def flood(server, data, count, over):
    """Sends `data` on `count` connections until the server ends them, or `over` is set."""
    def send():
        try:
            with stranger(server) as sock:
                sock.settimeout(1)
                while not over.is_set():
                    try:
                        sock.sendall(data)
                    except (TimeoutError, socket.timeout):
                        pass
        except (OSError, ssl.SSLError):
            pass
    threads = [threading.Thread(target=send, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads


@story.chapter
def empty_lines(server):
    over = threading.Event()
    with Probe(server) as probe:
        threads = flood(server, b"\r\n" * 100_000, 4, over)
        eventually("the server ends connections that send only empty lines", lambda: not any(t.is_alive() for t in threads))
    probe.check("floods of empty lines")


@story.chapter
def pipelines(server):
    over = threading.Event()
    with Probe(server) as probe:
        threads = flood(server, b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n" * 2_000, 4, over)
        before = len(probe.waits)
        eventually("the probe is answered beside the pipelines", lambda: len(probe.waits) > before + 50)
        over.set()
        for thread in threads:
            thread.join(60)
    probe.check("pipelines of requests")


@story.chapter
def more_connections_than_allowed():
    with Cardea("--max-connections=50", "--max-connections-per-address=90") as server:
        held = []
        # The reserve is for clients of this machine, and all of ours are.
        for _ in range(120):
            sock = socket.create_connection(("127.0.0.1", server.port), 10)
            held.append(sock)

        def refused():
            closed = 0
            for sock in held:
                sock.settimeout(0.05)
                try:
                    closed += sock.recv(1) == b""
                except (TimeoutError, socket.timeout):
                    pass
                except OSError:
                    closed += 1
            return closed >= 120 - 82
        eventually("connections beyond the limit are closed", refused)
        with open(server.log_path) as log:
            expect("a connection was not accepted" in log.read(), "the log does not say that a connection was refused")
        for sock in held:
            sock.close()
        eventually("there is room again", lambda: server.ready())
        expect(metric(server, "cardea_connections_refused_total") >= 38, "the metric does not count refused connections")


@story.chapter
def one_address_too_often():
    with Cardea("--max-connections-per-address=20") as server:
        held = [socket.create_connection(("127.0.0.1", server.port), 10) for _ in range(30)]

        def refused():
            closed = 0
            for sock in held:
                sock.settimeout(0.05)
                try:
                    closed += sock.recv(1) == b""
                except (TimeoutError, socket.timeout):
                    pass
                except OSError:
                    closed += 1
            return closed == 10
        eventually("the connections beyond the limit of an address are closed", refused)
        for sock in held:
            sock.close()
        eventually("the address has room again", lambda: server.ready())


@story.chapter
def bodies_of_strangers(server):
    """A body is not kept before it is known who sends it, and whether they may."""
    before = memory(server)
    held = []
    with Probe(server) as probe:
        for i in range(150):
            sock = stranger(server)
            token = b"" if i % 2 else b"Authorization: Bearer nobody\r\n"
            sock.sendall(b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: a\r\n" + token
                         + b"Content-Type: application/json\r\nContent-Length: 3000000\r\n\r\n")
            sock.settimeout(0.2)
            try:
                sock.sendall(b"x" * 2_900_000)
            except (OSError, ssl.SSLError):
                pass
            held.append(sock)
        grown = memory(server) - before
    for sock in held:
        sock.close()
    probe.check(f"bodies of strangers, {grown // MEGABYTE} MB")
    expect(grown < 150 * MEGABYTE, f"bodies of strangers took {grown // MEGABYTE} MB")


@story.chapter
def bodies_of_one_user(server):
    """Of a user who may write, bodies that never end take a bounded part of the memory, and others can still write."""
    server.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        "metadata": {"name": "tenant"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "tenant"}]})
    before = memory(server)
    held, told = [], 0
    with Probe(server) as probe:
        for _ in range(100):
            sock = stranger(server)
            sock.sendall(b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer tenant-token\r\n"
                         b"Content-Type: application/json\r\nContent-Length: 3000000\r\n\r\n")
            sock.settimeout(0.2)
            try:
                sock.sendall(b"x" * 2_900_000)
            except (OSError, ssl.SSLError):
                pass
            held.append(sock)
        grown = memory(server) - before
        status, _, _ = server.request("POST", CONFIG_MAPS, {"metadata": {"name": "beside"}, "data": {"x": "y" * 500_000}})
        expect(status == 201, f"another user's body: {status}")
        for sock in held:
            try:
                told += sock.recv(100).startswith(b"HTTP/1.1 429")
            except (OSError, ssl.SSLError):
                pass
    for sock in held:
        sock.close()
    probe.check(f"100 bodies of one user, {grown // MEGABYTE} MB, {told} refused")
    expect(told >= 60, f"only {told} of 100 bodies were refused")
    expect(grown < 200 * MEGABYTE, f"bodies of one user took {grown // MEGABYTE} MB")


@story.chapter(needs=["bodies_of_one_user"])
def answers_that_nobody_reads(server):
    for i in range(12):
        server.request("POST", CONFIG_MAPS, {"metadata": {"name": f"big{i}"}, "data": {"x": "y" * 900_000}})
    before = memory(server)
    held, told = [], 0
    request = f"GET {CONFIG_MAPS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer tenant-token\r\n\r\n".encode()
    with Probe(server) as probe:
        for _ in range(60):
            sock = stranger(server)
            sock.sendall(request)
            held.append(sock)
        for sock in held:
            sock.settimeout(20)
            told += sock.recv(12).startswith(b"HTTP/1.1 429")
        grown = memory(server) - before
    for sock in held:
        sock.close()
    probe.check(f"60 lists that nobody reads, {grown // MEGABYTE} MB, {told} refused")
    expect(told > 0, "none of 60 unread answers of 11 MB was refused")
    expect(grown < 450 * MEGABYTE, f"unread answers took {grown // MEGABYTE} MB")
    eventually("the memory goes back after the storm", lambda: memory(server) - before < 200 * MEGABYTE)


if __name__ == "__main__":
    story.main()
