"""The Helm chart deploy/helm/cardea: linted, rendered in both modes, and installed in a running Cardea, which checks every field
(docs/packages.md).

Only with the peers (`./dev test --with-peers`), which bring Helm. Pods of the release do not run: nothing here is a node.
"""
import json
import os
import subprocess
import tempfile

import yaml

from cluster import program
from server import Cardea, expect
from story import Story

story = Story("chart")

HERE = os.path.dirname(os.path.abspath(__file__))
CHART = os.path.join(HERE, "..", "..", "deploy", "helm", "cardea")
EVERYTHING = ["--set", "mode=webhook", "--set", "service.clusterIP=10.0.0.99", "--set", "tls.secretName=certificate", "--set", "configMap=files",
              "--set", "networkPolicy.enabled=true", "--set", "persistence.enabled=false", "--set", "flags={--v=1}", "--set", "metrics.scrapeAnnotations=true"]


def helm(name, *arguments, fails=False, kubeconfig=None):
    with tempfile.TemporaryDirectory() as home:
        environment = {"PATH": os.environ["PATH"], "HOME": home, **({"KUBECONFIG": kubeconfig} if kubeconfig else {})}
        done = subprocess.run([program(name), *arguments], text=True, capture_output=True, timeout=300, env=environment)
    expect((done.returncode != 0) == fails, f"{name} {' '.join(arguments)}: status {done.returncode}: {done.stderr}{done.stdout}")
    return done.stdout + done.stderr if fails else done.stdout


def rendered(*settings):
    return [d for d in yaml.safe_load_all(helm("helm3", "template", "door", CHART, *settings)) if d]


def one(objects, kind):
    [found] = [o for o in objects if o["kind"] == kind]
    return found


@story.chapter
def lint_finds_nothing():
    helm("helm3", "lint", "--strict", CHART)
    helm("helm3", "lint", "--strict", CHART, *EVERYTHING)


@story.chapter
def a_control_plane_keeps_its_data():
    objects = rendered()
    expect([o["kind"] for o in objects] == ["ServiceAccount", "Service", "StatefulSet"], [o["kind"] for o in objects])
    pod = one(objects, "StatefulSet")["spec"]["template"]["spec"]
    expect("volumes" not in pod and one(objects, "StatefulSet")["spec"]["volumeClaimTemplates"], "the data is not in a claim")
    [container] = pod["containers"]
    expect(container["securityContext"]["readOnlyRootFilesystem"] and pod["securityContext"]["runAsNonRoot"], pod)
    expect(pod["automountServiceAccountToken"] is False, "the pod has a token that it does not need")


@story.chapter
def a_webhook_comes_with_the_files_of_kube_apiserver():
    objects = rendered(*EVERYTHING)
    files = one(objects, "ConfigMap")["data"]
    kubeconfig, chain = yaml.safe_load(files["cardea.kubeconfig"]), yaml.safe_load(files["authorization.yaml"])
    expect(kubeconfig["clusters"][0]["cluster"]["server"] == "https://10.0.0.99:6443/apis/authorization.k8s.io/v1/subjectaccessreviews", kubeconfig)
    expect([a["type"] for a in chain["authorizers"]] == ["Node", "Webhook", "RBAC"], chain)
    # A Cardea takes the same file, so it is well formed for a kube-apiserver of this version.
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            with open(os.path.join(folder, name), "w") as file:
                file.write(text.replace("/etc/kubernetes/cardea/cardea.kubeconfig", os.path.join(folder, "asker.kubeconfig")))
        with Cardea() as other:
            with open(os.path.join(folder, "asker.kubeconfig"), "w") as file:
                yaml.safe_dump({**kubeconfig, "clusters": [{"name": "cardea", "cluster": {
                    "server": other.base + "/apis/authorization.k8s.io/v1/subjectaccessreviews", "certificate-authority": os.path.join(other.data_dir, "ca.crt")}}],
                    "users": [{"name": "asker", "user": {"client-certificate": os.path.join(other.data_dir, "admin.crt"), "client-key": os.path.join(other.data_dir, "admin.key")}}]}, file)
            status, _, body = other.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", yaml.safe_load(files["asker.yaml"]))
            expect(status == 201, body)
            with Cardea("--authorization-config", os.path.join(folder, "authorization.yaml")) as server:
                expect(server.request("GET", "/api/v1/namespaces")[0] == 200, "the server with the chart's chain does not answer")


@story.chapter
def values_that_make_no_sense_are_refused():
    expect("webhook.server or service.clusterIP is needed" in helm("helm3", "template", "door", CHART, "--set", "mode=webhook", fails=True), "no address")
    for setting in ("mode=both", "service.port=0", "image.digest=abc", "webhook.failurePolicy=Allow", "flags={serve}"):
        helm("helm3", "template", "door", CHART, "--set", setting, fails=True)


def goes_through_a_running_server(name):
    program(name)
    with Cardea() as server:
        for settings in ([], EVERYTHING):
            helm(name, "install", "door", CHART, "--namespace", "doors", "--create-namespace", *settings, kubeconfig=server.kubeconfig)
            status, _, body = server.request("GET", "/apis/apps/v1/namespaces/doors/statefulsets/door-cardea")
            expect(status == 200, body)
            shown = json.loads(helm(name, "status", "door", "-n", "doors", "-o", "json", kubeconfig=server.kubeconfig))
            expect(shown["info"]["status"] == "deployed", shown["info"])
            helm(name, "upgrade", "door", CHART, "-n", "doors", *settings, "--set", "resources.limits.memory=2Gi", kubeconfig=server.kubeconfig)
            helm(name, "uninstall", "door", "-n", "doors", kubeconfig=server.kubeconfig)
            for path in ("/apis/apps/v1/namespaces/doors/statefulsets", "/api/v1/namespaces/doors/services"):
                status, _, body = server.request("GET", path)
                expect(status == 200 and not body["items"], body)


@story.chapter
def a_running_server_takes_it_and_forgets_it():
    goes_through_a_running_server("helm3")


@story.chapter
def a_running_server_takes_it_and_forgets_it_4():
    goes_through_a_running_server("helm4")


if __name__ == "__main__":
    story.main()
