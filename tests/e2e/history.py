"""Clients that write down what they did and saw, and the check of what they wrote down.

Keys are ConfigMaps. Each write puts a number of its own into the object, so that a reader knows which write it sees. `Recorder.check` gives all calls
to porcupine (tests/peers/programs/checker), which finds out whether one register for each key could have answered so. Watchers are compared with each
other and with the acknowledged writes. Calls of a user whose permission comes and goes are compared with the times when it was there.
"""
import http.client
import itertools
import json
import os
import random
import subprocess
import tempfile
import threading
import time

from server import exchange, expect, skip

LOST = (OSError, http.client.HTTPException, ValueError)


def checker():
    path = os.path.join(os.environ.get("CARDEA_PEERS", "/nowhere"), "checker")
    if not os.path.exists(path):
        skip("there is no checker: $CARDEA_PEERS names no folder with one (./dev test --with-peers)")
    return path


class Recorder:
    def __init__(self):
        self.lock = threading.Lock()
        self.calls, self.numbers = [], itertools.count(1)
        self.acknowledged = {}  # revision -> (name, number)
        self.statuses = {}

    def add(self, key, client, began, ended, op, **more):
        entry = {"key": key, "client": client, "call": began, "op": op, **more}
        if ended is not None:
            entry["return"] = ended
        with self.lock:
            self.calls.append(entry)

    def count(self, verb, status):
        with self.lock:
            self.statuses[verb, status] = self.statuses.get((verb, status), 0) + 1

    def check(self, keep=True):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            for entry in self.calls:
                file.write(json.dumps(entry) + "\n")
            file.flush()
            done = subprocess.run([checker(), file.name], capture_output=True, text=True, timeout=1800)
            if done.returncode != 0 and not keep:
                raise AssertionError(done.stdout)
            if done.returncode != 0:
                kept = os.path.join(tempfile.gettempdir(), f"cardea-history-{os.getpid()}.jsonl")
                with open(kept, "w") as copy, open(file.name) as source:
                    copy.write(source.read())
                raise AssertionError(f"{done.stdout}{done.stderr}the calls are in {kept}")
        return done.stdout.strip()


class Client(threading.Thread):
    """Reads, creates, updates and deletes the keys that it shares with others, through changing servers."""

    def __init__(self, number, servers, path, keys, recorder, seed, headers=None, pause=0.0):
        super().__init__(daemon=True)
        self.number, self.servers, self.path, self.keys, self.recorder = number, servers, path, keys, recorder
        self.chance, self.headers, self.pause = random.Random(seed), headers or {}, pause
        self.seen = {}           # key -> (number, revision) as last read; (0, None): nothing
        self.connection = None
        self.is_over = False
        self.problem = None
        self.allowed = []        # (began, ended) of writes that were let in

    def run(self):
        try:
            while not self.is_over:
                self.once(self.chance.choice(self.keys))
                if self.pause:
                    time.sleep(self.pause)
        except Exception as error:  # shown by the story
            self.problem = error

    def call(self, verb, name, body=None):
        """(began, ended, status, answer); the status is None when no answer came, and 0 when the call did not get there."""
        began = time.monotonic_ns()
        try:
            if self.connection is None or self.chance.random() < 0.05:
                self.hang_up()
                self.connection = self.chance.choice(self.servers).connect(12)
                self.connection.connect()
        except LOST:
            self.hang_up()
            time.sleep(0.05)
            return began, None, 0, None
        try:
            path = self.path if verb == "POST" else f"{self.path}/{name}"
            status, _, answer = exchange(self.connection, verb, path, body, self.headers)
        except LOST:
            self.hang_up()
            return began, None, None, None
        if status >= 500:
            self.hang_up()  # perhaps another server is better off
        self.recorder.count(verb, status)
        return began, time.monotonic_ns(), status, answer

    def hang_up(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def once(self, key):
        number, revision = self.seen.get(key, (None, None))
        verbs = ["GET"] * 3
        if number == 0:
            verbs += ["POST"] * 4
        elif number:
            verbs += ["PUT"] * 5 + ["DELETE"]
        getattr(self, self.chance.choice(verbs).lower())(key, number, revision)

    def note(self, key, answer):
        self.seen[key] = (int(answer["data"]["n"]), answer["metadata"]["resourceVersion"])

    def get(self, key, *_):
        began, ended, status, answer = self.call("GET", key)
        if status == 200:
            self.note(key, answer)
            self.recorder.add(key, self.number, began, ended, "read", to=self.seen[key][0])
        elif status == 404:
            self.seen[key] = (0, None)
            self.recorder.add(key, self.number, began, ended, "read", to=0)

    def outcome(self, key, began, ended, status, answer, wrote):
        """What every write has in common. True: it is written down."""
        if status in (200, 201):
            self.allowed.append((began, ended))
            self.recorder.add(key, self.number, began, ended, "write", **wrote)
        elif status is None or status in (500, 504):
            self.seen.pop(key, None)
            self.recorder.add(key, self.number, began, None, "write", **wrote)  # it may have happened
        elif status in (0, 403, 429, 503):
            return  # it has not happened, says the server
        else:
            expect(status in (404, 409), f"{key}: {status} {answer}")
            self.seen.pop(key, None)
            if status == 404:
                self.recorder.add(key, self.number, began, ended, "read", to=0)
            else:
                self.recorder.add(key, self.number, began, ended, "differs", **{"from": wrote["from"]})

    def post(self, key, *_):
        n = next(self.recorder.numbers)
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": key}, "data": {"n": str(n)}}
        began, ended, status, answer = self.call("POST", key, body)
        self.outcome(key, began, ended, status, answer, {"from": 0, "to": n})
        self.keep(key, status, answer)

    def put(self, key, number, revision):
        n = next(self.recorder.numbers)
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": key, "resourceVersion": revision}, "data": {"n": str(n)}}
        began, ended, status, answer = self.call("PUT", key, body)
        self.outcome(key, began, ended, status, answer, {"from": number, "to": n})
        self.keep(key, status, answer)

    def keep(self, key, status, answer):
        if status in (200, 201):
            self.note(key, answer)
            number, revision = self.seen[key]
            with self.recorder.lock:
                self.recorder.acknowledged[int(revision)] = (key, number)

    def delete(self, key, number, revision):
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"resourceVersion": revision}}
        began, ended, status, answer = self.call("DELETE", key, body)
        self.outcome(key, began, ended, status, answer, {"from": number, "to": 0})
        if status == 200:
            self.seen[key] = (0, None)


class Watcher(threading.Thread):
    """Follows all keys, at one server after the other. `parts` are the stretches of history that it saw without a gap."""

    def __init__(self, servers, path, seed):
        super().__init__(daemon=True)
        self.servers, self.path, self.chance = servers, path, random.Random(seed)
        self.parts = []       # [first revision, last revision, [(revision, type, name, number)], {name: number} at the first]
        self.is_over, self.problem = False, None

    def run(self):
        while not self.is_over and self.problem is None:
            try:
                self.follow(self.chance.choice(self.servers))
            except LOST:
                time.sleep(0.05)
            except Exception as error:  # shown by the story
                self.problem = error

    def follow(self, server):
        connection = server.connect(15)
        try:
            if not self.parts or self.parts[-1] is None:
                status, _, listed = exchange(connection, "GET", self.path)
                if status != 200:
                    time.sleep(0.1)
                    return
                state = {item["metadata"]["name"]: int(item["data"]["n"]) for item in listed["items"] if "n" in item.get("data", {})}
                self.parts = [part for part in self.parts if part] + [[int(listed["metadata"]["resourceVersion"])] * 2 + [[], state]]
            part = self.parts[-1]
            connection.request("GET", f"{self.path}?watch=true&allowWatchBookmarks=true&timeoutSeconds=10&resourceVersion={part[1]}")
            answer = connection.getresponse()
            if answer.status == 410:
                self.parts.append(None)
            if answer.status != 200:
                time.sleep(0.1)
                return
            while not self.is_over and (line := answer.readline()):
                self.take(part, json.loads(line))
                if self.parts[-1] is None:
                    return
        finally:
            connection.close()

    def take(self, part, event):
        if event["type"] == "ERROR":
            expect(event["object"]["code"] in (410, 500, 503, 504, 429, 403), f"{event}")
            if event["object"]["code"] == 410:
                self.parts.append(None)
            return
        meta = event["object"]["metadata"]
        revision = int(meta["resourceVersion"])
        if event["type"] == "BOOKMARK":
            expect(revision >= part[1], f"a bookmark went back from {part[1]} to {revision}")
        else:
            expect(revision > part[1], f"the watch went back from {part[1]} to {revision}: {event['type']} {meta['name']}")
            if "n" in event["object"].get("data", {}):
                part[2].append((revision, event["type"], meta["name"], int(event["object"]["data"]["n"])))
        part[1] = revision


def compare_watchers(watchers, recorder, final, has_leapt=False):
    """All saw the same history, in it every acknowledged write, and it leads to the `final` state, {name: number}.

    `has_leapt`: some server was away while etcd was compacted. Its open watches then got the difference, as docs/STORE.md says, and not every change.
    Returns how many events there were, and how many a watcher missed at most."""
    events, missed = {}, 0
    for watcher in watchers:
        expect(watcher.problem is None, f"a watcher: {watcher.problem}")
        for part in filter(None, watcher.parts):
            for event in part[2]:
                known = events.setdefault(event[0], event)
                expect(known == event or has_leapt, f"two watchers saw different things: {known} and {event}")
    ordered = sorted(events)
    for watcher in watchers:
        parts = [part for part in watcher.parts if part]
        for first, last, seen, _ in parts:
            mine = [event[0] for event in seen]
            lacks = sorted({revision for revision in ordered if first < revision <= last} - set(mine))
            missed = max(missed, len(lacks))
            expect(not lacks or has_leapt, f"a watcher from {first} to {last} missed {lacks[:10]}")
            for revision, (name, number) in recorder.acknowledged.items():
                if first < revision <= last:
                    expect(has_leapt or (revision in events and events[revision][2:] == (name, number)),
                           f"revision {revision}: {name} {number} was acknowledged, seen: {events.get(revision)}")
        state = dict(parts[-1][3])
        for _, kind, name, number in parts[-1][2]:
            if kind == "DELETED":
                state.pop(name, None)
            else:
                state[name] = number
        expect(state == final, f"a watcher ends with {state}, the servers show {final}")
    return len(events), missed


class Permission(threading.Thread):
    """Gives a user a role and takes it away again, now and then, by the subjects of one RoleBinding. `there` are the stretches of time in which the
    permission may have been there. Each change replaces the version that it read: when one is done, none that came before can still be done."""

    def __init__(self, servers, path, user, seed):
        super().__init__(daemon=True)
        self.servers, self.path, self.chance = servers, path, random.Random(seed)
        self.subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
        self.there = []         # [from, until]; until None: still
        self.is_over, self.problem, self.changes = False, None, 0

    def run(self):
        try:
            while not self.is_over:
                self.there.append([time.monotonic_ns(), None])
                self.insist([self.subject])
                time.sleep(self.chance.uniform(0.2, 1.5))
                self.insist([])
                self.there[-1][1] = time.monotonic_ns()
                time.sleep(self.chance.uniform(0.2, 1.5))
        except Exception as error:  # shown by the story
            self.problem = error

    def insist(self, subjects):
        while True:
            try:
                connection = self.chance.choice(self.servers).connect(12)
                try:
                    status, _, binding = exchange(connection, "GET", self.path)
                    if status == 200:
                        binding["subjects"] = subjects
                        binding["metadata"]["annotations"] = {"change": str(self.changes)}
                        status, _, said = exchange(connection, "PUT", self.path, binding)
                        expect(status in (200, 409, 429, 500, 503, 504), f"{status} {said}")
                        if status == 200:
                            self.changes += 1
                            return
                finally:
                    connection.close()
            except LOST:
                pass
            time.sleep(0.05)

    def check(self, writes):
        """No write began after the permission was gone, and ended before it was there again."""
        for began, ended in writes:
            may = any(start <= ended and (until is None or began <= until) for start, until in self.there)
            expect(may, f"a write was allowed from {began} to {ended}, while its permission was not there: {self.there}")
