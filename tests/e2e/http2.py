"""HTTP/2, spoken by a client of another project: curl."""
import json
import os
import socket
import struct
import subprocess
import tempfile

from server import Cardea, eventually, expect
from story import Story

story = Story("http2")

TOKEN = "token-of-jane"
MAPS = "/api/v1/namespaces/default/configmaps"
TOLD = "\n%{http_version} %{http_code} %{num_connects}\n"  # what curl adds to every answer


@story.shared
def folder():
    with tempfile.TemporaryDirectory() as folder:
        yield folder


@story.shared
def server(folder):
    users = os.path.join(folder, "users.csv")
    with open(users, "w") as file:
        file.write(f"{TOKEN},jane,1\n")
    with Cardea("--token-auth-file", users) as server:
        yield server


def command(server, *args, admin=True, version="--http2"):
    data = server.data_dir
    out = ["curl", "--silent", "--show-error", "--max-time", "60", version, "--cacert", os.path.join(data, "ca.crt")]
    if admin:
        out += ["--cert", os.path.join(data, "admin.crt"), "--key", os.path.join(data, "admin.key")]
    return [*out, *args]


class Said:
    """One answer, as curl tells it."""

    def __init__(self, text):
        self.body, _, told = text.rstrip("\n").rpartition("\n")
        version, status, connects = told.split()
        self.version, self.status, self.connects = version, int(status), int(connects)

    @property
    def object(self):
        return json.loads(self.body)


def curl(server, path, *args, **options):
    run = subprocess.run(command(server, "--write-out", TOLD, *args, server.base + path, **options),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    expect(run.returncode == 0, f"curl ended with {run.returncode}: {run.stderr}")
    return Said(run.stdout)


def several(server, paths, **options):
    """On one connection, one after the other: the last lines that curl tells."""
    args = []
    for path in paths:
        args += ["--output", "/dev/null", server.base + path]
    run = subprocess.run(command(server, "--write-out", TOLD, *args, **options), stdout=subprocess.PIPE, text=True, check=True)
    return [Said("\n" + line) for line in run.stdout.split("\n") if line]


def send(server, method, path, body, kind="application/json", **options):
    return curl(server, path, "--request", method, "--header", f"Content-Type: {kind}", "--data-binary", json.dumps(body), **options)


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@story.chapter
def the_client_chooses_the_protocol(server):
    for version, chosen in (("--http2", "2"), ("--http1.1", "1.1"), ("--http1.0", "1.1")):
        said = curl(server, "/version", version=version)
        expect((said.version, said.status) == (chosen, 200), f"{version}: {said.version} {said.status}")


@story.chapter
def objects_are_created_read_changed_listed_and_deleted(server):
    expect(send(server, "POST", MAPS, config_map("a", k="1")).status == 201, "not created")
    got = curl(server, f"{MAPS}/a")
    expect(got.version == "2" and got.object["data"] == {"k": "1"}, f"read: {got.body}")
    patched = send(server, "PATCH", f"{MAPS}/a", {"data": {"k": "2"}}, "application/merge-patch+json")
    expect(patched.object["data"] == {"k": "2"}, f"patched: {patched.body}")
    names = [item["metadata"]["name"] for item in curl(server, MAPS).object["items"]]
    expect("a" in names, f"listed: {names}")
    expect(curl(server, f"{MAPS}/a", "--request", "DELETE").status == 200, "not deleted")
    expect(curl(server, f"{MAPS}/a").status == 404, "still there")


@story.chapter
def large_objects_pass_in_both_directions(server):
    large = config_map("large", k="x" * 900_000)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(large, file)
        file.flush()
        made = curl(server, MAPS, "--header", "Content-Type: application/json", "--data-binary", f"@{file.name}")
    expect(made.status == 201, f"not created: {made.status}")
    expect(curl(server, f"{MAPS}/large").object["data"] == large["data"], "changed on its way")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config_map("huge", k="x" * 4_000_000), file)
        file.flush()
        refused = curl(server, MAPS, "--header", "Content-Type: application/json", "--data-binary", f"@{file.name}")
    expect(refused.status == 413, f"too large: {refused.status}")


@story.chapter
def whoever_is_refused_before_the_body_is_read_gets_the_answer(server):
    for size in (10, 100_000):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(config_map("not-hers", k="x" * size), file)
            file.flush()
            refused = curl(server, MAPS, "--header", f"Authorization: Bearer {TOKEN}", "--header", "Content-Type: application/json",
                           "--data-binary", f"@{file.name}", admin=False)
        expect(refused.status == 403 and refused.object["reason"] == "Forbidden", f"{size} bytes: {refused.status} {refused.body}")


@story.chapter
def many_requests_share_one_connection(server):
    answers = several(server, [f"{MAPS}?limit={n}" for n in range(1, 21)])
    expect([a.status for a in answers] == [200] * 20, f"statuses: {[a.status for a in answers]}")
    expect([a.connects for a in answers] == [1] + [0] * 19, f"connections: {[a.connects for a in answers]}")


@story.chapter
def requests_at_once_share_one_connection(server):
    args = ["--no-progress-meter", "--parallel", "--parallel-max", "50", "--write-out", TOLD]
    for n in range(1, 101):
        args += ["--output", "/dev/null", f"{server.base}{MAPS}?limit={n}"]
    run = subprocess.run(command(server, *args), stdout=subprocess.PIPE, text=True, check=True)
    answers = [Said("\n" + line) for line in run.stdout.split("\n") if line]
    expect(len(answers) == 100 and {(a.version, a.status) for a in answers} == {("2", 200)}, run.stdout)
    expect(sum(a.connects for a in answers) < 100, "every request had a connection of its own")


@story.chapter
def a_watch_tells_of_changes_as_they_happen(server):
    watch = subprocess.Popen(command(server, "--no-buffer", f"{server.base}{MAPS}?watch=1&timeoutSeconds=30&fieldSelector=metadata.name=seen"),
                             stdout=subprocess.PIPE, text=True)
    try:
        send(server, "POST", MAPS, config_map("seen", k="1"))
        send(server, "PATCH", f"{MAPS}/seen", {"data": {"k": "2"}}, "application/merge-patch+json")
        curl(server, f"{MAPS}/seen", "--request", "DELETE")
        types = [json.loads(watch.stdout.readline())["type"] for _ in range(3)]
        expect(types == ["ADDED", "MODIFIED", "DELETED"], f"events: {types}")
    finally:
        watch.kill()
        watch.wait()


@story.chapter
def a_watch_ends_at_its_time(server):
    said = curl(server, f"{MAPS}?watch=1&timeoutSeconds=1")
    expect((said.version, said.status) == ("2", 200), "a watch that runs out is not a whole answer")


@story.chapter
def a_large_collection_is_told_at_the_pace_of_its_reader(server):
    """More than the network holds: changes that happen before the client has read it come after it, each once."""
    path = "/api/v1/namespaces/large/secrets"  # no controller writes any
    expect(server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "large"}})[0] == 201, "no namespace")
    writer = server.connect()
    filler = "x" * 8000

    def write(method, target, body=None):
        writer.request(method, target, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        answer = writer.getresponse()
        said = answer.read()
        expect(answer.status in (200, 201), f"{method} {target}: {answer.status} {said[:200]}")
    for i in range(2000):
        write("POST", path, {"metadata": {"name": f"map-{i:04}"}, "stringData": {"value": filler}})
    readers = [server.connect() for _ in range(2)]
    for reader, selector in zip(readers, ("", "&fieldSelector=metadata.name%21%3Dmap-0007")):
        reader.request("GET", f"{path}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=300{selector}",
                       headers={"Accept": "application/json"})
    answers = [reader.getresponse() for reader in readers]
    for i in range(50):
        write("POST", path, {"metadata": {"name": f"late-{i:02}"}})
    write("DELETE", f"{path}/map-0003")
    for answer, hidden in zip(answers, (None, "map-0007")):
        events = [json.loads(answer.readline()) for _ in range(2000 - (hidden is not None))]
        told = [e["object"]["metadata"]["name"] for e in events]
        names = [f"map-{i:04}" for i in range(2000) if f"map-{i:04}" != hidden]
        expect(told == names and {e["type"] for e in events} == {"ADDED"}, f"{len(told)} events, {told[:3]}...")
        bookmark = json.loads(answer.readline())
        expect(bookmark["type"] == "BOOKMARK" and bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}, f"{bookmark}")
        later = [json.loads(answer.readline()) for _ in range(51)]
        expect([(e["type"], e["object"]["metadata"]["name"]) for e in later] == [("ADDED", f"late-{i:02}") for i in range(50)] + [("DELETED", "map-0003")], f"{later[-1]}")


@story.chapter
def strangers_get_one_answer_for_each_connection(server):
    """As from kube-apiserver: 401 and requests of system:anonymous end their connection over HTTP/2."""
    wrong = ["--header", "Authorization: Bearer nonsense"]
    for args, status in ((wrong, 401), ([], 200)):
        path = "/api" if args else "/version"
        urls = []
        for _ in range(3):
            urls += ["--output", "/dev/null", server.base + path]
        run = subprocess.run(command(server, "--write-out", TOLD, *args, *urls, admin=False), stdout=subprocess.PIPE, text=True, check=True)
        answers = [Said("\n" + line) for line in run.stdout.split("\n") if line]
        told = [(a.version, a.status, a.connects) for a in answers]
        expect(told == [("2", status, 1)] * 3, f"{path}: {told}")
    known = several(server, ["/version"] * 3, admin=False, version="--http1.1")
    expect([a.connects for a in known] == [1, 0, 0], "over HTTP/1.1 nothing changes")
    jane = subprocess.run(command(server, "--write-out", TOLD, "--header", f"Authorization: Bearer {TOKEN}",
                                  *(["--output", "/dev/null", server.base + MAPS] * 3), admin=False),
                          stdout=subprocess.PIPE, text=True, check=True)
    told = [line.split()[1:] for line in jane.stdout.split("\n") if line]
    expect(told == [["403", "1"], ["403", "0"], ["403", "0"]], f"jane is known, and keeps her connection: {told}")


@story.chapter
def the_answer_to_a_stranger_says_nothing_about_the_connection(server):
    said = curl(server, "/api", "--include", "--header", "Authorization: Bearer nonsense", admin=False)
    expect("connection:" not in said.body.lower(), said.body)


def settings_of(server):
    """The numbers in the server's first frame, which must be SETTINGS."""
    context = server.tls()
    context.set_alpn_protocols(["h2"])
    with socket.create_connection(("127.0.0.1", server.port), 30) as plain, context.wrap_socket(plain, server_hostname="127.0.0.1") as tls:
        tls.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
        stream = tls.makefile("rb")
        head = stream.read(9)
        expect(head[3] == 4, f"the first frame is of type {head[3]}")
        payload = stream.read(int.from_bytes(head[:3], "big"))
    return dict(struct.unpack_from(">HI", payload, at) for at in range(0, len(payload), 6))


@story.chapter
def limits_are_those_of_kube_apiserver_and_streams_are_a_flag(server):
    streams, window, frame_size = 3, 4, 5
    ours = settings_of(server)
    expect((ours[streams], ours[window], ours[frame_size]) == (100, 256 * 1024, 256 * 1024), f"settings: {ours}")
    for flag, limit in (("7", 7), ("0", 100)):
        with Cardea("--http2-max-streams-per-connection", flag) as limited:
            expect(settings_of(limited)[streams] == limit, f"{flag} gives {settings_of(limited)}")


@story.chapter
def stopping_lets_clients_know_and_ends_soon(folder):
    with Cardea() as server:
        watch = subprocess.Popen(command(server, "--no-buffer", f"{server.base}{MAPS}?watch=1&timeoutSeconds=300&sendInitialEvents=false"),
                                 stdout=subprocess.PIPE, text=True)
        send(server, "POST", MAPS, config_map("first", k="1"))
        eventually("the watch runs", lambda: watch.stdout.readline())
        expect(server.stop(seconds=20) == 0, "the server did not end cleanly")
        expect(watch.wait(20) == 0, "the watch was cut, not ended")


if __name__ == "__main__":
    story.main()
