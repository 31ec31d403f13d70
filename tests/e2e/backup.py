"""`cardea store backup` while the server serves, and `cardea store restore` (docs/operations.md)."""
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time

from server import Cardea, binary, eventually, exchange, expect
from story import Story

story = Story("backup")

MAPS = "/api/v1/namespaces/default/configmaps"
PATH = "/store/backup"


def run(*arguments, limit=None):
    def prepare():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails instead
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    done = subprocess.run([binary(), "store", *arguments], capture_output=True, text=True, timeout=120, preexec_fn=prepare if limit else None)
    return done.returncode, done.stdout + done.stderr


def backup(server, path, **more):
    return run("backup", path, "--kubeconfig", server.kubeconfig, **more)


def config_map(name, n, size=0):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"n": str(n), "filler": "x" * size}}


def keys_of(source, target):
    """Everything of a data folder but its store: certificates and keys."""
    os.makedirs(target)
    for name in os.listdir(source):
        if os.path.isfile(os.path.join(source, name)):
            shutil.copy2(os.path.join(source, name), target)


class Writer(threading.Thread):
    """Creates and updates objects of its own, one after the other."""

    def __init__(self, server, number):
        super().__init__(daemon=True)
        self.server, self.number, self.done, self.problem, self.is_over = server, number, {}, None, False
        self.slowest = 0

    def run(self):
        try:
            connection = self.server.connect()
            turn = 0
            while not self.is_over:
                name = f"w{self.number}-{turn % 50}"
                n = self.done.get(name, 0) + 1
                method, path = ("PUT", f"{MAPS}/{name}") if name in self.done else ("POST", MAPS)
                began = time.monotonic()
                status, _, said = exchange(connection, method, path, config_map(name, n, 2000))
                self.slowest = max(self.slowest, time.monotonic() - began)
                expect(status in (200, 201), f"{status} {said}")
                self.done[name] = n
                turn += 1
        except Exception as error:  # shown by the chapter
            self.problem = error


@story.fresh
def folder():
    with tempfile.TemporaryDirectory() as path:
        yield path


def in_folder(folder, name):
    return os.path.join(folder, name)


@story.chapter
def all_that_was_acknowledged_before_is_in_it(folder):
    with Cardea() as server:
        writers = [Writer(server, i) for i in range(4)]
        for w in writers:
            w.start()
        eventually("the writers have written", lambda: all(len(w.done) == 50 or w.problem for w in writers))
        begun = [dict(w.done) for w in writers]
        files = []
        for i in range(3):
            begun = [dict(w.done) for w in writers]
            path = in_folder(folder, f"{i}.backup")
            code, said = backup(server, path)
            expect(code == 0 and "records of revision" in said, f"{code} {said}")
            files.append((path, begun, [dict(w.done) for w in writers]))
        for w in writers:
            w.is_over = True
        for w in writers:
            w.join()
            expect(w.problem is None, f"a writer failed: {w.problem}")
        lost_revision = int(server.request("GET", MAPS)[2]["metadata"]["resourceVersion"])
        for i, (path, before, after) in enumerate(files):
            mode = stat.S_IMODE(os.stat(path).st_mode)
            expect(mode == 0o600, f"others can read the backup: {mode:o}")
            code, said = run("verify", "--backup", path)
            expect(code == 0 and ", 0 damaged" in said, f"{code} {said}")
            home = in_folder(folder, f"home{i}")
            keys_of(server.data_dir, home)
            code, said = run("restore", path, "--data-dir", home)
            expect(code == 0 and "restored as revision" in said, f"{code} {said}")
            code, said = run("verify", "--data-dir", home)
            expect(code == 0, f"{code} {said}")
            with Cardea(data_dir=home) as restored:
                status, _, listed = restored.request("GET", MAPS)
                expect(status == 200, f"{status} {listed}")
                held = {m["metadata"]["name"]: int(m["data"]["n"]) for m in listed["items"] if "n" in m.get("data", {})}
                for older, newer in zip(before, after):
                    for name, n in older.items():
                        # A write may have been under way when the last number was noted.
                        expect(n <= held.get(name, 0) <= newer[name] + 1, f"{name}: acknowledged {n} before and {newer[name]} after, restored {held.get(name)}")
                clients_begin_again(restored, lost_revision, listed)
        print(f"  {sum(sum(w.done.values()) for w in writers)} writes, the slowest took {max(w.slowest for w in writers) * 1000:.0f} ms")


def clients_begin_again(server, lost_revision, listed):
    """Revisions of the history that is lost are all expired: no client takes the restored state for a continuation."""
    revision = int(listed["metadata"]["resourceVersion"])
    expect(revision > lost_revision, f"revisions went back from {lost_revision} to {revision}")
    for old in (2, lost_revision, lost_revision + 1, lost_revision + 100_000):
        connection = server.connect(30)
        connection.request("GET", f"{MAPS}?watch=true&resourceVersion={old}&timeoutSeconds=5")
        event = json.loads(connection.getresponse().readline())
        connection.close()
        expect(event["type"] == "ERROR" and event["object"]["code"] == 410 or event.get("code") == 410, f"a watch from {old}: {event}")
    status, _, said = server.request("GET", f"{MAPS}?resourceVersion={lost_revision}&resourceVersionMatch=Exact")
    expect(status == 410, f"the lost state is served: {status} {said}")
    status, _, said = server.request("GET", f"{MAPS}?resourceVersion={lost_revision}")
    expect(status == 200 and int(said["metadata"]["resourceVersion"]) >= revision, f"{status} {said}")
    one = listed["items"][-1]
    one["metadata"]["resourceVersion"] = str(lost_revision)
    status, _, said = server.request("PUT", f"{MAPS}/{one['metadata']['name']}", one)
    expect(status == 409, f"an update with a lost revision: {status} {said}")


@story.chapter
def only_who_may_read_everything_gets_it(folder):
    tokens = in_folder(folder, "tokens")
    with open(tokens, "w") as file:
        for name in ("nobody", "path-only", "reader", "denied", "operator"):
            file.write(f"{name}-token,{name},{name}\n")
    os.chmod(tokens, 0o600)
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    with Cardea(f"--token-auth-file={tokens}") as server:
        def make(path, body):
            status, _, said = server.request("POST", path, body)
            expect(status == 201, f"{status} {said}")

        def role(name, *rules):
            make(f"{rbac}/clusterroles", {"metadata": {"name": name}, "rules": list(rules)})

        def bind(user, name):
            make(f"{rbac}/clusterrolebindings", {"metadata": {"name": f"{user}-{name}"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                                                 "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]})

        def ask(user, method="POST", path=PATH):
            return server_as(server, user, method, path)

        role("path", {"nonResourceURLs": [PATH], "verbs": ["post"]})
        role("read-all", {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}, {"nonResourceURLs": ["*"], "verbs": ["get"]})
        bind("path-only", "path")
        bind("reader", "read-all")
        bind("operator", "path")
        bind("operator", "read-all")
        bind("denied", "cluster-admin")
        make("/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies", {"metadata": {"name": "no-secrets"}, "spec": {
            "effect": "Deny", "subjects": [{"kind": "User", "name": "denied"}], "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}]}})
        status, said = ask("nobody")
        expect(status == 403 and b'cannot post path' in said, f"{status} {said}")
        status, said = ask("path-only")
        expect(status == 403 and b'cannot list resource' in said, f"{status} {said}")
        status, said = ask("reader")
        expect(status == 403, f"reading everything is not enough without the path: {status} {said[:200]}")
        status, said = ask("denied")
        expect(status == 403 and b"secrets" in said, f"a denial of Secrets was passed by a backup: {status} {said[:200]}")
        status, said = ask("operator")
        expect(status == 200 and said.startswith(b"cardea backup\n"), f"{status} {said[:200]}")
        for user, method, path in (("reader", "GET", PATH), ("nobody", "POST", PATH + "/"), ("reader", "GET", PATH + "/"), ("path-only", "POST", PATH + "/")):
            status, said = ask(user, method, path)
            expect(status in (403, 404, 405) and b"cardea backup" not in said, f"{user} {method} {path}: {status} {said[:200]}")
        expect(server.request("GET", PATH)[0] == 405, "a GET is no backup, for the administrator neither")


def server_as(server, user, method, path):
    import http.client
    import ssl
    context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=context)
    connection.request(method, path, headers={"Authorization": f"Bearer {user}-token"})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, data


@story.shared
def large():
    """A server with more objects than buffers between two programs hold."""
    with Cardea() as server:
        connection = server.connect()
        for i in range(120):
            status, _, said = exchange(connection, "POST", MAPS, config_map(f"large-{i}", 0, 500_000))
            expect(status == 201, f"{status} {said}")
        yield server


def begin(server):
    """Asks for a backup and reads only its beginning."""
    client = server.raw()
    client.sendall(f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
    head = b""
    while b"cardea backup" not in head:
        part = client.recv(4096)
        expect(part, f"the server ended it: {head[:300]}")
        head += part
    return client


@story.chapter
def a_client_that_does_not_read_stops_nobody(large, folder):
    client = begin(large)
    connection = large.connect()
    for i in range(200):
        status, _, said = exchange(connection, "POST", MAPS, config_map(f"meanwhile-{i}", 0))
        expect(status == 201, f"{status} {said}")
    path = in_folder(folder, "second.backup")
    code, said = backup(large, path)
    expect(code == 2 and "another backup is being made" in said, f"{code} {said}")
    expect(os.listdir(folder) == [], f"left behind: {os.listdir(folder)}")
    client.close()
    eventually("the next backup may be made", lambda: backup(large, path)[0] == 0)
    status, _, listed = large.request("GET", f"{MAPS}?limit=1")
    expect(status == 200, "the server serves on")


@story.chapter
def what_is_cut_off_is_no_backup(large, folder):
    # No space: the file may have 5 MB.
    path = in_folder(folder, "full.backup")
    code, said = backup(large, path, limit=5_000_000)
    expect(code == 2 and "cannot write" in said, f"{code} {said}")
    expect(os.listdir(folder) == [], f"left behind: {os.listdir(folder)}")
    # The command is killed: what it leaves has another name, and is no backup.
    eventually("a command is killed in the middle", lambda: killed_command(large, folder))
    whole = in_folder(folder, "whole.backup")
    eventually("the turn of the killed one is over", lambda: backup(large, whole)[0] == 0)
    code, said = backup(large, whole)
    expect(code == 2 and "there already" in said, f"a backup was replaced: {code} {said}")


def killed_command(server, folder):
    path = in_folder(folder, "killed.backup")
    process = subprocess.Popen([binary(), "store", "backup", path, "--kubeconfig", server.kubeconfig], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 10
    while process.poll() is None and time.monotonic() < deadline:
        if os.path.exists(path + ".partial") and os.path.getsize(path + ".partial") > 100_000:
            break
    process.kill()
    process.wait()
    if os.path.exists(path):  # it was faster
        os.unlink(path)
        return False
    if not os.path.exists(path + ".partial"):
        return False
    code, said = run("verify", "--backup", path + ".partial")
    expect(code == 1 and ("cut off" in said), f"{code} {said}")
    code, said = run("restore", path + ".partial", "--data-dir", in_folder(folder, "from-partial"))
    expect(code == 2 and "cut off" in said, f"{code} {said}")
    expect(not os.path.exists(in_folder(folder, "from-partial/store/cardea.db")), "a part was restored")
    return True


@story.chapter
def the_server_dies_in_the_middle(folder):
    with Cardea() as server:
        connection = server.connect()
        for i in range(60):
            exchange(connection, "POST", MAPS, config_map(f"large-{i}", 0, 500_000))
        path = in_folder(folder, "torn.backup")
        process = subprocess.Popen([binary(), "store", "backup", path, "--kubeconfig", server.kubeconfig], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        deadline = time.monotonic() + 10
        while process.poll() is None and time.monotonic() < deadline:
            if os.path.exists(path + ".partial") and os.path.getsize(path + ".partial") > 0:
                break
        process.send_signal(signal.SIGSTOP)
        server.kill()
        process.send_signal(signal.SIGCONT)
        said, _ = process.communicate(timeout=60)
        if process.returncode == 0:
            expect(run("verify", "--backup", path)[0] == 0, "a backup that says it is whole is not")
        else:
            expect(process.returncode == 2 and os.listdir(folder) == [], f"{process.returncode} {said} {os.listdir(folder)}")


@story.chapter
def a_restore_replaces_nothing_without_being_told(folder):
    home, path = in_folder(folder, "data"), in_folder(folder, "one.backup")
    with Cardea(data_dir=home) as server:
        expect(server.request("POST", MAPS, config_map("old", 1))[0] == 201, "created")
        expect(backup(server, path)[0] == 0, "a backup")
        expect(server.request("POST", MAPS, config_map("new", 1))[0] == 201, "created")
        code, said = run("restore", path, "--data-dir", home, "--replace")
        expect(code == 2 and "another process" in said, f"under a running server: {code} {said}")
        expect(server.stop() == 0, "stopped")
        offline = in_folder(folder, "offline.backup")
        code, said = run("backup", offline, "--data-dir", home)
        expect(code == 0, f"{code} {said}")
        code, said = run("restore", path, "--data-dir", home)
        expect(code == 2 and "--replace" in said, f"{code} {said}")
        damaged = in_folder(folder, "damaged.backup")
        with open(path, "rb") as whole, open(damaged, "wb") as file:
            data = bytearray(whole.read())
            data[len(data) // 2] ^= 4
            file.write(data)
        for bad, why in ((damaged, "damaged"), (in_folder(folder, "none"), "cannot read"), (binary(), "not a backup")):
            code, said = run("restore", bad, "--data-dir", home, "--replace")
            expect(code == 2 and why in said, f"{code} {said}")
        server.start()
        expect(server.request("GET", f"{MAPS}/new")[0] == 200, "a refused restore changed something")
        expect(server.stop() == 0, "stopped")
        code, said = run("restore", path, "--data-dir", home, "--replace")
        expect(code == 0, f"{code} {said}")
        server.start()
        expect((server.request("GET", f"{MAPS}/old")[0], server.request("GET", f"{MAPS}/new")[0]) == (200, 404), "the state of the backup")
        expect(server.stop() == 0, "stopped")
        code, said = run("restore", offline, "--data-dir", home, "--replace")
        expect(code == 0, f"{code} {said}")
        server.start()
        expect((server.request("GET", f"{MAPS}/old")[0], server.request("GET", f"{MAPS}/new")[0]) == (200, 200), "the state of the offline backup")


if __name__ == "__main__":
    story.main()
