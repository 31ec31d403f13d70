"""Three servers on three members of etcd, while everything that can fail fails (docs/replicas.md).

Clients and watchers work through all servers meanwhile. Afterwards an independent checker (porcupine) must find an order that explains every
answer; every watcher must have seen the same history; and no write was let in without its permission. The same for one server on SQLite that is
killed again and again.

Only with the peers (`./dev test --with-peers --only=faults`). --seconds=3600 makes the long run, --kills=10000 that of SQLite, --seed=N repeats one.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

from etcd import program
from history import Client, Permission, Recorder, Watcher, checker, compare_watchers
from network import Network
from server import Cardea, eventually, expect, free_port, skip
from story import Story

story = Story("cluster_faults", options={"seconds": "40", "kills": "40", "seed": "0"})

MAPS = "/api/v1/namespaces/default/configmaps"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
KEYS = [f"key-{i}" for i in range(8)]
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"


class Member:
    """One member of etcd. Others reach it by links; it lies on a small disk of its own where one can be mounted."""

    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name
        self.folder = os.path.join(cluster.folder, name)
        os.mkdir(self.folder)
        self.has_disk = os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", self.folder], capture_output=True).returncode == 0
        self.client_port, self.peer_port = free_port(), free_port()
        self.advertised = f"http://127.0.0.1:{cluster.network.link(None, name, self.peer_port)}"
        self.process, self.state = None, "new"

    def start(self):
        peers = ",".join(f"{m.name}={m.advertised}" for m in self.cluster.members)
        with open(os.path.join(self.cluster.folder, f"{self.name}.log"), "ab") as log:
            self.process = subprocess.Popen(
                [program(), f"--name={self.name}", f"--data-dir={self.folder}/data", f"--listen-client-urls=http://127.0.0.1:{self.client_port}",
                 f"--advertise-client-urls=http://127.0.0.1:{self.client_port}", f"--listen-peer-urls=http://127.0.0.1:{self.peer_port}",
                 f"--initial-advertise-peer-urls={self.advertised}", f"--initial-cluster={peers}", f"--initial-cluster-state={self.state}", "--log-level=error"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.state = "existing"

    def kill(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, path, seconds=3, **body):
        """etcd's JSON gateway, past the links."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.client_port}/v3/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            return json.load(answer)

    def answers(self):
        try:
            return self.ask("maintenance/status")
        except (OSError, ValueError):
            return None


class Cluster:
    def __init__(self, network):
        self.network = network
        self.folder = tempfile.mkdtemp(prefix="cardea-cluster-")
        self.members = []
        for name in ("e1", "e2", "e3"):
            self.members.append(Member(self, name))

    def __enter__(self):
        for member in self.members:
            member.start()
        for member in self.members:
            eventually(f"{member.name} answers", member.answers)
        self.learn_names()
        return self

    def learn_names(self):
        listed = eventually("the members are listed", lambda: self.members[0].answers() and self.members[0].ask("cluster/member/list"))
        for member in listed["members"]:
            self.network.names[format(int(member["ID"]), "x")] = member.get("name", "?")

    def leader(self):
        for member in self.members:
            status = member.process and member.answers()
            if status and status.get("leader") == status["header"]["member_id"]:
                return member
        return None

    def __exit__(self, *_):
        for member in self.members:
            member.kill()
            if member.has_disk:
                subprocess.run(["umount", "-l", member.folder], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


class Replica(Cardea):
    """A server that reaches the members by links, with a clock of its own where Debian's libfaketime is installed."""

    def __init__(self, name, cluster, data_dir=None):
        urls = ",".join(f"http://127.0.0.1:{cluster.network.link(name, m.name, m.client_port)}" for m in cluster.members)
        super().__init__(f"--etcd-servers={urls}", "--sandbox=off", data_dir=data_dir)
        self.name = name
        self.clock = os.path.join(self.folder, "clock") if os.path.exists(FAKETIME) else None
        if self.clock:
            self.set_clock(0)

    def set_clock(self, seconds):
        with open(self.clock + ".new", "w") as file:
            file.write(f"{seconds:+d}\n")
        os.rename(self.clock + ".new", self.clock)

    def log(self):
        with open(self.log_path, errors="replace") as log:
            return log.read()

    def command(self):
        if not self.clock:
            return super().command()
        return ["env", f"LD_PRELOAD={FAKETIME}", f"FAKETIME_TIMESTAMP_FILE={self.clock}", "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1", *super().command()]


# --- faults: each breaks something for a while, and mends it again


class Faults:
    def __init__(self, cluster, replicas, chance):
        self.cluster, self.replicas, self.chance, self.network = cluster, replicas, chance, cluster.network
        self.done = {}
        self.nodes = [m.name for m in cluster.members] + [r.name for r in replicas]

    def pause(self, shortest=0.5, longest=3.0):
        time.sleep(self.chance.uniform(shortest, longest))

    def member(self):
        return self.chance.choice(self.cluster.members)

    def replica(self):
        return self.chance.choice(self.replicas)

    def kill_a_server(self):
        replica = self.replica()
        replica.kill()
        self.pause(0.1, 1.5)
        replica.start()

    def kill_a_member(self):
        member = self.member()
        member.kill()
        self.pause()
        member.start()
        eventually(f"{member.name} is back", member.answers)

    def kill_the_leader(self):
        member = self.cluster.leader()
        if not member:
            return False
        member.kill()
        self.pause(1.0, 3.0)
        member.start()
        eventually(f"{member.name} is back", member.answers)

    def stop_the_leader_for_a_while(self):
        member = self.cluster.leader()
        if not member:
            return False
        member.process.send_signal(signal.SIGSTOP)
        self.pause(1.5, 4.0)
        member.process.send_signal(signal.SIGCONT)

    def hand_the_lead_over(self):
        leader = self.cluster.leader()
        others = [m for m in self.cluster.members if m is not leader]
        if not leader:
            return False
        target = self.chance.choice(others).answers()
        if not target:
            return False
        try:
            leader.ask("maintenance/transfer-leadership", targetID=target["header"]["member_id"])
        except OSError:
            return False

    def stop_a_server_for_a_while(self):
        replica = self.replica()
        replica.process.send_signal(signal.SIGSTOP)
        self.pause(0.5, 3.0)
        replica.process.send_signal(signal.SIGCONT)

    def cut(self, ways):
        self.network.set(lambda: self.network.cut.update(ways))
        self.pause(1.0, 5.0)
        self.network.heal()

    def cut_a_server_off(self):
        one = self.replica().name
        self.cut({(one, m.name) for m in self.cluster.members} | {(m.name, one) for m in self.cluster.members})

    def cut_a_member_off(self):
        one = self.member().name
        self.cut({(one, n) for n in self.nodes} | {(n, one) for n in self.nodes})

    def cut_a_member_off_from_members(self):
        one = self.member().name
        others = [m.name for m in self.cluster.members]
        self.cut({(one, n) for n in others} | {(n, one) for n in others})

    def cut_one_way(self):
        one, other = self.chance.sample(self.nodes, 2)
        self.cut({(one, other)})

    def make_a_member_deaf(self):
        one = self.member().name
        self.cut({(n, one) for n in self.nodes})

    def make_a_server_mute(self):
        one = self.replica().name
        self.cut({(one, m.name) for m in self.cluster.members})

    def split(self):
        halves = self.chance.sample(self.nodes, len(self.nodes) // 2)
        rest = [n for n in self.nodes if n not in halves]
        self.cut({way for a in halves for b in rest for way in ((a, b), (b, a))})

    def slow_and_lossy(self):
        def change():
            for a in self.nodes:
                for b in self.nodes:
                    self.network.delay[a, b] = 0.2 if self.chance.random() < 0.3 else 0.005
                    self.network.loss[a, b] = 0.1
        self.network.set(change)
        self.pause(2.0, 5.0)
        self.network.heal()

    def compact(self):
        leader = self.cluster.leader()
        status = leader and leader.answers()
        if not status:
            return False
        try:
            leader.ask("kv/compaction", revision=status["header"]["revision"])
        except OSError:
            return False

    def compact_while_a_server_is_away(self):
        one = self.replica().name
        ways = {(one, m.name) for m in self.cluster.members} | {(m.name, one) for m in self.cluster.members}
        self.network.set(lambda: self.network.cut.update(ways))
        self.pause(0.5, 1.0)
        self.compact()
        self.pause(4.5, 6.0)  # until it gives its watch up, and needs what is gone
        self.network.heal()

    def fill_a_disk(self):
        member = self.member()
        if not member.has_disk:
            return False
        filler = os.path.join(member.folder, "filler")
        with open(filler, "wb") as file:
            try:
                while True:
                    file.write(b"\0" * (1 << 20))
                    file.flush()
            except OSError:
                pass
        self.pause(1.0, 3.0)
        os.unlink(filler)
        if member.process.poll() is not None:
            member.kill()
            member.start()
        eventually(f"{member.name} is back after its disk was full", member.answers)

    def damage_a_log(self):
        """What a member has lost it gets again from the others, after it has been taken out and in as etcd's documentation says."""
        member = self.member()
        member.kill()
        logs = os.path.join(member.folder, "data", "member", "wal")
        path = os.path.join(logs, sorted(name for name in os.listdir(logs) if name.endswith(".wal"))[-1])
        with open(path, "r+b") as log:
            log.seek(self.chance.randrange(64, 4096))
            log.write(bytes(self.chance.randrange(256) for _ in range(64)))
        member.start()
        self.pause(1.0, 1.5)
        if member.process.poll() is None and member.answers():
            return True  # it found its log good enough
        member.kill()
        other = next(m for m in self.cluster.members if m is not member)
        listed = eventually("a majority answers", lambda: self.asked(other, "cluster/member/list"))
        for known in listed["members"]:
            if member.advertised in known["peerURLs"]:
                eventually("the member is out", lambda: self.asked(other, "cluster/member/remove", ID=known["ID"]))
        for name in os.listdir(member.folder):
            shutil.rmtree(os.path.join(member.folder, name))
        eventually("the member is in", lambda: self.asked(other, "cluster/member/add", peerURLs=[member.advertised]))
        member.start()
        eventually(f"{member.name} is back with a new log", member.answers)
        self.cluster.learn_names()

    @staticmethod
    def asked(member, path, **body):
        try:
            return member.ask(path, seconds=5, **body)
        except (OSError, ValueError):
            return None

    def move_a_clock(self):
        replica = self.replica()
        if not replica.clock:
            return False
        replica.set_clock(self.chance.choice([3600, -3600]))
        self.pause(1.0, 4.0)
        replica.set_clock(0)

    ALL = (kill_a_server, kill_a_member, kill_the_leader, stop_the_leader_for_a_while, hand_the_lead_over, stop_a_server_for_a_while, cut_a_server_off,
           cut_a_member_off, cut_a_member_off_from_members, cut_one_way, make_a_member_deaf, make_a_server_mute, split, slow_and_lossy, compact,
           compact_while_a_server_is_away, fill_a_disk, damage_a_log, move_a_clock)

    def run(self, seconds):
        end = time.monotonic() + seconds
        turn = []
        while time.monotonic() < end:
            if not turn:
                turn = list(self.ALL)
                self.chance.shuffle(turn)
            fault = turn.pop()
            if fault(self) is not False:
                self.done[fault.__name__] = self.done.get(fault.__name__, 0) + 1
            for replica in self.replicas:
                expect(replica.alive(), f"{replica.name} has ended by itself after {fault.__name__}")
            self.pause(0.2, 1.0)


def settle(workers):
    for worker in workers:
        worker.is_over = True
    for worker in workers:
        worker.join(60)
        expect(not worker.is_alive(), f"a {type(worker).__name__} does not come to an end")
        expect(worker.problem is None, f"a {type(worker).__name__} failed: {worker.problem!r}")


def last_reads(servers, recorder):
    """What all servers show in the end is part of the history. Returns it."""
    for number, server in enumerate(servers):
        reader = Client(1000 + number, [server], MAPS, KEYS, recorder, 0)
        for key in KEYS:
            eventually(f"{key} can be read", lambda: reader.call("GET", key)[2] in (200, 404))
            reader.get(key)
    return {key: seen[0] for key, seen in reader.seen.items() if seen[0]}


@story.chapter
def the_checker_finds_what_is_wrong():
    """Histories that no register could have made: a stale read, a lost write, a write that came twice, one that was refused and happened."""
    def call(began, ended, op, **more):
        return {"key": "k", "client": 0, "call": began, "op": op, **({} if ended is None else {"return": ended}), **more}

    first = call(0, 1, "write", **{"from": 0, "to": 1})
    second = call(2, 3, "write", **{"from": 1, "to": 2})
    good = ([first, second, call(4, 5, "read", to=2)], [first, call(2, 9, "write", **{"from": 1, "to": 2}), call(3, 4, "read", to=1), call(5, 6, "read", to=2)],
            [first, call(2, None, "write", **{"from": 1, "to": 2}), call(3, 4, "read", to=1), call(50, 51, "read", to=2)],
            [first, call(2, None, "write", **{"from": 1, "to": 2}), call(50, 51, "read", to=1)], [first, second, call(4, 5, "differs", **{"from": 1})])
    bad = ([first, second, call(4, 5, "read", to=1)], [first, second, call(4, 5, "read", to=0)], [first, second, call(4, 5, "write", **{"from": 1, "to": 3})],
           [first, call(4, 5, "read", to=7)], [first, call(2, 3, "read", to=0)], [first, second, call(4, 5, "differs", **{"from": 2})],
           [first, call(2, None, "write", **{"from": 1, "to": 2}), call(3, 4, "read", to=2), call(5, 6, "read", to=1)])
    for histories, is_good in ((good, True), (bad, False)):
        for calls in histories:
            recorder = Recorder()
            recorder.calls = calls
            try:
                recorder.check(keep=False)
                found = True
            except AssertionError:
                found = False
            expect(found == is_good, f"the checker says {found} to {calls}")


def seed():
    return int(story.options["seed"]) or random.SystemRandom().randrange(1, 1 << 31)


@story.chapter
def three_servers_on_three_members():
    checker()
    if "cardea-peers" not in program() and not os.environ.get("CARDEA_ETCD") and not program().startswith(os.environ.get("CARDEA_PEERS", "/nowhere")):
        skip("etcd 3.6 is needed, which comes with the peers")
    number = seed()
    chance = random.Random(number)
    print(f"  seed {number}")
    with Network(number) as network, Cluster(network) as cluster, Replica("c1", cluster) as a, Replica("c2", cluster, data_dir=a.data_dir) as b, Replica("c3", cluster, data_dir=a.data_dir) as c:
        replicas = [a, b, c]
        for path, body in ((f"{RBAC}/roles", {"metadata": {"name": "writer"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]}),
                           (f"{RBAC}/rolebindings", {"metadata": {"name": "bob"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "writer"}, "subjects": []})):
            status, _, said = a.request("POST", path, body)
            expect(status == 201, f"{status} {said}")
        recorder = Recorder()
        clients = [Client(i, replicas, MAPS, KEYS, recorder, chance.random(), pause=0.02) for i in range(6)]
        bob = [Client(100 + i, replicas, MAPS, KEYS, recorder, chance.random(), {"Impersonate-User": "bob"}, pause=0.02) for i in range(2)]
        watchers = [Watcher(replicas, MAPS, chance.random()) for _ in range(9)]
        permission = Permission(replicas, f"{RBAC}/rolebindings/bob", "bob", chance.random())
        workers = clients + bob + watchers + [permission]
        for worker in workers:
            worker.start()
        faults = Faults(cluster, replicas, chance)
        faults.run(float(story.options["seconds"]))
        network.heal()
        for replica in replicas:
            eventually(f"{replica.name} is ready again", replica.ready)
        time.sleep(2)  # some more of all, with nothing broken
        settle([*clients, *bob, permission])
        final = last_reads(replicas, recorder)
        eventually("the watchers have seen the end", lambda: all(w.parts and w.parts[-1] and w.parts[-1][1] >= max(recorder.acknowledged) for w in watchers))
        settle(watchers)
        leaps = sum(replica.log().count("history was compacted while this server was away") for replica in replicas)
        events, missed = compare_watchers(watchers, recorder, final, leaps > 0)
        permission.check([write for client in bob for write in client.allowed])
        let_in = sum(len(client.allowed) for client in bob)
        expect(let_in > 0 and permission.changes > 2 and len(recorder.calls) > 100, f"too little happened: {let_in} {permission.changes} {len(recorder.calls)}")
        print(f"  {recorder.check()}; {sum(faults.done.values())} faults: {faults.done}")
        print(f"  {events} events seen by {len(watchers)} watchers, of which one missed {missed}, for {leaps} times a server was away too long; {let_in} writes by a permission that came and went {permission.changes} times; answers: {recorder.statuses}")


@story.chapter
def one_server_on_sqlite_is_killed():
    checker()
    number = seed()
    chance = random.Random(number)
    print(f"  seed {number}")
    kills = int(story.options["kills"])
    with Cardea() as server:
        recorder = Recorder()
        clients = [Client(i, [server], MAPS, KEYS, recorder, chance.random()) for i in range(6)]
        watchers = [Watcher([server], MAPS, chance.random()) for _ in range(2)]
        for worker in clients + watchers:
            worker.start()
        for _ in range(kills):
            time.sleep(chance.uniform(0.0, 0.25))
            server.kill()
            server.start()
        time.sleep(0.5)
        settle(clients)
        final = last_reads([server], recorder)
        eventually("the watchers have seen the end", lambda: all(w.parts and w.parts[-1] and w.parts[-1][1] >= max(recorder.acknowledged) for w in watchers))
        settle(watchers)
        events, _ = compare_watchers(watchers, recorder, final)
        print(f"  {recorder.check()}; {kills} kills; {events} events; answers: {recorder.statuses}")


if __name__ == "__main__":
    story.main()
