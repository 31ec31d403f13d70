"""The first steps of a newcomer with kubectl, from the first namespace to a conflict of server-side apply.

Runs with each available kubectl: $CARDEA_KUBECTL (else the one on the PATH), $CARDEA_DEBIAN_KUBECTL, and
$CARDEA_PEERS/kubectl when that folder is given. The chapters of the
second kubectl end in `_2`.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

from server import Cardea, eventually, expect, skip
from story import Story

story = Story("kubectl_story")

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx:1.0
"""

CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: prices, namespace: shop}
data: {bread: "2", milk: "1"}
"""

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: cakes.bakery.example.com}
spec:
  group: bakery.example.com
  scope: Namespaced
  names: {plural: cakes, singular: cake, kind: Cake, shortNames: [ck]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.tiers, statusReplicasPath: .status.tiers}}
    additionalPrinterColumns:
    - {name: Flavour, type: string, jsonPath: .spec.flavour}
    - {name: Tiers, type: integer, jsonPath: .spec.tiers}
    schema:
      openAPIV3Schema:
        type: object
        description: A cake made to order.
        properties:
          spec:
            type: object
            required: [flavour]
            properties:
              flavour: {type: string, description: What it tastes of., enum: [lemon, plum]}
              tiers: {type: integer, default: 1, minimum: 1}
          status: {type: object, properties: {tiers: {type: integer}}}
"""

OVENS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ovens.bakery.example.com}
spec:
  group: bakery.example.com
  scope: Namespaced
  names: {plural: ovens, singular: oven, kind: Oven}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {scale: {specReplicasPath: .spec.trays, statusReplicasPath: .status.trays}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {trays: {type: integer}}}, status: {type: object, properties: {trays: {type: integer}}}}}}
---
apiVersion: bakery.example.com/v1
kind: Oven
metadata: {name: corner, namespace: shop}
"""

CAKE = """
apiVersion: bakery.example.com/v1
kind: Cake
metadata: {name: birthday, namespace: shop}
spec: {flavour: %s}
"""


class Kubectl:
    def __init__(self, path, server, folder):
        self.path, self.folder = path, folder
        self.environment = {**os.environ, "KUBECONFIG": server.kubeconfig, "HOME": folder, "KUBECACHEDIR": os.path.join(folder, "cache"),
                            "KUBERNETES_SERVICE_HOST": ""}

    def try_(self, *args, stdin=None, **environment):
        return subprocess.run([self.path, *args], input=stdin, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                              env={**self.environment, **environment})

    def __call__(self, *args, stdin=None, **environment):
        done = self.try_(*args, stdin=stdin, **environment)
        expect(done.returncode == 0, f"kubectl {' '.join(args)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def create(self, *args):
        """`kubectl create KIND NAME`. kubectl sends a Protobuf body for it since 1.32; where the server takes none yet, the
        same object goes as YAML, as `--dry-run=client -o yaml | kubectl create -f -` does."""
        done = self.try_("create", *args)
        if done.returncode != 0 and "the body of the request was in an unknown format" in done.stderr:
            print(f"   note: `kubectl create {' '.join(args)}` sends Protobuf, which is refused; sent as YAML instead")
            return self("create", "-f", "-", stdin=self("create", *args, "--dry-run=client", "-o", "yaml"))
        expect(done.returncode == 0, f"kubectl create {' '.join(args)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def fails(self, *args, stdin=None, saying, status=None):
        done = self.try_(*args, stdin=stdin)
        expect(done.returncode != 0 and status in (None, done.returncode), f"kubectl {' '.join(args)}: status {done.returncode}\n{done.stdout}")
        expect(saying in done.stderr + done.stdout, f"kubectl {' '.join(args)} does not say `{saying}`:\n{done.stdout}{done.stderr}")

    def object(self, *args):
        return json.loads(self("get", "-o", "json", *args))

    def version(self):
        text = json.loads(self("version", "--client", "-o", "json"))["clientVersion"]["gitVersion"]
        return tuple(map(int, re.findall(r"\d+", text)[:2]))


def has(text, *words):
    for word in words:
        expect(word in text, f"`{word}` is not in:\n{text}")


def looks_around(kubectl):
    has(kubectl("version"), "Server Version")
    has(kubectl("cluster-info"), "is running at")
    has(kubectl("get", "namespaces"), "default", "kube-system", "Active")
    has(kubectl("api-versions"), "v1\n", "apps/v1\n")
    resources = kubectl("api-resources")
    has(resources, "configmaps", "deployments", "customresourcedefinitions", "cm")
    has(kubectl("api-resources", "--api-group=apps", "-o", "name"), "deployments.apps\n")
    has(kubectl("explain", "deployment.spec.replicas"), "replicas")
    has(kubectl("explain", "pods.spec.containers"), "image", "imagePullPolicy")
    has(kubectl("explain", "service", "--recursive"), "clusterIP", "selector")


def explains(kubectl):
    """Every kind and every field down to the last one has a text."""
    def explain(*args):
        return " ".join(kubectl("explain", *args).split())  # kubectl breaks lines

    has(explain("pod.spec.containers.livenessProbe"), "Checks whether the container still works.", "A check that is repeated",
        "periodSeconds", "How often to check. At least 1. Default: 10.", "tcpSocket", "Opens a TCP connection.")
    has(explain("pod.spec.containers.livenessProbe.httpGet.port"), "Number of the port from 1 to 65535, or its name in the container.")
    has(explain("deployment", "--recursive"), "Deployment keeps pods running and rolls out changes to them.", "maxSurge", "livenessProbe")
    has(explain("cronjob.spec.jobTemplate.spec.template.spec.volumes.emptyDir.sizeLimit"), "A pod that stores more is evicted.")
    has(explain("crd.spec.versions.schema.openAPIV3Schema.properties"), "Fields of an object, and the schema of each.")
    has(explain("clusteraccesspolicies.spec"), "Deny has precedence over NoOpinion")
    for line in kubectl("api-resources", "--no-headers").splitlines():
        name, *_, version, _, kind = line.split()
        text = explain(name, "--api-version", version)
        expect(kind in text and "DESCRIPTION:" in text and "<empty>" not in text, f"kubectl explain {name} of {version}:\n{text}")


def checks_before_it_sends(kubectl):
    """kubectl compares what it applies with OpenAPI, or asks the server to: a misspelled field is refused."""
    misspelled = DEPLOYMENT.replace("image:", "imago:").replace("namespace: shop", "namespace: default")
    kubectl.fails("apply", "--validate", "-f", "-", stdin=misspelled, saying='unknown field "')
    kubectl.fails("create", "--validate", "-f", "-", stdin=misspelled.replace("imago: nginx:1.0", "ports: [{containerPort: 80, procotol: TCP}]"),
                  saying='procotol"')
    has(kubectl("apply", "--validate", "--dry-run=server", "-f", "-", stdin=DEPLOYMENT.replace("namespace: shop", "namespace: default")), "web created")


def makes_and_changes(kubectl):
    kubectl.create("namespace", "shop")
    kubectl("create", "-f", "-", stdin="apiVersion: v1\nkind: Namespace\nmetadata: {name: depot}\n")
    kubectl.fails("create", "-f", "-", stdin="apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n", saying="AlreadyExists")
    kubectl.create("configmap", "hours", "-n", "shop", "--from-literal=open=8")
    kubectl.create("secret", "generic", "till", "-n", "shop", "--from-literal=code=1234")
    has(kubectl("apply", "-f", "-", stdin=DEPLOYMENT), "deployment.apps/web created")
    has(kubectl("apply", "-f", "-", stdin=DEPLOYMENT), "deployment.apps/web unchanged")
    has(kubectl("apply", "-f", "-", stdin=DEPLOYMENT.replace("nginx:1.0", "nginx:1.1")), "deployment.apps/web configured")
    kubectl("apply", "-f", "-", stdin=CONFIG)
    without_milk = CONFIG.replace(', milk: "1"', "")
    kubectl("apply", "-f", "-", stdin=without_milk)
    expect(kubectl.object("cm", "prices", "-n", "shop")["data"] == {"bread": "2"}, "apply did not take away what left the file")

    editor = os.path.join(kubectl.folder, "editor")
    with open(editor, "w") as script:
        script.write('#!/bin/sh\nexec sed -i "s/bread: \\"2\\"/bread: \\"3\\"/" "$1"\n')
    os.chmod(editor, 0o755)
    kubectl("edit", "configmap", "prices", "-n", "shop", KUBE_EDITOR=editor)
    expect(kubectl.object("cm", "prices", "-n", "shop")["data"]["bread"] == "3", "edit changed nothing")

    kubectl("patch", "deployment", "web", "-n", "shop", "-p", '{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"A","value":"1"}]}]}}}}')
    kubectl("patch", "deployment", "web", "-n", "shop", "--type=json", "-p", '[{"op":"replace","path":"/spec/revisionHistoryLimit","value":3}]')
    kubectl("patch", "configmap", "prices", "-n", "shop", "--type=merge", "-p", '{"data":{"eggs":"4"}}')
    container = kubectl.object("deploy", "web", "-n", "shop")["spec"]["template"]["spec"]["containers"][0]
    expect(container["image"] == "nginx:1.1" and container["env"] == [{"name": "A", "value": "1"}], f"patched to {container}")

    kubectl("label", "configmap", "prices", "-n", "shop", "season=summer")
    kubectl.fails("label", "configmap", "prices", "-n", "shop", "season=winter", saying="overwrite")
    kubectl("label", "--overwrite", "configmap", "prices", "-n", "shop", "season=winter")
    kubectl("annotate", "configmap", "prices", "-n", "shop", "note=checked")
    has(kubectl("get", "cm", "-n", "shop", "-l", "season=winter", "-o", "name"), "configmap/prices")
    has(kubectl("get", "cm", "-n", "shop", "--show-labels"), "season=winter")
    kubectl("label", "configmap", "prices", "-n", "shop", "season-")
    kubectl("scale", "deployment", "web", "-n", "shop", "--replicas=4")
    expect(kubectl.object("deploy", "web", "-n", "shop")["spec"]["replicas"] == 4, "scale changed nothing")
    kubectl("set", "image", "deployment/web", "-n", "shop", "web=nginx:1.2")


def reads(kubectl):
    has(kubectl("get", "deployment", "-n", "shop", "-o", "wide"), "CONTAINERS", "IMAGES", "nginx:1.2", "app=web")
    has(kubectl("get", "deploy", "web", "-n", "shop", "-o", "yaml"), "kind: Deployment", "replicas: 4")
    has(kubectl("get", "deploy", "web", "-n", "shop", "-o", "jsonpath={.spec.template.spec.containers[*].image}"), "nginx:1.2")
    has(kubectl("get", "cm,secrets", "-n", "shop"), "configmap/hours", "secret/till")
    has(kubectl("get", "cm", "-A"), "shop", "prices")
    has(kubectl("get", "cm", "-n", "shop", "--chunk-size=1", "-o", "name"), "configmap/hours", "configmap/prices")
    has(kubectl("get", "cm", "-n", "shop", "--field-selector", "metadata.name=hours", "-o", "name"), "configmap/hours")
    has(kubectl("describe", "configmap", "hours", "-n", "shop"), "open", "8")
    has(kubectl("describe", "deployment", "web", "-n", "shop"), "4 desired", "nginx:1.2")
    kubectl.fails("get", "cm", "missing", "-n", "shop", saying="NotFound")
    kubectl.fails("get", "unicorns", saying='the server doesn\'t have a resource type "unicorns"')


def differs(kubectl):
    kubectl.fails("diff", "-f", "-", stdin=DEPLOYMENT.replace("replicas: 2", "replicas: 9"), saying="replicas: 9", status=1)
    expect(kubectl.object("deploy", "web", "-n", "shop")["spec"]["replicas"] == 4, "diff changed the object")
    same = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: still, namespace: shop}\ndata: {a: b}\n"
    kubectl("apply", "-f", "-", stdin=same)
    kubectl("diff", "-f", "-", stdin=same)
    has(kubectl("apply", "--dry-run=server", "-f", "-", stdin=same.replace("still", "ghost")), "created (server dry run)")
    kubectl.fails("get", "cm", "ghost", "-n", "shop", saying="NotFound")


def watches(kubectl):
    """`get -w` shows the existing objects, then the changes."""
    process = subprocess.Popen([kubectl.path, "get", "configmap", "-n", "depot", "-w", "--output-watch-events"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=kubectl.environment)
    lines = []
    threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")), daemon=True).start()

    def shown(event, name):
        eventually(f"get -w shows {event} {name}", lambda: any(line.split()[:2] == [event, name] for line in lines))
    try:
        kubectl.create("configmap", "first", "-n", "depot")
        shown("ADDED", "first")
        kubectl("label", "configmap", "first", "-n", "depot", "shelf=top")
        shown("MODIFIED", "first")
        kubectl("delete", "configmap", "first", "-n", "depot")
        shown("DELETED", "first")
    finally:
        process.kill()
        process.wait()


def waits(kubectl):
    waiting = subprocess.Popen([kubectl.path, "wait", "--for=condition=Available", "deployment/web", "-n", "shop", "--timeout=100s"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=kubectl.environment)
    status = {"status": {"conditions": [{"type": "Available", "status": "True", "reason": "Told", "message": "so",
                                         "lastTransitionTime": "2030-01-01T00:00:00Z", "lastUpdateTime": "2030-01-01T00:00:00Z"}]}}
    whole = kubectl.object("deploy", "web", "-n", "shop")
    whole["status"] = {**status["status"], "observedGeneration": whole["metadata"]["generation"]}
    # No kubectl before 1.24 writes a status, so this one uses the raw path.
    kubectl("replace", "--raw", "/apis/apps/v1/namespaces/shop/deployments/web/status", "-f", "-", stdin=json.dumps(whole))
    out, _ = waiting.communicate(timeout=120)
    expect(waiting.returncode == 0 and "condition met" in out, f"wait: status {waiting.returncode}: {out}")
    kubectl.fails("wait", "--for=condition=Broken", "deployment/web", "-n", "shop", "--timeout=1s", saying="timed out")
    kubectl.create("configmap", "brief", "-n", "shop")
    kubectl("delete", "configmap", "brief", "-n", "shop", "--wait=false")
    kubectl.try_("wait", "--for=delete", "configmap/brief", "-n", "shop", "--timeout=100s")  # 1.20 reports NotFound if it is gone already
    kubectl.fails("get", "configmap", "brief", "-n", "shop", saying="NotFound")


def shares(kubectl):
    """Server-side apply: two managers, a conflict, and the two ways to resolve it."""
    mine = ["apply", "--server-side", "--field-manager=baker", "-f", "-"]
    yours = ["apply", "--server-side", "--field-manager=clerk", "-f", "-"]
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: list, namespace: shop}\ndata: {%s}\n"
    kubectl(*mine, stdin=text % "flour: one, salt: two")
    kubectl(*yours, stdin=text % "sugar: three")
    kubectl.fails(*yours, stdin=text % "flour: ten", saying='conflict with "baker"')
    expect(kubectl.object("cm", "list", "-n", "shop")["data"] == {"flour": "one", "salt": "two", "sugar": "three"}, "a conflict changed something")
    kubectl(*yours, "--force-conflicts", stdin=text % "flour: ten")
    expect(kubectl.object("cm", "list", "-n", "shop")["data"] == {"flour": "ten", "salt": "two"}, "force did not take the field over")
    kubectl(*mine, stdin=text % "salt: two")


def brings_kinds(kubectl):
    kubectl("apply", "-f", "-", stdin=DEFINITION)
    kubectl("wait", "--for=condition=Established", "crd/cakes.bakery.example.com", "--timeout=60s")
    eventually("the new kind can be applied", lambda: kubectl.try_("apply", "-f", "-", stdin=CAKE % "lemon").returncode == 0)
    has(kubectl("get", "cakes", "-n", "shop"), "NAME", "FLAVOUR", "TIERS", "birthday", "lemon", "1")
    has(kubectl("get", "ck", "birthday", "-n", "shop", "-o", "yaml"), "tiers: 1")
    kubectl.fails("apply", "-f", "-", stdin=CAKE % "brick", saying="Unsupported value")
    kubectl("apply", "-f", "-", stdin=CAKE % "plum")
    has(kubectl("get", "ck", "-n", "shop", "-o", "jsonpath={.items[*].spec.flavour}"), "plum")
    kubectl("scale", "cake", "birthday", "-n", "shop", "--replicas=3")
    expect(kubectl.object("ck", "birthday", "-n", "shop")["spec"]["tiers"] == 3, "scale did not reach .spec.tiers")
    # An object that never had replicas can be scaled too.
    eventually("ovens are served", lambda: kubectl.try_("apply", "-f", "-", stdin=OVENS).returncode == 0)
    kubectl("scale", "oven", "corner", "-n", "shop", "--replicas=2")
    expect(kubectl.object("oven", "corner", "-n", "shop")["spec"] == {"trays": 2}, "scale did not set .spec.trays")
    kubectl("delete", "crd", "ovens.bakery.example.com")
    kubectl("patch", "ck", "birthday", "-n", "shop", "--type=merge", "-p", '{"spec":{"tiers":2}}')
    has(kubectl("api-resources", "--api-group=bakery.example.com"), "cakes", "ck", "Cake")
    eventually("explain knows the new kind", lambda: "A cake made to order" in kubectl.try_("explain", "cake").stdout)
    has(kubectl("explain", "cake.spec.flavour"), "What it tastes of")
    kubectl("delete", "cake", "birthday", "-n", "shop")
    kubectl("apply", "-f", "-", stdin=CAKE % "plum")
    kubectl("delete", "crd", "cakes.bakery.example.com")
    eventually("the deleted kind is gone", lambda: kubectl.try_("get", "cakes", "-n", "shop").returncode != 0)


def runs_things(kubectl):
    """The quick commands, in a namespace in which nothing runs: there is no node."""
    here = ["-n", "shop"]
    kubectl("run", "once", "--image=nginx", *here)
    kubectl("expose", "pod", "once", "--port=80", *here)
    kubectl.create("deployment", "quick", "--image=nginx", *here)
    kubectl("rollout", "restart", "deployment/quick", *here)
    kubectl("autoscale", "deployment", "quick", "--max=3", *here)
    kubectl.create("job", "task", "--image=busybox", *here)
    kubectl.create("serviceaccount", "robot", *here)
    kubectl.create("quota", "little", "--hard=pods=10", *here)
    has(kubectl("get", "all", *here), "pod/once", "Pending", "service/once", "ClusterIP", "deployment.apps/quick", "job.batch/task")
    has(kubectl("describe", "pod", "once", *here), "nginx", "Pending")
    has(kubectl("describe", "service", "once", *here), "10.0.0.", "80/TCP")
    kubectl.fails("exec", "once", *here, "--", "ls", saying="does not have a host assigned")
    pod = kubectl("get", "pod", "once", *here, "-o", "yaml")
    has(kubectl("replace", "--force", "-f", "-", stdin=pod), "pod/once replaced")
    kubectl("delete", "pod", "once", "--now", *here)
    kubectl("delete", "service/once", "deployment/quick", "job/task", "hpa/quick", *here)
    kubectl("get", "events", "-A")


def tidies_up(kubectl):
    kubectl("delete", "deployment", "web", "-n", "shop")
    kubectl.fails("get", "deployment", "web", "-n", "shop", saying="NotFound")
    kubectl("delete", "configmap", "-n", "shop", "--all")
    kubectl("delete", "namespace", "shop", "depot", "--timeout=60s")
    kubectl.fails("get", "namespace", "shop", saying="NotFound")


def kubectls():
    given = [os.environ.get("CARDEA_KUBECTL") or shutil.which("kubectl"), os.environ.get("CARDEA_DEBIAN_KUBECTL")]
    if os.environ.get("CARDEA_PEERS"):
        given.append(os.path.join(os.environ["CARDEA_PEERS"], "kubectl"))
    else:
        print("CARDEA_PEERS is not set: a kubectl built there is not tried", file=sys.stderr)
    found = []
    for path in given:
        if path and not os.access(path, os.X_OK):
            print(f"not tried, since it is not there: {path}", file=sys.stderr)
        elif path and os.path.realpath(path) not in map(os.path.realpath, found):
            found.append(path)
    return found


CHAPTERS = [looks_around, explains, checks_before_it_sends, makes_and_changes, reads, differs, watches, waits, shares, brings_kinds, runs_things, tidies_up]
# Each kubectl has its own server. The chapters are about one shop, which the second kubectl creates again.
BUILT_ON = {makes_and_changes: [], looks_around: [], explains: [], checks_before_it_sends: []}


def with_server(path):
    def kubectl():
        with tempfile.TemporaryDirectory(prefix="cardea-kubectl-") as folder, Cardea() as server:
            kubectl = Kubectl(path, server, folder)
            print(f"-- {path}: {'.'.join(map(str, kubectl.version()))}", flush=True)
            yield kubectl
    return kubectl


def no_kubectl():
    skip("no kubectl: neither $CARDEA_KUBECTL nor one on the PATH")


def register(found):
    for number, path in enumerate(found):
        where, thing = f"_{number + 1}" if number else "", f"kubectl_{number + 1}"
        make = with_server(path)
        make.__name__ = thing
        story.shared(make)
        for chapter in CHAPTERS:
            needs = [f"{c.__name__}{where}" for c in BUILT_ON.get(chapter, [makes_and_changes])]
            story.add(chapter.__name__ + where, chapter, needs=needs, using={"kubectl": thing})
    if not found:
        story.chapter(no_kubectl)


if __name__ == "__main__":
    register(kubectls())
    story.main()
