"""The bridge: conditional answers for a cluster that takes none, settled by its admission (docs/bridge.md).

The cluster is a small one of Python, and with $CARDEA_PEERS (a folder with kube-apiserver and etcd) a real kube-apiserver.
"""
import base64
import copy
import http.client
import json
import os
import re
import ssl
import tempfile
import urllib.error
import urllib.request

import yaml

from authorization_story import kubeconfig_for
from peer import Kube, peers
from server import Cardea, eventually, exchange, expect, skip
from small_cluster import SmallCluster
from story import Story

story = Story("bridge")

POLICIES = "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies"
VOLUMES = "/api/v1/persistentvolumes"
MERGE = "application/merge-patch+json"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
USERS = ["alice", "bob", "carol", "dave", "erin", "bridge"]


def documented(page, language):
    """The blocks of a page of docs/."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", page)
    with open(path, encoding="utf-8") as f:
        return [text for name, text in re.findall(r"^```(\w*)\n(.*?)^```$", f.read(), re.M | re.S) if name == language]


IN_CARDEA, IN_CLUSTER, WEBHOOK, AUTHORIZER, ADMISSION = (yaml.safe_load(text) for text in documented("bridge.md", "yaml"))


def volume(name, storage_class, **labels):
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "labels": labels},
            "spec": {"storageClassName": storage_class, "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp/x"}}}


def config_map(name, **labels):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": {}}


def make(server, path, document):
    status, _, said = server.request("POST", path, document)
    expect(status in (201, 409), f"POST {path}: {status} {said}")


def policy(server, name, effect, user, verbs, resources, expression, groups=("",)):
    make(server, POLICIES, {"apiVersion": "access.cardea.dev/v1alpha1", "kind": "ClusterAccessPolicy", "metadata": {"name": name},
                            "spec": {"effect": effect, "subjects": [{"kind": "User", "name": user}], "expression": expression,
                                     "rules": [{"verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources)}]}})


def bind(server, role, *users):
    make(server, f"{RBAC}/clusterroles", role)
    make(server, f"{RBAC}/clusterrolebindings", {"metadata": {"name": role["metadata"]["name"]}, "subjects": [{"kind": "User", "name": user} for user in users],
                                                 "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role["metadata"]["name"]}})


class RealCluster:
    """A kube-apiserver, with the interface of SmallCluster."""

    def __init__(self, folder, cardea_port, cardea_data):
        kubeconfig_for(f"{folder}/cardea.kubeconfig", f"https://127.0.0.1:{cardea_port}/apis/authorization.k8s.io/v1/subjectaccessreviews", f"{cardea_data}/ca.crt", "kube")
        authorizer = copy.deepcopy(AUTHORIZER)
        authorizer[0]["webhook"]["connectionInfo"]["kubeConfigFile"] = f"{folder}/cardea.kubeconfig"
        admission = copy.deepcopy(ADMISSION)
        admission["plugins"][0]["configuration"]["kubeConfigFile"] = f"{folder}/admission.kubeconfig"
        self.write(f"{folder}/admission.kubeconfig", {"apiVersion": "v1", "kind": "Config", "users": [{"name": f"127.0.0.1:{cardea_port}", "user": {"token": "admission"}}]})
        self.write(f"{folder}/authorization.yaml", {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration",
                                                    "authorizers": [*authorizer, {"type": "RBAC", "name": "rbac"}]})
        self.write(f"{folder}/admission.yaml", admission)
        with open(f"{folder}/cluster-users.csv", "w") as f:
            f.writelines(f"token-{user},{user},{user}\n" for user in USERS)
        self.kube = Kube("--token-auth-file", f"{folder}/cluster-users.csv", "--authorization-config", f"{folder}/authorization.yaml",
                         "--admission-control-config-file", f"{folder}/admission.yaml")

    @staticmethod
    def write(path, document):
        with open(path, "w") as f:
            json.dump(document, f)

    def __enter__(self):
        self.kube.__enter__()
        self.base, self.ca = self.kube.base, os.path.join(self.kube.data_dir, "ca.crt")
        return self

    def __exit__(self, *error):
        self.kube.__exit__(*error)

    def connect(self, _):
        bind(self.kube, IN_CLUSTER, "bridge")

    def configure(self, configuration):
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        status, _, said = self.kube.request("DELETE", f"{path}/cardea-bridge")
        expect(status in (200, 404), f"the old configuration: {status} {said}")
        if configuration is not None:
            make(self.kube, path, configuration)

    def allow(self, user, verb, resource):
        bind(self.kube, {"metadata": {"name": f"{user}-{verb}-{resource}"}, "rules": [{"apiGroups": [""], "resources": [resource], "verbs": [verb]}]}, user)

    def as_user(self, user, method, path, body=None, content_type="application/json"):
        request = urllib.request.Request(self.base + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": f"Bearer token-{user}", "Content-Type": content_type})
        try:
            with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=self.ca), timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            text = error.read()
            return error.code, json.loads(text) if text.startswith(b"{") else {"message": text.decode()}


class World:
    """A Cardea and a cluster that asks it."""

    def __init__(self, cardea, cluster):
        self.cardea, self.cluster = cardea, cluster

    def webhook(self, **changes):
        """The configuration of the page, for this Cardea, with changes of its entry."""
        configuration = copy.deepcopy(WEBHOOK)
        hook = configuration["webhooks"][0]
        with open(os.path.join(self.cardea.data_dir, "ca.crt"), "rb") as f:
            hook["clientConfig"] = {"url": f"{self.cardea.base}/bridge/v1/admission", "caBundle": base64.b64encode(f.read()).decode()}
        hook["rules"].append({"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]})
        hook["rules"].append({"operations": ["CONNECT"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/exec"]})
        hook["rules"].append({"operations": ["*"], "apiGroups": ["remote.example"], "apiVersions": ["v1"], "resources": ["*"]})
        hook.update(changes)
        return configuration

    def rules(self):
        return self.webhook()["webhooks"][0]["rules"]

    def trouble(self):
        status, _, said = self.cardea.request("GET", "/readyz/bridge")
        return "" if status == 200 else said.decode()

    def becomes_usable(self):
        self.cluster.configure(self.webhook())
        try:
            eventually("the bridge is usable", lambda: not self.trouble() and self.ask("kube")["allowed"])
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.trouble()}") from error

    def becomes_unusable(self, saying):
        eventually(f"the bridge is not usable: {saying}", lambda: saying in self.trouble())

    def passes(self, user, method, path, body=None, content_type="application/json"):
        status, said = self.cluster.as_user(user, method, path, body, content_type)
        expect(status in (200, 201), f"{user} {method} {path} should pass: {status} {said}")
        return said

    def refused(self, user, method, path, body=None, content_type="application/json", saying=""):
        status, said = self.cluster.as_user(user, method, path, body, content_type)
        expect(status == 403, f"{user} {method} {path} should be refused: {status} {said}")
        expect(saying in said["message"], f"{saying!r} is not in {said['message']!r}")

    def ask(self, token, verb="create", resource="persistentvolumes", subresource="", namespace="", user="alice", group="", **more):
        """Cardea's own answer to a SubjectAccessReview."""
        attributes = {"verb": verb, "group": group, "version": "v1", "resource": resource, "subresource": subresource, "namespace": namespace}
        spec = {"user": user, "groups": ["system:authenticated"], "resourceAttributes": attributes, **more}
        return self.send(token, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                         {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec})[1]["status"]

    def send(self, token, method, path, body=None):
        context = ssl.create_default_context(cafile=os.path.join(self.cardea.data_dir, "ca.crt"))
        connection = http.client.HTTPSConnection("127.0.0.1", self.cardea.port, timeout=60, context=context)
        try:
            status, _, said = exchange(connection, method, path, body, {"Authorization": f"Bearer {token}"})
            return status, said
        finally:
            connection.close()


def fill(cardea):
    """Permissions and policies in Cardea."""
    bind(cardea, IN_CARDEA, "kube-apiserver", "kube-admission", "stranger")
    status, _, said = cardea.request("POST", POLICIES, documented("conditional-authorization.md", "yaml")[0], {"Content-Type": "application/yaml"})
    expect(status == 201, f"the policy of Alice's volumes: {status} {said}")
    policy(cardea, "no-secrets", "Deny", "dave", ["create", "update", "patch"], ["configmaps"], "has(object.metadata.labels) && 'secret' in object.metadata.labels")
    policy(cardea, "own-space", "Allow", "erin", ["create"], ["configmaps"], "namespaceObject.metadata.name == 'default'")
    policy(cardea, "lost-space", "Allow", "erin", ["delete"], ["configmaps"], "namespaceObject == null")
    policy(cardea, "only-ls", "Allow", "alice", ["get", "create"], ["pods/exec"], "object.command == ['ls']")
    policy(cardea, "remote", "Allow", "alice", ["create"], ["*"], "object.spec.good", groups=["remote.example"])


def world_with(make_cluster):
    folder = tempfile.mkdtemp(prefix="cardea-bridge-")
    with open(f"{folder}/users.csv", "w") as f:
        f.write("kube,kube-apiserver,1\nadmission,kube-admission,2\nstranger,stranger,3\nmallory,mallory,4\n")
    cardea = Cardea("--token-auth-file", f"{folder}/users.csv", "--bridge-kubeconfig", f"{folder}/cluster.kubeconfig", "--bridge-askers", "kube-apiserver",
                    "--bridge-max-check-age=1s" if make_cluster is SmallCluster else "--bridge-max-check-age=5s")
    return folder, cardea


@story.shared
def small():
    folder, cardea = world_with(SmallCluster)
    with SmallCluster(folder) as cluster:
        kubeconfig_for(f"{folder}/cluster.kubeconfig", cluster.base, cluster.ca, "token-bridge")
        with cardea:
            fill(cardea)
            cluster.connect(cardea)
            cluster.objects["/api/v1/namespaces/default"] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
            for verb in ("create", "patch", "delete"):
                cluster.allow("carol", verb, "persistentvolumes")
            yield World(cardea, cluster)


@story.shared
def kube():
    if not peers():
        skip("CARDEA_PEERS names no kube-apiserver")
    folder, cardea = world_with(RealCluster)
    with Cardea(data_dir=cardea.data_dir):  # makes its CA, which the cluster has to know first
        pass
    cluster = RealCluster(folder, cardea.port, cardea.data_dir)
    with cluster:
        kubeconfig_for(f"{folder}/cluster.kubeconfig", cluster.base, cluster.ca, "token-bridge")
        with cardea:
            fill(cardea)
            cluster.connect(cardea)
            for verb in ("create", "patch", "delete"):
                cluster.allow("carol", verb, "persistentvolumes")
            yield World(cardea, cluster)


def told_of_both(run):
    story.add(run.__name__, run, using={"world": "small"})
    story.add(f"{run.__name__}_in_kubernetes", run, using={"world": "kube"})
    return run


@told_of_both
def without_a_webhook_nothing_is_bridged(world):
    world.cluster.configure(None)
    world.becomes_unusable("404")
    world.refused("alice", "POST", VOLUMES, volume("early", "dev"))
    expect(world.cardea.request("GET", "/readyz")[0] == 200, "the bridge is no part of readiness")
    expect("[!]bridge not usable: reason withheld" in world.cardea.request("GET", "/readyz?verbose")[2].decode(), "a line of /readyz")


@told_of_both
def alice_may_create_volumes_of_one_class(world):
    """The use case of the proposal, in a cluster that knows nothing of conditions."""
    world.becomes_usable()
    world.passes("alice", "POST", VOLUMES, volume("mine", "dev"))
    world.refused("alice", "POST", VOLUMES, volume("other", "prod"), saying='no condition allowed the request: "clusteraccesspolicy.access.cardea.dev/dev-volumes" (volumes of class dev only)')
    world.refused("bob", "POST", VOLUMES, volume("bobs", "dev"))
    world.passes("alice", "PATCH", f"{VOLUMES}/mine", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    eventually("Carol has the cluster's own permission", lambda: world.cluster.as_user("carol", "POST", VOLUMES, volume("theirs", "prod"))[0] == 201)
    world.refused("alice", "PATCH", f"{VOLUMES}/theirs", {"metadata": {"labels": {"a": "b"}}}, MERGE, saying="dev-volumes")
    world.passes("carol", "PATCH", f"{VOLUMES}/theirs", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    world.refused("alice", "DELETE", f"{VOLUMES}/theirs", saying="dev-volumes")
    world.passes("alice", "DELETE", f"{VOLUMES}/mine")
    world.passes("carol", "DELETE", f"{VOLUMES}/theirs")
    expect("[+]bridge ok" in world.cardea.request("GET", "/readyz?verbose")[2].decode(), "a line of /readyz")
    metrics = world.cardea.request("GET", "/metrics")[2].decode()
    for line in ("cardea_bridge_usable 1", 'cardea_bridge_answers_total{answer="allowed"}', 'cardea_bridge_admission_reviews_total{outcome="refused"}', 'cardea_bridge_checks_total{result="usable"}'):
        expect(line in metrics, f"no {line} in /metrics")


@told_of_both
def a_condition_that_denies_is_settled_by_admission(world):
    maps = "/api/v1/namespaces/default/configmaps"
    world.becomes_usable()
    world.cluster.allow("dave", "create", "configmaps")
    eventually("Dave has the cluster's own permission", lambda: world.cluster.as_user("dave", "POST", maps, config_map("plain"))[0] in (201, 409))
    world.refused("dave", "POST", maps, config_map("hidden", secret="yes"), saying="no-secrets")
    world.cluster.configure(None)
    world.becomes_unusable("404")
    world.refused("dave", "POST", maps, config_map("plain-2"))  # folded: what could be denied is


@told_of_both
def conditions_see_the_namespace_of_the_cluster(world):
    maps = "/api/v1/namespaces/default/configmaps"
    world.becomes_usable()
    world.passes("erin", "POST", maps, config_map("erins"))
    world.refused("erin", "DELETE", f"{maps}/erins", saying="lost-space")


@told_of_both
def a_webhook_that_leaves_something_out_stands_behind_nothing(world):
    """And an error is never an allow: each of these leaves Alice with what RBAC gives her, which is nothing."""
    selector = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["free"]}]}
    number = 0
    for saying, changes in (("failurePolicy", {"failurePolicy": "Ignore"}), ("namespaceSelector", {"namespaceSelector": selector}),
                            ("objectSelector", {"objectSelector": {"matchLabels": {"a": "b"}}}),
                            ("matchConditions", {"matchConditions": [{"name": "x", "expression": "request.userInfo.username != 'alice'"}]}),
                            ("does not have it", {"name": "other.cardea.dev"}),
                            ("clientConfig", {"clientConfig": {**world.webhook()["webhooks"][0]["clientConfig"], "url": world.cardea.base + "/version"}})):
        world.becomes_usable()
        number += 1
        world.passes("alice", "POST", VOLUMES, volume(f"good-{number}", "dev"))
        world.cluster.configure(world.webhook(**changes))
        world.becomes_unusable(saying)
        world.refused("alice", "POST", VOLUMES, volume("dev", "dev"))
        world.refused("alice", "POST", VOLUMES, volume("prod", "prod"))


@told_of_both
def a_webhook_for_fewer_requests_stands_behind_fewer(world):
    rules = world.rules()
    for fewer in ([{**rules[0], "operations": ["UPDATE", "DELETE"]}, *rules[1:]], [{**rules[0], "resources": ["nodes"]}, *rules[1:]],
                  [{**rules[0], "apiGroups": ["apps"]}, *rules[1:]], [{**rules[0], "scope": "Namespaced"}, *rules[1:]]):
        world.becomes_usable()
        world.cluster.configure(world.webhook(rules=fewer))
        eventually("fewer requests are bridged", lambda: not world.ask("kube")["allowed"])
        world.refused("alice", "POST", VOLUMES, volume("dev", "dev"))
        world.refused("alice", "POST", VOLUMES, volume("prod", "prod"))


@told_of_both
def without_the_webhook_nothing_more_is_allowed_than_rbac_allows(world):
    world.becomes_usable()
    world.passes("alice", "POST", VOLUMES, volume("last", "dev"))
    world.cluster.configure(None)
    world.becomes_unusable("404")
    for storage_class in ("dev", "prod"):
        world.refused("alice", "POST", VOLUMES, volume("late", storage_class))
    world.refused("alice", "DELETE", f"{VOLUMES}/last")
    world.refused("alice", "PATCH", f"{VOLUMES}/last", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    world.passes("carol", "POST", VOLUMES, volume("carols", "prod"))


@story.chapter(using={"world": "kube"})
def exec_of_one_command_in_kubernetes(world):
    """Conditions see the options of the connection. The pod has no node, so what passes fails later, and in another way."""
    world.becomes_usable()
    make(world.cluster.kube, "/api/v1/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    path = "/api/v1/namespaces/default/pods/p/exec?stdout=true&container=c&command="
    for method in ("POST", "GET"):
        status, said = world.cluster.as_user("alice", method, path + "ls")
        expect(status not in (401, 403) and "host assigned" in said["message"], f"{method} ls: {status} {said}")
        world.refused("alice", method, path + "sh", saying="only-ls")
        world.refused("bob", method, path + "ls")
    # Nobody settles what a kubelet asks the cluster.
    expect(not world.ask("kube", verb="create", resource="nodes", subresource="proxy")["allowed"], "nodes/proxy")


@story.chapter(using={"world": "kube"})
def what_kubernetes_applies_is_settled_as_a_creation(world):
    """An apply asks for `patch` and for `create`; admission sees a CREATE."""
    world.becomes_usable()
    for name, storage_class, status in (("applied", "dev", 201), ("stolen", "prod", 403), ("applied", "dev", 200), ("applied", "prod", 403)):
        got, said = world.cluster.as_user("alice", "PATCH", f"{VOLUMES}/{name}?fieldManager=alice&force=true", volume(name, storage_class), "application/apply-patch+yaml")
        expect(got == status, f"{name} of class {storage_class}: {got} {said}")
    got, said = world.cluster.as_user("alice", "DELETE", VOLUMES)
    expect(got == 403, f"Alice has no deletecollection: {got} {said}")


@story.chapter(using={"world": "small"})
def a_request_whose_conditions_are_gone_does_not_pass(world):
    """Who waits between the phases until the policy is deleted must not be allowed everything."""
    def review(user, name):
        request = {"uid": "1", "operation": "CREATE", "kind": {"version": "v1", "kind": "ConfigMap"}, "resource": {"group": "", "version": "v1", "resource": "configmaps"},
                   "userInfo": {"username": user, "groups": ["system:authenticated"]}, "object": config_map(name), "name": name, "namespace": "default"}
        status, said = world.send("admission", "POST", "/bridge/v1/admission", {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
        expect(status == 200, f"{status} {said}")
        return said["response"]
    world.becomes_usable()
    policy(world.cardea, "passing", "Allow", "frank", ["create"], ["configmaps"], "object.metadata.name == 'good'")
    eventually("Frank may, on conditions", lambda: world.ask("kube", resource="configmaps", user="frank", namespace="default")["allowed"])
    expect(review("frank", "good")["allowed"] and not review("frank", "bad")["allowed"], "the conditions decide")
    world.cardea.request("DELETE", f"{POLICIES}/passing")
    eventually("the policy is gone", lambda: not world.ask("kube", resource="configmaps", user="frank", namespace="default")["allowed"])
    for name in ("good", "bad"):
        expect("are gone" in review("frank", name)["status"]["message"], f"{name} passed")
    expect(review("grace", "bad")["allowed"], "nobody let Grace through on conditions: the cluster's own permissions did")


@story.chapter(using={"world": "small"})
def admission_that_is_switched_off_is_found_out(world):
    world.becomes_usable()
    world.cluster.admission_is_off = True
    try:
        world.becomes_unusable("lets a probe pass")
        world.refused("alice", "POST", VOLUMES, volume("free", "prod"))
    finally:
        world.cluster.admission_is_off = False


@story.chapter(using={"world": "small"})
def answers_that_are_kept_are_found_out(world):
    for which, setting in (("allowed", "cacheAuthorizedRequests"), ("other", "cacheUnauthorizedRequests")):
        world.becomes_usable()
        world.cluster.keeps_answers = which
        try:
            world.becomes_unusable(setting)
            expect(not world.ask("kube")["allowed"], "a kept answer outlives what it stands on")
        finally:
            world.cluster.keeps_answers = ""
            world.cluster.kept.clear()


@story.chapter(using={"world": "small"})
def another_cluster_that_asks_is_answered_plainly(world):
    world.becomes_usable()
    expect(world.ask("kube")["allowed"], "the asker of the bridge")
    expect(not world.ask("stranger")["allowed"], "somebody else that may ask")
    told = world.ask("kube", conditionalAuthorization={"mode": "Optimized"})
    expect(not told["allowed"] and told["conditionsChain"], f"who asks for conditions gets them: {told}")
    expect(not world.ask("kube", group="remote.example", resource="things")["allowed"], "a group that another server serves")
    world.refused("alice", "POST", "/apis/remote.example/v1/things", {"kind": "Thing", "metadata": {"name": "a"}})
    for verb, resource in (("get", "persistentvolumes"), ("list", "persistentvolumes")):
        expect(not world.ask("kube", verb=verb, resource=resource)["allowed"], f"{verb} is not settled by admission")


@story.chapter(using={"world": "small"})
def the_door_of_admission_is_for_those_who_may(world):
    world.becomes_usable()
    path = "/bridge/v1/admission"
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
              "request": {"uid": "1", "operation": "CREATE", "kind": {"version": "v1", "kind": "PersistentVolume"}, "resource": {"group": "", "version": "v1", "resource": "persistentvolumes"},
                          "userInfo": {"username": "alice"}, "object": volume("x", "dev"), "name": "x"}}
    status, said = world.send("admission", "POST", path, review)
    expect(status == 200 and said["response"] == {"uid": "1", "allowed": True}, f"{status} {said}")
    expect(world.send("mallory", "POST", path, review)[0] == 403, "anybody may ask about anybody")
    status, said = world.send("admission", "GET", path)
    expect(status in (403, 405), f"GET: {status} {said}")
    for changes in ({"uid": ""}, {"operation": "READ"}, {"userInfo": None}, {"resource": None}, {"object": "text"}):
        status, said = world.send("admission", "POST", path, {**review, "request": {**review["request"], **changes}})
        expect(status == 400, f"{changes}: {status} {said}")
    status, said = world.send("admission", "POST", path, {**review, "request": {**review["request"], "object": None}})
    expect(status == 200 and not said["response"]["allowed"], f"a review without an object: {status} {said}")
    converted = {"group": "", "version": "v1beta1", "resource": "persistentvolumes"}
    status, said = world.send("admission", "POST", path, {**review, "request": {**review["request"], "resource": converted, "requestResource": review["request"]["resource"]}})
    expect(status == 200 and not said["response"]["allowed"], f"an object in another version: {status} {said}")


@story.chapter(using={"world": "small"})
def when_cardea_is_gone_requests_are_refused(world):
    world.becomes_usable()
    world.cardea.kill()
    status, said = world.cluster.as_user("alice", "POST", VOLUMES, volume("gone", "dev"))
    expect(status == 403, f"nobody allows: {status} {said}")
    status, said = world.cluster.as_user("carol", "POST", VOLUMES, volume("gone", "dev"))
    expect(status == 500, f"admission cannot be asked: {status} {said}")
    world.cardea.start()
    world.becomes_usable()


if __name__ == "__main__":
    story.main()
