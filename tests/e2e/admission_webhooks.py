"""Admission webhooks over TLS: the requests to them, the effects of their answers, and the effects of their failures.

    admission_webhooks.py [--record=yes] [CHAPTER...]

Every scenario makes a transcript: the answers that a client gets and the reviews that the webhooks get. admission_webhooks.json
has the transcripts of a real kube-apiserver (--record=yes writes it, with $CARDEA_PEERS), and Cardea's must be the same. With
$CARDEA_WITH_PEERS=1 the recording is also checked against kube-apiserver. Chapters about Cardea alone follow.
"""
import json
import os
import random
import re
import shutil
import ssl
import sys
import tempfile
import threading

from hooks import Hooks, own_address
from server import Cardea, eventually, expect, skip
from story import Story
from webhook_scenarios import SCENARIOS

story = Story("admission_webhooks", options={"record": "no"})

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDING = os.path.join(HERE, "admission_webhooks.json")
KUBE = os.path.join(HERE, "..", "..", "..", "shared", "peers", "kube")


class Kube(Cardea):
    """A real kube-apiserver with the same flags."""

    def command(self):
        return [sys.executable, KUBE, "serve", "--data-dir", self.data_dir, "--secure-port", str(self.port), "--bind-address", "127.0.0.1",
                "--enable-aggregator-routing=true", *self.flags]

    def start(self):
        os.environ["KUBE_APISERVER"] = os.path.join(os.environ["CARDEA_PEERS"], "kube-apiserver")
        super().start()

    def tls(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.load_cert_chain(os.path.join(self.data_dir, "admin.crt"), os.path.join(self.data_dir, "admin.key"))
        return context

    def kill(self):
        if self.alive():
            self.process.terminate()  # it also stops kube-apiserver and etcd
        if self.process is not None:
            self.process.wait()


class Telling:
    """One server and its webhooks, for one scenario at a time."""

    def __init__(self, server, hooks, name):
        self.server, self.hooks, self.name = server, hooks, name
        self.transcript, self.made, self.probes = [], [], 0
        self.namespace = "story-" + name

    def begin(self):
        self.server.request("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace, "labels": {"story": self.name}}})

    def quietly(self, method, path, body=None):
        status, _, answer = self.server.request(method, path, body, {"User-Agent": "story", "Content-Type": "application/json"})
        expect(status < 300, f"{method} {path}: {status} {answer}")
        return answer

    def make(self, path, body):
        """An object that the scenario needs; it is deleted at the end."""
        self.quietly("POST", path, body)
        self.made.append(f"{path}/{body['metadata']['name']}")

    def configure(self, kind, name, *webhooks):
        """Creates a configuration and waits until the server uses it: its last webhook receives a probe."""
        self.probes += 1
        probe = f"{self.name}-{self.probes}"
        path = f"/probe/{probe}"
        self.hooks.answers[path] = lambda review: self.hooks.review(review, allowed=True)
        last = {"name": "probe.story.example", "clientConfig": self.hooks.at(path), "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "objectSelector": {"matchLabels": {"probe": probe}}, "rules": [RULE]}
        filled = [{"admissionReviewVersions": ["v1"], "sideEffects": "None", "namespaceSelector": {"matchLabels": {"story": self.name}}, **w} for w in webhooks]
        url = f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations"
        self.quietly("POST", url, {"metadata": {"name": name}, "webhooks": [*filled, last]})
        self.made.append(f"{url}/{name}")

        def followed():
            self.server.request("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", {"metadata": {"generateName": "probe-", "labels": {"probe": probe}}})
            return any(asked.startswith(path) for asked, _, _ in self.hooks.take())
        eventually("the server follows " + name, followed)

    def hook(self, path, **more):
        return {"name": path.strip("/").replace("/", ".") + ".story.example", "clientConfig": self.hooks.at(f"/{self.name}{path}"), "rules": [RULE], **more}

    def answer(self, path, made):
        self.hooks.answers[f"/{self.name}{path}"] = made

    def do(self, method, path, body=None, headers=None, shows=True, reviews=True):
        """One request of the transcript."""
        path = path.replace("NS", f"/api/v1/namespaces/{self.namespace}")
        self.hooks.take()
        content = {"User-Agent": "story"}
        if body is not None:
            content["Content-Type"] = "application/json"
        status, answered, document = self.server.request(method, path, json.dumps(body) if body is not None else None, {**content, **(headers or {})})
        entry = {"do": f"{method} {path}", "status": status}
        warnings = answered.get_all("Warning") or []
        if warnings:
            entry["warnings"] = warnings
        if isinstance(document, bytes):
            document = document.decode(errors="replace")
        if shows or status >= 400:
            entry["answer"] = document
        asked = self.hooks.take()
        entry["asked"] = [{"path": p, "review": r} if reviews else {"path": p} for p, _, r in asked]
        self.transcript.append(self.plain(entry))
        return status, document

    def plain(self, entry):
        """Without values that differ between two runs."""
        text = json.dumps(sorted_managers(entry)).replace("11111111-2222-3333-4444-555555555555", "THE WEBHOOK'S")
        text = text.replace(f":{self.hooks.port}", ":PORT")
        text = re.sub(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UID", text)
        text = re.sub(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME", text)
        text = re.sub(r'("resourceVersion\\*": \\*")\d+', r"\1REVISION", text)
        text = re.sub(r" on [0-9.]+:53: no such host", ": no such host", text)
        text = re.sub(r"127\.0\.0\.1:\d+->127\.0\.0\.1", "127.0.0.1:X->127.0.0.1", text)
        text = re.sub(r'("authentication.kubernetes.io/credential-id": \["X509SHA256=)[0-9a-f]+', r"\1X", text)
        return json.loads(text)

    def end(self):
        for path in reversed(self.made):
            self.server.request("DELETE", path)
        self.hooks.released.set()
        self.hooks.released.clear()


def sorted_managers(value):
    """Sorted by name: the order depends on whether the writes fall into one second or two."""
    if isinstance(value, list):
        return [sorted_managers(v) for v in value]
    if not isinstance(value, dict):
        return value
    value = {key: sorted_managers(v) for key, v in value.items()}
    if isinstance(value.get("managedFields"), list):
        value["managedFields"].sort(key=lambda m: (m.get("manager", ""), m.get("operation", "")))
    return value


RULE = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}


def told(server, hooks, name, scenario):
    """The transcript of one scenario."""
    telling = Telling(server, hooks, name)
    telling.begin()
    try:
        scenario(telling)
    finally:
        telling.end()
    return telling.transcript


def redirects_are_not_followed(s):
    """Unlike kube-apiserver: a user who may configure a URL should not reach other servers with it."""
    s.answer("/there", lambda r: s.hooks.review(r, allowed=True))
    for status in (301, 302, 307, 308):
        s.answer(f"/{status}", lambda r, status=status: (status, {"Location": s.hooks.at(f"/{s.name}/there")["url"]}, b""))
    s.configure("validating", "redirect", *[s.hook(f"/{n}", objectSelector={"matchLabels": {"hook": str(n)}}) for n in (301, 302, 307, 308)])
    for status in (301, 302, 307, 308):
        answered, document = s.do("POST", "NS/configmaps", {"metadata": {"name": "c", "labels": {"hook": str(status)}}})
        expect(answered == 500 and f"the server responded with the status code {status}" in document["message"], document)
        expect([a["path"] for a in s.transcript[-1]["asked"]] == [f"/redirects/{status}?timeout=10s"], s.transcript[-1]["asked"])


def large_answers_are_refused(s):
    s.answer("/large", lambda r: {**s.hooks.review(r, allowed=True), "more": "x" * (9 << 20)})
    s.configure("mutating", "large", s.hook("/large"))
    answered, document = s.do("POST", "NS/configmaps", {"metadata": {"name": "c"}})
    expect(answered == 500 and "larger than 8388608 bytes" in document["message"], document)
    expect(s.do("GET", "NS/configmaps/c")[0] == 404, "it was written")


def services_are_reached(s):
    """By service name, at an endpoint whose certificate has the name of the service."""
    address = own_address()
    if not address:
        print("no address but the loopback: services are not tried")
        return
    folder = tempfile.mkdtemp(prefix="cardea-hooks-")
    try:
        with Hooks(folder, address=address) as there:
            there.answers["/here"] = lambda r: there.review(r, allowed=True, warnings=["asked through a service"])
            for name in ("hook", "impostor"):
                s.make("/api/v1/namespaces/default/services", {"metadata": {"name": name}, "spec": {"ports": [{"port": 443}]}})
                s.make("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
                    "metadata": {"name": name + "-1", "labels": {"kubernetes.io/service-name": name}}, "addressType": "IPv4",
                    "ports": [{"name": "", "port": there.port}], "endpoints": [{"addresses": [address], "conditions": {"ready": True}}]})
            at = lambda name: {"service": {"name": name, "namespace": "default", "path": "/here"}, "caBundle": there.bundle()}
            s.configure("validating", "service", {**s.hook("/good", objectSelector={"matchLabels": {"hook": "good"}}), "clientConfig": at("hook")},
                            {**s.hook("/bad", objectSelector={"matchLabels": {"hook": "bad"}}), "clientConfig": at("impostor")})
            s.do("POST", "NS/configmaps", {"metadata": {"name": "c", "labels": {"hook": "good"}}})
            expect(s.transcript[-1]["status"] == 201 and s.transcript[-1]["warnings"] == ['299 - "asked through a service"'], s.transcript[-1])
            answered, document = s.do("POST", "NS/configmaps", {"metadata": {"name": "d", "labels": {"hook": "bad"}}})
            expect(answered == 500 and "https://impostor.default.svc:443/here?timeout=10s" in document["message"] and "x509" in document["message"], document)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def only_what_was_allowed_is_written(s):
    """Many requests at once, to a webhook that at random allows, refuses, sends nonsense or closes the connection."""
    verdicts, lock, chance = {}, threading.Lock(), random.Random(7)

    def answer(review):
        with lock:
            verdict = chance.choice(["allow", "deny", "nonsense", "silence", "uid"])
            verdicts.setdefault(review["request"]["name"], []).append(verdict)
        return {"allow": lambda: s.hooks.review(review, allowed=True), "deny": lambda: s.hooks.review(review, allowed=False),
                "nonsense": lambda: (200, {}, b"{]"), "silence": lambda: None, "uid": lambda: s.hooks.review(review, uid="x", allowed=True)}[verdict]()

    s.answer("/chance", answer)
    s.configure("validating", "chance", s.hook("/chance"))
    answers = {}

    def create(thread):
        for i in range(25):
            name = f"c-{thread}-{i}"
            answers[name] = s.server.request("POST", f"/api/v1/namespaces/{s.namespace}/configmaps", {"metadata": {"name": name}})[0]

    threads = [threading.Thread(target=create, args=(t,)) for t in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = {c["metadata"]["name"] for c in s.quietly("GET", f"/api/v1/namespaces/{s.namespace}/configmaps")["items"]} - {"kube-root-ca.crt"}
    for name, status in answers.items():
        last = verdicts[name][-1]
        expect(status == {"allow": 201, "deny": 400}.get(last, 500), f"{name}: {status} after {verdicts[name]}")
        expect((name in written) == (last == "allow"), f"{name} is{'' if name in written else ' not'} there after {verdicts[name]}")
    expect(written, "nothing was ever allowed")


def the_page_is_right(s):
    """The examples of docs/admission.md."""
    text = open(os.path.join(HERE, "..", "..", "docs", "admission.md")).read()
    blocks = re.findall(r"```yaml\n(.*?)```", text, re.S)
    policies, hook = blocks[0], next(b for b in blocks if "WebhookConfiguration" in b)
    apis = "/apis/admissionregistration.k8s.io/v1/"
    yaml = {"Content-Type": "application/yaml", "User-Agent": "s"}
    for document in policies.split("---\n"):
        resource = "validatingadmissionpolicybindings" if "Binding" in document else "validatingadmissionpolicies"
        status, _, answer = s.server.request("POST", apis + resource, document, yaml)
        expect(status == 201, answer)
        s.made.append(f"{apis}{resource}/few-keys")
    answered, document = s.do("POST", "NS/configmaps", {"metadata": {"name": "c"}, "data": {"a": "1", "b": "2"}})
    expect(answered == 422 and "too many: 2" in document["message"], document)
    s.hooks.answers["/check"] = lambda r: s.hooks.review(r, allowed="owner" in r["request"]["object"]["metadata"].get("labels", {}), status={"message": "who owns this?"})
    hook = hook.replace("https://hooks.example.com/check", s.hooks.at("/check")["url"]).replace("caBundle: LS0t…", f"caBundle: {s.hooks.bundle()}")
    status, _, answer = s.server.request("POST", apis + "validatingwebhookconfigurations", hook, yaml)
    expect(status == 201, answer)
    s.made.append(apis + "validatingwebhookconfigurations/owners")
    answered, document = s.do("POST", "NS/configmaps", {"metadata": {"name": "c"}})
    expect(answered == 400 and document["message"] == 'admission webhook "owners.example.com" denied the request: who owns this?', document)
    expect(s.do("POST", "NS/configmaps", {"metadata": {"name": "c", "labels": {"owner": "me"}}})[0] == 201, "not allowed")
    numbers = s.server.request("GET", "/metrics")[2].decode()
    expect(re.search(r'^apiserver_admission_webhook_request_total\{.*name="owners.example.com".*rejected="true".*\} 1$', numbers, re.M), "not counted")


OURS = {"redirects": redirects_are_not_followed, "large": large_answers_are_refused, "services": services_are_reached, "chance": only_what_was_allowed_is_written,
        "page": the_page_is_right}


def differences(ours, theirs, path=""):
    if type(ours) is not type(theirs):
        yield f"{path}: {json.dumps(ours)} instead of {json.dumps(theirs)}"
    elif isinstance(ours, dict):
        for key in [*theirs, *(k for k in ours if k not in theirs)]:
            if key not in ours:
                yield f"{path}.{key}: missing, should be {json.dumps(theirs[key])}"
            elif key not in theirs:
                yield f"{path}.{key}: {json.dumps(ours[key])} should not be there"
            else:
                yield from differences(ours[key], theirs[key], f"{path}.{key}")
    elif isinstance(ours, list):
        if len(ours) != len(theirs):
            yield f"{path}: {len(ours)} items instead of {len(theirs)}: {json.dumps(ours)[:600]} instead of {json.dumps(theirs)[:600]}"
        for i, (a, b) in enumerate(zip(ours, theirs)):
            yield from differences(a, b, f"{path}[{i}]")
    elif ours != theirs:
        yield f"{path}: {json.dumps(ours)} instead of {json.dumps(theirs)}"


def compare(who, name, found, recording=RECORDING):
    recorded = json.load(open(recording))[name]
    wrong = []
    for i, (mine, theirs) in enumerate(zip(found, recorded)):
        wrong += [f"{name} {i} {theirs['do']} {theirs.get('note', '')}{d}" for d in differences(mine, theirs)]
    if len(found) != len(recorded):
        wrong.append(f"{name}: {len(found)} steps instead of {len(recorded)}")
    for line in wrong:
        print(f"{who}: {line[:1500]}", file=sys.stderr)
    expect(not wrong, f"{who}: {len(wrong)} differences from the recording")


def record(name, found, recording=RECORDING):
    recorded = json.load(open(recording)) if os.path.exists(recording) else {}
    with open(recording, "w") as file:
        json.dump({**recorded, name: found}, file, indent=1, sort_keys=True)
        file.write("\n")


def can_ask_peers():
    peers = os.environ.get("CARDEA_PEERS", "")
    return os.path.exists(os.path.join(peers, "kube-apiserver")) and os.path.exists(KUBE)


@story.shared
def hooks():
    with tempfile.TemporaryDirectory(prefix="cardea-hooks-", ignore_cleanup_errors=True) as folder, Hooks(folder) as hooks:
        yield hooks


@story.shared
def server():
    with Cardea("--disable-admission-plugins", "ServiceAccount") as server:
        yield server


@story.shared
def kube():
    if not can_ask_peers():
        skip("no kube-apiserver in $CARDEA_PEERS")
    with Kube() as kube:
        yield kube


def as_recorded(name, scenario):
    def chapter(server, hooks):
        compare("cardea", name, told(server, hooks, name, scenario))
    return chapter


def recorded(name, scenario):
    def chapter(kube, hooks):
        found = told(kube, hooks, name, scenario)
        if story.options["record"] == "yes":
            record(name, found)
        else:
            compare("kube-apiserver", name, found)
    return chapter


def ours_alone(name, scenario):
    def chapter(server, hooks):
        told(server, hooks, name, scenario)
    return chapter


def register(arguments):
    """Only kube-apiserver is recorded. The recording is checked before Cardea is compared with it."""
    is_recording = "--record=yes" in arguments
    if is_recording or os.environ.get("CARDEA_WITH_PEERS") == "1":
        for name, scenario in SCENARIOS.items():
            story.add(name if is_recording else f"{name}-at-kube-apiserver", recorded(name, scenario))
    if is_recording:
        return
    for name, scenario in SCENARIOS.items():
        story.add(name, as_recorded(name, scenario))
    story.chapter(every_scenario_is_recorded)
    for name, scenario in OURS.items():
        story.add(name, ours_alone(name, scenario))


def every_scenario_is_recorded():
    names = set(json.load(open(RECORDING)))
    expect(names == set(SCENARIOS), f"scenarios and recording differ in {names ^ set(SCENARIOS)}")


if __name__ == "__main__":
    register(sys.argv[1:])
    story.main()
