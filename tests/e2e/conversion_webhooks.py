"""Conversion webhooks of custom resources: what they are asked, what is made of their answers, and what happens when they lie, are slow
or are not there.

    conversion_webhooks.py [--record=yes] [CHAPTER...]

Every scenario makes a transcript of the answers that a client gets. conversion_webhooks.json has the transcripts of a real
kube-apiserver (--record=yes writes it, with $CARDEA_PEERS), and Cardea's must be the same. With $CARDEA_WITH_PEERS=1 the recording
is also checked against kube-apiserver. Chapters about Cardea alone follow.
"""
import json
import os
import re
import socket
import tempfile
import threading
import time

from admission_webhooks import Kube, can_ask_peers, compare, record, sorted_managers
from conversion_scenarios import LIES, MERGE, SCENARIOS, TABLE, review
from hooks import Hooks, own_address
from server import Cardea, eventually, expect, free_port, skip
from story import Story

story = Story("conversion_webhooks", options={"record": "no"})

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDING = os.path.join(HERE, "conversion_webhooks.json")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
FIELDS = {"v1": {"hostPort": TEXT, "replicas": NUMBER, "color": TEXT}, "v2": {"host": TEXT, "port": TEXT, "count": NUMBER, "color": TEXT}}
DEFAULTS = {"v1": {"replicas": 1, "color": "white"}, "v2": {"count": 7, "color": "black", "port": "99"}}


class World:
    """One server with one definition and its webhook, for one scenario."""

    def __init__(self, server, hooks, name):
        self.server, self.hooks, self.name = server, hooks, name
        self.group = name.replace("_", "-") + ".example.com"
        self.url = f"/convert/{name}"
        self.transcript, self.generation = [], 0
        self.masks = []  # what else is not compared: (regular expression, replacement)
        self.hooks.released.clear()
        self.answer(review)
        self.define()

    def version(self, name, stored, defaults, selectable, unserved):
        spec = {"type": "object", "properties": {key: dict(shape) for key, shape in FIELDS[name].items()}}
        if defaults:
            for key, value in DEFAULTS[name].items():
                spec["properties"][key]["default"] = value
        out = {"name": name, "served": name != unserved, "storage": name == stored,
               "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas" if name == "v1" else ".spec.count", "statusReplicasPath": ".status.replicas"}},
               "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                   "spec": spec, "status": {"type": "object", "properties": {"open": {"type": "boolean"}, "replicas": NUMBER}}}}}}
        if selectable:
            out["selectableFields"] = [{"jsonPath": ".spec.hostPort" if name == "v1" else ".spec.host"}]
        return out

    def define(self, stored="v1", reviews=("v1",), defaults=False, selectable=False, down=False, client=None, unserved=None):
        """Creates or changes the definition, and waits until it is served in this way."""
        self.generation += 1
        marker = f"door{self.generation}"  # a short name that discovery shows
        at = client or (self.hooks.at(self.url) if not down else {"url": f"https://127.0.0.1:{DOWN}/convert", "caBundle": self.hooks.bundle()})
        spec = {"group": self.group, "scope": "Namespaced", "names": {"plural": "doors", "singular": "door", "kind": "Door", "listKind": "DoorList", "shortNames": [marker]},
                "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": at, "conversionReviewVersions": list(reviews)}},
                "versions": [self.version(v, stored, defaults, selectable, unserved) for v in ("v1", "v2")]}
        path = f"{DEFINITIONS}/doors.{self.group}"
        if self.generation == 1:
            self.must("POST", DEFINITIONS, {"metadata": {"name": f"doors.{self.group}"}, "spec": spec})
        else:
            current = self.must("GET", path)
            current["spec"] = spec
            self.must("PUT", path, current)

        def served():
            status, _, found = self.server.request("GET", f"/apis/{self.group}/v2")
            return status == 200 and any(marker in r.get("shortNames", []) for r in found["resources"])
        eventually(f"{self.group} is served as defined", served)
        if self.generation > 1 and isinstance(self.server, Kube):
            time.sleep(3)  # the handler follows the definition on its own

    def must(self, method, path, body=None, headers=None):
        status, _, answer = self.server.request(method, path, body, headers)
        expect(status < 300, f"{method} {path}: {status} {answer}")
        return answer

    def path(self, short):
        """`v2/front/status?x=y`"""
        version, _, rest = short.partition("/")
        version, question, query = version.partition("?")
        return f"/apis/{self.group}/{version}/namespaces/default/doors" + (f"/{rest}" if rest else "") + (question + query)

    def door(self, version, name, spec, **metadata):
        return {"apiVersion": f"{self.group}/{version}", "kind": "Door", "metadata": {"name": name, **metadata}, "spec": spec}

    def make(self, version, name, spec, **metadata):
        return self.must("POST", self.path(version), self.door(version, name, spec, **metadata))

    def quietly(self, method, short, body=None, headers=None):
        return self.must(method, self.path(short), body, headers)

    def answer(self, made):
        self.hooks.answers[self.url] = made

    def when_released(self, asked):
        """A slow webhook."""
        self.hooks.released.wait(60)
        return review(asked)

    def asked(self):
        return [r for p, _, r in self.hooks.take() if p.startswith(self.url + "?")]

    def do(self, method, short, body=None, headers=None, note=None, reviews=False, hides=()):
        """One request of the transcript, with the reviews that it made necessary."""
        self.asked()
        content = {"User-Agent": "story"}
        if body is not None:
            content["Content-Type"] = "application/json"
        status, _, document = self.server.request(method, self.path(short), json.dumps(body) if body is not None else None, {**content, **(headers or {})})
        if isinstance(document, bytes):
            document = document.decode(errors="replace")
        entry = {"do": f"{method} {short}", "status": status, "answer": document}
        if note:
            entry["note"] = note
        if reviews:
            # The cache of kube-apiserver may ask as well.
            unique = {json.dumps(self.plain(r), sort_keys=True) for r in self.asked()}
            entry["asked"] = [json.loads(r) for r in sorted(unique)]
        self.transcript.append(self.plain(entry, hides))
        return status, document

    def plain(self, entry, hides=()):
        """Without values that differ between two runs."""
        text = json.dumps(sorted_managers(entry)).replace("11111111-2222-3333-4444-555555555555", "THE WEBHOOK'S")
        text = text.replace(f":{self.hooks.port}", ":PORT").replace(f":{DOWN}", ":DOWN")
        text = re.sub(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UID", text)
        text = re.sub(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME", text)
        text = re.sub(r'("resourceVersion\\*": \\*")\d+', r"\1REVISION", text)
        for pattern, replacement in self.masks:
            text = re.sub(pattern, replacement, text)
        for key in hides:
            text = re.sub(rf'("{key}": ")[^"]*', r"\1HIDDEN", text)
        return without_ages(json.loads(text))

    def stored_versions(self):
        found = self.must("GET", f"{DEFINITIONS}/doors.{self.group}")
        self.transcript.append({"do": "storedVersions", "answer": found["status"]["storedVersions"]})

    def end(self):
        self.hooks.released.set()
        self.answer(review)
        self.server.request("DELETE", f"{DEFINITIONS}/doors.{self.group}")


DOWN = free_port()  # nobody listens there


def without_ages(value):
    if isinstance(value, list):
        return [without_ages(v) for v in value]
    if isinstance(value, dict):
        return {key: without_ages(v) for key, v in value.items()}
    return "AGE" if isinstance(value, str) and re.fullmatch(r"\d+s", value) else value


def told(server, hooks, name, scenario):
    world = World(server, hooks, name)
    try:
        scenario(world)
    finally:
        world.end()
    return world.transcript


@story.shared
def hooks():
    with tempfile.TemporaryDirectory(prefix="cardea-hooks-", ignore_cleanup_errors=True) as folder, Hooks(folder) as hooks:
        yield hooks


@story.shared
def server():
    with Cardea() as server:
        yield server


@story.shared
def kube():
    if not can_ask_peers():
        skip("no kube-apiserver in $CARDEA_PEERS")
    if story.options["record"] != "yes" and os.environ.get("CARDEA_WITH_PEERS") != "1":
        skip("the recording is compared with kube-apiserver when $CARDEA_WITH_PEERS is 1")
    with Kube() as kube:
        yield kube


def asks_kube(name, scenario):
    def run(kube, hooks):
        found = told(kube, hooks, name, scenario)
        if story.options["record"] == "yes":
            record(name, found, RECORDING)
        else:
            compare("kube-apiserver", name, found, RECORDING)
    return run


def asks_cardea(name, scenario):
    def run(server, hooks):
        compare("cardea", name, told(server, hooks, name, scenario), RECORDING)
    return run


for _name, _scenario in SCENARIOS.items():
    story.add(f"kube_{_name}", asks_kube(_name, _scenario))
    story.add(_name, asks_cardea(_name, _scenario))


class Watching:
    """A watch: its events arrive in a list."""

    def __init__(self, server, path):
        self.events, self.ended = [], threading.Event()
        self.connection = server.connect(seconds=120)
        self.connection.request("GET", path)
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            for line in iter(self.answer.readline, b""):
                self.events.append(json.loads(line))
        except OSError:
            pass
        self.ended.set()

    def seen(self):
        return [(e.get("type"), e["object"]["metadata"].get("name"), e["object"].get("spec")) for e in list(self.events) if "object" in e]

    def close(self):
        self.connection.sock and self.connection.sock.shutdown(socket.SHUT_RDWR)


@story.fresh
def w(server, hooks):
    global NUMBER_OF_WORLDS
    NUMBER_OF_WORLDS += 1
    world = World(server, hooks, f"own{NUMBER_OF_WORLDS}")
    yield world
    world.end()


NUMBER_OF_WORLDS = 0


@story.chapter
def a_list_is_one_review(w):
    for i in range(12):
        w.make("v1", f"door-{i:02}", {"hostPort": f"host:{i}"})
    w.make("v2", "last", {"host": "host"})
    w.asked()
    items = w.quietly("GET", "v2")["items"]
    expect([i["spec"].get("port") for i in items[:12]] == [str(n) for n in range(12)], items)
    asked = w.asked()
    expect([len(r["request"]["objects"]) for r in asked] == [13], f"{len(asked)} reviews")
    expect(all("resourceVersion" not in o["metadata"] for o in asked[0]["request"]["objects"]), "the webhook got a resourceVersion")
    expect(w.quietly("GET", "v1")["items"] and not w.asked(), "objects that are in v1 already were sent")


@story.chapter
def large_lists_are_several_reviews(w):
    for i in range(6):
        w.make("v1", f"door-{i}", {"hostPort": f"host:{i}", "color": "x" * (1 << 20), })
    w.make("v1", "one", {"hostPort": "host:1", "color": "x" * (1 << 20)})
    for i in range(6, 12):
        w.make("v1", f"door-{i}", {"hostPort": f"host:{i}", "color": "x" * (1 << 20)})
    w.asked()
    items = w.quietly("GET", "v2")["items"]
    expect(len(items) == 13 and all("host" in i["spec"] for i in items), [i["spec"].keys() for i in items])
    sizes = [len(r["request"]["objects"]) for r in w.asked()]
    expect(len(sizes) > 1 and sum(sizes) == 13, sizes)


@story.chapter
def a_wrong_object_spoils_its_list(w):
    for i in range(3):
        w.make("v1", f"door-{i}", {"hostPort": f"host:{i}"})

    def lie(asked):
        answer = review(asked)
        answer["response"]["convertedObjects"][1]["metadata"]["name"] = "other"
        return answer
    w.answer(lie)
    status, document = w.do("GET", "v2")
    expect(status == 500 and document["message"] == f"conversion webhook for {w.group}/v1, Kind=Door returned invalid converted object at index 1: "
           "must have the same name: door-1 != other", document)

    def swapped(asked):
        answer = review(asked)
        answer["response"]["convertedObjects"].reverse()
        return answer
    w.answer(swapped)
    status, document = w.do("GET", "v2")
    expect(status == 500 and "index 0: must have the same name: door-0 != door-2" in document["message"], document)


@story.chapter
def watches_show_the_version(w):
    w.make("v1", "front", {"hostPort": "a:1"}, labels={"side": "front"})
    every, some = Watching(w.server, w.path("v2?watch=1")), Watching(w.server, w.path("v2?watch=1&labelSelector=side%3Dfront"))
    stored = Watching(w.server, w.path("v1?watch=1"))
    w.quietly("PATCH", "v1/front", {"spec": {"hostPort": "b:2"}}, MERGE)
    w.make("v2", "back", {"host": "c"})
    w.quietly("PATCH", "v2/front", {"metadata": {"labels": {"side": "back"}}}, MERGE)
    w.quietly("DELETE", "v1/back")
    first = [("ADDED", "front", {"host": "a", "port": "1"}), ("MODIFIED", "front", {"host": "b", "port": "2"})]
    eventually("every event", lambda: every.seen() == [*first, ("ADDED", "back", {"host": "c"}), ("MODIFIED", "front", {"host": "b", "port": "2"}), ("DELETED", "back", {"host": "c"})])
    eventually("the selected ones", lambda: some.seen() == [*first, ("DELETED", "front", {"host": "b", "port": "2"})])
    eventually("in v1", lambda: [t for t, _, _ in stored.seen()] == ["ADDED", "MODIFIED", "ADDED", "MODIFIED", "DELETED"] and stored.seen()[1][2] == {"hostPort": "b:2"})
    since = w.must("GET", w.path("v1"))["items"][0]["metadata"]["resourceVersion"]
    table = w.server.connect()
    table.request("GET", w.path(f"v2?watch=1&resourceVersion={int(since) - 1}&timeoutSeconds=2"), headers=TABLE)
    rows = [json.loads(line) for line in table.getresponse().read().splitlines()]
    expect(rows and rows[0]["object"]["kind"] == "Table" and rows[0]["object"]["columnDefinitions"], rows)
    table.request("GET", w.path("v2?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=2"))
    events = [json.loads(line) for line in table.getresponse().read().splitlines()]
    expect([e["type"] for e in events] == ["ADDED", "BOOKMARK"] and events[0]["object"]["spec"] == {"host": "b", "port": "2"}, events)
    for watching in (every, some, stored):
        watching.close()


@story.chapter
def a_watch_waits_for_a_webhook_that_fails(w):
    w.make("v1", "front", {"hostPort": "a:1"})
    watching, stored = Watching(w.server, w.path("v2?watch=1")), Watching(w.server, w.path("v1?watch=1"))
    eventually("the first event", lambda: len(watching.seen()) == 1)
    w.answer(LIES["500"])
    w.quietly("PATCH", "v1/front", {"spec": {"hostPort": "b:2"}}, MERGE)
    w.quietly("PATCH", "v1/front", {"spec": {"hostPort": "c:3"}}, MERGE)
    eventually("watches of the stored version go on", lambda: len(stored.seen()) == 3)
    expect(len(watching.seen()) == 1 and not watching.ended.is_set(), watching.events)
    refused = Watching(w.server, w.path("v2?watch=1"))
    expect(refused.status == 500, "a new watch whose first objects cannot be converted")
    eventually("its answer", refused.ended.is_set)
    expect(refused.events[0]["message"].startswith(f"conversion webhook for {w.group}/v1, Kind=Door failed:"), refused.events)
    w.answer(review)
    eventually("nothing is lost", lambda: [s for _, _, s in watching.seen()] == [{"host": h, "port": p} for h, p in (("a", "1"), ("b", "2"), ("c", "3"))])
    watching.close()
    stored.close()


@story.chapter
def a_changed_definition_ends_watches(w):
    """They go on with the new webhook when the client comes back."""
    w.make("v1", "front", {"hostPort": "a:1"})
    watching = Watching(w.server, w.path("v2?watch=1"))
    eventually("the first event", lambda: len(watching.seen()) == 1)
    w.define(reviews=["v1", "v1beta1"])
    w.quietly("PATCH", "v1/front", {"spec": {"hostPort": "b:2"}}, MERGE)
    eventually("the end", watching.ended.is_set)
    expect(len(watching.seen()) == 1, watching.events)


@story.chapter
def a_slow_webhook_holds_up_nobody_else(w):
    w.make("v1", "front", {"hostPort": "a:1"})
    w.hooks.take()
    w.answer(w.when_released)
    answers, asked = [], []
    waiting = [threading.Thread(target=lambda: answers.append(w.server.request("GET", w.path("v2/front")))) for _ in range(20)]
    watching = Watching.__new__(Watching)
    starts = threading.Thread(target=lambda: watching.__init__(w.server, w.path("v2?watch=1")))
    for thread in [*waiting, starts]:
        thread.start()
    eventually("all of them wait", lambda: asked.extend(w.asked()) or len(asked) == 21)
    began = time.monotonic()
    for i in range(20):
        w.quietly("PATCH", "v1/front", {"spec": {"hostPort": f"a:{i}"}}, MERGE)
        w.quietly("GET", "v1")
    expect(time.monotonic() - began < 10, "others waited")
    expect(not answers, answers)
    w.hooks.released.set()
    for thread in [*waiting, starts]:
        thread.join()
    expect(len(answers) == 20 and all(a[0] == 200 and a[2]["spec"] == {"host": "a", "port": "1"} for a in answers), answers[:1])
    eventually("the watch begins where it was asked for", lambda: [s["port"] for _, _, s in watching.seen()][:2] == ["1", "0"])
    eventually("and misses nothing", lambda: [s["port"] for _, _, s in watching.seen()] == ["1", *[str(i) for i in range(20)]])
    watching.close()


@story.chapter
def so_many_reviews_are_under_way_and_the_others_wait(w):
    w.make("v1", "front", {"hostPort": "a:1"})
    w.hooks.take()
    w.answer(w.when_released)
    answers, asked = [], []
    waiting = [threading.Thread(target=lambda: answers.append(w.server.request("GET", w.path("v2/front"))[0])) for _ in range(40)]
    for thread in waiting:
        thread.start()
    eventually("the webhook is asked", lambda: asked.extend(w.asked()) or len(asked) >= 32)
    w.quietly("GET", "v1/front")
    asked.extend(w.asked())
    expect(len(asked) == 32 and not answers, f"{len(asked)} reviews are under way; {answers}")
    w.hooks.released.set()
    for thread in waiting:
        thread.join()
    expect(answers == [200] * 40, answers)


@story.chapter
def who_watches_one_name_does_not_wait_for_others(w):
    w.make("v1", "front", {"hostPort": "a:1"})
    w.make("v1", "back", {"hostPort": "b:1"})

    def not_back(asked):
        is_back = any(o["metadata"]["name"] == "back" for o in asked["request"]["objects"])
        return review(asked, [], result={"status": "Failure", "message": "back is beyond me"}) if is_back else review(asked)
    w.answer(not_back)
    expect(w.server.request("GET", w.path("v2"))[0] == 500, "the list does not need the webhook")
    watching = Watching(w.server, w.path("v2?watch=1&fieldSelector=metadata.name%3Dfront"))
    eventually("the first event", lambda: len(watching.seen()) == 1)
    w.quietly("PATCH", "v1/back", {"spec": {"hostPort": "b:2"}}, MERGE)
    w.quietly("PATCH", "v1/front", {"spec": {"hostPort": "a:2"}}, MERGE)
    eventually("the change of front", lambda: len(watching.seen()) == 2)
    expect([name for _, name, _ in watching.seen()] == ["front", "front"], watching.events)
    watching.close()


@story.chapter
def a_watch_from_before_the_webhook_ends(w):
    path = f"{DEFINITIONS}/doors.{w.group}"
    definition = w.must("GET", path)
    webhook, definition["spec"]["conversion"] = definition["spec"]["conversion"], {"strategy": "None"}
    w.must("PUT", path, definition)
    w.make("v1", "front", {"hostPort": "a:1"})
    watching = Watching(w.server, w.path("v2?watch=1"))
    eventually("the first event", lambda: len(watching.seen()) == 1)
    definition = w.must("GET", path)
    definition["spec"]["conversion"] = webhook
    w.must("PUT", path, definition)
    eventually("the end", watching.ended.is_set)
    w.quietly("PATCH", "v1/front", {"spec": {"hostPort": "b:2"}}, MERGE)
    expect(len(watching.seen()) == 1, watching.events)
    again = Watching(w.server, w.path("v2?watch=1"))
    eventually("the webhook's version", lambda: again.seen() and again.seen()[0][2] == {"host": "b", "port": "2"})
    again.close()


@story.chapter
def a_webhook_has_30_seconds(w):
    w.make("v1", "front", {"hostPort": "a:1"})
    w.answer(w.when_released)
    began = time.monotonic()
    status, document = w.do("GET", "v2/front")
    took = time.monotonic() - began
    expect(status == 500 and document["message"].endswith('?timeout=30s": context deadline exceeded') and 29 < took < 40, (took, document))
    numbers = w.server.request("GET", "/metrics")[2].decode()
    for pattern in (r'^apiserver_conversion_webhook_request_total\{result="failure",failure_type="conversion_webhook_call_failure"\} [1-9]',
                    r'^apiserver_conversion_webhook_duration_seconds_count\{result="failure",failure_type="conversion_webhook_call_failure"\} [1-9]',
                    rf'^apiserver_crd_conversion_webhook_duration_seconds_count\{{crd_name="doors.{w.group}",from_version="v1",to_version="v2",succeeded="false"\}} 1$'):
        expect(re.search(pattern, numbers, re.M), pattern)


@story.chapter
def a_definition_goes_without_its_webhook(w):
    w.make("v1", "front", {"hostPort": "a:1"})
    w.define(down=True)
    w.must("DELETE", f"{DEFINITIONS}/doors.{w.group}")
    eventually("it is gone", lambda: w.server.request("GET", f"{DEFINITIONS}/doors.{w.group}")[0] == 404)


@story.chapter
def services_are_reached(w):
    """By service name, at an endpoint whose certificate has the name of the service."""
    address = own_address()
    if not address:
        skip("this machine has no address but the loopback")
    with tempfile.TemporaryDirectory(prefix="cardea-hooks-", ignore_cleanup_errors=True) as folder, Hooks(folder, address=address) as there:
        there.answers["/here"] = review
        w.must("POST", "/api/v1/namespaces/default/services", {"metadata": {"name": "hook"}, "spec": {"ports": [{"port": 443}]}})
        w.must("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
            "metadata": {"name": "hook-1", "labels": {"kubernetes.io/service-name": "hook"}}, "addressType": "IPv4",
            "ports": [{"name": "", "port": there.port}], "endpoints": [{"addresses": [address], "conditions": {"ready": True}}]})
        service = {"name": "hook", "namespace": "default", "path": "/here"}
        w.make("v1", "front", {"hostPort": "a:1"})
        w.define(client={"service": service, "caBundle": there.bundle()})
        expect(w.quietly("GET", "v2/front")["spec"] == {"host": "a", "port": "1"}, "not converted")
        expect([p for p, _, _ in there.take()] == ["/here?timeout=30s"], "not asked")
        w.define(client={"service": service, "caBundle": w.hooks.bundle()})
        status, document = w.do("GET", "v2/front")
        expect(status == 500 and "https://hook.default.svc:443/here?timeout=30s" in document["message"] and "x509" in document["message"], document)
        w.define(client={"service": {**service, "name": "absent"}, "caBundle": there.bundle()})
        status, document = w.do("GET", "v2/front")
        expect(status == 500 and 'service "absent" not found' in document["message"], document)


@story.chapter
def policies_match_in_the_version_that_they_name(w):
    """A policy about v1 is asked about writes through v2, with the object in v1."""
    apis = "/apis/admissionregistration.k8s.io/v1"
    name = w.group
    w.must("POST", f"{apis}/validatingadmissionpolicies", {"metadata": {"name": name}, "spec": {
        "matchConstraints": {"resourceRules": [{"apiGroups": [w.group], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["doors"]}]},
        "validations": [{"expression": "object.spec.hostPort != 'forbidden:1'", "message": "not there"}]}})
    w.must("POST", f"{apis}/validatingadmissionpolicybindings", {"metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Deny"]}})
    eventually("the policy is followed", lambda: w.server.request("POST", w.path("v1?dryRun=All"), w.door("v1", "x", {"hostPort": "forbidden:1"}))[0] == 422)
    w.answer(LIES["a failure"])
    status, document = w.do("POST", "v2", w.door("v2", "front", {"host": "forbidden", "port": "1"}))
    expect(status == 500 and "the door is stuck" in document["message"], document)
    w.answer(review)
    status, document = w.do("POST", "v2", w.door("v2", "front", {"host": "forbidden", "port": "1"}))
    expect(status == 422 and "not there" in document["message"], document)
    w.quietly("POST", "v2", w.door("v2", "front", {"host": "allowed", "port": "1"}))
    status, document = w.do("PATCH", "v2/front", {"spec": {"host": "forbidden"}}, MERGE)
    expect(status == 422, document)
    w.must("DELETE", f"{apis}/validatingadmissionpolicybindings/{name}")
    w.must("DELETE", f"{apis}/validatingadmissionpolicies/{name}")


@story.chapter
def admission_webhooks_match_in_the_version_that_they_name(w):
    def admit(asked):
        door = asked["request"]["object"]
        expect(door["apiVersion"].endswith("/v1"), door)
        return w.hooks.review(asked, allowed=True, patch=[{"op": "add", "path": "/spec/color", "value": "by " + door["spec"]["hostPort"]}])
    w.hooks.answers[f"/admit/{w.name}"] = admit
    url = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    w.must("POST", url, {"metadata": {"name": w.group}, "webhooks": [{
        "name": "doors.example.com", "clientConfig": w.hooks.at(f"/admit/{w.name}"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "rules": [{"apiGroups": [w.group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["doors"]}]}]})
    made = eventually("the webhook is followed", lambda: w.server.request("POST", w.path("v2?dryRun=All"), w.door("v2", "x", {"host": "a", "port": "1"}))[2]["spec"].get("color")
                      and w.quietly("POST", "v2", w.door("v2", "x", {"host": "a", "port": "1"})))
    expect(made["spec"] == {"host": "a", "port": "1", "color": "by a:1"}, made)
    w.must("DELETE", f"{url}/{w.group}")


@story.chapter
def the_page_is_right(w):
    """The example of docs/conversion-webhooks.md."""
    page = open(os.path.join(HERE, "..", "..", "docs", "conversion-webhooks.md")).read()
    definition, thing = re.findall(r"```yaml\n(.*?)```", page, re.S)[:2]
    program = re.search(r"```python\n(.*?)```", page, re.S)[1]
    inside = {}
    exec(program.split("class Handler")[0], inside)  # the function that converts
    w.hooks.answers["/convert"] = lambda asked: inside["answer"](asked)
    definition = definition.replace("https://hooks.example.com/convert", w.hooks.at("/convert")["url"]).replace("caBundle: LS0t…", f"caBundle: {w.hooks.bundle()}")
    yaml = {"Content-Type": "application/yaml"}
    w.must("POST", DEFINITIONS, definition, yaml)
    lamps = "/apis/example.com/{}/namespaces/default/lamps"
    eventually("lamps are served", lambda: w.server.request("GET", lamps.format("v2"))[0] == 200)
    w.must("POST", lamps.format("v1"), thing, yaml)
    shown = w.must("GET", lamps.format("v2") + "/desk")
    expect(shown["apiVersion"] == "example.com/v2" and shown["spec"] == {"light": {"watts": 40}}, shown)
    w.must("PATCH", lamps.format("v2") + "/desk", {"spec": {"light": {"watts": 60}}}, MERGE)
    expect(w.must("GET", lamps.format("v1") + "/desk")["spec"] == {"watts": 60}, "not stored in v1")
    w.must("DELETE", f"{DEFINITIONS}/lamps.example.com")


if __name__ == "__main__":
    story.main()
