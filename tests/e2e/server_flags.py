"""Flags that change what a server does: --runtime-config, --admission-control-config-file, the default tolerations, the timeouts.

    server_flags.py [--record=yes] [CHAPTER...]

Every scenario makes a transcript of the answers that a client gets from a server with its flags. server_flags.json has the transcripts
of a real kube-apiserver (--record=yes writes it, with $CARDEA_PEERS), and Cardea's must be the same. With $CARDEA_WITH_PEERS=1 the
recording is also checked against kube-apiserver. Chapters about Cardea alone follow.
"""
import http.client
import json
import os
import re
import socket
import subprocess
import tempfile
import time

from admission_webhooks import compare, record
from hooks import Hooks
from peer import Kube, peers
from server import Cardea, binary, eventually, expect, skip
from story import Story

story = Story("server_flags", options={"record": "no"})

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDING = os.path.join(HERE, "server_flags.json")
SCENARIOS = {}

ADMISSION = """
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults:
      enforce: baseline
      enforce-version: latest
      audit: restricted
      warn: restricted
      warn-version: v1.30
    exemptions:
      usernames: [trusted]
      runtimeClasses: [sandbox]
      namespaces: [exempt]
- name: ResourceQuota
  path: quota.yaml
"""
QUOTA = """
apiVersion: apiserver.config.k8s.io/v1
kind: ResourceQuotaConfiguration
limitedResources:
- resource: persistentvolumeclaims
  matchContains: [gold.storageclass.storage.k8s.io/requests.storage]
- apiGroup: ""
  resource: pods
  matchScopes:
  - scopeName: PriorityClass
    operator: In
    values: [costly]
"""


def scenario(*flags, files=None):
    def add(run):
        SCENARIOS[run.__name__] = (flags, files or {}, run)
        return run
    return add


class World:
    """One server in one scenario."""

    def __init__(self, server):
        self.server, self.transcript = server, []

    def must(self, method, path, body=None):
        status, _, answer = self.server.request(method, path, body)
        expect(status < 300, f"{method} {path}: {status} {answer}")
        return answer

    def make_quota(self, quota):
        """A quota with the status that a controller gives it: kube-apiserver has none of its own."""
        path, hard = "/api/v1/namespaces/default/resourcequotas", quota["spec"]["hard"]
        self.must("POST", path, quota)
        status = json.dumps({"status": {"hard": hard, "used": {name: "0" for name in hard}}})
        answer = self.server.request("PATCH", f"{path}/{quota['metadata']['name']}/status", status, {"Content-Type": "application/merge-patch+json"})
        expect(answer[0] == 200, f"{answer}")

    def do(self, method, path, body=None, shows=None, user=None):
        """One request of the transcript: its status, its warnings, and `shows` of an answer or the message of a Status."""
        headers = {"Impersonate-User": user, "Impersonate-Group": "system:masters"} if user else {}
        try:
            status, received, answer = self.server.request(method, path, body, headers)
        except http.client.RemoteDisconnected:
            # kube-apiserver's handler and its deadline may both be late, and then it answers nothing.
            expect(isinstance(self.server, Kube), f"no answer: {method} {path}")
            return self.do(method, path, body, shows, user)
        step = {"do": f"{method} {path}", "status": status}
        if received.get_all("Warning"):
            step["warnings"] = received.get_all("Warning")
        if isinstance(answer, bytes):
            step["text"] = answer.decode()
        elif answer.get("kind") == "Status":
            step["message"] = answer.get("message", "")
        elif shows:
            step["shown"] = shows(answer)
        self.transcript.append(step)
        return answer


    def watch(self, query, collection="/apis/batch/v1/namespaces/default/jobs"):
        """A watch until its end."""
        connection = self.server.connect(60)
        connection.request("GET", f"{collection}?watch=1&{query}")
        answer = connection.getresponse()
        self.transcript.append({"do": f"watch {query}", "status": answer.status, "events": len(answer.read().splitlines())})
        connection.close()


def groups(w):
    """What discovery says is served of Kubernetes' own groups."""
    shown = lambda answer: {g["name"]: [v["version"] for v in g["versions"]] for g in answer["groups"] if g["name"] in ("apps", "autoscaling", "batch", "policy")}
    w.do("GET", "/apis", shows=shown)


def resources(answer):
    return sorted(r["name"] for r in answer["resources"])


@scenario("--runtime-config=autoscaling/v1=false,batch/v1/jobs=false")
def versions_and_resources_are_switched_off(w):
    groups(w)
    w.do("GET", "/apis/autoscaling", shows=lambda answer: [v["version"] for v in answer["versions"]])
    w.do("GET", "/apis/autoscaling/v1", shows=resources)
    w.do("GET", "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers")
    w.do("POST", "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers", {"metadata": {"name": "a"}})
    w.do("GET", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers")
    w.do("GET", "/apis/batch/v1", shows=resources)
    w.do("GET", "/apis/batch/v1/namespaces/default/jobs")
    w.do("GET", "/apis/batch/v1/namespaces/default/cronjobs")
    paths = w.server.request("GET", "/openapi/v3")[2]  # kube-apiserver says that it is text
    paths = json.loads(paths) if isinstance(paths, bytes) else paths
    w.transcript.append({"do": "OpenAPI", "paths": sorted(p for p in paths["paths"] if p.startswith(("apis/autoscaling", "apis/batch")))})


@scenario("--runtime-config=policy/v1=false")
def a_group_goes_with_its_last_version(w):
    groups(w)
    w.do("GET", "/apis/policy")
    w.do("GET", "/apis/policy/v1")
    w.do("GET", "/apis/policy/v1/namespaces/default/poddisruptionbudgets")


@scenario("--runtime-config=api/all=true,api/beta=false,api/alpha=false,api/ga=true,apps/v1=true")
def what_is_served_anyway_may_be_named(w):
    groups(w)


def pod(name, namespace="default", **spec):
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


@scenario("--default-not-ready-toleration-seconds=7", "--default-unreachable-toleration-seconds=0")
def tolerations_have_the_seconds_of_the_flags(w):
    shown = lambda answer: answer["spec"]["tolerations"]
    w.do("POST", "/api/v1/namespaces/default/pods", pod("a"), shows=shown)
    w.do("POST", "/api/v1/namespaces/default/pods", pod("b", tolerations=[{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 9}]), shows=shown)


@scenario("--admission-control-config-file={folder}/admission.yaml", files={"admission.yaml": ADMISSION, "quota.yaml": QUOTA})
def pods_are_judged_by_the_defaults_of_the_file(w):
    w.must("POST", "/apis/node.k8s.io/v1/runtimeclasses", {"metadata": {"name": "sandbox"}, "handler": "h"})
    for name, labels in (("plain", {}), ("exempt", {}), ("open", {"pod-security.kubernetes.io/enforce": "privileged"}), ("strict", {"pod-security.kubernetes.io/enforce": "restricted"}),
                         ("wrong", {})):
        w.do("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    for space in ("plain", "exempt", "open", "strict"):
        w.do("POST", f"/api/v1/namespaces/{space}/pods", pod("ordinary"))
        w.do("POST", f"/api/v1/namespaces/{space}/pods", pod("host", hostNetwork=True))
    w.do("POST", "/api/v1/namespaces/plain/pods", pod("trusted", hostNetwork=True), user="trusted")
    w.do("POST", "/api/v1/namespaces/plain/pods", pod("sandboxed", hostNetwork=True, runtimeClassName="sandbox"))
    deployment = {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod("x", hostNetwork=True)["spec"]}}}
    w.do("POST", "/apis/apps/v1/namespaces/plain/deployments", deployment)
    w.do("POST", "/apis/apps/v1/namespaces/exempt/deployments", deployment)
    w.do("PUT", "/api/v1/namespaces/exempt", {"metadata": {"name": "exempt", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    w.do("PUT", "/api/v1/namespaces/open", {"metadata": {"name": "open", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    w.do("PUT", "/api/v1/namespaces/wrong", {"metadata": {"name": "wrong", "labels": {"pod-security.kubernetes.io/enforce": "nonsense"}}})


@scenario("--admission-control-config-file={folder}/admission.yaml", files={"admission.yaml": ADMISSION, "quota.yaml": QUOTA})
def limited_resources_need_a_quota(w):
    w.must("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "costly"}, "value": 10})
    w.must("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "cheap"}, "value": 1})

    def claim(name, storage_class):
        return {"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class, "resources": {"requests": {"storage": "1Gi"}}}}
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    w.do("POST", claims, claim("gold", "gold"))
    w.do("POST", claims, claim("silver", "silver"))
    w.do("POST", "/api/v1/namespaces/default/pods", pod("costly", priorityClassName="costly"))
    w.do("POST", "/api/v1/namespaces/default/pods", pod("cheap", priorityClassName="cheap"))
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"gold.storageclass.storage.k8s.io/requests.storage": "5Gi"}}}
    w.make_quota(quota)
    eventually("the quota is known", lambda: w.server.request("POST", claims + "?dryRun=All", claim("gold", "gold"))[0] == 201)
    w.do("POST", claims, claim("gold", "gold"))
    scoped = {"metadata": {"name": "p"}, "spec": {"hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["costly"]}]}}}
    w.make_quota(scoped)
    eventually("the quota is known", lambda: w.server.request("POST", "/api/v1/namespaces/default/pods?dryRun=All", pod("costly", priorityClassName="costly"))[0] == 201)
    w.do("POST", "/api/v1/namespaces/default/pods", pod("costly", priorityClassName="costly"))


def slow_hook(w, hooks):
    """Creations of ConfigMaps wait for a webhook that answers when the scenario is over."""
    def slow(asked):
        hooks.released.wait(60)
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": asked["request"]["uid"], "allowed": True}}
    hooks.released.clear()
    hooks.answers["/slow"] = slow
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    hook = {"name": "slow.example.com", "clientConfig": hooks.at("/slow"), "rules": rules, "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 30}
    w.must("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {"metadata": {"name": "slow"}, "webhooks": [hook]})
    if isinstance(w.server, Kube):
        time.sleep(2)  # it follows the configuration on its own


@scenario("--request-timeout=2s")
def a_request_that_takes_too_long_is_given_up(w):
    with tempfile.TemporaryDirectory(prefix="cardea-hooks-", ignore_cleanup_errors=True) as folder, Hooks(folder) as hooks:
        slow_hook(w, hooks)
        try:
            for query in ("", "?timeout=1s", "?timeout=50s"):
                w.do("POST", f"/api/v1/namespaces/default/configmaps{query}", {"metadata": {"name": "late"}})
            for text in ("abc", "5", "-1s", "0", "1h", ""):
                w.do("GET", f"/api/v1/namespaces/default/configmaps?timeout={text}")
            w.watch("timeoutSeconds=3")
            w.watch("timeoutSeconds=1&timeout=abc")
        finally:
            hooks.released.set()


class Started:
    """A server with the flags of a scenario, and the files that they name."""

    def __init__(self, kind, flags, files):
        self.folder = tempfile.TemporaryDirectory(prefix="cardea-flags-")
        for name, text in files.items():
            with open(os.path.join(self.folder.name, name), "w") as file:
                file.write(text)
        self.server = kind(*(flag.replace("{folder}", self.folder.name) for flag in flags))

    def __enter__(self):
        return self.server.__enter__()

    def __exit__(self, *error):
        self.server.__exit__(*error)
        self.folder.cleanup()


def told(kind, name):
    flags, files, run = SCENARIOS[name]
    if kind is Cardea:
        flags = (*flags, "--disable-admission-plugins=ServiceAccount")
    with Started(kind, flags, files) as server:
        world = World(server)
        run(world)
        return world.transcript


def in_kubernetes(name):
    def chapter():
        if not peers():
            skip("needs $CARDEA_PEERS")
        if story.options["record"] != "yes" and os.environ.get("CARDEA_WITH_PEERS") != "1":
            skip("the recording is compared with kube-apiserver when $CARDEA_WITH_PEERS is 1")
        found = told(Kube, name)
        if story.options["record"] == "yes":
            record(name, found, RECORDING)
        else:
            compare("kube-apiserver", name, found, RECORDING)
    return chapter


def as_recorded(name):
    def chapter():
        compare("cardea", name, told(Cardea, name), RECORDING)
    return chapter


for _name in SCENARIOS:
    story.add(f"{_name}_in_kubernetes", in_kubernetes(_name))
for _name in SCENARIOS:
    story.add(_name, as_recorded(_name))


@story.chapter
def a_body_that_drips_is_given_up():
    with Cardea("--request-timeout=1s") as server:
        raw = server.raw()
        raw.sendall(b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
        answer = b""
        while piece := raw.recv(4096):
            answer += piece
        raw.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    expect(head.startswith(b"HTTP/1.1 504 ") and json.loads(body)["reason"] == "Timeout", answer)


@story.chapter
def a_watch_without_a_timeout_ends_by_itself():
    with Cardea("--min-request-timeout=1") as server:
        world = World(server)
        world.watch("")
        expect(world.transcript[0]["status"] == 200, f"{world.transcript}")


@story.chapter
def settings_that_would_not_be_enforced_are_refused():
    image_policy = ADMISSION.split("plugins:")[0] + "plugins:\n- name: ImagePolicyWebhook\n  path: quota.yaml\n"
    for text, why in ((image_policy, "images would not be checked"), ("{}", "AdmissionConfiguration is expected"), (ADMISSION.replace("enforce:", "inforce:"), "unknown field"),
                      (ADMISSION.replace("quota.yaml", "absent.yaml"), "absent.yaml")):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in (("admission.yaml", text), ("quota.yaml", QUOTA)):
                with open(os.path.join(folder, name), "w") as file:
                    file.write(content)
            done = subprocess.run([binary(), "serve", "--data-dir", f"{folder}/data", "--admission-control-config-file", f"{folder}/admission.yaml"], capture_output=True, text=True, timeout=60)
        expect(done.returncode != 0 and why in done.stderr, f"{why}: {done.returncode} {done.stderr}")
    for flag, why in (("--runtime-config=apps/v7=true", "cannot serve"), ("--encryption-provider-config=/etc/keys.yaml", "Secrets would be on the disk as they are")):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([binary(), "serve", "--data-dir", f"{folder}/data", flag], capture_output=True, text=True, timeout=60)
        expect(done.returncode == 2 and why in done.stderr, f"{flag}: {done.returncode} {done.stderr}")


@story.chapter
def metrics_have_the_families_that_dashboards_use():
    with Cardea() as server:
        world = World(server)
        world.must("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})
        world.watch("timeoutSeconds=1", "/api/v1/namespaces/default/configmaps")
        with socket.create_connection(("127.0.0.1", server.port)) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
            while plain.recv(4096):
                pass
        text = server.request("GET", "/metrics")[2].decode()
    for line in (r'apiserver_watch_events_total{group="",resource="configmaps",version="v1"} \d', r'apiserver_watch_events_sizes_count{group="",resource="configmaps",version="v1"} \d',
                 r'apiserver_admission_controller_admission_duration_seconds_count{name="NamespaceLifecycle",operation="CREATE",rejected="false",type="\w+"} \d',
                 r'apiserver_admission_step_admission_duration_seconds_count{operation="CREATE",rejected="false",type="admit"} \d', r"apiserver_tls_handshake_errors_total 1",
                 r'workqueue_adds_total{name="namespace-controller"} \d', r'workqueue_depth{name="namespace-controller"} \d', r'workqueue_work_duration_seconds_count{name="\S+"} \d'):
        expect(re.search(f"(?m)^{line}", text), f"/metrics has no {line}")


if __name__ == "__main__":
    story.main()
