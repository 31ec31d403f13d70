"""Three servers on one etcd behave as one (docs/replicas.md)."""
import json
import signal
import threading
import time

from etcd import Etcd, Road
from server import Cardea, eventually, exchange, expect
from story import Story

story = Story("replicas")

MAPS = "/api/v1/namespaces/default/configmaps"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@story.shared
def etcd():
    with Etcd() as etcd:
        yield etcd


@story.shared
def road(etcd):
    """The third server's way to etcd."""
    with Road(etcd.port) as road:
        yield road


@story.shared
def servers(etcd, road):
    # They share their files: one authority, one key for tokens.
    with Cardea(f"--etcd-servers={etcd.url}") as a, Cardea(f"--etcd-servers={etcd.url}", data_dir=a.data_dir) as b, \
            Cardea(f"--etcd-servers={road.url}", data_dir=a.data_dir) as c:
        yield a, b, c


@story.chapter
def what_one_server_acknowledged_all_show(servers):
    for i in range(30):
        writer, reader, third = servers[i % 3], servers[(i + 1) % 3], servers[(i + 2) % 3]
        status, _, made = writer.request("POST", MAPS, config_map(f"shown-{i}", round=str(i)))
        expect(status == 201, f"{status} {made}")
        status, _, got = reader.request("GET", f"{MAPS}/shown-{i}")
        expect(status == 200 and got["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"], f"{i}: {status} {got}")
        names = [item["metadata"]["name"] for item in third.request("GET", MAPS)[2]["items"]]
        expect(f"shown-{i}" in names, f"{i}: not in the list")
        version = made["metadata"]["resourceVersion"]
        status, _, listed = third.request("GET", f"{MAPS}?resourceVersion={version}&resourceVersionMatch=NotOlderThan")
        expect(status == 200 and int(listed["metadata"]["resourceVersion"]) >= int(version), f"{status} {listed}")


@story.chapter
def what_one_server_deleted_is_gone_everywhere(servers):
    a, b, c = servers
    for i in range(10):
        expect(a.request("POST", MAPS, config_map(f"gone-{i}"))[0] == 201, "not created")
        expect(b.request("DELETE", f"{MAPS}/gone-{i}")[0] == 200, "not deleted")
        expect(c.request("GET", f"{MAPS}/gone-{i}")[0] == 404, "still there")


@story.chapter
def what_was_deleted_elsewhere_can_be_made_again_at_once(servers):
    a, b, _ = servers
    connection = b.connect()
    for i in range(20):
        expect(a.request("POST", MAPS, config_map(f"again-{i}"))[0] == 201, "not created")
        expect(exchange(connection, "GET", f"{MAPS}/again-{i}")[0] == 200, "not seen")
        # It wakes up with the request, and hears of the deletion at the same moment.
        b.process.send_signal(signal.SIGSTOP)
        try:
            status, _, said = a.request("DELETE", f"{MAPS}/again-{i}")
            connection.request("POST", MAPS, json.dumps(config_map(f"again-{i}")), {"Content-Type": "application/json"})
        finally:
            b.process.send_signal(signal.SIGCONT)
        expect(status == 200, f"{status} {said}")
        answer = connection.getresponse()
        said = answer.read()
        expect(answer.status == 201, f"round {i}: {answer.status} {said}")
    connection.close()


@story.chapter
def no_update_is_lost(servers):
    """Each server adds to one number, from what it reads."""
    servers[0].request("POST", MAPS, config_map("number", value="0"))
    rounds = 15

    def add(server):
        connection = server.connect()
        done = 0
        while done < rounds:
            _, _, now = exchange(connection, "GET", f"{MAPS}/number")
            now["data"]["value"] = str(int(now["data"]["value"]) + 1)
            status, _, said = exchange(connection, "PUT", f"{MAPS}/number", now)
            expect(status in (200, 409), f"{status} {said}")
            done += status == 200
        connection.close()

    threads = [threading.Thread(target=add, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for server in servers:
        _, _, now = server.request("GET", f"{MAPS}/number")
        expect(now["data"]["value"] == str(3 * rounds), f"{now['data']}")


@story.chapter
def a_watch_sees_each_change_of_every_server_once(servers):
    _, _, start = servers[2].request("GET", MAPS)
    connection = servers[2].connect()
    connection.request("GET", f"{MAPS}?watch=1&resourceVersion={start['metadata']['resourceVersion']}")
    answer = connection.getresponse()
    made = []
    for i in range(12):
        status, _, one = servers[i % 3].request("POST", MAPS, config_map(f"watched-{i}"))
        expect(status == 201, f"{status} {one}")
        made.append((one["metadata"]["name"], one["metadata"]["resourceVersion"]))
    seen = []
    while len(seen) < len(made):
        event = json.loads(answer.readline())
        if event["object"]["metadata"]["name"].startswith("watched-"):
            expect(event["type"] == "ADDED", f"{event}")
            seen.append((event["object"]["metadata"]["name"], event["object"]["metadata"]["resourceVersion"]))
    connection.close()
    expect(seen == made, f"{seen} instead of {made}")


@story.chapter
def an_address_is_given_out_once(servers):
    path = "/api/v1/namespaces/default/services"
    taken, lock = [], threading.Lock()

    def make(server, number):
        for i in range(8):
            body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"svc-{number}-{i}"}, "spec": {"ports": [{"port": 80}]}}
            status, _, made = server.request("POST", path, body)
            expect(status == 201, f"{status} {made}")
            with lock:
                taken.append(made["spec"]["clusterIP"])

    threads = [threading.Thread(target=make, args=(server, i)) for i, server in enumerate(servers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(len(taken) == 24 and len(set(taken)) == 24, f"{sorted(taken)}")


BOB = {"Impersonate-User": "bob"}


def allow_bob(server):
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "maps"},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get", "list"]}]}
    server.request("POST", ROLES, role)
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "bob"},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "maps"},
               "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}]}
    status, _, said = server.request("POST", BINDINGS, binding)
    expect(status == 201, f"{status} {said}")


def bob_creates(server, name):
    return server.request("POST", MAPS, config_map(name), headers=BOB)[0]


@story.chapter
def a_revoked_permission_is_gone_for_writes_everywhere_at_once(servers):
    """An error is never an allow: after the revocation was acknowledged, no server stores what it allowed."""
    a, b, _ = servers
    for i in range(10):
        allow_bob(a)
        eventually("the other server lets bob in", lambda: bob_creates(b, f"bob-{i}") in (201, 409))
        connection = b.connect()
        exchange(connection, "GET", "/version")  # it is open: nothing is between the two requests
        expect(a.request("DELETE", f"{BINDINGS}/bob")[0] == 200, "not revoked")
        status = exchange(connection, "POST", MAPS, config_map(f"late-{i}"), BOB)[0]
        connection.close()
        expect(status == 403, f"{i}: {status}")
        expect(a.request("GET", f"{MAPS}/late-{i}")[0] == 404, f"{i}: stored")


@story.chapter
def permissions_on_fields_change_for_writes_everywhere_at_once(servers):
    """A PermissionMap that was deleted permits nothing on any server, and an UncoveredPermissionSet holds on all."""
    a, b, _ = servers
    access, sets = "/apis/access.cardea.dev/v1alpha1/permissionmaps", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets"
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "granular", "granular:cordon"]},
             {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "patch"]}]
    made = [a.request("POST", rbac + "/clusterroles", {"metadata": {"name": "bob-fields"}, "rules": rules})[0],
            a.request("POST", rbac + "/clusterrolebindings", {
                "metadata": {"name": "bob-fields"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "bob-fields"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}]})[0],
            a.request("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})[0], a.request("POST", MAPS, config_map("guarded"))[0]]
    expect(made == [201] * 4, f"{made}")
    headers = {**BOB, "Content-Type": "application/merge-patch+json"}
    connection = b.connect()
    exchange(connection, "GET", "/version")
    for i in range(5):
        cordon = {"spec": {"unschedulable": i % 2 == 0}}
        expect(exchange(connection, "PATCH", "/api/v1/nodes/n", cordon, headers)[0] == 403, f"{i}: allowed without a map")
        expect(a.request("POST", access, {"metadata": {"name": "nodes"}, "spec": {"group": "", "resource": "nodes", "permissions": [
            {"field": "spec.unschedulable", "verb": "cordon"}]}})[0] == 201, "no map")
        eventually("the other server knows the map", lambda: b.request("PATCH", "/api/v1/nodes/n", cordon, headers)[0] == 200)
        expect(a.request("DELETE", access + "/nodes")[0] == 200, "the map is not deleted")
        status = exchange(connection, "PATCH", "/api/v1/nodes/n", {"spec": {"unschedulable": i % 2 == 1}}, headers)[0]
        expect(status == 403, f"{i}: {status} by a map that was deleted")
        label = {"metadata": {"labels": {"guarded.example.com/x": str(i)}}}
        status = exchange(connection, "PATCH", MAPS + "/guarded", label, headers)[0]
        expect(status == 200, f"{i}: {status} without a set")
        expect(a.request("POST", sets, {"metadata": {"name": "guarded"}, "spec": {"uncoveredPermissions": [
            "granular:label(guarded.example.com)"]}})[0] == 201, "no set")
        status = exchange(connection, "PATCH", MAPS + "/guarded", {"metadata": {"labels": {"guarded.example.com/x": "late"}}}, headers)[0]
        expect(status == 403, f"{i}: {status} against a set")
        expect(a.request("DELETE", sets + "/guarded")[0] == 200, "the set is not deleted")
        eventually("the other server forgets the set", lambda: b.request("PATCH", MAPS + "/guarded", {"metadata": {"labels": {
            "guarded.example.com/x": "later"}}}, headers)[0] == 200)
    connection.close()


@story.chapter
def a_decision_is_made_again_when_the_policy_has_changed(servers):
    """Policy that changes all the time on one server keeps nobody from writing through another."""
    a, b, _ = servers
    allow_bob(a)
    eventually("the other server lets bob in", lambda: bob_creates(b, "bob-again") in (201, 409))
    over, changes = threading.Event(), []

    def change_policy():
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "unrelated"}, "rules": []}
        connection = a.connect()
        while not over.is_set():
            changes.append(exchange(connection, "POST", ROLES, role)[0])
            exchange(connection, "DELETE", f"{ROLES}/unrelated")
        connection.close()

    thread = threading.Thread(target=change_policy)
    thread.start()
    try:
        connection = b.connect()
        for i in range(100):
            status, _, said = exchange(connection, "POST", MAPS, config_map(f"redecided-{i}"), BOB)
            expect(status == 201, f"{i}: {status} {said}")
        connection.close()
    finally:
        over.set()
        thread.join()
    expect(201 in changes, f"the policy did not change: {changes}")
    expect(a.request("DELETE", f"{BINDINGS}/bob")[0] == 200, "not revoked")


@story.chapter
def a_server_that_is_cut_off_allows_nothing_after_the_bound(servers, road):
    a, _, c = servers
    allow_bob(a)
    eventually("bob reads", lambda: c.request("GET", f"{MAPS}?resourceVersion=0", headers=BOB)[0] == 200)
    connection = c.connect()
    road.close()
    try:
        expect(a.request("DELETE", f"{BINDINGS}/bob")[0] == 200, "not revoked")
        revoked = time.monotonic()
        while True:
            asked = time.monotonic()
            status = exchange(connection, "GET", f"{MAPS}?resourceVersion=0", headers=BOB)[0]
            expect(status in (200, 403, 503), f"{status}")
            # One second is the bound; the request itself takes a moment to arrive.
            expect(status != 200 or asked - revoked < 1.5, f"allowed {asked - revoked} s after the revocation")
            if status == 503:
                break
        expect(c.request("GET", "/readyz")[0] == 500, "it says that it is ready")
        expect(c.request("GET", "/livez")[0] == 200, "it says that it is dead")
        why = c.request("GET", "/readyz/freshness")[2]
        expect(b"last confirmed" in why, f"{why}")
    finally:
        connection.close()
        road.open()
    eventually("it is ready again", c.ready)
    expect(c.request("GET", f"{MAPS}?resourceVersion=0", headers=BOB)[0] == 403, "bob is let in again")


@story.chapter(needs=["what_one_server_acknowledged_all_show"])
def servers_survive_the_end_of_etcd_and_nothing_is_lost(servers, etcd):
    a, b, c = servers
    before = len(a.request("GET", MAPS)[2]["items"])
    etcd.kill()
    status, _, said = a.request("POST", MAPS, config_map("nowhere"))
    expect(status in (500, 503), f"{status} {said}")
    etcd.start()
    for server in servers:
        eventually("it is ready again", server.ready)
        items = server.request("GET", MAPS)[2]["items"]
        expect(len([i for i in items if i["metadata"]["name"] != "nowhere"]) == before, f"{len(items)} instead of {before}")
    expect(c.request("POST", MAPS, config_map("again"))[0] == 201, "not created")
    expect(b.request("GET", f"{MAPS}/again")[0] == 200, "not read")


@story.chapter(needs=["servers_survive_the_end_of_etcd_and_nothing_is_lost"])
def a_server_that_was_killed_comes_back_and_shows_everything(servers):
    a, b, _ = servers
    b.kill()
    expect(a.request("POST", MAPS, config_map("meanwhile"))[0] == 201, "not created")
    b.start()
    expect(b.request("GET", f"{MAPS}/meanwhile")[0] == 200, "not read")


if __name__ == "__main__":
    story.main()
