"""Kills the server at random points under write load, restarts it on the same data, and reads everything back.

Every acknowledged write must be there, nothing twice. Revisions never go back. A watcher that resumes from the last
revision it saw misses nothing. CARDEA_CRASH_KILLS (6) is the number of kills; CARDEA_CRASH_SEED repeats a run.
"""
import http.client
import json
import os
import random
import threading
import time

from server import Cardea, exchange, expect
from story import Story

story = Story("crash")

KILLS = int(os.environ.get("CARDEA_CRASH_KILLS", "6"))
WRITERS = 6
NAMESPACE = "wreck"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
LOST = (OSError, http.client.HTTPException, ValueError)  # the errors that a client sees if the server dies during an answer


def config_map(name, n):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"n": str(n)}}


class Writer(threading.Thread):
    """Creates, updates and deletes its own objects, and remembers which writes were acknowledged and which are in doubt."""

    def __init__(self, server, number, round_, chance):
        super().__init__(daemon=True)
        self.server, self.prefix, self.chance = server, f"w{number}-r{round_}", chance
        self.state = {}        # name -> (n, revision) as acknowledged; n None when deleted
        self.doubt = {}        # name -> n of the one write that was not answered
        self.problem = None

    def run(self):
        try:
            connection = self.server.connect(30)
            count = 0
            while True:
                self.write(connection, count)
                count += 1
        except LOST:
            pass
        except AssertionError as error:
            self.problem = error

    def write(self, connection, count):
        alive = [name for name, (n, _) in self.state.items() if n is not None]
        name, n = f"{self.prefix}-{count}", 0
        verb = self.chance.choice(["POST", "POST", "PUT", "DELETE"]) if alive else "POST"
        if verb != "POST":
            name = self.chance.choice(alive)
            n = None if verb == "DELETE" else self.state[name][0] + 1
        self.doubt = {name: n}
        path = CONFIG_MAPS if verb == "POST" else f"{CONFIG_MAPS}/{name}"
        status, _, body = exchange(connection, verb, path, None if verb == "DELETE" else config_map(name, n))
        expect(status in (200, 201), f"{verb} {name}: {status} {body}")
        revision = 0 if verb == "DELETE" else int(body["metadata"]["resourceVersion"])
        self.state[name] = (n, revision)
        self.doubt = {}


class Watcher(threading.Thread):
    """Follows the namespace from a revision on until the connection breaks."""

    def __init__(self, server, revision):
        super().__init__(daemon=True)
        self.server, self.revision, self.events, self.problem = server, revision, [], None

    def run(self):
        try:
            connection = self.server.connect(30)
            connection.request("GET", f"{CONFIG_MAPS}?watch=true&resourceVersion={self.revision}")
            answer = connection.getresponse()
            expect(answer.status == 200, f"a watch from {self.revision}: {answer.status}")
            while line := answer.readline():
                event = json.loads(line)
                expect(event["type"] in ("ADDED", "MODIFIED", "DELETED"), f"a watch from {self.revision} gave {line[:300]}")
                revision = int(event["object"]["metadata"]["resourceVersion"])
                expect(revision > self.revision, f"the watch went from revision {self.revision} back to {revision}")
                self.revision = revision
                self.events.append((event["type"], event["object"]["metadata"]["name"], revision, event["object"]["data"]["n"]))
        except LOST:
            pass
        except AssertionError as error:
            self.problem = error


class Ledger:
    """The facts that must hold over all rounds."""

    def __init__(self):
        self.present = {}      # name -> n: the known content of the server
        self.revision = 0
        self.seen = {}         # the state that follows from the watcher's events
        self.writes = self.unsure = 0

    def settle(self, server, writers):
        """Compares the content of the server after a restart with the acknowledged writes."""
        status, _, body = server.request("GET", CONFIG_MAPS)
        expect(status == 200, f"a list after the restart: {status}")
        held = {}
        for item in body["items"]:
            name = item["metadata"]["name"]
            if "n" not in item.get("data", {}):
                continue  # created by controllers in a namespace, not by the writers
            expect(name not in held, f"{name} is there twice")
            held[name] = int(item["data"]["n"])
            expect(int(item["metadata"]["resourceVersion"]) <= int(body["metadata"]["resourceVersion"]), f"{name} is newer than its list")
        revision = int(body["metadata"]["resourceVersion"])
        for writer in writers:
            for name, (n, acknowledged) in writer.state.items():
                expect(acknowledged <= revision, f"{name} was acknowledged at revision {acknowledged}, the list is at {revision}")
                self.present[name] = n
                self.writes += 1
            for name, n in writer.doubt.items():
                self.unsure += 1
                # Not acknowledged: the write happened completely or not at all.
                expect(held.get(name) in (n, self.present.get(name)), f"{name} in doubt: {self.present.get(name)} or {n}, found {held.get(name)}")
                self.present[name] = held.get(name)
        wanted = {name: n for name, n in self.present.items() if n is not None}
        for name in wanted.keys() | held.keys():
            expect(wanted.get(name) == held.get(name), f"{name}: acknowledged {wanted.get(name)}, found {held.get(name)}")
        expect(revision >= self.revision, f"revisions went back from {self.revision} to {revision}")
        self.revision = revision

    def follow(self, watcher):
        """Adds the events of a watcher; each must follow from the one before of the same object."""
        if watcher.problem:
            raise watcher.problem
        for kind, name, revision, n in watcher.events:
            before = self.seen.get(name)
            if kind == "ADDED":
                expect(before is None and int(n) == 0, f"revision {revision}: {name} added after {before}")
                self.seen[name] = 0
            elif kind == "MODIFIED":
                expect(before is not None and int(n) == before + 1, f"revision {revision}: {name} went from {before} to {n}: an event is missing")
                self.seen[name] = int(n)
            else:
                expect(before is not None, f"revision {revision}: {name} deleted before it was added")
                del self.seen[name]


def catch_up(server, watcher_revision, ledger):
    """A watcher that resumes must reach the state of the list."""
    watcher = Watcher(server, watcher_revision)
    status, _, _ = server.request("POST", CONFIG_MAPS, config_map(f"mark-{ledger.revision}", 0))
    expect(status == 201, f"a mark: {status}")
    ledger.present[f"mark-{ledger.revision}"] = 0
    watcher.start()
    deadline = time.monotonic() + 60
    while not any(name == f"mark-{ledger.revision}" for _, name, _, _ in watcher.events):
        expect(watcher.problem is None and watcher.is_alive(), f"the resumed watch ended: {watcher.problem}")
        expect(time.monotonic() < deadline, "the resumed watch did not catch up")
        time.sleep(0.01)
    return watcher


class Crash:
    """A server that is killed again and again, and the known facts about it."""

    def __init__(self, server, chance):
        self.server, self.chance, self.ledger, self.rounds = server, chance, Ledger(), 0
        self.server.request("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        self.ledger.revision = int(server.request("GET", CONFIG_MAPS)[2]["metadata"]["resourceVersion"])
        self.watcher = Watcher(server, self.ledger.revision)
        self.watcher.start()

    def kill(self):
        """One round: load, the kill, and the start of the next server. Returns the writers and the watcher of the round."""
        writers = [Writer(self.server, i, self.rounds, random.Random(self.chance.random())) for i in range(WRITERS)]
        self.rounds += 1
        for writer in writers:
            writer.start()
        time.sleep(self.chance.uniform(0.1, 3))  # a random point: any point is right
        self.server.kill()
        for thread in writers + [self.watcher]:
            thread.join(60)
            expect(not thread.is_alive(), "a client hangs on a dead server")
        for writer in writers:
            if writer.problem:
                raise writer.problem
        self.server.start()
        return writers, self.watcher


@story.shared
def crash():
    seed = int(os.environ.get("CARDEA_CRASH_SEED", str(random.randrange(1 << 30))))
    print(f"crash: {KILLS} kills, CARDEA_CRASH_SEED={seed}", flush=True)
    with Cardea("--controllers=") as server:
        yield Crash(server, random.Random(seed))


@story.chapter
def acknowledged_writes_survive_every_kill(crash):
    ledger = crash.ledger
    for round_ in range(KILLS):
        writers, watcher = crash.kill()
        ledger.settle(crash.server, writers)
        ledger.follow(watcher)
        crash.watcher = catch_up(crash.server, watcher.revision, ledger)
        print(f"  kill {round_ + 1}: {ledger.writes} objects written, {ledger.unsure} in doubt, revision {ledger.revision}", flush=True)


@story.chapter(needs=["acknowledged_writes_survive_every_kill"])
def a_watcher_that_resumes_misses_nothing(crash):
    ledger = crash.ledger
    crash.server.kill()
    crash.watcher.join(60)
    crash.server.start()
    ledger.follow(crash.watcher)
    wanted = {name: n for name, n in ledger.present.items() if n is not None}
    expect(ledger.seen == wanted, f"the watcher's events add up to something else: {sorted(set(ledger.seen.items()) ^ set(wanted.items()))[:10]}")


@story.chapter(needs=["acknowledged_writes_survive_every_kill"])
def there_was_load(crash):
    expect(crash.ledger.writes > 10 * KILLS, f"only {crash.ledger.writes} writes: this was no load")


if __name__ == "__main__":
    story.main()
