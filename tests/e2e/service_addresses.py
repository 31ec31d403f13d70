"""Addresses of services: families, ranges (ServiceCIDR) and the objects that hold addresses (IPAddress).

    service_addresses.py [--record=yes] [CHAPTER...]

Every scenario makes a transcript of the answers that a client gets. service_addresses.json has the transcripts of a real kube-apiserver
(--record=yes writes it, with $CARDEA_PEERS), and Cardea's must be the same. With $CARDEA_WITH_PEERS=1 the recording is also checked
against kube-apiserver. Chapters about Cardea alone follow.
"""
import ipaddress
import json
import os
import re
import subprocess
import tempfile

import yaml

from admission_webhooks import compare, record
from peer import Kube, peers
from server import Cardea, binary, eventually, expect, skip
from service_scenarios import SCENARIOS
from story import Story

story = Story("service_addresses", options={"record": "no"})

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDING = os.path.join(HERE, "service_addresses.json")
RANGES = {"dual": "10.96.0.0/16,fd00:10:96::/112", "dual_of_six": "fd00:10:96::/112,10.96.0.0/16", "single": "10.96.0.0/16", "six": "fd00:10:96::/112"}
ADDRESS = re.compile(r"\b10\.\d+\.\d+\.\d+\b(?![/.\d])|\bfd00:[0-9a-f:]+(?![/:0-9a-f])")
FAMILY = ("type", "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "selector", "externalName", "healthCheckNodePort")
SERVICES, ADDRESSES, CIDRS = "/api/v1/namespaces/default/services", "/apis/networking.k8s.io/v1/ipaddresses", "/apis/networking.k8s.io/v1/servicecidrs"


class World:
    """One server in one scenario. Addresses that the server chose are shown as `V4.1`, `V6.1`, in the order in which they appear."""

    def __init__(self, server):
        self.server, self.transcript = server, []
        self.sent, self.names = "", {}

    def mask(self, text):
        def name(match):
            address = match.group(0)
            if address in self.sent or address in ("10.96.0.1", "fd00:10:96::1"):
                return address
            family = "V6" if ":" in address else "V4"
            return self.names.setdefault(address, f"{family}.{1 + sum(n.startswith(family) for n in self.names.values())}")
        return ADDRESS.sub(name, text)

    def shown(self, answer):
        if answer.get("kind") == "Status":
            answer.get("details", {}).pop("uid", None)
            return {key: answer.get(key) for key in ("code", "reason", "message", "details") if key in answer}
        if "items" in answer:
            return [self.shown({"kind": answer["kind"].removesuffix("List"), **item}) for item in answer["items"]]
        out = {key: answer["metadata"][key] for key in ("name", "labels", "finalizers") if key in answer["metadata"]}
        if answer["kind"] == "Service":
            ports = () if answer["metadata"]["name"] == "kubernetes" else ("ports",)  # of a server that a test starts they are random
            return {**out, **{key: answer["spec"][key] for key in (*FAMILY, *ports) if key in answer["spec"]}}
        conditions = [{key: c[key] for key in ("type", "status", "reason", "message")} for c in answer.get("status", {}).get("conditions", [])]
        return {**out, "spec": answer["spec"], "conditions": conditions, "deleting": "deletionTimestamp" in answer["metadata"]}

    def request(self, method, path, body=None, patch="merge"):
        kind = {"Content-Type": f"application/{patch}-patch+json" if method == "PATCH" else "application/json"}
        return self.server.request(method, path, body, kind if body is not None else None)

    def do(self, method, path, body=None, note=None, patch="merge"):
        self.sent += json.dumps([path, body])
        status, headers, answer = self.request(method, path, body, patch)
        step = {"do": f"{method} {path}", "status": status, "answer": json.loads(self.mask(json.dumps(self.shown(answer))))}
        if headers.get("Warning"):
            step["warning"] = self.mask(headers["Warning"])
        if note:
            step["note"] = note
        if body is not None:
            step["sent"] = body
        self.transcript.append(step)
        return answer

    def create(self, name, **spec):
        """A service; ports and a selector unless the scenario says otherwise."""
        spec = {"ports": [{"port": 80}], "selector": {"app": "x"}, **spec}
        return self.do("POST", SERVICES, {"metadata": {"name": name}, "spec": {k: v for k, v in spec.items() if v is not None}})

    def patch(self, name, **spec):
        return self.do("PATCH", f"{SERVICES}/{name}", {"spec": spec})

    def replace(self, name, change):
        """A PUT of the service with changes; fields that are None are taken away."""
        current = self.request("GET", f"{SERVICES}/{name}")[2]
        for key, value in change.items():
            current["spec"].pop(key, None) if value is None else current["spec"].__setitem__(key, value)
        self.sent += json.dumps(change)
        status, _, answer = self.request("PUT", f"{SERVICES}/{name}", current)
        self.transcript.append({"do": f"PUT {name}", "sent": change, "status": status, "answer": json.loads(self.mask(json.dumps(self.shown(answer))))})

    def delete(self, name):
        return self.do("DELETE", f"{SERVICES}/{name}")

    def taken(self):
        """The addresses that are taken, each with its holder."""
        items = self.request("GET", ADDRESSES)[2]["items"]
        held = sorted((i["spec"]["parentRef"]["namespace"] + "/" + i["spec"]["parentRef"]["name"], ":" in i["metadata"]["name"], i["metadata"]["name"]) for i in items)
        self.transcript.append({"do": "taken", "answer": [[holder, json.loads(self.mask(json.dumps(name)))] for holder, _, name in held]})

    def until(self, what, path, holds):
        """Waits for what a controller does."""
        eventually(what, lambda: holds(self.request("GET", path)))

    def free(self):
        """Deletes what the scenario made."""
        for service in self.request("GET", SERVICES)[2]["items"]:
            if service["metadata"]["name"] != "kubernetes":
                self.request("DELETE", f"{SERVICES}/{service['metadata']['name']}")
        for address in self.request("GET", ADDRESSES)[2]["items"]:
            if address["spec"]["parentRef"]["name"] != "kubernetes":
                self.request("DELETE", f"{ADDRESSES}/{address['metadata']['name']}")
        for cidr in self.request("GET", CIDRS)[2]["items"]:
            if cidr["metadata"]["name"] != "kubernetes":
                self.request("DELETE", f"{CIDRS}/{cidr['metadata']['name']}")
        self.until("only the first range is there", CIDRS, lambda answer: len(answer[2]["items"]) == 1)


def told(server, scenario):
    world = World(server)
    try:
        scenario(world)
    finally:
        world.free()
    return world.transcript


def share(name, ranges):
    # kube-apiserver wants an address of the first family.
    flags = ["--service-cluster-ip-range", ranges, *(["--advertise-address=fd00:99::5"] if ranges.startswith("fd") else [])]

    def cardea():
        with Cardea(*flags) as server:
            yield server

    def kube():
        if not peers():
            skip("needs $CARDEA_PEERS")
        if story.options["record"] != "yes" and os.environ.get("CARDEA_WITH_PEERS") != "1":
            skip("the recording is compared with kube-apiserver when $CARDEA_WITH_PEERS is 1")
        with Kube(*flags) as server:
            manager = subprocess.Popen([os.path.join(peers(), "kube-controller-manager"), f"--kubeconfig={server.kubeconfig}", "--controllers=service-cidr-controller",
                                        "--leader-elect=false", "--secure-port=0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            yield server
            manager.kill()
            manager.wait()
    cardea.__name__, kube.__name__ = name, f"kube_{name}"
    story.shared(cardea)
    story.shared(kube)


for _name, _ranges in RANGES.items():
    share(_name, _ranges)


def in_kubernetes(name, scenario):
    def chapter(server):
        found = told(server, scenario)
        if story.options["record"] == "yes":
            record(name, found, RECORDING)
        else:
            compare("kube-apiserver", name, found, RECORDING)
    return chapter


def as_recorded(name, scenario):
    def chapter(server):
        compare("cardea", name, told(server, scenario), RECORDING)
    return chapter


for _name, (_world, _scenario) in SCENARIOS.items():
    story.add(f"{_name}_in_kubernetes", in_kubernetes(_name, _scenario), using={"server": f"kube_{_world}"})
for _name, (_world, _scenario) in SCENARIOS.items():
    story.add(_name, as_recorded(_name, _scenario), using={"server": _world})


def holders(server):
    items = server.request("GET", ADDRESSES)[2]["items"]
    return {i["metadata"]["name"]: i["spec"]["parentRef"]["name"] for i in items if i["spec"]["parentRef"]["name"] != "kubernetes"}


@story.chapter
def an_address_has_one_holder_whatever_changes(dual):
    world = World(dual)

    def is_held(**services):
        """Exactly the addresses of these services are held, by them."""
        found = {}
        for name in services:
            for address in world.request("GET", f"{SERVICES}/{name}")[2]["spec"].get("clusterIPs", []):
                found[str(ipaddress.ip_address(address))] = name
            expect(sum(holder == name for holder in found.values()) == services[name], f"{name}: {found}")
        expect(holders(dual) == found, f"{holders(dual)} instead of {found}")
    try:
        world.create("s")
        world.patch("s", ipFamilyPolicy="RequireDualStack")
        is_held(s=2)
        second = world.request("GET", f"{SERVICES}/s")[2]["spec"]["clusterIPs"][1]
        world.create("t", clusterIP=second)
        expect(world.transcript[-1]["status"] == 422, f"the address is given away twice: {world.transcript[-1]}")
        world.patch("s", ipFamilyPolicy="SingleStack")
        is_held(s=1)
        world.create("t", clusterIP=second)
        is_held(s=1, t=1)
        world.create("u", clusterIPs=["10.96.7.14", second], clusterIP="10.96.7.14", ipFamilyPolicy="RequireDualStack")
        expect(world.transcript[-1]["status"] == 422, f"{world.transcript[-1]}")
        is_held(s=1, t=1)
    finally:
        world.free()
    expect(not holders(dual), f"{holders(dual)}")


@story.chapter
def a_refused_service_frees_no_port_of_another(dual):
    world = World(dual)
    try:
        world.create("theirs", type="NodePort", ports=[{"port": 80, "nodePort": 30080}])
        expect(world.transcript[-1]["status"] == 201, f"{world.transcript[-1]}")
        for name, kind in (("refused", "ClusterIP"), ("thief", "NodePort")):
            world.create(name, type=kind, ports=[{"port": 80, "nodePort": 30080}])
            expect(world.transcript[-1]["status"] == 422, f"{name}: {world.transcript[-1]}")
    finally:
        world.free()


@story.chapter
def addresses_survive_a_restart(dual):
    world = World(dual)
    try:
        world.create("s", clusterIP="10.96.3.3")
        dual.kill()
        dual.start()
        world.create("t", clusterIP="10.96.3.3")
        expect(world.transcript[-1]["status"] == 422, f"{world.transcript[-1]}")
    finally:
        world.free()


@story.chapter
def the_page_is_right(dual):
    world = World(dual)
    page = open(os.path.join(HERE, "..", "..", "docs", "services.md")).read()
    flag = re.search(r"--service-cluster-ip-range=(\S+)", page).group(1)
    expect(flag == RANGES["dual"], f"the page has another range: {flag}")
    patch = json.loads(re.search(r"-p '(.*)'", page).group(1))
    more = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.S).group(1))
    try:
        world.create("web")
        world.do("PATCH", f"{SERVICES}/web", patch)
        expect(len(world.request("GET", f"{SERVICES}/web")[2]["spec"]["clusterIPs"]) == 2, f"{world.transcript[-1]}")
        world.do("POST", CIDRS, more)
        world.create("of-more", clusterIP="10.97.0.7")
        expect(world.transcript[-1]["status"] == 201, f"{world.transcript[-1]}")
        held = world.request("GET", f"{ADDRESSES}/10.96.0.1")[2]
        expect(held["spec"]["parentRef"]["name"] == "kubernetes", f"{held}")
    finally:
        world.free()


@story.chapter
def wrong_ranges_are_refused():
    for ranges, why in (("10.0.0.0/24,10.1.0.0/24", "are of one family"), ("10.0.0.0/24,fd00::/112,fd01::/112", "more than two"), ("10.0.0.1/24", "does not begin"),
                        ("fd00::/127", "too small"), ("here", "not a range")):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([binary(), "serve", "--data-dir", folder, "--service-cluster-ip-range", ranges], capture_output=True, text=True, timeout=60)
        expect(done.returncode == 2 and why in done.stderr, f"{ranges}: {done.returncode} {done.stderr}")


if __name__ == "__main__":
    story.main()
