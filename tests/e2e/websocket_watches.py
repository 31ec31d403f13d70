"""Watches over WebSocket, spoken by hand: the handshake, tokens among the protocols, events as messages, and every way to end.

With $CARDEA_PEERS (a folder with kube-apiserver and etcd) the chapters are told of the real server too.
"""
import base64
import contextlib
import hashlib
import json
import os
import socket
import ssl
import struct
import tempfile

from peer import Kube, peers
from server import Cardea, eventually, expect, skip
from story import Story

story = Story("websocket_watches")

TOKEN = "token-of-jane"
MAPS = "/api/v1/namespaces/default/configmaps"
PROTOBUF = "application/vnd.kubernetes.protobuf"
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
ACCEPT = base64.b64encode(hashlib.sha1((KEY + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
HANDSHAKE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": KEY, "Sec-WebSocket-Version": "13", "Origin": "https://localhost"}
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


# --- the servers

@story.shared
def users():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "users.csv")
        with open(path, "w") as file:
            file.write(f"{TOKEN},jane,1,\"system:masters\"\n")
        yield path


def prepared(server):
    for name in ("one", "two"):
        server.request("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"of": "story"}}})
    return server


@story.shared
def cardea(users):
    with Cardea("--token-auth-file", users) as server:
        yield prepared(server)


@story.shared
def kube(users):
    if not peers():
        skip("there is no kube-apiserver: CARDEA_PEERS names no folder with one")
    with Kube("--authorization-mode=RBAC", "--token-auth-file", users) as server:
        yield prepared(server)


# --- a client

class Client:
    """A connection that has sent a handshake: `status`, `headers` and, after a 101, frames."""

    def __init__(self, server, path, headers=None, certificate=True, without=(), version="1.1"):
        context = server.tls() if certificate else ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
        plain = socket.create_connection(("127.0.0.1", server.port), 60)
        self.socket = context.wrap_socket(plain, server_hostname="127.0.0.1")
        sent = {**HANDSHAKE, **(headers or {})}
        lines = [f"GET {path} HTTP/{version}", "Host: localhost"] + [f"{name}: {value}" for name, value in sent.items() if name not in without]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while (line := self.file.readline().strip()):
            name, _, value = line.decode().partition(":")
            self.headers[name.lower()] = value.strip()

    def frame(self):
        """(opcode, payload)"""
        first, second = self.file.read(2)
        expect(first & 0xf0 == 0x80, f"a frame begins with {first:#x}")
        expect(second & 0x80 == 0, "a server's frame is masked")
        size = second
        if second == 126:
            size, = struct.unpack(">H", self.file.read(2))
        elif second == 127:
            size, = struct.unpack(">Q", self.file.read(8))
        return first & 15, self.file.read(size)

    def event(self):
        opcode, payload = self.frame()
        expect(opcode == TEXT, f"an event has opcode {opcode}")
        return json.loads(payload)

    def send(self, opcode, payload=b"", mask=b"mAsK", last=True):
        size = len(payload)
        head = bytes([opcode | (0x80 if last else 0), (size if size < 126 else 126 if size < 65536 else 127) | (0x80 if mask else 0)])
        head += b"" if size < 126 else struct.pack(">H", size) if size < 65536 else struct.pack(">Q", size)
        self.socket.sendall(head + (mask or b"") + (bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload)) if mask else payload))

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.close()

    def refusal(self):
        """The body of an answer that is not a 101."""
        return self.file.read(int(self.headers["content-length"])) if "content-length" in self.headers else self.ends()

    def ends(self):
        """What comes before the end of the connection."""
        with contextlib.suppress(OSError):
            return self.file.read()
        return b""


def named(event):
    return event["type"], event["object"]["metadata"]["name"]


def closed_with(client):
    """Reads up to the close frame, and returns its code."""
    while True:
        opcode, payload = client.frame()
        if opcode == CLOSE:
            return struct.unpack(">H", payload)[0]


WATCH = f"{MAPS}?watch=1&labelSelector=of%3Dstory"


# --- the handshake

@story.told_of_both
def a_watch_becomes_a_socket_whose_messages_are_events(server):
    client = Client(server, WATCH)
    expect(client.status == 101, f"answers {client.status}")
    expect(client.headers["upgrade"].lower() == "websocket" and client.headers["connection"].lower() == "upgrade", f"{client.headers}")
    expect(client.headers["sec-websocket-accept"] == ACCEPT, f"{client.headers}")
    expect("sec-websocket-protocol" not in client.headers, f"{client.headers}")
    expect("content-length" not in client.headers and "transfer-encoding" not in client.headers, f"{client.headers}")
    expect(sorted(named(client.event()) for _ in range(2)) == [("ADDED", "one"), ("ADDED", "two")], "the objects that are there")
    server.request("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "three", "labels": {"of": "story"}}, "data": {"large": "x" * 100_000}})
    opcode, payload = client.frame()
    expect(opcode == TEXT and payload.endswith(b"}\n") and len(payload) > 100_000, f"a large event: {opcode} {payload[-20:]}")
    server.request("DELETE", f"{MAPS}/three")
    expect(named(client.event()) == ("DELETED", "three"), "deleted")
    client.close()


@story.told_of_both
def the_one_protocol_that_a_client_offers_is_agreed_on(server):
    for protocol in ("base64.binary.k8s.io", "binary.k8s.io", "anything"):
        client = Client(server, WATCH, {"Sec-WebSocket-Protocol": protocol})
        expect((client.status, client.headers.get("sec-websocket-protocol")) == (101, protocol), f"{protocol}: {client.status} {client.headers}")
        opcode, payload = client.frame()
        expect(opcode == TEXT and json.loads(payload)["type"] == "ADDED", f"{protocol}: {opcode} {payload}")
        client.close()
    client = Client(server, WATCH, {"Sec-WebSocket-Protocol": "base64.binary.k8s.io, binary.k8s.io"})
    expect(client.status == 400, f"two protocols: {client.status}")
    expect(client.refusal() == b"", "a refusal with a text")


@story.told_of_both
def protobuf_comes_in_binary_messages_without_lengths(server):
    client = Client(server, WATCH, {"Accept": PROTOBUF})
    expect(client.status == 101, f"answers {client.status}")
    opcode, payload = client.frame()
    expect(opcode == BINARY and payload.startswith(b"\n\x05ADDED"), f"{opcode} {payload[:20]}")
    expect(b"k8s\0" in payload, f"{payload}")
    client.close()
    one = server.request("GET", WATCH + "&timeoutSeconds=1", headers={"Accept": PROTOBUF})[2]
    expect(payload == one[4:4 + len(payload)], "over HTTP the same bytes have their length in front")


@story.told_of_both
def the_token_may_be_among_the_protocols_and_is_not_repeated(server):
    token = "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(TOKEN.encode()).decode().rstrip("=")
    client = Client(server, WATCH, {"Sec-WebSocket-Protocol": f"{token}, base64.binary.k8s.io"}, certificate=False)
    expect((client.status, client.headers.get("sec-websocket-protocol")) == (101, "base64.binary.k8s.io"), f"{client.status} {client.headers}")
    expect(client.event()["type"] == "ADDED", "no event")
    client.close()
    bad = "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(b"wrong").decode().rstrip("=")
    for protocols, status in ((token, 401), (f"{token}, {token}, a", 401), (f"{bad}, a", 401), (f"{token}=, a", 401), (f"{token}!, a", 401), (f"{token}, a, b", 400)):
        client = Client(server, WATCH, {"Sec-WebSocket-Protocol": protocols}, certificate=False)
        expect(client.status == status, f"{protocols}: {client.status}")
        expect(token.encode() not in client.refusal() and "sec-websocket-protocol" not in client.headers, "the token is repeated")
    expect(Client(server, WATCH, {"Sec-WebSocket-Protocol": f"{token}, a"}, certificate=False, without=("Connection",)).status != 101, "no upgrade is asked for")


@story.told_of_both
def wrong_handshakes_are_refused_at_once(server):
    for headers, without, status in (({}, ("Origin",), 403), ({"Origin": "null"}, (), 403), ({"Origin": "localhost"}, (), 403),
                                     ({}, ("Sec-WebSocket-Key",), 400), ({}, ("Sec-WebSocket-Version",), 400), ({"Sec-WebSocket-Version": "8"}, (), 400)):
        client = Client(server, WATCH, headers, without=without)
        expect(client.status == status, f"{headers} without {without}: {client.status}")
        if "Sec-WebSocket-Version" in (*headers, *without):
            expect(client.headers["sec-websocket-version"] == "13", f"{client.headers}")
            expect(b"missing or bad WebSocket Version" in client.refusal(), "no reason")
        client.close()


@story.told_of_both
def errors_before_the_handshake_are_answered_as_over_http(server):
    for path, status in ((f"{MAPS}?watch=1&labelSelector=%21%21", 400), ("/api/v1/nothings?watch=1", 404)):
        client = Client(server, path)
        expect(client.status == status, f"{path}: {client.status}")
    expect(Client(server, WATCH, certificate=False).status in (401, 403), "without credentials")


@story.told_of_both
def a_watch_of_a_later_revision_is_a_socket_too(server):
    revision = int(server.request("GET", MAPS)[2]["metadata"]["resourceVersion"])
    client = Client(server, f"{MAPS}?watch=1&resourceVersion={revision + 100_000}&timeoutSeconds=1")
    expect(client.status == 101, f"answers {client.status}")
    client.close()


# --- the end

@story.told_of_both
def a_watch_that_has_run_its_time_is_closed(server):
    client = Client(server, f"{WATCH}&timeoutSeconds=1")
    expect(closed_with(client) == 1000, "another code")
    expect(client.ends() == b"", "something after the close frame")


@story.told_of_both
def a_client_closes(server):
    client = Client(server, WATCH)
    client.event()
    client.send(CLOSE, struct.pack(">H", 1001))
    expect(closed_with(client) == 1000, "another code")
    expect(client.ends() == b"", "something after the close frame")


@story.told_of_both
def pings_are_answered_and_messages_are_dropped(server):
    client = Client(server, f"{MAPS}?watch=1&labelSelector=of%3Dnothing")
    client.send(TEXT, b"hello")
    client.send(TEXT, b"a long ", last=False)
    client.send(PING, b"there?")
    expect(client.frame() == (PONG, b"there?"), "no pong")
    client.send(0, b"message " * 10_000)
    client.send(BINARY)
    client.send(PONG, b"unasked")
    client.send(PING)
    expect(client.frame() == (PONG, b""), "no pong")
    client.close()


@story.told_of_both
def frames_without_a_mask_end_it(server):
    client = Client(server, f"{MAPS}?watch=1&labelSelector=of%3Dnothing")
    client.send(TEXT, b"hello", mask=None)
    expect(closed_with(client) == 1002, "another code")
    client.ends()


@story.told_of_both
def a_message_without_end_is_refused_by_its_length(server):
    client = Client(server, f"{MAPS}?watch=1&labelSelector=of%3Dnothing")
    client.socket.sendall(bytes([0x82, 0xff]) + struct.pack(">Q", 1 << 40) + b"mask" + b"x" * 1000)
    expect(closed_with(client) in (1000, 1009), "another code")
    client.close()


# --- upgrades that nobody serves

@story.chapter
def other_upgrades_are_refused_at_once(cardea):
    """kube-apiserver ignores them, and answers as if they were not there: whoever waits for a 101 learns it from a 200."""
    for path in (MAPS, f"{MAPS}/one", "/version", "/api"):
        for upgrade in ("websocket", "SPDY/3.1"):
            client = Client(cardea, path, {"Upgrade": upgrade})
            expect(client.status == 400 and b"is not served" in client.refusal(), f"{path} with {upgrade}: {client.status}")
        expect(Client(cardea, path, {"Upgrade": "h2c"}).status == 200, f"{path} with h2c, which is a wish")
        expect(Client(cardea, path, without=("Connection",)).status == 200, f"{path} without Connection")
    expect(Client(cardea, WATCH, {"Upgrade": "SPDY/3.1"}).status == 400, "a watch over SPDY")
    for subresource in ("exec", "attach", "portforward", "log"):
        for upgrade in ("websocket", "SPDY/3.1"):
            client = Client(cardea, f"/api/v1/namespaces/default/pods/p/{subresource}", {"Upgrade": upgrade})
            expect(400 <= client.status < 500, f"{subresource} with {upgrade}: {client.status}")


@story.chapter
def the_server_that_stops_closes_its_sockets(users):
    with Cardea("--token-auth-file", users) as server:
        client = Client(prepared(server), WATCH)
        client.event()
        server.stop()
        expect(closed_with(client) == 1000, "another code")


@story.chapter
def a_client_that_does_not_read_is_cut_and_the_others_are_served(cardea):
    slow, other = Client(cardea, WATCH), Client(cardea, WATCH)
    slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    for i in range(30):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big", "labels": {"of": "story"}}, "data": {"k": f"{i}" + "x" * 900_000}}
        cardea.request("PUT" if i else "POST", f"{MAPS}/big" if i else MAPS, body)
        while named(other.event())[1] != "big":
            pass
    rest = slow.ends()
    expect(len(rest) < 30 * 900_000, f"it got all {len(rest)} bytes")
    cardea.request("DELETE", f"{MAPS}/big")
    other.close()


@story.chapter
def the_audit_log_has_the_upgrade_and_no_token(users):
    with tempfile.TemporaryDirectory() as folder:
        policy, log = os.path.join(folder, "policy.yaml"), os.path.join(folder, "audit.log")
        with open(policy, "w") as file:
            file.write("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse, users: [jane]}]\n")
        with Cardea("--token-auth-file", users, "--audit-policy-file", policy, "--audit-log-path", log) as server:
            token = "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(TOKEN.encode()).decode().rstrip("=")
            client = Client(prepared(server), WATCH, {"Sec-WebSocket-Protocol": f"{token}, a"}, certificate=False)
            client.event()
            client.send(CLOSE)
            client.ends()

            def events():
                with open(log) as file:
                    return [event for event in map(json.loads, file) if event["verb"] == "watch"]
            found = eventually("the end is recorded", lambda: [e for e in events() if e["stage"] == "ResponseComplete"])
            expect(found[0]["responseStatus"]["code"] == 101, f"{found[0]}")
            with open(log) as file:
                text = file.read()
            expect(TOKEN not in text and token not in text, "the token is in the log")

            # HTTP/1.0 has no upgrades: the answer is a refusal, which ends the story of the request.
            client = Client(server, WATCH, {"Authorization": f"Bearer {TOKEN}"}, certificate=False, version="1.0")
            expect(400 <= client.status < 500, f"HTTP/1.0: {client.status}")
            client.ends()
            eventually("the refusal is recorded", lambda: [e for e in events() if e.get("responseStatus", {}).get("code") == client.status])
            expect(server.request("GET", "/readyz")[0] == 200, "the server lives")


@story.chapter
def a_large_collection_comes_whole(cardea):
    data = "x" * 900_000
    for number in range(8):
        cardea.request("POST", MAPS, {"metadata": {"name": f"large-{number}", "labels": {"of": "large"}}, "data": {"a": data}})
    client = Client(cardea, f"{MAPS}?watch=1&labelSelector=of%3Dlarge")
    names = sorted(client.event()["object"]["metadata"]["name"] for _ in range(8))
    expect(names == [f"large-{number}" for number in range(8)], f"{names}")
    client.close()


if __name__ == "__main__":
    story.main()
