"""Streams that are open when their permission goes away: each ends, its neighbours go on, and the audit log says so (docs/streams.md).

The kubelet is small_kubelet.py.
"""
import json
import os
import ssl

from server import Cardea, eventually, expect
from small_kubelet import ADDRESS, STDIN, STDOUT
from story import Story
from streams_story import NS, RBAC, as_user, grant, policy, prepared, websocket
from streams_story import backend, folder, kubelet  # noqa: F401  (shared between the chapters)
from websocket_watches import BINARY, Client, TEXT

story = Story("revoked_streams")
for part in (folder, kubelet, backend):
    story.shared(part)

MAPS = f"{NS}/configmaps"
POLICIES = "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies"
SHELL = f"{NS}/pods/web/exec?stdin=1&stdout=1&command=cat"


def serving(folder, kubelet, *flags):
    at = lambda name: os.path.join(folder, name)
    return Cardea("--token-auth-file", at("users.csv"), "--backend-address-exceptions", f"{ADDRESS}/32", "--audit-policy-file", at("audit.yaml"), "--audit-log-path", at("audit.log"),
                  "--audit-log-mode", "blocking", "--disable-admission-plugins", "ServiceAccount", *flags, *kubelet.flags())


@story.shared
def cardea(folder, kubelet, backend):
    with serving(folder, kubelet, "--stream-reauthorization-period=50ms") as server:
        yield prepared(server, kubelet, backend)


# --- what a client sees

def echoes(client, text=b"hello\n"):
    """Whether what goes into standard input comes back."""
    try:
        client.send(BINARY, bytes([STDIN]) + text)
        while True:
            opcode, payload = client.frame()
            if opcode == BINARY and payload == bytes([STDOUT]) + text:
                return True
    except (OSError, ValueError, IndexError, AssertionError):
        return False


def has_ended(client):
    """Reads until the server has cut the connection."""
    try:
        while client.file.read(1):
            pass
    except (OSError, ssl.SSLError):
        pass
    return True


def shell(server, user, path=SHELL, headers=None):
    client = websocket(server, path, user, headers=headers)
    expect(client.status == 101, f"{user}: {client.status}")
    expect(echoes(client), f"the shell of {user}")
    return client


def revoke(server, path):
    status, _, body = server.request("DELETE", path)
    expect(status == 200, f"{path}: {status} {body}")


def end_in_audit(folder, user, part):
    def found():
        with open(os.path.join(folder, "audit.log")) as log:
            events = [json.loads(line) for line in log if line.endswith("\n")]
        return next((e["annotations"]["streams.cardea.dev/end"] for e in events
                     if e["stage"] == "ResponseComplete" and e["user"]["username"] == user and part in e["requestURI"] and "streams.cardea.dev/end" in e["annotations"]), None)
    return eventually("the end in the audit log", found)


def metrics_of(server):
    text = server.request("GET", "/metrics")[2]
    return text.decode() if isinstance(text, bytes) else text


# --- connections

@story.chapter
def a_shell_ends_with_its_binding(cardea, folder):
    grant(cardea, "alice", ["get", "create"], ["pods/exec"], "alices-shell")
    grant(cardea, "bob", ["get", "create"], ["pods/exec"], "bobs-shell")
    ends, stays = shell(cardea, "alice"), shell(cardea, "bob")
    revoke(cardea, f"{RBAC}/clusterrolebindings/alices-shell")
    expect(has_ended(ends), "the shell of alice")
    expect(echoes(stays), "the shell of bob")
    expect("no longer allowed" in end_in_audit(folder, "alice", "/exec"), end_in_audit(folder, "alice", "/exec"))
    stays.close()
    expect("\ncardea_streams_revoked_total 1\n" in metrics_of(cardea), "the number of ended streams")


@story.chapter
def a_shell_needs_both_verbs_all_the_time(cardea):
    for name, verb in (("carols-get", "get"), ("carols-create", "create")):
        grant(cardea, "carol", [verb], ["pods/exec"], name)
    client = shell(cardea, "carol")
    revoke(cardea, f"{RBAC}/clusterrolebindings/carols-create")
    expect(has_ended(client), "the shell of carol")


@story.chapter
def a_condition_is_asked_again_with_the_same_options(cardea):
    policy(cardea, "daves-shell", "Allow", "dave", ["pods/exec"], "object.command == ['cat'] && object.container == 'shell'")
    path = SHELL + "&container=shell"
    client = shell(cardea, "dave", path)
    expect(echoes(client), "it goes on")
    status, _, body = cardea.request("PATCH", f"{POLICIES}/daves-shell", {"spec": {"expression": "object.command == ['ls']"}}, {"Content-Type": "application/merge-patch+json"})
    expect(status == 200, f"{status} {body}")
    expect(has_ended(client), "the shell of dave")


@story.chapter
def a_denial_ends_what_was_allowed_before(cardea):
    grant(cardea, "erin", ["get", "create"], ["pods/exec"], "erins-shell")
    client = shell(cardea, "erin")
    policy(cardea, "no-shells-for-erin", "Deny", "erin", ["pods/exec"], "")
    expect(has_ended(client), "the shell of erin")


@story.chapter
def a_deputy_loses_its_office(cardea):
    grant(cardea, "frank", ["get", "create"], ["pods/exec"], "franks-shell")
    policy(cardea, "deputy-of-frank", "Allow", "deputy", ["users"], "impersonatedRequest.subresource == 'exec' && request.name == 'frank'", verbs=("impersonate",))
    client = shell(cardea, "deputy", headers={"Impersonate-User": "frank"})
    revoke(cardea, f"{POLICIES}/deputy-of-frank")
    expect(has_ended(client), "the shell for frank")


@story.chapter
def a_followed_log_and_a_proxied_answer_end(cardea, folder):
    paths = {"pods/log": f"{NS}/pods/web/log?follow=true", "nodes/proxy": "/api/v1/nodes/node/proxy/containerLogs/default/web/shell?follow=true"}
    for resource, path in paths.items():
        name = resource.replace("/", "-")
        grant(cardea, "gina", ["get", "create"], [resource], name)
        client = Client(cardea, path, {"Authorization": "Bearer token-gina"}, certificate=False, without=("Connection", "Upgrade", "Sec-WebSocket-Key", "Sec-WebSocket-Version"))
        expect(client.status == 200, f"{path}: {client.status}")
        revoke(cardea, f"{RBAC}/clusterrolebindings/{name}")
        expect(has_ended(client), path)
        expect("no longer allowed" in end_in_audit(folder, "gina", path), path)


# --- watches

def watch(server, token, query="watch=1"):
    """The lines of a watch, as they come."""
    client = Client(server, f"{MAPS}?{query}", {"Authorization": f"Bearer {token}"}, certificate=False, without=("Connection", "Upgrade", "Sec-WebSocket-Key", "Sec-WebSocket-Version"))
    expect(client.status == 200, client.status)
    return client


def last_event(client):
    """The one before the end of the answer."""
    last = None
    while (line := client.file.readline()) != b"0\r\n":  # the end of chunks
        expect(line, "the connection ended before the answer")
        if line.startswith(b"{"):
            last = json.loads(line)
    return last


@story.chapter
def a_watch_ends_with_its_binding(cardea, folder):
    grant(cardea, "reader", ["list", "watch"], ["configmaps"], "readers-maps")
    grant(cardea, "prom", ["list", "watch"], ["configmaps"], "proms-maps")
    ends, stays = watch(cardea, "token-reader"), watch(cardea, "token-prom", "watch=1&allowWatchBookmarks=true&timeoutSeconds=600")
    revoke(cardea, f"{RBAC}/clusterrolebindings/readers-maps")
    last = last_event(ends)
    expect(last["type"] == "ERROR" and last["object"]["code"] == 403 and 'cannot watch resource "configmaps"' in last["object"]["message"], last)
    expect("no longer allowed" in end_in_audit(folder, "reader", "watch=1"), "audit")
    cardea.request("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "later"}})
    while b'"later"' not in (line := stays.file.readline()):
        expect(line, "the other watch has ended")
    stays.close()
    status, _ = as_user(cardea, "reader", "GET", f"{MAPS}?watch=1")
    expect(status == 403, "a new watch")


@story.chapter
def a_watch_ends_with_its_service_account(cardea):
    cardea.request("POST", f"{NS}/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "watcher"}})
    grant(cardea, "system:serviceaccount:default:watcher", ["list", "watch"], ["configmaps"], "watchers-maps")
    status, _, body = cardea.request("POST", f"{NS}/serviceaccounts/watcher/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
    expect(status == 201, body)
    client = watch(cardea, body["status"]["token"])
    revoke(cardea, f"{NS}/serviceaccounts/watcher")
    last = last_event(client)
    expect(last["type"] == "ERROR" and last["object"]["code"] == 401, last)


@story.chapter
def a_watch_over_a_websocket_ends(cardea):
    grant(cardea, "peter", ["list", "watch"], ["configmaps"], "peters-maps")
    client = Client(cardea, f"{MAPS}?watch=1", {"Authorization": "Bearer token-peter"}, certificate=False)
    expect(client.status == 101, client.status)
    revoke(cardea, f"{RBAC}/clusterrolebindings/peters-maps")
    while True:
        opcode, payload = client.frame()
        expect(opcode == TEXT, f"the error comes before the end: {opcode}")
        event = json.loads(payload)
        if event["type"] == "ERROR":
            expect(event["object"]["code"] == 403, event)
            break
    expect(has_ended(client), "the connection")


# --- without

@story.chapter
def a_period_of_zero_asks_nobody(folder, kubelet, backend):
    with serving(folder, kubelet, "--stream-reauthorization-period=0") as server:
        prepared(server, kubelet, backend)
        grant(server, "alice", ["get", "create"], ["pods/exec"], "alices-shell")
        client = shell(server, "alice")
        revoke(server, f"{RBAC}/clusterrolebindings/alices-shell")
        expect(as_user(server, "alice", "GET", f"{NS}/pods/web/exec?command=cat")[0] == 403, "it is revoked")
        expect(echoes(client), "what is open stays open, as in Kubernetes")
        expect("\ncardea_stream_reauthorizations_total 0\n" in metrics_of(server), "nobody is asked")
        client.close()


if __name__ == "__main__":
    story.main()
