"""Ways around: what somebody with a low-privilege token tries, and what it gets them. docs/advisories.md tells of each.

Run one alone by its name: ways_around.py watch_by_another_name
"""
import http.client
import json
import os
import ssl
import sys
import tempfile
import urllib.error
import urllib.request

from server import Cardea, expect, tell

NAMES = ["watcher", "labeller", "deleter", "getter", "evictor", "scaler"]
MERGE, OPS = "application/merge-patch+json", "application/json-patch+json"
SECRETS = "/api/v1/namespaces/x/secrets"
PODS = "/api/v1/namespaces/x/pods"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


class World:
    def __init__(self, server):
        self.server = server
        self.context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))

    def send(self, user, method, path, body=None, kind="application/json"):
        headers = {"Authorization": f"Bearer {user}-token", "Content-Type": kind}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server.base + path, method=method, headers=headers, data=data)
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            return error.code, json.loads(text) if text.startswith("{") else {"message": text}

    def admin(self, method, path, body=None, kind="application/json", want=(200, 201)):
        status, _, answer = self.server.request(method, path, body, {"Content-Type": kind})
        expect(status in want, f"{method} {path}: {status} {answer}")
        return answer

    def allow(self, user, rules):
        self.admin("POST", f"{RBAC}/clusterroles", {"metadata": {"name": user}, "rules": rules})
        self.admin("POST", f"{RBAC}/clusterrolebindings", {
            "metadata": {"name": user}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]})

    def first_events(self, user, path):
        """The status of a watch, and the names of the events that are there at once."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.server.port, timeout=20, context=self.context)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {user}-token"})
            answer = connection.getresponse()
            lines = [json.loads(line) for line in answer.read().splitlines()]
            return answer.status, [e.get("object", {}).get("metadata", {}).get("name") for e in lines if "object" in e], lines
        finally:
            connection.close()


def rule(group, resources, verbs, names=()):
    return {"apiGroups": [group], "resources": resources, "verbs": verbs, **({"resourceNames": list(names)} if names else {})}


def watch_by_another_name(world):
    world.allow("watcher", [rule("", ["secrets"], ["get", "list", "watch"], ["allowed"])])
    for name in ("allowed", "forbidden"):
        world.admin("POST", SECRETS, {"metadata": {"name": name}, "data": {"password": "aHVudGVyMg=="}})
    by_path = f"/api/v1/watch/namespaces/x/secrets/allowed?timeoutSeconds=1"
    status, names, _ = world.first_events("watcher", by_path)
    expect((status, names) == (200, ["allowed"]), f"{status} {names}")
    for selector in ("metadata.name%3Dforbidden", "metadata.name!%3Dallowed", "type%3DOpaque", "metadata.name%3Dforbidden,metadata.name%3Dallowed"):
        status, names, lines = world.first_events("watcher", f"{by_path}&fieldSelector={selector}")
        expect("forbidden" not in names, f"{selector} shows {names}")
        expect(status == 400 and lines[0]["message"] == "fieldSelector metadata.name doesn't match requested name" or names == [],
               f"{selector}: {status} {lines}")
    for path in (f"{SECRETS}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dallowed", f"{SECRETS}?fieldSelector=metadata.name%3Dallowed"):
        expect("forbidden" not in json.dumps(world.first_events("watcher", path)[2]), path)
    for path in (SECRETS, f"{SECRETS}?watch=1", f"{SECRETS}?fieldSelector=metadata.name%3Dforbidden", f"{SECRETS}?watch=1&fieldSelector=metadata.name!%3Dforbidden",
                 "/api/v1/watch/namespaces/x/secrets?fieldSelector=metadata.name%3Dallowed", f"{SECRETS}/forbidden", "/api/v1/watch/namespaces/x/secrets/forbidden"):
        expect(world.first_events("watcher", path)[0] == 403, path)


def granular_reads_nothing(world):
    world.allow("labeller", [rule("", ["configmaps"], ["granular", "granular:labels", "granular:finalizers", "granular:annotations"])])
    path = "/api/v1/namespaces/x/configmaps/c"
    world.admin("POST", "/api/v1/namespaces/x/configmaps", {"metadata": {"name": "c", "annotations": {"note": "hidden-4711"}}, "data": {"password": "hidden-4711"}})
    for target in ("/metadata/finalizers", "/metadata/annotations/x", "/metadata/labels"):
        for op in ("copy", "move"):
            status, answer = world.send("labeller", "PATCH", path, [{"op": op, "from": "/data/password", "path": target}], OPS)
            expect(status == 403 and "hidden" not in json.dumps(answer), f"{op} to {target}: {status} {answer}")
    answers = [world.send("labeller", "PATCH", path, [{"op": "test", "path": "/data/password", "value": guess}, {"op": "add", "path": "/metadata/labels", "value": {}}], OPS)
               for guess in ("hidden-4711", "wrong")]
    expect(answers[0] == answers[1] and answers[0][0] == 403, f"a test tells: {answers}")
    status, answer = world.send("labeller", "PATCH", path, {"metadata": {"labels": {"a": "b"}}}, MERGE)
    expect(status == 200 and answer["kind"] == "ConfigMap" and set(answer["metadata"]) == {"name", "namespace", "uid", "resourceVersion", "labels"}, f"{status} {answer}")


def a_deletion_tells_nothing(world):
    world.allow("deleter", [rule("", ["configmaps"], ["delete", "deletecollection"])])
    made = world.admin("POST", "/api/v1/namespaces/x/configmaps", {"metadata": {"name": "d", "finalizers": ["example.com/held"]}, "data": {"password": "hidden-4711"}})
    path = "/api/v1/namespaces/x/configmaps/d"
    for preconditions in ({"uid": "wrong"}, {"resourceVersion": "1"}):
        status, answer = world.send("deleter", "DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": preconditions})
        text = json.dumps(answer)
        expect(status == 409 and made["metadata"]["uid"] not in text and made["metadata"]["resourceVersion"] not in text.split('"code"')[0], f"{status} {answer}")
    status, answer = world.send("deleter", "DELETE", "/api/v1/namespaces/x/configmaps?dryRun=All")
    expect(status == 200 and answer["kind"] == "Status" and "hidden" not in json.dumps(answer), f"{status} {answer}")
    status, answer = world.send("deleter", "DELETE", path)
    expect(status == 200 and answer["kind"] == "Status" and answer["details"]["uid"] == made["metadata"]["uid"], f"{status} {answer}")
    world.admin("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)


def connecting_takes_create(world):
    world.allow("getter", [rule("", ["pods/exec", "pods/attach", "pods/portforward", "pods/log"], ["get"])])
    world.admin("POST", PODS, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    for sub in ("exec", "attach", "portforward"):
        status, answer = world.send("getter", "GET", f"{PODS}/p/{sub}?command=ls")
        expect(status == 403 and f'cannot create resource "pods/{sub}"' in answer["message"], f"{sub}: {status} {answer}")


def story(only=None):
    with tempfile.TemporaryDirectory() as folder:
        tokens = os.path.join(folder, "tokens.csv")
        with open(tokens, "w") as file:
            file.write("".join(f"{name}-token,{name},{i}\n" for i, name in enumerate(NAMES, 1)))
        with Cardea("--token-auth-file", tokens) as server:
            world = World(server)
            world.admin("POST", "/api/v1/namespaces", {"metadata": {"name": "x"}})
            for attack in (watch_by_another_name, granular_reads_nothing, a_deletion_tells_nothing, connecting_takes_create):
                if only in (None, attack.__name__):
                    attack(world)


if __name__ == "__main__":
    tell("ways_around", lambda: story(sys.argv[1] if len(sys.argv) > 1 else None))
