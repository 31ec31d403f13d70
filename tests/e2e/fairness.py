"""API Priority and Fairness: whose requests run when there are many.

A webhook that does not answer holds the seats of a level for as long as a chapter needs, so that nothing depends on time. With CARDEA_PEERS
the same is told of a kube-apiserver.
"""
import http.client
import json
import os
import shutil
import socket
import ssl
import tempfile
import threading

from hooks import Hooks
from peer import Kube, peers
from server import Cardea, eventually, exchange, expect, skip
from story import Story

story = Story("fairness")

GROUP = "/apis/flowcontrol.apiserver.k8s.io/v1"
LEVELS, SCHEMAS = f"{GROUP}/prioritylevelconfigurations", f"{GROUP}/flowschemas"
MAPS = "/api/v1/namespaces/default/configmaps"
PAGES = "/debug/api_priority_and_fairness"
USERS = ("tenant", "other", "jane", "slow", "quick")


@story.shared
def folder():
    folder = tempfile.mkdtemp(prefix="cardea-fairness-")
    with open(os.path.join(folder, "users.csv"), "w") as file:
        for user in USERS:
            file.write(f'{user}-token,{user},{user},"everybody"\n')
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@story.shared
def hooks(folder):
    with Hooks(folder) as hooks:
        yield hooks


def granted(server):
    """Everybody may do everything with config maps."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    for kind, path, more in (("ClusterRole", "clusterroles", {"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]}),
                             ("ClusterRoleBinding", "clusterrolebindings",
                              {"subjects": [{"kind": "Group", "name": "everybody", "apiGroup": "rbac.authorization.k8s.io"}],
                               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "maps"}})):
        made(server, f"{rbac}/{path}", {"kind": kind, "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "maps"}, **more})
    return server


@story.shared
def cardea(folder):
    with Cardea("--token-auth-file", os.path.join(folder, "users.csv")) as server:
        yield granted(server)


@story.shared
def kube(folder):
    if not peers():
        skip("no kube-apiserver: CARDEA_PEERS names the folder")
    with Kube("--token-auth-file", os.path.join(folder, "users.csv"), "--authorization-mode=RBAC") as server:
        yield granted(server)


@story.shared
def hasty(folder):
    """Its requests wait for half a second at most."""
    with Cardea("--token-auth-file", os.path.join(folder, "users.csv"), "--request-timeout=2s") as server:
        yield granted(server)


@story.shared
def simple(folder):
    with Cardea("--token-auth-file", os.path.join(folder, "users.csv"), "--enable-priority-and-fairness=false", "--max-mutating-requests-inflight=2") as server:
        yield granted(server)


# --- requests

def made(server, path, body):
    status, _, answer = server.request("POST", path, body)
    expect(status == 201, f"{path}: {status} {answer}")
    return answer


def get(server, path):
    status, _, answer = server.request("GET", path)
    expect(status == 200, f"{path}: {status} {answer}")
    return answer


def client(server, seconds=60):
    context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
    return http.client.HTTPSConnection("127.0.0.1", server.port, timeout=seconds, context=context)


def as_user(server, user, method, path, body=None, headers=None):
    connection = client(server)
    try:
        return exchange(connection, method, path, body, {"Authorization": f"Bearer {user}-token", **(headers or {})})
    finally:
        connection.close()


class Sent:
    """A request on a thread of its own."""

    def __init__(self, server, user, name, path=MAPS):
        self.answer = None
        body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "labels": {"slow": "yes"}}}
        self.thread = threading.Thread(target=self.send, args=(server, user, path, body), daemon=True)
        self.thread.start()

    def send(self, *arguments):
        server, user, path, body = arguments
        try:
            self.answer = as_user(server, user, "POST", path, body)
        except (OSError, http.client.HTTPException) as error:
            self.answer = (0, {}, str(error))

    def status(self):
        self.thread.join(60)
        expect(self.answer is not None, "no answer")
        return self.answer[0]


def level(server, name, seats, response):
    """A level with exactly so many seats: it lends and borrows none."""
    others = sum(l["spec"].get("limited", l["spec"].get("exempt"))["nominalConcurrencyShares"] for l in get(server, LEVELS)["items"])
    shares = next(n for n in range(1, 1000) if -(-600 * n // (others + n)) >= seats)
    made(server, LEVELS, {"kind": "PriorityLevelConfiguration", "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "metadata": {"name": name},
                          "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": shares, "lendablePercent": 0, "borrowingLimitPercent": 0,
                                                                  "limitResponse": response}}})


def schema(server, name, to, user, precedence=50):
    made(server, SCHEMAS, {"kind": "FlowSchema", "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "metadata": {"name": name},
                           "spec": {"matchingPrecedence": precedence, "priorityLevelConfiguration": {"name": to}, "distinguisherMethod": {"type": "ByUser"},
                                    "rules": [{"subjects": [{"kind": "User", "user": {"name": user}}],
                                               "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}]}]}})
    uid = get(server, f"{SCHEMAS}/{name}")["metadata"]["uid"]
    if user in USERS and any(l["metadata"]["name"] == to for l in get(server, LEVELS)["items"]):
        eventually(f"{name} is in force", lambda: as_user(server, user, "GET", MAPS)[1]["X-Kubernetes-PF-FlowSchema-UID"] == uid)


def metric(server, name, **labels):
    text = server.request("GET", "/metrics")[2].decode()
    total = 0.0
    for line in text.splitlines():
        if line.startswith(name + "{") and all(f'{k}="{v}"' in line for k, v in labels.items()):
            total += float(line.rsplit(" ", 1)[1])
    return total


def seats_of(server, name):
    return int(metric(server, "apiserver_flowcontrol_current_limit_seats", priority_level=name))


def held(server, hooks, name="holds"):
    """From now on creations of config maps with the label wait until hooks.released is set."""
    hooks.released.clear()
    hooks.answers["/hold"] = lambda review: (hooks.released.wait(120), hooks.review(review, allowed=True))[1]
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    if server.request("GET", f"{path}/{name}")[0] == 200:
        return
    made(server, path, {"kind": "ValidatingWebhookConfiguration", "apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name},
                        "webhooks": [{"name": "holds.example.com", "clientConfig": hooks.at("/hold"), "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 30,
                                      "objectSelector": {"matchLabels": {"slow": "yes"}},
                                      "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]}]})


def running(server, name):
    return int(metric(server, "apiserver_flowcontrol_current_executing_requests", priority_level=name))


def waiting(server, name):
    return int(metric(server, "apiserver_flowcontrol_current_inqueue_requests", priority_level=name))


def filled(server, user, name, prefix):
    """Requests that hold all seats of the level."""
    seats = seats_of(server, name)
    sent = [Sent(server, user, f"{prefix}-{i}") for i in range(seats)]
    eventually(f"{seats} requests run in {name}", lambda: running(server, name) == seats)
    return sent


QUEUE = {"type": "Queue", "queuing": {"queues": 4, "handSize": 1, "queueLengthLimit": 2}}


# --- chapters

@story.told_of_both
def every_answer_names_its_schema_and_level(server):
    schemas = {o["metadata"]["name"]: o["metadata"]["uid"] for o in get(server, SCHEMAS)["items"]}
    levels = {o["metadata"]["name"]: o["metadata"]["uid"] for o in get(server, LEVELS)["items"]}
    for answer, wanted, to in ((server.request("GET", MAPS), "exempt", "exempt"), (as_user(server, "jane", "GET", MAPS), "global-default", "global-default"),
                               (as_user(server, "jane", "GET", "/livez"), "probes", "exempt"),
                               (as_user(server, "jane", "GET", "/api/v1/secrets"), "global-default", "global-default")):
        headers = answer[1]
        expect(headers["X-Kubernetes-PF-FlowSchema-UID"] == schemas[wanted], f"{wanted}: {headers}")
        expect(headers["X-Kubernetes-PF-PriorityLevel-UID"] == levels[to], f"{to}: {headers}")


@story.told_of_both
def a_watch_names_them_too(server):
    connection = client(server)
    connection.request("GET", f"{MAPS}?watch=1&resourceVersion=0", headers={"Authorization": "Bearer jane-token"})
    answer = connection.getresponse()
    uid = get(server, f"{SCHEMAS}/global-default")["metadata"]["uid"]
    expect(answer.headers["X-Kubernetes-PF-FlowSchema-UID"] == uid, f"{answer.headers}")
    eventually("the watch has begun, and holds no seat", lambda: running(server, "global-default") == 0)
    connection.close()


@story.chapter
def mandatory_and_suggested_objects_come_back(cardea):
    server = cardea
    for path in (f"{SCHEMAS}/catch-all", f"{LEVELS}/catch-all", f"{SCHEMAS}/probes", f"{LEVELS}/workload-high"):
        before = get(server, path)
        server.request("DELETE", path)
        def again():
            status, _, now = server.request("GET", path)
            return status == 200 and now["metadata"]["uid"] != before["metadata"]["uid"] and now
        expect(eventually(f"{path} is there again", again)["spec"] == before["spec"], f"{path} is another")
    # One that its owner has taken over stays as it is; others follow the server.
    path = f"{LEVELS}/global-default"
    changed = get(server, path)
    wanted = changed["spec"]["limited"]["nominalConcurrencyShares"]
    changed["spec"]["limited"]["nominalConcurrencyShares"] = wanted + 1
    expect(server.request("PUT", path, changed)[0] == 200, "the change")
    eventually("it follows the server", lambda: get(server, path)["spec"]["limited"]["nominalConcurrencyShares"] == wanted)


@story.told_of_both
def a_schema_without_its_level_dangles(server):
    schema(server, "dangles", "later", "nobody")
    condition = lambda: next((c for c in get(server, f"{SCHEMAS}/dangles").get("status", {}).get("conditions", []) if c["type"] == "Dangling"), {})
    eventually("it dangles", lambda: condition().get("status") == "True")
    expect(condition()["reason"] == "NotFound" and condition()["message"] == 'This FlowSchema references the PriorityLevelConfiguration object named "later" but there is no such object', condition())
    level(server, "later", 1, {"type": "Reject"})
    eventually("it does not any more", lambda: condition().get("status") == "False")
    expect(condition()["reason"] == "Found" and condition()["message"].endswith('named "later" and it exists'), condition())


@story.told_of_both
def the_example_of_the_page(server):
    page = open(os.path.join(os.path.dirname(__file__), "../../docs/fairness.md")).read()
    documents = page.split("```yaml\n")[1].split("```")[0].split("---\n")
    for path, document in zip((LEVELS, SCHEMAS), documents):
        status, _, answer = server.request("POST", path, document, {"Content-Type": "application/yaml"})
        expect(status == 201, f"{status} {answer}")
    uid = get(server, f"{SCHEMAS}/tenant-a")["metadata"]["uid"]
    status, headers, _ = as_user(server, "jane", "GET", MAPS)
    expect(headers["X-Kubernetes-PF-FlowSchema-UID"] != uid, "jane is no tenant")
    status, headers, _ = server.request("GET", MAPS, None, {"Impersonate-User": "zoe", "Impersonate-Group": "tenant-a"})
    expect(headers["X-Kubernetes-PF-FlowSchema-UID"] == uid, f"{headers}")
    expect(25 <= metric(server, "apiserver_flowcontrol_nominal_limit_seats", priority_level="tenant-a") <= 30, "about 30 seats")
    condition = lambda: get(server, f"{SCHEMAS}/tenant-a").get("status", {}).get("conditions", [{}])[0]
    eventually("its level is there", lambda: condition().get("status") == "False")


@story.told_of_both
def a_level_that_is_full_refuses(server, hooks):
    level(server, "refuses", 2, {"type": "Reject"})
    schema(server, "refuses", "refuses", "tenant")
    held(server, hooks)
    sent = filled(server, "tenant", "refuses", "refuses")
    status, headers, body = as_user(server, "tenant", "GET", MAPS)
    expect(status == 429 and body == b"Too many requests, please try again later.\n", f"{status} {body}")
    expect(headers["Content-Type"] == "text/plain; charset=utf-8" and headers["X-Content-Type-Options"] == "nosniff", f"{headers}")
    expect(int(headers["Retry-After"]) >= 1, f"{headers}")
    expect(headers["X-Kubernetes-PF-FlowSchema-UID"] == get(server, f"{SCHEMAS}/refuses")["metadata"]["uid"], f"{headers}")
    # Nobody else feels it.
    expect(as_user(server, "jane", "GET", MAPS)[0] == 200, "another user")
    expect(as_user(server, "tenant", "GET", "/livez")[0] == 200, "probes")
    expect(metric(server, "apiserver_flowcontrol_rejected_requests_total", priority_level="refuses", reason="concurrency-limit") == 1, "the metric")
    hooks.released.set()
    for request in sent:
        expect(request.status() == 201, f"{request.answer}")
    expect(as_user(server, "tenant", "GET", MAPS)[0] == 200, "free again")


@story.told_of_both
def a_level_with_queues_lets_them_wait(server, hooks):
    level(server, "queues", 2, QUEUE)
    schema(server, "queues", "queues", "slow", precedence=51)
    held(server, hooks)
    sent = filled(server, "slow", "queues", "runs")
    late = [Sent(server, "slow", f"waits-{i}") for i in range(2)]
    eventually("two wait", lambda: waiting(server, "queues") == 2)
    # A flow has one queue here, which is full.
    expect(as_user(server, "slow", "GET", MAPS)[0] == 429, "a full queue")
    lines = server.request("GET", f"{PAGES}/dump_requests?includeRequestDetails=1")[2].decode().splitlines()
    rows = [[cell.strip() for cell in line.split(",")] for line in lines]
    head = rows[0]
    mine = [r for r in (dict(zip(head, row)) for row in rows[1:] if row[0] == "queues") if r["RequestIndexInQueue"] != "-1"]
    expect(len(mine) == 2 and {r["RequestIndexInQueue"] for r in mine} == {"0", "1"}, f"{lines}")
    expect(all(r["UserName"] == "slow" and r["FlowDistingsher"] == "slow" and r["Verb"] == "create" and r["Resource"] == "configmaps" for r in mine), f"{mine}")
    rows = [[cell.strip() for cell in line.split(",")] for line in server.request("GET", f"{PAGES}/dump_priority_levels")[2].decode().splitlines()]
    numbers = next(dict(zip(rows[0], row)) for row in rows if row[0] == "queues")
    expect(numbers["WaitingRequests"] == "2" and numbers["ExecutingRequests"] == str(len(sent)) and numbers["IsIdle"] == "false" and numbers["RejectedRequests"] == "1", f"{numbers}")
    rows = [line.split(",")[0] for line in server.request("GET", f"{PAGES}/dump_queues")[2].decode().splitlines()]
    expect(rows[0] == "PriorityLevelName" and "queues" in rows, f"{rows}")
    expect(as_user(server, "jane", "GET", f"{PAGES}/dump_requests")[0] == 403, "only those who may see it")
    hooks.released.set()
    for request in sent + late:
        expect(request.status() == 201, f"{request.answer}")
    expect(waiting(server, "queues") == 0, "nobody waits")


@story.told_of_both
def a_client_that_leaves_frees_its_place(server, hooks):
    level(server, "leaves", 2, QUEUE)
    schema(server, "leaves", "leaves", "quick", precedence=52)
    held(server, hooks)
    sent = filled(server, "quick", "leaves", "again")
    gone = [client(server) for _ in range(2)]
    for connection in gone:
        connection.request("GET", MAPS, headers={"Authorization": "Bearer quick-token"})
    eventually("two wait", lambda: waiting(server, "leaves") == 2)
    for connection in gone:
        connection.close()
    eventually("nobody waits", lambda: waiting(server, "leaves") == 0)
    hooks.released.set()
    for request in sent:
        expect(request.status() == 201, f"{request.answer}")


@story.chapter
def who_waits_too_long_is_refused(hasty, hooks):
    level(hasty, "queues", 2, QUEUE)
    schema(hasty, "queues", "queues", "slow")
    held(hasty, hooks)
    path = f"{MAPS}?timeout=2s"
    # The requests that hold the seats are given up after two seconds, so that the next one comes in; this one waits for half a second.
    for attempt in range(20):
        sent = [Sent(hasty, "slow", f"runs-{attempt}-{i}") for i in range(seats_of(hasty, "queues"))]
        status = as_user(hasty, "slow", "GET", path)[0]
        for request in sent:
            request.status()
        if metric(hasty, "apiserver_flowcontrol_rejected_requests_total", priority_level="queues", reason="time-out") > 0:
            break
    hooks.released.set()
    expect(metric(hasty, "apiserver_flowcontrol_rejected_requests_total", priority_level="queues", reason="time-out") > 0, f"no one was refused in time: {status}")


@story.chapter
def without_it_reads_and_writes_have_a_limit_each(simple, hooks):
    hooks.take()
    held(simple, hooks)
    sent = [Sent(simple, "tenant", f"held-{i}") for i in range(2)]
    eventually("the hook was asked twice", lambda: len(hooks._asked) >= 2)
    status, headers, body = as_user(simple, "tenant", "POST", MAPS, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "third"}})
    expect(status == 429 and "Retry-After" in headers and b"Too many requests" in body, f"{status} {headers} {body}")
    expect("X-Kubernetes-PF-FlowSchema-UID" not in headers, f"{headers}")
    expect(as_user(simple, "tenant", "GET", MAPS)[0] == 200, "reads have their own limit")
    expect(simple.request("POST", MAPS, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "by-admin"}})[0] == 201, "admin is always served")
    hooks.released.set()
    for request in sent:
        expect(request.status() == 201, f"{request.answer}")
    hooks.take()


@story.chapter
def one_tenant_floods_and_admin_is_answered(cardea):
    server = cardea
    space = "/api/v1/namespaces/kube-public/configmaps"
    for i in range(300):
        made(server, space, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": f"m{i}", "labels": {"n": str(i)}}, "data": {"text": "x" * 200}})
    context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
    flood = []
    for i in range(120):
        plain = socket.create_connection(("127.0.0.1", server.port), 60)
        flood.append(context.wrap_socket(plain, server_hostname="127.0.0.1"))
    paths = (f"{space}?labelSelector=n%3D7", f"{space}?watch=1&fieldSelector=metadata.name%3Dm7", space)
    for i, sock in enumerate(flood):
        path = paths[i % len(paths)]
        sock.sendall((f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer other-token\r\n\r\n").encode() * (1 if "watch" in path else 5))
    admin = server.connect()
    for _ in range(50):
        expect(exchange(admin, "GET", f"{space}/m1")[0] == 200, "admin")
        expect(exchange(admin, "GET", "/readyz")[0] == 200, "health")
    for i, sock in enumerate(flood):
        first = sock.recv(65536)
        expect(first.startswith(b"HTTP/1.1 200") or first.startswith(b"HTTP/1.1 429"), f"{first[:200]}")
        sock.close()
    eventually("all seats are free", lambda: running(server, "global-default") == 0 and waiting(server, "global-default") == 0)


if __name__ == "__main__":
    story.main()
