"""Cardea and kube-apiserver on one etcd: one cluster, whichever of them serves it.

Only with the peers (`./dev test --with-peers`). --operations=100000 lets both write for longer.
"""
import base64
import json
import os
import random
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import urllib.request

from etcd import Etcd
from peer import Kube, peers
from server import Cardea, binary, eventually, exchange, expect, skip
from story import Story

story = Story("beside_kubernetes", options={"operations": "5000"})

MAPS = "/api/v1/namespaces/default/configmaps"
SERVICES = "/api/v1/namespaces/default/services"
SECRETS = "/api/v1/namespaces/default/secrets"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
POLICIES = "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies"
BOB = {"Impersonate-User": "bob"}


def documented_flags():
    """Of the command in docs/migrating.md: {"--etcd-servers": ...}."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "migrating.md")) as page:
        command = re.search(r"```sh\ncardea serve(.*?)```", page.read(), re.DOTALL)[1]
    return dict(flag.split("=", 1) for flag in shlex.split(command.replace("\\\n", " ")))


class Beside(Cardea):
    """Cardea as docs/migrating.md starts it, with the files of a kube-apiserver, on another address of this machine and the same port."""
    address = "127.0.0.2"

    def __init__(self, kube, *flags):
        files = kube.data_dir
        here = {"--etcd-servers": kube.etcd_url, "--etcd-prefix": "/registry", "--client-ca-file": f"{files}/ca.crt", "--tls-cert-file": f"{files}/server.crt",
                "--tls-private-key-file": f"{files}/server.key", "--service-account-key-file": f"{files}/sa.key", "--service-account-signing-key-file": f"{files}/sa.key",
                "--requestheader-client-ca-file": f"{files}/ca.crt", "--requestheader-allowed-names": "front-proxy-client",
                "--requestheader-username-headers": "X-Remote-User", "--requestheader-group-headers": "X-Remote-Group", "--requestheader-extra-headers-prefix": "X-Remote-Extra-",
                "--proxy-client-cert-file": f"{files}/proxy.crt", "--proxy-client-key-file": f"{files}/proxy.key", "--service-account-issuer": kube.base, "--service-cluster-ip-range": "10.0.0.0/24", "--advertise-address": "192.0.2.9"}
        unused = {"--data-dir", "--etcd-cafile", "--etcd-certfile", "--etcd-keyfile"}  # this etcd has no TLS
        expect(set(documented_flags()) == set(here) | unused, f"docs/migrating.md has other flags: {documented_flags()}")
        super().__init__(*[f"{name}={value}" for name, value in here.items()], *flags)
        self.port, self.kube = kube.port, kube

    def command(self):
        return [self.address if part == "127.0.0.1" else part for part in super().command()]

    def tls(self):
        return self.kube.tls()

    def connect(self, seconds=60):
        connection = super().connect(seconds)
        connection.host = self.address
        return connection


def kube_on(url, *flags, data_dir=None):
    kube = Kube("--advertise-address=192.0.2.8", "--authorization-mode=Node,RBAC", *flags, etcd_url=url, data_dir=data_dir)
    files = kube.data_dir
    kube.flags += [f"--requestheader-client-ca-file={files}/ca.crt", "--requestheader-allowed-names=front-proxy-client", "--requestheader-username-headers=X-Remote-User",
                   "--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                   f"--proxy-client-cert-file={files}/proxy.crt", f"--proxy-client-key-file={files}/proxy.key"]
    return kube


@story.shared
def etcd():
    if not peers():
        skip("there is no kube-apiserver: $CARDEA_PEERS names no folder with one")
    with Etcd() as etcd:
        yield etcd


@story.shared
def kube(etcd):
    with kube_on(etcd.url) as kube:
        yield kube


@story.shared
def cardea(kube, cluster):
    with Beside(kube) as cardea:
        yield cardea


def in_etcd(etcd, method, **fields):
    """One call of etcd's API; keys and values are bytes."""
    body = {name: base64.b64encode(value).decode() if isinstance(value, bytes) else value for name, value in fields.items()}
    with urllib.request.urlopen(urllib.request.Request(f"{etcd.url}/v3/kv/{method}", json.dumps(body).encode()), timeout=30) as answer:
        return json.load(answer)


def keys_in_etcd(etcd, prefix):
    end = prefix[:-1] + bytes([prefix[-1] + 1])
    found = in_etcd(etcd, "range", key=prefix, range_end=end).get("kvs", [])
    return {base64.b64decode(kv["key"]): base64.b64decode(kv.get("value", "")) for kv in found}


def make(server, path, body, status=201):
    got, _, said = server.request("POST", path, body)
    expect(got == status, f"{path}: {got} {said}")
    return said


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def definition():
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 3}, "names": {"type": "array", "items": {"type": "string"}}}}}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}}


def pods_template():
    return {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "0.5", "memory": "1Gi"}},
                                                                         "env": [{"name": "A", "value": "<&>"}]}]}}


def many_kinds(mark):
    """Objects of different kinds, by the path of their collection."""
    selector, template = {"matchLabels": {"app": "a"}}, pods_template()
    scaled = {"apiVersion": "apps/v1", "kind": "Deployment", "name": mark}

    def named(version, kind, **rest):
        return {"apiVersion": version, "kind": kind, "metadata": {"name": mark, "labels": {"made": mark}, "annotations": {"text": '{"metadata":{"a":1}} ü\u2028'}}, **rest}

    return {
        MAPS: named("v1", "ConfigMap", data={"a": "1"}, binaryData={"b": "AAEC"}),
        SECRETS: named("v1", "Secret", stringData={"password": "open sesame"}),
        SERVICES: named("v1", "Service", spec={"type": "NodePort", "selector": {"app": "a"}, "ports": [{"port": 80}]}),
        "/api/v1/namespaces/default/pods": named("v1", "Pod", spec=template["spec"]),
        "/api/v1/namespaces/default/persistentvolumeclaims": named("v1", "PersistentVolumeClaim", spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}),
        "/api/v1/namespaces/default/events": named("v1", "Event", involvedObject={"kind": "Pod", "name": mark, "namespace": "default"}, reason="Made", type="Normal"),
        "/api/v1/namespaces/default/replicationcontrollers": named("v1", "ReplicationController", spec={"replicas": 0, "selector": {"app": "a"}, "template": template}),
        "/api/v1/nodes": named("v1", "Node"),
        "/api/v1/namespaces/default/serviceaccounts": named("v1", "ServiceAccount"),
        "/apis/apps/v1/namespaces/default/deployments": named("apps/v1", "Deployment", spec={"replicas": 0, "selector": selector, "template": template}),
        "/apis/apps/v1/namespaces/default/statefulsets": named("apps/v1", "StatefulSet", spec={"serviceName": "s", "selector": selector, "template": template}),
        "/apis/batch/v1/namespaces/default/cronjobs": named("batch/v1", "CronJob", spec={
            "schedule": "0 * * * *", "suspend": True, "jobTemplate": {"spec": {"template": {"spec": {**template["spec"], "restartPolicy": "Never"}}}}}),
        "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers": named("autoscaling/v1", "HorizontalPodAutoscaler", spec={
            "maxReplicas": 3, "targetCPUUtilizationPercentage": 70, "scaleTargetRef": scaled}),
        "/apis/networking.k8s.io/v1/namespaces/default/ingresses": named("networking.k8s.io/v1", "Ingress", spec={"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}),
        "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies": named("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {}}),
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets": named("policy/v1", "PodDisruptionBudget", spec={"minAvailable": "50%", "selector": selector}),
        "/apis/storage.k8s.io/v1/storageclasses": named("storage.k8s.io/v1", "StorageClass", provisioner="example.com/p"),
        "/apis/coordination.k8s.io/v1/namespaces/default/leases": named("coordination.k8s.io/v1", "Lease", spec={"holderIdentity": "h", "renewTime": "2026-01-02T03:04:05.000006Z"}),
        "/apis/scheduling.k8s.io/v1/priorityclasses": named("scheduling.k8s.io/v1", "PriorityClass", value=7),
        f"{RBAC}/clusterroles": named("rbac.authorization.k8s.io/v1", "ClusterRole", rules=[]),
        f"{RBAC}/namespaces/default/roles": named("rbac.authorization.k8s.io/v1", "Role", rules=[{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]),
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies": named("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", spec={
            "matchConstraints": {"resourceRules": [{"apiGroups": ["none.example"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]}, "validations": [{"expression": "1 < 2"}]}),
        WIDGETS: named("example.com/v1", "Widget", spec={"names": ["<a>", "b"]}),
    }


def make_all(server, mark):
    for path, body in many_kinds(mark).items():
        make(server, path, body)


@story.shared
def cluster(kube):
    """A cluster that kube-apiserver has made."""
    make(kube, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    eventually("the definition is served", lambda: kube.request("GET", WIDGETS)[0] == 200)
    make_all(kube, "by-kubernetes")
    return kube


def collections(server):
    """The paths of all collections that can be listed, in every version."""
    out = []
    for group in ["/api/v1"] + [f"/apis/{v['groupVersion']}" for g in server.request("GET", "/apis")[2]["groups"] for v in g["versions"]]:
        for resource in server.request("GET", group)[2]["resources"]:
            if "list" in resource["verbs"] and "/" not in resource["name"] and resource["name"] not in ("componentstatuses", "decisions"):
                out.append(f"{group}/{resource['name']}")
    return out


def listed(server, path):
    status, _, answer = server.request("GET", path)
    if status != 200:  # a kube-apiserver that has just started does not serve everything yet
        return {"": f"{status} {answer}"}
    # Written all the time by the servers themselves.
    return {f"{i['metadata'].get('namespace', '')}/{i['metadata']['name']}": i for i in answer["items"] if not i["metadata"]["name"].startswith(("apiserver-", "cardea-controllers"))}


def difference(one, other):
    """The paths of collections in which two servers show different objects, with the first one that differs."""
    both = [path for path in collections(one) if path in set(collections(other))]
    expect(len(both) > 50, f"{both}")
    out = {}
    for path in both:
        ours, theirs = listed(one, path), listed(other, path)
        for name in sorted(set(ours) | set(theirs)):
            if "access.cardea.dev" in name or "openshift.io" in name or "permissionconfig" in name:
                continue  # APIServices of Cardea's own groups
            if ours.get(name) != theirs.get(name):
                out[path] = (name, ours.get(name), theirs.get(name))
                break
    return out


def show_the_same(one, other):
    """In the end: some objects are written all the time by the servers themselves."""
    last = {}

    def is_same():
        last.clear()
        last.update(difference(one, other))
        return not last
    try:
        eventually("both show the same", is_same, 30)
    except AssertionError:
        raise AssertionError(f"they differ: {json.dumps(last, indent=1)[:6000]}") from None


@story.chapter
def a_cluster_of_kubernetes_is_served(cluster, cardea):
    show_the_same(cardea, cluster)
    expect("cannot be read" not in open(cardea.log_path).read(), "something could not be read")


@story.chapter
def what_cardea_writes_kubernetes_serves(cluster, cardea):
    make_all(cardea, "by-cardea")
    show_the_same(cardea, cluster)
    for path in many_kinds("x"):
        status, _, changed = cluster.request("PATCH", f"{path}/by-cardea", {"metadata": {"annotations": {"changed": "by kubernetes"}}}, {"Content-Type": "application/merge-patch+json"})
        expect(status == 200, f"{path}: {status} {changed}")
        status, _, seen = cardea.request("GET", f"{path}/by-cardea")
        expect(status == 200 and seen == changed, f"{path}:\n{seen}\n{changed}")
        status, _, changed = cardea.request("PATCH", f"{path}/by-kubernetes", {"metadata": {"annotations": {"changed": "by Cardea"}}}, {"Content-Type": "application/merge-patch+json"})
        expect(status == 200, f"{path}: {status} {changed}")
    show_the_same(cardea, cluster)


@story.chapter(needs=["what_cardea_writes_kubernetes_serves"])
def values_have_the_form_of_kubernetes(etcd, cluster, cardea):
    """A change that changes nothing is not written again, by either: so both write the same bytes."""
    for path in many_kinds("x"):
        for server in (cluster, cardea):
            _, _, now = server.request("GET", f"{path}/by-cardea")
            status, _, again = server.request("PUT", f"{path}/by-cardea", now)
            expect(status == 200 and again["metadata"]["resourceVersion"] == now["metadata"]["resourceVersion"], f"{path}: {status} {again}")
    values = keys_in_etcd(etcd, b"/registry/")
    for key, value in values.items():
        part = key.decode().split("/")[2]
        if part != "_cardea":
            expect(value.startswith(b"{" if "." in part else b"k8s\0"), f"{key}: {value[:40]}")


@story.chapter(needs=["what_cardea_writes_kubernetes_serves"])
def kubernetes_starts_on_what_cardea_wrote(etcd, kube, cardea):
    kube.kill()
    try:
        made = make(cardea, MAPS, config_map("while-away", a="1"))
    finally:
        kube.start()
    status, _, seen = kube.request("GET", f"{MAPS}/while-away")
    expect(status == 200 and seen == made, f"{status} {seen}")
    show_the_same(cardea, kube)


@story.chapter
def own_kinds_are_out_of_sight(etcd, cluster, cardea):
    policy = {"apiVersion": "access.cardea.dev/v1alpha1", "kind": "ClusterAccessPolicy", "metadata": {"name": "closed"},
              "spec": {"effect": "Deny", "subjects": [{"kind": "User", "name": "mallory"}], "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}}
    make(cardea, POLICIES, policy)
    expect(cluster.request("GET", POLICIES)[0] == 404, "kube-apiserver shows it")
    _, _, services = cluster.request("GET", "/apis/apiregistration.k8s.io/v1/apiservices")
    expect(not [i for i in services["items"] if "cardea" in i["metadata"]["name"]], "kube-apiserver has its APIService")
    for key in keys_in_etcd(etcd, b"/registry/"):
        expect(b"cardea.dev" not in key or key.startswith(b"/registry/_cardea/"), f"{key}")


@story.chapter(needs=["own_kinds_are_out_of_sight"])
def kubernetes_does_not_make_policies_for_cardea(cluster, cardea):
    """Whoever may make definitions in kube-apiserver writes where Cardea does not look."""
    fake = definition()
    fake["metadata"]["name"], fake["spec"]["group"], fake["spec"]["scope"] = "clusteraccesspolicies.access.cardea.dev", "access.cardea.dev", "Cluster"
    fake["spec"]["names"] = {"plural": "clusteraccesspolicies", "kind": "ClusterAccessPolicy"}
    fake["spec"]["versions"][0] |= {"name": "v1alpha1", "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    make(cluster, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", fake)
    eventually("kube-apiserver serves it", lambda: cluster.request("GET", POLICIES)[0] == 200)
    make(cluster, POLICIES, {"apiVersion": "access.cardea.dev/v1alpha1", "kind": "ClusterAccessPolicy", "metadata": {"name": "open"},
                             "spec": {"effect": "Allow", "subjects": [{"kind": "User", "name": "mallory"}], "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}})
    make(cardea, MAPS, config_map("after-policy"))  # Cardea has heard of everything before
    names = [i["metadata"]["name"] for i in cardea.request("GET", POLICIES)[2]["items"]]
    expect(names == ["closed"], f"{names}")
    expect(cardea.request("GET", MAPS, headers={"Impersonate-User": "mallory"})[0] == 403, "mallory is let in")
    cluster.request("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clusteraccesspolicies.access.cardea.dev")
    eventually("the definition is gone", lambda: cluster.request("GET", POLICIES)[0] == 404)
    names = [i["metadata"]["name"] for i in cardea.request("GET", POLICIES)[2]["items"]]
    expect(names == ["closed"], f"{names}")


def binding(name):
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "maps"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}]}


def write_during(cardea, connection, body, headers, change):
    """Cardea wakes up with a change of kube-apiserver's and a request at once: it may decide before it hears of the change."""
    cardea.process.send_signal(signal.SIGSTOP)
    try:
        status, _, said = change()
        connection.request("POST", MAPS, json.dumps(body), {"Content-Type": "application/json", **headers})
    finally:
        cardea.process.send_signal(signal.SIGCONT)
    expect(status in (200, 201), f"{status} {said}")
    answer = connection.getresponse()
    return answer.status, answer.read()


@story.chapter
def what_kubernetes_revokes_cardea_refuses(cluster, cardea):
    """From the answer of kube-apiserver on, nothing is stored that it does not allow any more."""
    roles, bindings = f"{RBAC}/namespaces/default/roles", f"{RBAC}/namespaces/default/rolebindings"
    make(cluster, roles, {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "maps"},
                          "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]})
    make(cluster, bindings, binding("bob"))
    connection, theirs = cardea.connect(), cluster.connect()
    eventually("bob may write", lambda: exchange(connection, "POST", MAPS, config_map("bob-first"), BOB)[0] == 201)
    for i in range(40):
        status, said = write_during(cardea, connection, config_map(f"bob-after-{i}"), BOB, lambda: exchange(theirs, "DELETE", f"{bindings}/bob"))
        expect(status in (403, 503), f"round {i}: {status} {said}")
        exchange(theirs, "POST", bindings, binding("bob"))
        eventually("bob may write again", lambda: exchange(connection, "POST", MAPS, config_map(f"bob-again-{i}"), BOB)[0] == 201)
    forbids = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "closed"},
               "spec": {"policyName": "closed", "validationActions": ["Deny"]}}
    policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    make(cluster, policies, {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "closed"}, "spec": {
        "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]},
        "validations": [{"expression": "!object.metadata.name.startsWith('shut-')", "message": "it is shut"}]}})
    for i in range(10):
        status, said = write_during(cardea, connection, config_map(f"shut-{i}"), {},
                                    lambda: exchange(theirs, "POST", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", forbids))
        expect(status == 422 and b"it is shut" in said, f"round {i}: {status} {said}")
        exchange(theirs, "DELETE", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/closed")
        eventually("it is open again", lambda: exchange(connection, "POST", MAPS, config_map(f"shut-{i}"))[0] == 201)
    exchange(theirs, "DELETE", f"{policies}/closed")


class Writer(threading.Thread):
    """Writes through both servers in turn, as a client behind one address does."""

    def __init__(self, number, servers, operations, counters):
        super().__init__()
        self.random, self.number = random.Random(number), number
        self.connections = [server.connect() for server in servers]
        self.left, self.counters = operations, counters
        self.added = {name: 0 for name in counters}
        self.taken, self.error = {}, None

    def call(self, method, path, body=None):
        self.left -= 1
        return exchange(self.random.choice(self.connections), method, path, body)

    def run(self):
        try:
            while self.left > 0:
                self.random.choice([self.add, self.add, self.add, self.add_to_widget, self.churn, self.service])()
        except BaseException as error:  # the chapter tells it
            self.error = error

    def add(self):
        self.increase(f"{MAPS}/{self.random.choice(self.counters)}", lambda o: o["data"])

    def add_to_widget(self):
        self.increase(f"{WIDGETS}/counter", lambda o: o["spec"])

    def increase(self, path, where):
        status, _, now = self.call("GET", path)
        expect(status == 200, f"{path}: {status} {now}")
        values = where(now)
        key = "size" if "size" in values else "value"
        values[key] = type(values[key])(int(values[key]) + 1)
        status, _, said = self.call("PUT", path, now)
        expect(status in (200, 409), f"{path}: {status} {said}")
        if status == 200:
            name = path.rpartition("/")[2]
            self.added[name] = self.added.get(name, 0) + 1

    def churn(self):
        name = f"churn-{self.number}-{self.random.randrange(20)}"
        status, _, said = self.call("POST", SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"a": str(self.left)}})
        expect(status in (201, 409), f"{status} {said}")
        if status == 409:
            status, _, said = self.call("DELETE", f"{SECRETS}/{name}")
            expect(status == 200, f"{status} {said}")

    def service(self):
        if len(self.taken) > 5:
            name = self.random.choice(list(self.taken))
            del self.taken[name]
            status, _, said = self.call("DELETE", f"{SERVICES}/{name}")
            expect(status == 200, f"{status} {said}")
            return
        name = f"s-{self.number}-{self.left}"
        status, _, said = self.call("POST", SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}})
        expect(status in (201, 409), f"{status} {said}")
        if status == 201:
            self.taken[name] = said


@story.chapter
def both_write_at_once(cluster, cardea):
    operations, servers = int(story.options["operations"]), (cluster, cardea)
    counters = [f"counter-{i}" for i in range(5)]
    for name in counters:
        make(cluster, MAPS, config_map(name, value="0"))
    make(cardea, WIDGETS, {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "counter"}, "spec": {"size": 0}})
    writers = [Writer(i, servers, operations // 8, counters) for i in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    for writer in writers:
        expect(writer.error is None, f"{writer.error!r}")
    show_the_same(cardea, cluster)
    for server in servers:
        for name in counters:
            value = server.request("GET", f"{MAPS}/{name}")[2]["data"]["value"]
            added = sum(writer.added[name] for writer in writers)
            expect(int(value) == added, f"{name} is {value} after {added} were added")
        size = server.request("GET", f"{WIDGETS}/counter")[2]["spec"]["size"]
        expect(size == sum(writer.added.get("counter", 0) for writer in writers), f"{size}")
        services = server.request("GET", "/api/v1/services")[2]["items"]
        addresses = [s["spec"]["clusterIP"] for s in services]
        ports = [p["nodePort"] for s in services for p in s["spec"]["ports"] if "nodePort" in p]
        expect(len(set(addresses)) == len(addresses) and len(set(ports)) == len(ports) > 8, f"{sorted(addresses)} {sorted(ports)}")


@story.chapter
def servers_do_not_write_against_each_other(cluster, cardea):
    """What both keep up to date comes to rest. Their leases do not."""
    def versions():
        paths = [path for path in collections(cardea) if "leases" not in path]
        return {f"{path} {name}": item["metadata"]["resourceVersion"] for path in paths for name, item in listed(cardea, path).items()}

    def is_quiet():
        before = versions()
        cardea.request("POST", MAPS, config_map("tick"))  # both hear of it, and look again
        cardea.request("DELETE", f"{MAPS}/tick")
        return before == versions()
    eventually("nothing is written", is_quiet)
    for server in (cluster, cardea):
        subsets = server.request("GET", "/api/v1/namespaces/default/endpoints/kubernetes")[2]["subsets"]
        expect([a["ip"] for a in subsets[0]["addresses"]] == ["192.0.2.8", "192.0.2.9"], f"{subsets}")
    before = versions()
    connection = cardea.connect()
    start = cardea.request("GET", MAPS)[2]["metadata"]["resourceVersion"]
    connection.request("GET", f"/api/v1/configmaps?watch=1&timeoutSeconds=12&resourceVersion={start}")
    seen = connection.getresponse().read()
    connection.close()
    expect(seen == b"" and versions() == before, f"{seen[:2000]}\n{dict(set(versions().items()) ^ set(before.items()))}")


@story.chapter
def what_cannot_be_read_is_named_and_what_is_not_ours_is_left_alone(etcd, cluster, cardea):
    broken = {b"/registry/configmaps/default/broken-1": b"k8s\0nonsense", b"/registry/configmaps/default/broken-2": b"",
              b"/registry/configmaps/default/broken-3": keys_in_etcd(etcd, b"/registry/secrets/default/by-kubernetes")[b"/registry/secrets/default/by-kubernetes"],
              b"/registry/configmaps/default/broken-4": b"k8s:enc:aescbc:v1:key:" + bytes(64)}
    foreign = {b"/registry/strangethings/default/a": b"k8s\0\xff\xff", b"/registry/strange": b"?"}
    for key, value in (broken | foreign).items():
        in_etcd(etcd, "put", key=key, value=value)
    for i in range(1, 5):
        status, _, said = cardea.request("GET", f"{MAPS}/broken-{i}")
        expect(status == 500 and f"broken-{i}` cannot be read" in said["message"], f"{status} {said}")
        expect(cardea.request("PUT", f"{MAPS}/broken-{i}", config_map(f"broken-{i}"))[0] == 500, "it was written over")
    status, headers, said = cardea.request("GET", MAPS)
    names = [i["metadata"]["name"] for i in said["items"]]
    expect(status == 200 and "by-kubernetes" in names and not [n for n in names if n.startswith("broken")], f"{status} {names}")
    cardea.kill()
    cardea.start()
    expect(cardea.request("GET", f"{MAPS}/broken-3")[0] == 500 and cardea.request("GET", f"{MAPS}/by-kubernetes")[0] == 200, "after a restart")
    kept = keys_in_etcd(etcd, b"/registry/strange")
    expect(kept == foreign, f"{kept}")
    for key in broken:
        in_etcd(etcd, "deleterange", key=key)
    eventually("it is gone", lambda: cardea.request("GET", f"{MAPS}/broken-3")[0] == 404)
    show_the_same(cardea, cluster)


PROVIDERS = ("aescbc", "aesgcm", "secretbox")


def encryption_config(folder, *providers, letter="k"):
    """A file with these providers in this order, and identity."""
    def keys(provider):
        return {provider: {"keys": [{"name": f"{provider}-{letter}", "secret": base64.b64encode(letter.encode() * 32).decode()}]}}
    path = os.path.join(folder, f"{'-'.join(providers)}-{letter}.yaml")
    with open(path, "w") as out:
        json.dump({"kind": "EncryptionConfiguration", "apiVersion": "apiserver.config.k8s.io/v1",
                   "resources": [{"resources": ["secrets"], "providers": [*map(keys, providers), {"identity": {}}]}]}, out)
    return f"--encryption-provider-config={path}"


def secret(name):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"password": f"open sesame {name}"}}


@story.chapter
def both_read_what_the_other_encrypted():
    if not peers():
        skip("there is no kube-apiserver: $CARDEA_PEERS names no folder with one")
    with tempfile.TemporaryDirectory() as folder, Etcd() as etcd:
        files = os.path.join(folder, "kube")
        for i, first in enumerate(PROVIDERS):
            flag = encryption_config(folder, *PROVIDERS[i:], *PROVIDERS[:i])
            with kube_on(etcd.url, flag, data_dir=files) as kube:
                make(kube, SECRETS, secret(f"kubernetes-{first}"))
                with Beside(kube, flag) as cardea:
                    make(cardea, SECRETS, secret(f"cardea-{first}"))
                    show_the_same(cardea, kube)
                    names = [item["metadata"]["name"] for item in cardea.request("GET", SECRETS)[2]["items"]]
                    expect(len(names) == 2 * (i + 1), f"{names}")
            for key, value in keys_in_etcd(etcd, b"/registry/secrets/").items():
                if first in key.decode():
                    expect(value.startswith(f"k8s:enc:{first}:v1:{first}-k:".encode()) and b"sesame" not in value, f"{key}: {value[:60]}")
        with kube_on(etcd.url, encryption_config(folder, *PROVIDERS), data_dir=files) as kube:
            wrong = encryption_config(folder, *PROVIDERS, letter="w")
            for flags in ([], [wrong]):
                with Beside(kube, *flags) as cardea:
                    for name in names:
                        status, _, said = cardea.request("GET", f"{SECRETS}/{name}")
                        expect(status == 500 and "cannot be read" in said["message"], f"{flags} {name}: {status} {said}")
                    expect(cardea.request("GET", SECRETS)[2]["items"] == [], "a list shows what nobody can read")
                    expect(cardea.request("GET", "/api/v1/namespaces")[0] == 200, "the rest is not served")
        copy = [binary(), "store", "copy", "--from", f"etcd:{etcd.url}", "--to", f"sqlite:{folder}/copy"]
        done = subprocess.run(copy, capture_output=True, text=True, timeout=60)
        expect(done.returncode == 2 and "cannot be read" in done.stderr, f"{done.returncode} {done.stderr}")
        done = subprocess.run([*copy, encryption_config(folder, *PROVIDERS)], capture_output=True, text=True, timeout=60)
        expect(done.returncode == 0, f"{done.returncode} {done.stderr}")


@story.chapter
def a_configuration_that_does_not_protect_stops_the_start():
    with tempfile.TemporaryDirectory() as folder:
        for text, why in (("kind: EncryptionConfiguration", "must be an EncryptionConfiguration of"),
                          (json.dumps({"kind": "EncryptionConfiguration", "apiVersion": "apiserver.config.k8s.io/v1", "resources": [
                              {"resources": ["secrets"], "providers": [{"kms": {"apiVersion": "v1", "name": "k", "endpoint": "unix:///k.sock"}}]}]}), "kms.apiVersion: must be v2")):
            with open(f"{folder}/e.yaml", "w") as out:
                out.write(text)
            done = subprocess.run([binary(), "serve", "--data-dir", f"{folder}/data", "--etcd-servers=http://127.0.0.1:1", f"--encryption-provider-config={folder}/e.yaml"],
                                  capture_output=True, text=True, timeout=60)
            expect(done.returncode != 0 and why in done.stderr, f"{done.returncode} {done.stderr}")


@story.chapter
def a_damaged_definition_is_not_written_over():
    damaged = {b"/registry/apiextensions.k8s.io/customresourcedefinitions/a.example.com": b'{"metadata":{"name":"a.example.com"}}',
               b"/registry/apiextensions.k8s.io/customresourcedefinitions/b.example.com": b"k8s:enc:aesgcm:v1:one:?"}
    with Etcd() as etcd:
        for key, value in damaged.items():
            in_etcd(etcd, "put", key=key, value=value)
        with Cardea(f"--etcd-servers={etcd.url}") as cardea:
            make(cardea, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
            eventually("the good one is served", lambda: cardea.request("GET", WIDGETS)[0] == 200)
            status, _, said = cardea.request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a.example.com")
            expect(status == 500 and "cannot be read" in said["message"], f"{status} {said}")
        there = keys_in_etcd(etcd, b"/registry/apiextensions.k8s.io/customresourcedefinitions/")
        expect({key: there.get(key) for key in damaged} == damaged, f"{there}")


@story.chapter
def the_layout_of_earlier_versions_is_refused():
    with Etcd() as etcd:
        in_etcd(etcd, "put", key=b"/registry/_cardea//cardea/mark", value=b"")
        in_etcd(etcd, "put", key=b"/registry/access.cardea.dev/clusteraccesspolicies/a", value=b"{}")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([binary(), "serve", "--data-dir", f"{folder}/data", f"--etcd-servers={etcd.url}"], capture_output=True, text=True, timeout=60)
        expect(done.returncode != 0 and "layout of an earlier version" in done.stderr, f"{done.returncode} {done.stderr}")


if __name__ == "__main__":
    story.main()
