"""Single requests that once held the server for seconds: every size that a client chooses, at its largest.

A health probe runs beside each of them and must not wait. The answers themselves may be errors; they must be answers.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from probe import Probe, metric  # noqa: E402
from server import Cardea, expect  # noqa: E402
from story import Story  # noqa: E402

story = Story("requests")

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
JSON = {"Content-Type": "application/json"}
YAML = {"Content-Type": "application/yaml"}
MERGE = {"Content-Type": "application/merge-patch+json"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}


@story.shared
def server():
    with Cardea() as server:
        yield server


def attack(server, what, *requests):
    """The requests, one after the other, with a probe beside. Returns the statuses."""
    statuses = []
    with Probe(server) as probe:
        for method, path, body, headers in requests:
            status, _, answer = server.request(method, path, body, headers, seconds=120)
            expect(status < 500, f"{what}: {status} {str(answer)[:300]}")
            statuses.append(status)
    probe.check(f"{what} {statuses}")
    return statuses


def config_map(name, **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **more}


@story.chapter
def unknown_keys(server):
    body = json.dumps({**config_map("unknown"), **{f"u{i}": 0 for i in range(250_000)}}, separators=(",", ":"))
    attack(server, "250,000 unknown keys", ("POST", CONFIG_MAPS + "?fieldValidation=Strict", body, JSON),
           ("POST", CONFIG_MAPS + "?fieldValidation=Warn&dryRun=All", body, JSON))


@story.chapter
def duplicate_keys(server):
    deep = '{"a":' * 900 + "1" + ',"a":1}' * 900
    body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"},"x":[' + ",".join([deep] * 250) + "]}"
    attack(server, "duplicate keys, deep", ("POST", CONFIG_MAPS + "?fieldValidation=Strict", body, JSON))
    body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"},"' + "k" * 1_000_000 + '":{' + ",".join(['"a":1'] * 300_000) + "}}"
    attack(server, "duplicate keys below a long one", ("POST", CONFIG_MAPS + "?fieldValidation=Strict", body, JSON))


@story.chapter
def a_long_key_in_every_path(server):
    inner = ",".join(f'"{i}":{{"x":1}}' for i in range(100_000))
    body = ('{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},"spec":{"devices":[{"name":"d","capacity":{"'
            + "k" * 1_000_000 + '":{' + inner + "}}}]}}")
    attack(server, "a long key before unknown fields", ("POST", "/apis/resource.k8s.io/v1/resourceslices?fieldValidation=Strict", body, JSON))


@story.chapter
def merge_patches(server):
    data = {f"key{i}": "" for i in range(60_000)}
    attack(server, "create", ("POST", CONFIG_MAPS, json.dumps(config_map("wide", data=data)), JSON))
    wanted = {"data": {f"key{i}x": "" for i in range(20_000)}}
    attack(server, "a merge patch of 20,000 keys on 60,000", ("PATCH", CONFIG_MAPS + "/wide?dryRun=All", json.dumps(wanted), MERGE))
    attack(server, "a strategic merge patch", ("PATCH", CONFIG_MAPS + "/wide?dryRun=All", json.dumps(wanted), STRATEGIC))
    gone = {"data": {f"key{i}": None for i in range(0, 60_000, 2)}}
    attack(server, "nulls", ("PATCH", CONFIG_MAPS + "/wide?dryRun=All", json.dumps(gone), MERGE),
           ("PATCH", CONFIG_MAPS + "/wide?dryRun=All", json.dumps(gone), STRATEGIC))
    operations = [{"op": "add", "path": f"/data/a{i}", "value": ""} for i in range(10_000)]
    attack(server, "a JSON patch of 10,000 operations", ("PATCH", CONFIG_MAPS + "/wide?dryRun=All", json.dumps(operations), JSON_PATCH))
    applied = json.dumps(config_map("wide", data={f"key{i}": "y" for i in range(60_000)}))
    attack(server, "apply", ("PATCH", CONFIG_MAPS + "/wide?fieldManager=a&force=true&dryRun=All", applied, APPLY))


@story.chapter
def json_patches_that_move(server):
    labels = {f"l{i}": "" for i in range(1)}
    finalizers = [f"example.com/f{i}" for i in range(60_000)]
    body = json.dumps({**config_map("long"), "metadata": {"name": "long", "labels": labels, "finalizers": finalizers}})
    attack(server, "60,000 finalizers", ("POST", CONFIG_MAPS + "?dryRun=All", body, JSON))
    operations = json.dumps([{"op": "add", "path": "/metadata/finalizers", "value": finalizers}]
                            + [{"op": "add", "path": "/metadata/finalizers/0", "value": "example.com/x"}] * 9_900)
    server.request("POST", CONFIG_MAPS, config_map("plain"))
    attack(server, "9,900 insertions before 60,000", ("PATCH", CONFIG_MAPS + "/plain?dryRun=All", operations, JSON_PATCH))


@story.chapter
def yaml(server):
    lines = "".join(f'  key{i}: "{i}"\n' for i in range(120_000))
    body = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n{lines}"
    attack(server, f"{len(body)} bytes of YAML", ("POST", CONFIG_MAPS + "?dryRun=All", body, YAML))
    for what, text in (("brackets", "[" * 100_000), ("questions", "? " * 100_000), ("dashes", "- " * 100_000),
                       ("anchors", "a: &a {}\n" + "".join(f"k{i}: *a\n" for i in range(100_000))),
                       ("quotes", '"' + "\\x41" * 500_000 + '"'), ("one line", "a: " + "b " * 500_000),
                       ("flow", "{" + ",".join(f"a{i}: b" for i in range(100_000)) + "}")):
        attack(server, f"YAML of {what}", ("POST", CONFIG_MAPS + "?dryRun=All", text, YAML))


@story.chapter
def selectors(server):
    for start in range(0, 2_000, 200):
        connection = server.connect()
        for i in range(start, start + 200):
            connection.request("POST", CONFIG_MAPS, json.dumps({**config_map(f"s{i}"), "metadata": {"name": f"s{i}", "labels": {"a": "b", "n": str(i)}}}), JSON)
            connection.getresponse().read()
        connection.close()
    terms = ",".join(f"!k{i}" for i in range(9_000))
    attack(server, "9,000 absent labels over 2,000 objects", ("GET", CONFIG_MAPS + "?labelSelector=" + terms, None, {}))
    terms = ",".join(f"a!=v{i}" for i in range(7_000))
    attack(server, "7,000 values of one label", ("GET", CONFIG_MAPS + "?labelSelector=" + terms, None, {}))
    terms = ",".join(f"metadata.name!=v{i}" for i in range(3_000))
    attack(server, "3,000 names", ("GET", CONFIG_MAPS + "?fieldSelector=" + terms, None, {}))
    table = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
    attack(server, "a Table of 2,000 rows", ("GET", CONFIG_MAPS, None, table))


@story.chapter
def lists_of_everything(server):
    """Every list of a Pod at once long, with items that are all there once or all the same."""
    n = 5_000
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {
        "containers": [{"name": "c", "image": "i",
                        "env": [{"name": f"E{i}", "value": "x"} for i in range(n)],
                        "ports": [{"containerPort": 1 + i, "name": f"p{i}"} for i in range(n)],
                        "resources": {"limits": {f"example.com/r{i}": "1" for i in range(n)}},
                        "volumeMounts": [{"name": f"v{i}", "mountPath": f"/m{i}"} for i in range(n)]}],
        "volumes": [{"name": f"v{i}", "emptyDir": {}} for i in range(n)],
        "tolerations": [{"key": f"k{i}", "operator": "Exists"} for i in range(n)],
        "imagePullSecrets": [{"name": f"s{i}"} for i in range(n)],
        "hostAliases": [{"ip": f"10.0.{i // 250}.{i % 250}", "hostnames": [f"h{i}"]} for i in range(n)],
        "schedulingGates": [{"name": f"example.com/g{i}"} for i in range(n)],
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": f"k{i}", "whenUnsatisfiable": "DoNotSchedule"} for i in range(n)],
        "resourceClaims": [{"name": f"c{i}", "resourceClaimName": "x"} for i in range(n)]}}
    attack(server, "a Pod of long lists", ("POST", "/api/v1/namespaces/default/pods?dryRun=All", json.dumps(pod), JSON))
    owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": f"o{i}", "uid": f"u{i}"} for i in range(20_000)]
    attack(server, "20,000 owners", ("POST", CONFIG_MAPS + "?dryRun=All", json.dumps(
        {**config_map("owned"), "metadata": {"name": "owned", "ownerReferences": owners}}), JSON))
    managers = [{"manager": f"m{i}", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}}
                for i in range(15_000)]
    attack(server, "15,000 managers", ("POST", CONFIG_MAPS + "?dryRun=All", json.dumps(
        {**config_map("managed"), "metadata": {"name": "managed", "managedFields": managers}}), JSON))


@story.chapter
def the_watchdog_names_who_holds_a_loop(server):
    """What is moved away holds nobody; the metric is there to see it."""
    expect("cardea_loop_held_seconds" in server.request("GET", "/metrics")[2].decode(), "no metric of the watchdog")
    print(f"  callbacks over 5 ms: {metric(server, 'cardea_loop_held_seconds_count'):.0f}")


if __name__ == "__main__":
    story.main()
