"""Helm 3 and Helm 4: install, upgrade, rollback, uninstall, --wait, hooks, and what goes wrong on the way.

The chapters of Helm 4 end in `_4`. The releases run in a cluster (`cluster.py`). Only with `./dev test --with-peers`.
"""
import json
import os
import subprocess

from cluster import Cluster, program
from server import Cardea, expect
from story import Story

story = Story("helm_story")

CHART = {
    "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.2.3\nappVersion: '7'\n",
    "values.yaml": "replicas: 2\nimage: shop:1\nmotto: fresh\nfail: false\n",
    "crds/ovens.yaml": """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ovens.bakery.example.com}
spec:
  group: bakery.example.com
  scope: Namespaced
  names: {plural: ovens, singular: oven, kind: Oven}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {heat: {type: integer}}}}}}}
""",
    "templates/all.yaml": """
apiVersion: v1
kind: ServiceAccount
metadata: {name: {{ .Release.Name }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}, labels: {app.kubernetes.io/managed-by: {{ .Release.Service }}}}
data:
  motto: {{ .Values.motto | quote }}
  revision: "{{ .Release.Revision }}"
  known: {{ .Capabilities.APIVersions.Has "apps/v1/Deployment" | quote }}
  seen: {{ (lookup "v1" "Namespace" "" "default").metadata.name | quote }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec:
      serviceAccountName: {{ .Release.Name }}
      containers: [{name: c, image: {{ .Values.image | quote }}}]
      {{- if .Values.fail }}
      nodeSelector: {nowhere: "true"}
      {{- end }}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec: {selector: {app: {{ .Release.Name }}}, ports: [{port: 80}]}
---
apiVersion: bakery.example.com/v1
kind: Oven
metadata: {name: {{ .Release.Name }}}
spec: {heat: 200}
""",
    "templates/hooks.yaml": """
{{- range $hook := list "pre-install" "post-install" "pre-upgrade" "pre-rollback" "post-delete" "test" }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $.Release.Name }}-{{ $hook }}
  annotations: {"helm.sh/hook": {{ $hook }}, "helm.sh/hook-delete-policy": before-hook-creation}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: hook}]}}}
{{- end }}
""",
}


class Helm:
    def __init__(self, cluster, name):
        self.cluster, self.path = cluster, program(name)
        self.home = os.path.join(cluster.folder, name)
        self.chart = os.path.join(self.home, "shop")
        for name, text in CHART.items():
            os.makedirs(os.path.dirname(os.path.join(self.chart, name)), exist_ok=True)
            with open(os.path.join(self.chart, name), "w") as out:
                out.write(text)

    def __call__(self, *arguments, fails=False):
        done = subprocess.run([self.path, *arguments, "--kubeconfig", self.cluster.server.kubeconfig], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300,
                              env={"PATH": os.environ["PATH"], "HOME": self.home})
        expect((done.returncode != 0) == fails, f"helm {' '.join(arguments)}: status {done.returncode}: {done.stderr}{done.stdout}")
        return done.stdout + done.stderr if fails else done.stdout


@story.shared
def cluster():
    with Cluster(Cardea()) as cluster:
        yield cluster


@story.shared
def helm(cluster):
    return Helm(cluster, "helm3")


@story.shared
def helm_4(cluster):
    return Helm(cluster, "helm4")


def state(helm, where):
    out = json.loads(helm("history", "shop", "-n", where, "-o", "json"))
    return [(r["revision"], r["status"]) for r in out]


def where(helm):
    return os.path.basename(helm.path)




def a_release_is_installed_and_waited_for(helm, cluster):
    on = where(helm)
    helm("install", "shop", helm.chart, "-n", on, "--create-namespace", "--wait", "--timeout", "3m")
    deployment = cluster.get("deployment", "shop", "-n", on)
    expect(deployment["status"]["availableReplicas"] == 2, "--wait did not wait")
    data = cluster.get("cm", "shop", "-n", on)["data"]
    expect(data == {"motto": "fresh", "revision": "1", "known": "true", "seen": "default"}, f"{data}")
    jobs = {j["metadata"]["name"]: j["status"].get("succeeded") for j in cluster.items("jobs", "-n", on)}
    expect(jobs == {"shop-pre-install": 1, "shop-post-install": 1}, f"hooks: {jobs}")
    expect(cluster.get("oven", "shop", "-n", on)["spec"] == {"heat": 200}, "no object of the chart's own kind")
    releases = json.loads(helm("list", "-n", on, "-o", "json"))
    expect([(r["name"], r["status"], r["chart"]) for r in releases] == [("shop", "deployed", "shop-1.2.3")], f"{releases}")
    expect("kind: Deployment" in helm("get", "manifest", "shop", "-n", on), "no manifest")


def it_is_upgraded(helm, cluster):
    on = where(helm)
    helm("upgrade", "shop", helm.chart, "-n", on, "--set", "image=shop:2,motto=new", "--wait", "--timeout", "3m")
    deployment = cluster.get("deployment", "shop", "-n", on)
    expect(deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "shop:2" and deployment["status"]["updatedReplicas"] == 2, "not upgraded")
    expect(cluster.get("job", "shop-pre-upgrade", "-n", on)["status"].get("succeeded") == 1, "no hook before the upgrade")
    expect(state(helm, on) == [(1, "superseded"), (2, "deployed")], f"{state(helm, on)}")


def what_somebody_changed_by_hand_is_put_right(helm, cluster):
    on = where(helm)
    cluster.kubectl("delete", "service", "shop", "-n", on)
    cluster.kubectl("annotate", "deployment", "shop", "mine=yes", "-n", on)
    helm("upgrade", "shop", helm.chart, "-n", on, "--reuse-values", "--wait", "--timeout", "3m")
    expect(cluster.get("service", "shop", "-n", on), "the service is not back")
    expect(cluster.get("deployment", "shop", "-n", on)["metadata"]["annotations"].get("mine") == "yes", "an annotation of somebody else is lost")


def an_upgrade_that_fails_is_rolled_back(helm, cluster):
    on = where(helm)
    before = state(helm, on)
    helm("upgrade", "shop", helm.chart, "-n", on, "--set", "fail=true", "--atomic" if on == "helm3" else "--rollback-on-failure", "--wait", "--timeout", "12s", fails=True)
    after = state(helm, on)
    expect([s for _, s in after[len(before):]] == ["failed", "deployed"], f"{after}")


def it_is_rolled_back_by_hand(helm, cluster):
    on = where(helm)
    helm("rollback", "shop", "1", "-n", on, "--wait", "--timeout", "3m")
    expect(cluster.get("deployment", "shop", "-n", on)["spec"]["template"]["spec"]["containers"][0]["image"] == "shop:1", "not rolled back")
    expect(cluster.get("cm", "shop", "-n", on)["data"]["motto"] == "fresh", "the old value is not back")
    expect(cluster.get("job", "shop-pre-rollback", "-n", on)["status"].get("succeeded") == 1, "no hook before the rollback")


def its_tests_run(helm, cluster):
    helm("test", "shop", "-n", where(helm))
    expect(cluster.get("job", "shop-test", "-n", where(helm))["status"].get("succeeded") == 1, "the test did not run")


def objects_of_others_are_not_taken(helm, cluster):
    on = where(helm)
    cluster.kubectl("create", "configmap", "other", "-n", on)
    said = helm("install", "other", helm.chart, "-n", on, fails=True)
    expect("exists and cannot be imported into the current release" in said or "conflict" in said, said)


def a_dry_run_asks_the_server_and_changes_nothing(helm, cluster):
    on = where(helm)
    said = helm("upgrade", "shop", helm.chart, "-n", on, "--set", "motto=dry", "--dry-run=server")
    expect("motto: \"dry\"" in said and cluster.get("cm", "shop", "-n", on)["data"]["motto"] == "fresh", said)


def it_is_uninstalled(helm, cluster):
    on = where(helm)
    helm("uninstall", "shop", "-n", on, "--wait", "--timeout", "3m")
    left = [k for k in ("deployment", "service", "cm", "serviceaccount", "oven") if cluster.get(k, "shop", "-n", on)]
    expect(not left, f"left: {left}")
    expect(cluster.get("job", "shop-post-delete", "-n", on)["status"].get("succeeded") == 1, "no hook after the deletion")
    expect(cluster.get("crd", "ovens.bakery.example.com"), "the definition went as well")
    expect(not cluster.items("secrets", "-n", on, "-l", "owner=helm"), "the release is still stored")


CHAPTERS = (a_release_is_installed_and_waited_for, it_is_upgraded, what_somebody_changed_by_hand_is_put_right, an_upgrade_that_fails_is_rolled_back,
            it_is_rolled_back_by_hand, its_tests_run, objects_of_others_are_not_taken, a_dry_run_asks_the_server_and_changes_nothing, it_is_uninstalled)
for suffix, thing in (("", "helm"), ("_4", "helm_4")):
    for run in CHAPTERS:
        needs = [] if run is CHAPTERS[0] else [CHAPTERS[0].__name__ + suffix]
        story.add(run.__name__ + suffix, run, needs=needs, using={"helm": thing})

if __name__ == "__main__":
    story.main()
