"""A custom resource moves from one version to the next. Objects are read and written in the requested version, whichever version
they are stored in, and whether that version is still served or not.
"""
from server import Cardea, eventually, expect
from story import Story

story = Story("definition_versions")

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = {"Content-Type": "application/merge-patch+json"}


def version(name, served, storage):
    return {"name": name, "served": served, "storage": storage,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"hinges": {"type": "integer"}}}}}}}


class World:
    """A server with custom resources."""

    def __init__(self, server):
        self.server = server

    def must(self, status, method, path, body=None, headers=None):
        answer = self.server.request(method, path, body, headers)
        expect(answer[0] == status, f"{method} {path}: {answer[0]} instead of {status}: {answer[2]}")
        return answer[2]

    def serve(self, *versions):
        current = self.must(200, "GET", f"{DEFINITIONS}/doors.example.com")
        current["spec"]["versions"] = list(versions)
        self.must(200, "PUT", f"{DEFINITIONS}/doors.example.com", current)
        for v in versions:
            eventually(f"{v['name']} is {'served' if v['served'] else 'gone'}",
                       lambda v=v: self.server.request("GET", f"/apis/example.com/{v['name']}/doors")[0] == (200 if v["served"] else 404))

    def check(self, name, hinges, shown="v2"):
        path = f"/apis/example.com/{shown}/doors"
        one = self.must(200, "GET", f"{path}/{name}")
        expect(one["apiVersion"] == f"example.com/{shown}" and one["spec"]["hinges"] == hinges, one)
        items = self.must(200, "GET", path)["items"]
        expect([d["apiVersion"] for d in items] == [f"example.com/{shown}"] * len(items) and items, items)
        changed = self.must(200, "PATCH", f"{path}/{name}", {"spec": {"hinges": hinges + 1}}, MERGE)
        expect(changed["apiVersion"] == f"example.com/{shown}" and changed["spec"]["hinges"] == hinges + 1, changed)
        changed["spec"]["hinges"] += 1
        expect(self.must(200, "PUT", f"{path}/{name}", changed)["spec"]["hinges"] == hinges + 2, "an update")


@story.shared
def w():
    with Cardea() as server:
        yield World(server)


@story.shared
def doors(w):
    """A definition with two versions. The first one is stored, and two objects are stored in it."""
    names = {"plural": "doors", "singular": "door", "kind": "Door", "listKind": "DoorList"}
    w.must(201, "POST", DEFINITIONS, {"metadata": {"name": "doors.example.com"}, "spec": {
        "group": "example.com", "scope": "Cluster", "names": names, "versions": [version("v1", True, True), version("v2", True, False)]}})
    eventually("doors are served", lambda: w.server.request("GET", "/apis/example.com/v1/doors")[0] == 200)
    for name in ("front", "back"):
        w.must(201, "POST", "/apis/example.com/v1/doors", {"apiVersion": "example.com/v1", "kind": "Door", "metadata": {"name": name}, "spec": {"hinges": 1}})


@story.chapter
def two_versions_are_served(w, doors):
    w.check("front", 1, "v1")
    w.check("front", 3)


@story.chapter(needs=["two_versions_are_served"])
def the_stored_version_is_not_served_any_more(w):
    w.serve(version("v1", False, True), version("v2", True, False))
    w.check("front", 5)
    w.must(201, "POST", "/apis/example.com/v2/doors", {"apiVersion": "example.com/v2", "kind": "Door", "metadata": {"name": "side"}, "spec": {"hinges": 1}})


@story.chapter(needs=["the_stored_version_is_not_served_any_more"])
def the_other_one_is_stored_from_now_on(w):
    """`back` is still stored as it was first written."""
    w.serve(version("v1", False, False), version("v2", True, True))
    for name, hinges in (("back", 1), ("side", 1), ("front", 7)):
        w.check(name, hinges)


@story.chapter(needs=["the_other_one_is_stored_from_now_on"])
def a_restart_changes_nothing(w):
    w.server.stop()
    w.server.start()
    eventually("doors are served", lambda: w.server.request("GET", "/apis/example.com/v2/doors")[0] == 200)
    w.check("back", 3)
    w.must(200, "DELETE", "/apis/example.com/v2/doors/back")


@story.chapter
def what_is_built_in_keeps_its_names_and_its_objects(w):
    policies = "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies"
    w.must(201, "POST", policies, {"metadata": {"name": "there"}, "spec": {"effect": "Deny", "subjects": [{"kind": "User", "name": "nobody"}]}})
    names = {"plural": "clusteraccesspolicies", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    taken = f"{DEFINITIONS}/clusteraccesspolicies.access.cardea.dev"
    for v in ("v9", "v1alpha1"):
        w.must(201, "POST", DEFINITIONS, {"metadata": {"name": "clusteraccesspolicies.access.cardea.dev"}, "spec": {
            "group": "access.cardea.dev", "scope": "Cluster", "names": names, "versions": [version(v, True, True)]}})

        def accepted():
            conditions = w.must(200, "GET", taken).get("status", {}).get("conditions") or []
            return {c["type"]: c["status"] for c in conditions}.get("NamesAccepted")
        expect(eventually("a verdict on the names", accepted) == "False", "the names of a built-in resource were accepted")
        w.must(200, "DELETE", taken)
        eventually("the definition is gone", lambda: w.server.request("GET", taken)[0] == 404)
        w.must(200, "GET", f"{policies}/there")


@story.chapter
def defaults_are_those_of_the_stored_version(w):
    """As with kube-apiserver: what a version adds by default is added to objects that are written through it, or stored in it."""
    def lamp(name, default):
        out = version(name, True, name == "v1")
        out["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].update({"color": {"type": "string", **({"default": default} if default else {})}})
        return out
    names = {"plural": "lamps", "singular": "lamp", "kind": "Lamp", "listKind": "LampList"}
    w.must(201, "POST", DEFINITIONS, {"metadata": {"name": "lamps.example.com"}, "spec": {
        "group": "example.com", "scope": "Cluster", "names": names, "versions": [lamp("v1", None), lamp("v2", "two")]}})
    lamps = "/apis/example.com/{}/lamps"
    eventually("lamps are served", lambda: w.server.request("GET", lamps.format("v2"))[0] == 200)
    w.must(201, "POST", lamps.format("v1"), {"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": {"name": "desk"}, "spec": {"hinges": 1}})
    w.must(201, "POST", lamps.format("v2"), {"apiVersion": "example.com/v2", "kind": "Lamp", "metadata": {"name": "floor"}, "spec": {"hinges": 1}})
    expect(w.must(200, "GET", lamps.format("v2") + "/desk")["spec"] == {"hinges": 1}, "a default of v2")
    expect(w.must(200, "GET", lamps.format("v1") + "/floor")["spec"] == {"hinges": 1, "color": "two"}, "it was written through v2")
    current = w.must(200, "GET", f"{DEFINITIONS}/lamps.example.com")
    current["spec"]["versions"] = [lamp("v1", "one"), lamp("v2", "two")]
    w.must(200, "PUT", f"{DEFINITIONS}/lamps.example.com", current)
    for v in ("v1", "v2"):
        eventually(f"the default of v1 is seen in {v}", lambda v=v: w.must(200, "GET", lamps.format(v) + "/desk")["spec"] == {"hinges": 1, "color": "one"})


if __name__ == "__main__":
    story.main()
