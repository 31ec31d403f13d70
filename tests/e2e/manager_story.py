"""A controller-runtime manager at work (`tests/peers/programs/manager`): own kind, finalizer, status, owned objects, a cache with selectors,
metadata-only watches, admission webhooks, conversion, leader election.

On Cardea and, under names that begin with `kubernetes_`, on a kube-apiserver. Only with `./dev test --with-peers`.
"""
import base64
import json
import os

from cluster import Attached, WholeKube, program
from peer import openssl, peers
from server import Cardea, eventually, expect, free_port, skip
from story import Story

story = Story("manager_story")

SPEC = {"v1": {"flavour": {"type": "string"}, "tiers": {"type": "integer", "minimum": 0}},
        "v2": {"taste": {"type": "string"}, "tiers": {"type": "integer", "minimum": 0}}}


class Bakery(Attached):
    """A server with two managers, of which one leads."""

    def attach(self):
        path = program("manager")
        self.port = free_port()
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{self.folder}/tls.key", "-out", f"{self.folder}/tls.crt", "-days", "3",
                "-subj", "/CN=bakery", "-addext", "subjectAltName=IP:127.0.0.1")
        with open(f"{self.folder}/tls.crt", "rb") as crt:
            self.bundle = base64.b64encode(crt.read()).decode()
        self.define(self.definition("v1"))
        own = self.kubeconfig_of("bakery", "system:masters")
        self.bakers = [self.run(name, path, f"--name={name}", f"--kubeconfig={own}", f"--certificates={self.folder}", f"--port={port}")
                       for name, port in (("first", self.port), ("second", free_port()))]
        eventually("one of them leads", self.leader)
        eventually("the webhooks answer", lambda: "Serving webhook server" in self.bakers[0].log())
        for kind, name, operations in (("Mutating", "mutate", ["CREATE", "UPDATE"]), ("Validating", "validate", ["CREATE", "UPDATE", "DELETE"])):
            self.apply({"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration", "metadata": {"name": "bakery"},
                        "webhooks": [{"name": f"{name}.bakery.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
                                      "clientConfig": {"url": f"https://127.0.0.1:{self.port}/{name}-bakery-example-com-v1-cake", "caBundle": self.bundle},
                                      "rules": [{"apiGroups": ["bakery.example.com"], "apiVersions": ["v1"], "resources": ["cakes"], "operations": operations}]}]})

    def definition(self, *versions):
        return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "cakes.bakery.example.com"},
                "spec": {"group": "bakery.example.com", "scope": "Namespaced", "names": {"plural": "cakes", "singular": "cake", "kind": "Cake"},
                         "versions": [{"name": v, "served": True, "storage": v == "v1", "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {
                             "type": "object", "properties": {"spec": {"type": "object", "properties": SPEC[v]},
                                                              "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}} for v in versions]}}

    def define(self, definition):
        self.apply(definition)
        self.wait("crd/cakes.bakery.example.com", "condition=Established")

    def leader(self):
        holder = (self.get("lease", "bakery", "-n", "default") or {}).get("spec", {}).get("holderIdentity")
        return holder or None

    def cake(self, name, labels=None, **spec):
        return {"apiVersion": "bakery.example.com/v1", "kind": "Cake", "metadata": {"name": name, "namespace": "default", "labels": labels or {}}, "spec": spec}


@story.shared
def bakery():
    with Bakery(Cardea()) as bakery:
        yield bakery


@story.shared
def kubernetes():
    program("manager")
    if not peers():
        skip("no kube-apiserver among the peers")
    with Bakery(WholeKube()) as bakery:
        yield bakery


def eventually_baked(bakery, name):
    def baked():
        cake = bakery.get("cakes", name)
        status = (cake or {}).get("status", {})
        return status.get("phase") == "Baked" and status["observedGeneration"] == cake["metadata"]["generation"] and cake
    return eventually(f"{name} is baked", baked)


def chapter(run):
    story.add(run.__name__, run)
    return run


@chapter
def a_cake_gets_its_default_its_order_and_its_status(bakery):
    bakery.apply(bakery.cake("lemon", flavour="lemon"))
    cake = eventually_baked(bakery, "lemon")
    expect(cake["spec"]["tiers"] == 2, "the webhook did not set a default")
    expect(cake["metadata"]["finalizers"] == ["bakery.example.com/oven"], f"{cake['metadata']}")
    expect(bakery.get("cm", "lemon")["data"]["order"] == "lemon 2", "wrong order")


@chapter
def a_change_is_followed_and_an_order_restored(bakery):
    bakery.apply(bakery.cake("plum", flavour="plum", tiers=1))
    eventually_baked(bakery, "plum")
    bakery.kubectl("patch", "cake", "plum", "--type=merge", "-p", '{"spec":{"tiers":4}}')
    eventually("the order follows", lambda: bakery.get("cm", "plum")["data"]["order"] == "plum 4")
    expect(eventually_baked(bakery, "plum")["status"]["tiers"] == 4, "the status does not follow")
    bakery.kubectl("delete", "cm", "plum")
    eventually("the order is back", lambda: bakery.get("cm", "plum"))


@chapter
def the_webhooks_refuse_and_warn(bakery):
    refused = bakery.kubectl("create", "-f", "-", stdin=json.dumps(bakery.cake("bad", flavour="tar")), fails=True)
    expect('admission webhook "validate.bakery.example.com" denied the request: nobody eats tar' in refused, refused)
    status, headers, _ = bakery.server.request("POST", "/apis/bakery.example.com/v1/namespaces/default/cakes", bakery.cake("high", flavour="nut", tiers=7))
    expect(status == 201 and "may fall" in headers.get("Warning", ""), f"{status} {headers.get('Warning')}")
    bakery.apply(bakery.cake("kept", labels={"keep": "yes"}, flavour="nut"))
    refused = bakery.kubectl("delete", "cake", "kept", fails=True)
    expect("this cake is kept" in refused, refused)


@chapter
def metadata_of_secrets_is_watched_by_label(bakery):
    bakery.apply(bakery.cake("counting", flavour="nut"))
    expect("secrets" not in eventually_baked(bakery, "counting")["status"], "secrets are counted before there are any")
    bakery.kubectl("create", "secret", "generic", "other")
    for count in (1, 2):
        bakery.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"recipe-{count}", "namespace": "default", "labels": {"bakery": "recipe"}}, "stringData": {"a": "b"}})
        eventually(f"{count} labelled Secrets are counted", lambda: bakery.get("cake", "counting")["status"].get("secrets") == count)
    bakery.kubectl("label", "secret", "recipe-1", "bakery-")
    eventually("one that loses its label is not counted", lambda: bakery.get("cake", "counting")["status"].get("secrets") == 1)
    bakery.kubectl("delete", "secret", "recipe-2")
    eventually("one that is deleted is not counted", lambda: not bakery.get("cake", "counting")["status"].get("secrets"))


@chapter
def a_cake_that_goes_is_cleared_away_first(bakery):
    bakery.apply(bakery.cake("short", flavour="nut"))
    eventually_baked(bakery, "short")
    bakery.kubectl("delete", "cake", "short", "--timeout=60s")
    expect(bakery.get("cm", "leftovers")["data"]["short"] == "eaten", "nobody cleared it away")
    if isinstance(bakery.server, Cardea) and not isinstance(bakery.server, WholeKube):  # a kube-apiserver alone has no collector
        eventually("its order is collected", lambda: bakery.get("cm", "short") is None)


@chapter
def versions_are_converted(bakery):
    definition = bakery.definition("v1", "v2")
    definition["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {
        "url": f"https://127.0.0.1:{bakery.port}/convert", "caBundle": bakery.bundle}}}
    bakery.apply(bakery.cake("old", flavour="rye", tiers=3))
    eventually_baked(bakery, "old")
    bakery.define(definition)
    try:
        convert(bakery)
    finally:
        bakery.define(bakery.definition("v1") | {"spec": bakery.definition("v1")["spec"] | {"conversion": {"strategy": "None"}}})


def convert(bakery):
    path = "/apis/bakery.example.com/v2/namespaces/default/cakes"
    status, _, body = eventually("the new version is served", lambda: (lambda a: a if a[0] != 404 else None)(bakery.server.request("GET", f"{path}/old")))
    if status == 501:
        skip("the server does not call conversion webhooks")
    expect(status == 200 and body["spec"] == {"taste": "rye", "tiers": 3}, f"{status} {body}")
    status, _, body = bakery.server.request("POST", path, {"apiVersion": "bakery.example.com/v2", "kind": "Cake", "metadata": {"name": "new"}, "spec": {"taste": "corn"}})
    expect(status == 201 and body["spec"] == {"taste": "corn", "tiers": 2}, f"{status} {body}")
    eventually("the manager, which knows the old version alone, bakes it", lambda: bakery.server.request("GET", f"{path}/new")[2].get("status", {}).get("phase") == "Baked")
    found = json.loads(bakery.kubectl("get", "cakes.v1.bakery.example.com", "new", "-o", "json"))
    expect(found["spec"] == {"flavour": "corn", "tiers": 2}, f"{found}")


@chapter
def another_manager_takes_over(bakery):
    before = bakery.leader()
    first = next(b for b in bakery.bakers if "Successfully acquired lease" in b.log())
    second = next(b for b in bakery.bakers if b is not first)
    if first is bakery.bakers[0]:  # its webhooks go with it
        bakery.kubectl("delete", "mutatingwebhookconfiguration,validatingwebhookconfiguration", "bakery")
    first.stop()
    bakery.processes.remove(first)
    eventually("the other one leads", lambda: bakery.leader() not in (None, before), 90)
    bakery.apply(bakery.cake("late", flavour="nut", tiers=1))
    eventually("it works", lambda: (bakery.get("cm", "late") or {}).get("data", {}).get("baker") == second.name)
    bakery.lives([second])


for name in list(story.chapters):
    story.add(f"kubernetes_{name}", story.chapters[name].run, using={"bakery": "kubernetes"})

if __name__ == "__main__":
    story.main()
