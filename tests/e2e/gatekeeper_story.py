"""Gatekeeper: a template in Rego becomes a kind of its own, a constraint of that kind refuses, the audit reports, a mutator mutates.

Gatekeeper runs outside of the cluster, with its own manifests (but for the Deployments). On Cardea and, under names that begin with
`kubernetes_`, on a kube-apiserver (docs/ecosystem.md). Only with `./dev test --with-peers`.
"""
import base64
import json
import os

import yaml

from cluster import Attached, WholeKube, program
from peer import openssl, peers
from server import Cardea, eventually, expect, free_port, skip
from story import Story

story = Story("gatekeeper_story")

REGO = """
package required

violation[{"msg": msg}] {
  provided := {label | input.review.object.metadata.labels[label]}
  required := {label | label := input.parameters.labels[_]}
  missing := required - provided
  count(missing) > 0
  msg := sprintf("you must provide labels: %v", [missing])
}
"""

TEMPLATE = {"apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "required"},
            "spec": {"crd": {"spec": {"names": {"kind": "Required"}, "validation": {"openAPIV3Schema": {
                "type": "object", "properties": {"labels": {"type": "array", "items": {"type": "string"}}}}}}},
                "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": REGO}]}}

CONSTRAINT = {"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Required", "metadata": {"name": "owner"},
              "spec": {"match": {"kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}], "namespaces": ["guarded"]}, "parameters": {"labels": ["owner"]}}}

MUTATOR = {"apiVersion": "mutations.gatekeeper.sh/v1", "kind": "AssignMetadata", "metadata": {"name": "colour"},
           "spec": {"match": {"scope": "Namespaced", "kinds": [{"apiGroups": [""], "kinds": ["Secret"]}], "namespaces": ["guarded"]},
                    "location": "metadata.labels.colour", "parameters": {"assign": {"value": "green"}}}}


class Guarded(Attached):
    """A server with Gatekeeper."""

    def attach(self):
        path, port = program("gatekeeper"), free_port()
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{self.folder}/tls.key", "-out", f"{self.folder}/tls.crt", "-days", "3",
                "-subj", "/CN=gatekeeper", "-addext", "subjectAltName=IP:127.0.0.1")
        with open(f"{self.folder}/tls.crt", "rb") as crt:
            bundle = base64.b64encode(crt.read()).decode()
        audit = os.path.join(self.folder, "audit")
        os.mkdir(audit)
        with open(program("gatekeeper.yaml")) as manifests:
            objects = [o for o in yaml.safe_load_all(manifests) if o and o["kind"] not in ("Deployment", "PodDisruptionBudget")]
        webhooks = [o for o in objects if o["kind"].endswith("WebhookConfiguration")]
        for configuration in webhooks:
            for hook in configuration["webhooks"]:
                service = hook["clientConfig"].pop("service")
                hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{service['path']}", "caBundle": bundle}
        self.send([o for o in objects if o not in webhooks])
        for definition in (o for o in objects if o["kind"] == "CustomResourceDefinition"):
            self.wait(f"crd/{definition['metadata']['name']}", "condition=Established")
        self.gatekeeper = self.run("gatekeeper", path, f"--kubeconfig={self.server.kubeconfig}", f"--port={port}", "--disable-cert-rotation", f"--cert-dir={self.folder}",
                                   "--debug-use-fake-pod", "--audit-interval=3", f"--api-cache-dir={audit}", "--logtostderr", f"--health-addr=127.0.0.1:{free_port()}", f"--prometheus-port={free_port()}",
                                   environment={"POD_NAMESPACE": "gatekeeper-system", "POD_NAME": "gatekeeper"})
        eventually("the webhooks are served", lambda: "Serving webhook server" in self.gatekeeper.log(), 90)
        self.send(webhooks)
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "guarded"}})
        self.kubectl("create", "configmap", "earlier", "-n", "guarded")

    def send(self, objects):
        self.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))


@story.shared
def guarded():
    # The objects of a Gatekeeper without a Pod have an owner that does not exist: a garbage collector deletes them.
    with Guarded(Cardea("--controllers=*,-garbage-collector-controller")) as guarded:
        yield guarded


@story.shared
def kubernetes():
    program("gatekeeper")
    if not peers():
        skip("no kube-apiserver among the peers")
    with Guarded(WholeKube()) as guarded:
        yield guarded


def a_template_becomes_a_kind(guarded):
    guarded.apply(TEMPLATE)
    eventually("the kind is there", lambda: guarded.get("crd", "required.constraints.gatekeeper.sh"), 90)
    guarded.wait("crd/required.constraints.gatekeeper.sh", "condition=Established")
    eventually("the template says so", lambda: guarded.get("constrainttemplate", "required").get("status", {}).get("created"), 90)


def a_template_that_does_not_compile_says_so(guarded):
    wrong = json.loads(json.dumps(TEMPLATE))
    wrong["metadata"]["name"], wrong["spec"]["crd"]["spec"]["names"]["kind"] = "wrong", "Wrong"
    wrong["spec"]["targets"][0]["rego"] = "package wrong\nviolation[{"
    guarded.apply(wrong)

    def errors():
        pods = guarded.get("constrainttemplate", "wrong").get("status", {}).get("byPod", [])
        return [error["message"] for pod in pods for error in pod.get("errors", [])]
    said = eventually("the template's status has the error", errors, 90)
    expect("rego_parse_error" in said[0], f"{said}")
    expect(not guarded.get("crd", "wrong.constraints.gatekeeper.sh"), "it became a kind nevertheless")
    guarded.kubectl("delete", "constrainttemplate", "wrong")


def a_constraint_refuses(guarded):
    eventually("the constraint is accepted", lambda: applied(guarded, CONSTRAINT))

    def refused():
        status, _, body = guarded.server.request("POST", "/api/v1/namespaces/guarded/configmaps?dryRun=All", {"metadata": {"name": "bare"}})
        return status == 403 and body["message"]
    said = eventually("an object without the label is refused", refused, 90)
    expect(said == 'admission webhook "validation.gatekeeper.sh" denied the request: [owner] you must provide labels: {"owner"}', said)
    guarded.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "namespace": "guarded", "labels": {"owner": "jane"}}})
    said = guarded.kubectl("label", "configmap", "owned", "owner-", "-n", "guarded", fails=True)
    expect("you must provide labels" in said, said)
    guarded.kubectl("create", "configmap", "free", "-n", "default")


def applied(guarded, object):
    try:
        guarded.apply(object)
        return True
    except AssertionError:
        return False


def the_audit_reports_what_was_there_before(guarded):
    def violations():
        status = guarded.get("required.constraints.gatekeeper.sh", "owner").get("status", {})
        return {(v["kind"], v["name"]) for v in status.get("violations", [])}
    eventually("the audit names the earlier object", lambda: violations() >= {("ConfigMap", "earlier")}, 90)
    expect(("ConfigMap", "owned") not in violations(), f"{violations()}")


def a_mutator_mutates(guarded):
    eventually("the mutator is accepted", lambda: applied(guarded, MUTATOR))

    def colour():
        status, _, body = guarded.server.request("POST", "/api/v1/namespaces/guarded/secrets?dryRun=All", {"metadata": {"name": "s"}})
        return status == 201 and body["metadata"].get("labels") == {"colour": "green"}
    eventually("a new object is labelled", colour, 90)


def a_constraint_that_goes_refuses_no_more(guarded):
    guarded.kubectl("delete", "required.constraints.gatekeeper.sh", "owner", "--timeout=60s")
    eventually("an object without the label is accepted", lambda: guarded.server.request(
        "POST", "/api/v1/namespaces/guarded/configmaps?dryRun=All", {"metadata": {"name": "bare"}})[0] == 201, 90)
    guarded.kubectl("delete", "constrainttemplate", "required", "--timeout=60s")
    guarded.lives()


CHAPTERS = (a_template_becomes_a_kind, a_template_that_does_not_compile_says_so, a_constraint_refuses, the_audit_reports_what_was_there_before, a_mutator_mutates,
            a_constraint_that_goes_refuses_no_more)
NEEDS = {a_constraint_refuses: [a_template_becomes_a_kind], the_audit_reports_what_was_there_before: [a_constraint_refuses],
         a_constraint_that_goes_refuses_no_more: [a_constraint_refuses]}
for prefix, thing in (("", "guarded"), ("kubernetes_", "kubernetes")):
    for run in CHAPTERS:
        story.add(prefix + run.__name__, run, needs=[prefix + need.__name__ for need in NEEDS.get(run, [])], using={"guarded": thing})

if __name__ == "__main__":
    story.main()
