"""A custom resource goes from one version to the next: objects are read and written in the version that is asked for, whichever
version they were stored in, and whether that one is still served or not.
"""
from server import Cardea, eventually, expect, tell

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = {"Content-Type": "application/merge-patch+json"}


def version(name, served, storage):
    return {"name": name, "served": served, "storage": storage,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"hinges": {"type": "integer"}}}}}}}


def story():
    with Cardea() as server:
        def must(status, method, path, body=None, headers=None):
            answer = server.request(method, path, body, headers)
            expect(answer[0] == status, f"{method} {path}: {answer[0]} instead of {status}: {answer[2]}")
            return answer[2]

        def serve(*versions):
            current = must(200, "GET", f"{DEFINITIONS}/doors.example.com")
            current["spec"]["versions"] = list(versions)
            must(200, "PUT", f"{DEFINITIONS}/doors.example.com", current)
            for v in versions:
                eventually(f"{v['name']} is {'served' if v['served'] else 'gone'}",
                           lambda v=v: server.request("GET", f"/apis/example.com/{v['name']}/doors")[0] == (200 if v["served"] else 404))

        def check(name, hinges, shown="v2"):
            path = f"/apis/example.com/{shown}/doors"
            one = must(200, "GET", f"{path}/{name}")
            expect(one["apiVersion"] == f"example.com/{shown}" and one["spec"]["hinges"] == hinges, one)
            items = must(200, "GET", path)["items"]
            expect([d["apiVersion"] for d in items] == [f"example.com/{shown}"] * len(items) and items, items)
            changed = must(200, "PATCH", f"{path}/{name}", {"spec": {"hinges": hinges + 1}}, MERGE)
            expect(changed["apiVersion"] == f"example.com/{shown}" and changed["spec"]["hinges"] == hinges + 1, changed)
            changed["spec"]["hinges"] += 1
            expect(must(200, "PUT", f"{path}/{name}", changed)["spec"]["hinges"] == hinges + 2, "an update")

        names = {"plural": "doors", "singular": "door", "kind": "Door", "listKind": "DoorList"}
        must(201, "POST", DEFINITIONS, {"metadata": {"name": "doors.example.com"}, "spec": {
            "group": "example.com", "scope": "Cluster", "names": names, "versions": [version("v1", True, True), version("v2", True, False)]}})
        eventually("doors are served", lambda: server.request("GET", "/apis/example.com/v1/doors")[0] == 200)
        for name in ("front", "back"):
            must(201, "POST", "/apis/example.com/v1/doors", {"apiVersion": "example.com/v1", "kind": "Door", "metadata": {"name": name}, "spec": {"hinges": 1}})
        check("front", 1, "v1")
        check("front", 3)
        # The stored version is not served any more.
        serve(version("v1", False, True), version("v2", True, False))
        check("front", 5)
        must(201, "POST", "/apis/example.com/v2/doors", {"apiVersion": "example.com/v2", "kind": "Door", "metadata": {"name": "side"}, "spec": {"hinges": 1}})
        # The other one is stored from now on; `back` still lies there as it was first written.
        serve(version("v1", False, False), version("v2", True, True))
        for name, hinges in (("back", 1), ("side", 1), ("front", 7)):
            check(name, hinges)
        server.stop()
        server.start()
        eventually("doors are served", lambda: server.request("GET", "/apis/example.com/v2/doors")[0] == 200)
        check("back", 3)
        must(200, "DELETE", "/apis/example.com/v2/doors/back")
        # What is built in keeps its names and its objects.
        policies = "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies"
        must(201, "POST", policies, {"metadata": {"name": "there"}, "spec": {"effect": "Deny", "subjects": [{"kind": "User", "name": "nobody"}]}})
        names = {"plural": "clusteraccesspolicies", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
        taken = f"{DEFINITIONS}/clusteraccesspolicies.access.cardea.dev"
        for v in ("v9", "v1alpha1"):
            must(201, "POST", DEFINITIONS, {"metadata": {"name": "clusteraccesspolicies.access.cardea.dev"}, "spec": {
                "group": "access.cardea.dev", "scope": "Cluster", "names": names, "versions": [version(v, True, True)]}})

            def accepted():
                conditions = must(200, "GET", taken).get("status", {}).get("conditions") or []
                return {c["type"]: c["status"] for c in conditions}.get("NamesAccepted")
            expect(eventually("a verdict on the names", accepted) == "False", "the names of a built-in resource were accepted")
            must(200, "DELETE", taken)
            eventually("the definition is gone", lambda: server.request("GET", taken)[0] == 404)
            must(200, "GET", f"{policies}/there")


tell("versions of a definition", story)
