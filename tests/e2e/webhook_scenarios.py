"""The scenarios of admission_webhooks.py: each is a function of a Telling (defined there), which configures webhooks and makes requests."""
import base64
import json

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
CM = "NS/configmaps"


def config_map(name, **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more.pop("metadata", {})}, **more}


def rule(resources, groups=("",), versions=("*",), operations=("*",), **more):
    return {"operations": list(operations), "apiGroups": list(groups), "apiVersions": list(versions), "resources": list(resources), **more}


def allow(story):
    return lambda review: story.hooks.review(review, allowed=True)


def deny(story, **status):
    return lambda review: story.hooks.review(review, allowed=False, **({"status": status} if status else {}))


def patch(story, *operations, **more):
    return lambda review: story.hooks.review(review, allowed=True, patch=list(operations), **more)


def reviews_of_writes(s):
    s.answer("/see", allow(s))
    s.configure("validating", "see", s.hook("/see"))
    s.do("POST", CM, config_map("a", data={"k": "v"}))
    s.do("POST", CM + "?fieldManager=me&fieldValidation=Strict&dryRun=All", config_map("dry"))
    s.do("POST", CM, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g"}}, shows=False, reviews=False)
    s.do("PUT", CM + "/a?fieldManager=me", config_map("a", data={"k": "w"}))
    s.do("PATCH", CM + "/a", {"data": {"l": "1"}}, {"Content-Type": "application/merge-patch+json"})
    s.do("PATCH", CM + "/a?fieldManager=me&force=true", config_map("a", data={"k": "z"}), {"Content-Type": "application/apply-patch+yaml"})
    s.do("PATCH", CM + "/new?fieldManager=me", config_map("new", data={"k": "z"}), {"Content-Type": "application/apply-patch+yaml"})
    s.do("DELETE", CM + "/a?gracePeriodSeconds=0", {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"})
    s.do("DELETE", CM + "/new")
    s.do("GET", CM, shows=False)


def reviews_of_impersonated(s):
    s.answer("/see", allow(s))
    s.configure("validating", "see", s.hook("/see"))
    s.do("POST", CM, config_map("a"), {"Impersonate-User": "jane", "Impersonate-Uid": "7", "Impersonate-Group": "system:masters", "Impersonate-Extra-Scopes": "a"})


def reviews_of_collections(s):
    s.do("POST", CM, config_map("one", data={"a": "b"}), shows=False)
    s.answer("/see", allow(s))
    s.configure("validating", "see", s.hook("/see", matchConditions=[{"name": "x", "expression": "has(oldObject.data)"}]))
    s.do("DELETE", CM + "?labelSelector=!x&fieldSelector=metadata.name%3Done")


def reviews_of_subresources(s):
    everything = rule(["pods", "pods/*", "deployments", "deployments/*", "serviceaccounts/*"], ["*"])
    s.do("POST", "NS/serviceaccounts", {"metadata": {"name": "robot"}}, shows=False)
    s.do("POST", f"/apis/apps/v1/namespaces/{s.namespace}/deployments", {"metadata": {"name": "d"}, "spec": {
        "replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}}}, shows=False)
    s.answer("/see", allow(s))
    s.configure("validating", "see", s.hook("/see", rules=[everything]))
    s.do("POST", "NS/pods", POD)
    s.do("PATCH", "NS/pods/p/status", {"status": {"phase": "Running"}}, {"Content-Type": "application/merge-patch+json"})
    s.do("POST", "NS/pods/p/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}, reviews=False)
    s.do("POST", "NS/pods/p/eviction?dryRun=All", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}})
    s.do("GET", "NS/pods/p/exec?command=ls&command=-l&container=c&stdout=true")
    s.do("GET", "NS/pods/p/attach?container=c&stdin=true&tty=true")
    s.do("GET", "NS/pods/p/portforward?ports=80")
    s.do("GET", "NS/pods/p/proxy/some/path?a=b", shows=False)
    s.do("GET", "NS/pods/p/log", shows=False)
    s.do("POST", "NS/serviceaccounts/robot/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["a"]}}, shows=False)
    scale = f"/apis/apps/v1/namespaces/{s.namespace}/deployments/d/scale"
    s.do("PATCH", scale, {"spec": {"replicas": 3}}, {"Content-Type": "application/merge-patch+json"})
    s.do("PUT", scale, {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d", "namespace": s.namespace}, "spec": {"replicas": 2}})


def reviews_of_cluster_objects(s):
    s.answer("/see", allow(s))
    mine = [{"name": "mine", "expression": "request.name.startsWith('of-story')"}]
    s.configure("validating", "see", s.hook("/see", namespaceSelector={}, matchConditions=mine, rules=[rule(["namespaces", "clusterroles"], ["*"])]))
    s.do("POST", "/api/v1/namespaces", {"metadata": {"name": "of-story"}})
    s.do("PATCH", "/api/v1/namespaces/of-story", {"metadata": {"labels": {"a": "b"}}}, {"Content-Type": "application/merge-patch+json"}, shows=False)
    s.do("DELETE", "/api/v1/namespaces/of-story?dryRun=All", shows=False, reviews=False)
    s.do("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {"metadata": {"name": "of-story"}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]})
    s.do("DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterroles/of-story")


def denials(s):
    answers = {
        "plain": {}, "message": {"message": "no such luck"}, "reason": {"reason": "BecauseISaySo"}, "code": {"code": 418, "message": "short and stout"},
        "low-code": {"code": 200, "message": "fine"}, "full": {"status": "Failure", "message": "gone", "reason": "NotFound", "code": 404,
                                                              "details": {"name": "n", "kind": "k", "causes": [{"message": "m", "field": "f"}], "retryAfterSeconds": 3}},
        "success": {"status": "Success", "message": "really"}, "code-only": {"code": 503}, "metadata": {"metadata": {"resourceVersion": "x"}, "message": "y", "code": 403},
        "conflict": {"reason": "Conflict", "code": 409, "message": "try again"}}
    for name, status in answers.items():
        s.answer("/" + name, deny(s, **status))
    s.configure("validating", "deny", *[s.hook("/" + n, objectSelector={"matchLabels": {"hook": n}}) for n in answers])
    for name in answers:
        s.do("POST", CM, config_map("c", metadata={"labels": {"hook": name}}), reviews=False)


def denials_while_mutating(s):
    s.answer("/deny", deny(s, message="not today", code=403, reason="Forbidden"))
    s.answer("/after", allow(s))
    s.configure("mutating", "deny", s.hook("/deny"), s.hook("/after"))
    s.do("POST", CM, config_map("c"), reviews=False)
    s.do("GET", CM + "/c")


def verdicts_in_order(s):
    s.answer("/a", allow(s))
    s.answer("/b", deny(s, message="b says no"))
    s.answer("/c", lambda r: s.hooks.review(r, allowed=True, warnings=["mind the gap"]))
    s.configure("validating", "order", s.hook("/a"), s.hook("/b"), s.hook("/c", failurePolicy="Ignore"))
    status, answer = s.do("POST", CM, config_map("c"), reviews=False)
    s.transcript[-1]["asked"].sort(key=lambda a: a["path"])  # they are asked at the same time


def warnings(s):
    s.answer("/warn", lambda r: s.hooks.review(r, allowed=True, warnings=["one", 'two "quoted"', "one", "line\nbreak", "ü" * 300]))
    s.answer("/deny", lambda r: s.hooks.review(r, allowed=False, warnings=["told you"]))
    s.configure("mutating", "a-warn", s.hook("/warn"))
    s.configure("validating", "b-warn", s.hook("/warn"), s.hook("/deny", objectSelector={"matchLabels": {"deny": "yes"}}))
    s.do("POST", CM, config_map("c"), reviews=False)
    s.do("POST", CM, config_map("d", metadata={"labels": {"deny": "yes"}}), reviews=False)
    s.transcript[-1]["asked"].sort(key=lambda a: a["path"])


FAULTS = {
    "status-500": lambda s: lambda r: (500, {"Content-Type": "text/plain"}, b"boom"),
    "status-403": lambda s: lambda r: (403, {"Content-Type": "text/plain"}, b"go away"),
    "status-404": lambda s: lambda r: (404, {"Content-Type": "text/plain"}, b"404 page not found\n"),
    "status-doc": lambda s: lambda r: (422, {}, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "bad bad", "reason": "Invalid", "code": 422}),
    "empty": lambda s: lambda r: (200, {}, b""),
    "garbage": lambda s: lambda r: (200, {}, b"<html>hello</html>"),
    "truncated": lambda s: lambda r: (200, {}, b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{'),
    "no-kind": lambda s: lambda r: {"response": {"uid": r["request"]["uid"], "allowed": True}},
    "other-kind": lambda s: lambda r: {"kind": "Other", "apiVersion": "admission.k8s.io/v1", "response": {"uid": r["request"]["uid"], "allowed": True}},
    "other-version": lambda s: lambda r: s.hooks.review(r, version="v1beta1", allowed=True),
    "unknown-version": lambda s: lambda r: s.hooks.review(r, version="v2", allowed=True),
    "no-response": lambda s: lambda r: {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"},
    "echo": lambda s: lambda r: r,
    "wrong-uid": lambda s: lambda r: s.hooks.review(r, uid="nobody", allowed=True),
    "no-uid": lambda s: lambda r: {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": {"allowed": True}},
    "not-a-bool": lambda s: lambda r: s.hooks.review(r, allowed="yes"),
    "no-verdict": lambda s: lambda r: s.hooks.review(r),
    "patch-while-validating": lambda s: lambda r: s.hooks.review(r, allowed=True, patch=[]),
    "type-while-validating": lambda s: lambda r: s.hooks.review(r, allowed=True, patchType="JSONPatch"),
    "bad-base64": lambda s: lambda r: s.hooks.review(r, allowed=True, patchType="JSONPatch") | {"response": {"uid": r["request"]["uid"], "allowed": True, "patch": "***"}},
    "array": lambda s: lambda r: (200, {}, b"[]"),
    "text": lambda s: lambda r: (200, {"Content-Type": "text/plain"}, json.dumps(s.hooks.review(r, allowed=True)).encode()),
    "yaml": lambda s: lambda r: (200, {"Content-Type": "application/yaml"}, json.dumps(s.hooks.review(r, allowed=True)).encode()),
    "unknown-fields": lambda s: lambda r: s.hooks.review(r, allowed=True, more={"a": 1}),
    "lower-case": lambda s: lambda r: {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "Response": {"UID": r["request"]["uid"], "Allowed": True}},
    "not-2xx-but-good": lambda s: lambda r: (201, {}, s.hooks.review(r, allowed=True)),
    "hangs-up": lambda s: lambda r: None,
}


def faults(s, policy):
    for name, make in FAULTS.items():
        s.answer("/" + name, make(s))
    s.configure("validating", "faults", *[s.hook("/" + n, failurePolicy=policy, objectSelector={"matchLabels": {"hook": n}}) for n in FAULTS])
    for name in FAULTS:
        s.do("POST", CM + "?dryRun=All", config_map("c", metadata={"labels": {"hook": name}}), shows=False, reviews=False)


def unreachable(s, policy):
    s.answer("/ok", allow(s))
    slow = lambda review: (s.hooks.released.wait(20), s.hooks.review(review, allowed=True))[1]
    s.answer("/slow", slow)
    good = s.hooks.at(f"/{s.name}/ok")
    bad = {
        "refused": {"url": "https://127.0.0.1:1/x", "caBundle": good["caBundle"]},
        "no-host": {"url": "https://no-such-host.invalid/x", "caBundle": good["caBundle"]},
        "no-ca": {"url": good["url"]},
        "other-name": {"url": good["url"].replace("127.0.0.1", "127.0.0.2"), "caBundle": good["caBundle"]},
        "slow": {"url": good["url"].replace("/ok", "/slow"), "caBundle": good["caBundle"]},
        "no-service": {"service": {"name": "nobody", "namespace": "default", "path": "/x"}, "caBundle": good["caBundle"]},
        "no-port": {"service": {"name": "kubernetes", "namespace": "default", "path": "/x", "port": 7}, "caBundle": good["caBundle"]},
    }
    s.configure("validating", "bad", *[{**s.hook("/" + n, failurePolicy=policy, timeoutSeconds=1 if n == "slow" else 5, objectSelector={"matchLabels": {"hook": n}}), "clientConfig": c}
                                       for n, c in bad.items()])
    for name in bad:
        s.do("POST", CM + "?dryRun=All", config_map("c", metadata={"labels": {"hook": name}}), shows=False, reviews=False)


def patches(s):
    cases = {
        "add": [{"op": "add", "path": "/data", "value": {"a": "b"}}],
        "empty": [],
        "noop": [{"op": "replace", "path": "/metadata/name", "value": "c"}],
        "label": [{"op": "add", "path": "/metadata/labels/made", "value": "yes"}],
        "rename": [{"op": "replace", "path": "/metadata/name", "value": "other"}],
        "move-namespace": [{"op": "replace", "path": "/metadata/namespace", "value": "default"}],
        "kind": [{"op": "replace", "path": "/kind", "value": "Secret"}],
        "bad-type": [{"op": "add", "path": "/data", "value": {"a": 1}}],
        "bad-data": [{"op": "add", "path": "/data", "value": "x"}],
        "unknown-field": [{"op": "add", "path": "/nobody", "value": 1}],
        "missing": [{"op": "remove", "path": "/data/none"}],
        "failed-test": [{"op": "test", "path": "/metadata/name", "value": "x"}],
        "unknown-op": [{"op": "frobnicate", "path": "/data"}],
        "no-path": [{"op": "add", "value": 1}],
        "invalid": [{"op": "add", "path": "/data", "value": {"a b": "x"}}],
        "uid": [{"op": "replace", "path": "/metadata/uid", "value": "11111111-2222-3333-4444-555555555555"}],
        "replace-all": [{"op": "replace", "path": "", "value": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "labels": {"hook": "replace-all"}}, "data": {"x": "y"}}}],
        "null": [{"op": "add", "path": "/data", "value": None}],
    }
    raw = {
        "not-json": base64.b64encode(b"{").decode(), "object": base64.b64encode(b'{"op":"add"}').decode(), "merge": base64.b64encode(b'{"data":{"a":"b"}}').decode(),
    }
    for name, operations in cases.items():
        s.answer("/" + name, patch(s, *operations))
    s.answer("/not-json", lambda r: s.hooks.review(r, allowed=True, patch=[]) | {"response": {"uid": r["request"]["uid"], "allowed": True, "patch": raw["not-json"], "patchType": "JSONPatch"}})
    s.answer("/object", lambda r: {**s.hooks.review(r), "response": {"uid": r["request"]["uid"], "allowed": True, "patch": raw["object"], "patchType": "JSONPatch"}})
    s.answer("/merge", lambda r: {**s.hooks.review(r), "response": {"uid": r["request"]["uid"], "allowed": True, "patch": raw["merge"], "patchType": "MergePatch"}})
    s.answer("/no-type", lambda r: {**s.hooks.review(r), "response": {"uid": r["request"]["uid"], "allowed": True, "patch": raw["merge"]}})
    s.answer("/other-type", patch(s, {"op": "add", "path": "/data", "value": {"a": "b"}}, patchType="MergePatch"))
    s.answer("/not-an-operation", patch(s, "x"))
    s.answer("/type-only", lambda r: {**s.hooks.review(r), "response": {"uid": r["request"]["uid"], "allowed": True, "patchType": "JSONPatch"}})
    s.answer("/denied", lambda r: s.hooks.review(r, allowed=False, patch=cases["add"]))
    names = [*cases, "not-json", "object", "merge", "no-type", "type-only", "denied", "other-type", "not-an-operation"]
    s.configure("mutating", "patches", *[s.hook("/" + n, objectSelector={"matchLabels": {"hook": n}}) for n in names])
    for name in names:
        s.do("POST", CM + "?dryRun=All", config_map("c", metadata={"labels": {"hook": name}}), reviews=False)


def patches_of_deletes(s):
    s.do("POST", CM, config_map("c"), shows=False)
    s.answer("/patch", patch(s, {"op": "add", "path": "/data", "value": {"a": "b"}}))
    s.configure("mutating", "patch", s.hook("/patch", rules=[rule(["configmaps"], operations=["DELETE"])]))
    s.do("DELETE", CM + "/c", reviews=False)
    s.do("GET", CM + "/c", shows=False)


def patches_of_pods(s):
    s.answer("/sidecar", patch(s, {"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "x"}},
                               {"op": "add", "path": "/spec/tolerations", "value": [{"key": "mine", "operator": "Exists"}]}))
    s.configure("mutating", "sidecar", s.hook("/sidecar", rules=[rule(["pods"], operations=["CREATE"])]))
    s.do("POST", "NS/pods?dryRun=All", POD)


def reinvocation(s):
    add = lambda key: lambda r: s.hooks.review(r, allowed=True, patch=[
        {"op": "add", "path": "/data", "value": {**(r["request"]["object"].get("data") or {}), key: str(len(r["request"]["object"].get("data") or {}))}}])
    once = lambda key: lambda r: s.hooks.review(r, allowed=True) if key in (r["request"]["object"].get("data") or {}) else add(key)(r)
    s.answer("/first", add("first"))
    s.answer("/second", once("second"))
    s.answer("/third", once("third"))
    s.configure("mutating", "again", s.hook("/first", reinvocationPolicy="IfNeeded"), s.hook("/second"), s.hook("/third", reinvocationPolicy="IfNeeded"))
    s.do("POST", CM, config_map("c"))
    s.answer("/second", allow(s))
    s.answer("/third", allow(s))
    s.do("POST", CM, config_map("d"))
    s.do("POST", CM, config_map("e", data={"third": "x"}))


def reinvocation_of_one(s):
    s.answer("/alone", lambda r: s.hooks.review(r, allowed=True, patch=[{"op": "add", "path": "/metadata/labels", "value": {"n": "1"}}]))
    s.configure("mutating", "alone", s.hook("/alone", reinvocationPolicy="IfNeeded", rules=[rule(["configmaps", "pods"])]))
    s.do("POST", CM, config_map("c"), reviews=False)
    s.do("POST", "NS/pods?dryRun=All", POD, reviews=False, shows=False)


def reinvocation_and_selectors(s):
    s.answer("/labels", patch(s, {"op": "add", "path": "/metadata/labels", "value": {"late": "yes"}}))
    s.answer("/late", patch(s, {"op": "add", "path": "/data", "value": {"late": "1"}}))
    s.configure("mutating", "selectors", s.hook("/late", objectSelector={"matchLabels": {"late": "yes"}}, reinvocationPolicy="IfNeeded"),
                s.hook("/labels", objectSelector={"matchExpressions": [{"key": "late", "operator": "DoesNotExist"}]}))
    s.do("POST", CM, config_map("c"), reviews=False)


def with_policies(s, reinvoked):
    group = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
    s.make(group, {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": "of-" + s.name}, "spec": {
        "reinvocationPolicy": reinvoked, "failurePolicy": "Fail", "matchConstraints": {"resourceRules": [rule(["configmaps"], operations=["CREATE"])]},
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {
            "expression": "Object{data: {'policy': has(object.data) ? string(size(object.data)) : 'none'}}"}}]}})
    s.make(group.replace("policies", "policybindings"), {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": "of-" + s.name}, "spec": {
        "policyName": "of-" + s.name, "matchResources": {"namespaceSelector": {"matchLabels": {"story": s.name}}}}})
    s.answer("/hook", lambda r: s.hooks.review(r, allowed=True, patch=[{"op": "add", "path": "/data/hook", "value": str(len(r["request"]["object"]["data"]))}]))
    from server import eventually
    eventually("the policy is followed", lambda: "data" in s.server.request("POST", f"/api/v1/namespaces/{s.namespace}/configmaps?dryRun=All", config_map("probe"))[2])
    s.configure("mutating", "beside", s.hook("/hook", reinvocationPolicy="IfNeeded"))
    s.do("POST", CM, config_map("c"))


def dry_run(s):
    s.answer("/none", allow(s))
    s.answer("/on-dry-run", allow(s))
    s.configure("validating", "dry", s.hook("/none", sideEffects="None"), s.hook("/on-dry-run", sideEffects="NoneOnDryRun"))
    for method, path, body in (("POST", CM + "?dryRun=All", config_map("c")), ("POST", CM, config_map("c")), ("DELETE", CM + "/c?dryRun=All", None), ("GET", CM + "/c", None)):
        s.do(method, path, body, shows=False)
        s.transcript[-1]["asked"].sort(key=lambda a: a["path"])
    s.do("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {"metadata": {"name": "some"}, "webhooks": [
        {"name": "a.story.example", "clientConfig": {"url": "https://127.0.0.1:1/"}, "admissionReviewVersions": ["v1"], "sideEffects": "Some", "rules": []}]})


def old_reviews(s):
    s.answer("/old", lambda r: s.hooks.review(r, version="v1beta1", allowed=True))
    s.answer("/old-uid", lambda r: {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1", "response": {"allowed": True}})
    s.answer("/old-patch", lambda r: {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1", "response": {
        "allowed": True, "patch": base64.b64encode(b'[{"op":"add","path":"/data","value":{"old":"yes"}}]').decode()}})
    s.answer("/old-deny", lambda r: {"response": {"allowed": False, "status": {"message": "old no"}}})
    s.configure("mutating", "old", s.hook("/old", admissionReviewVersions=["v1beta1", "v1"]), s.hook("/old-uid", admissionReviewVersions=["v2", "v1beta1"]),
                s.hook("/old-patch", admissionReviewVersions=["v1beta1"]))
    s.configure("validating", "old", s.hook("/old-deny", admissionReviewVersions=["v1beta1"], objectSelector={"matchLabels": {"deny": "yes"}}))
    s.do("POST", CM, config_map("c"))
    s.do("POST", CM, config_map("d", metadata={"labels": {"deny": "yes"}}), reviews=False)


HPA = {"metadata": {"name": "h"}, "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}}


def match_policies(s):
    s.answer("/equivalent", allow(s))
    s.answer("/exact", allow(s))
    v2 = [rule(["horizontalpodautoscalers"], ["autoscaling"], ["v2"])]
    s.configure("validating", "match", s.hook("/equivalent", rules=v2), s.hook("/exact", rules=v2, matchPolicy="Exact"))
    for version in ("v1", "v2"):
        s.do("POST", f"/apis/autoscaling/{version}/namespaces/{s.namespace}/horizontalpodautoscalers?dryRun=All",
             {**HPA, "spec": {**HPA["spec"], **({"targetCPUUtilizationPercentage": 50} if version == "v1" else {})}}, shows=False)
        s.transcript[-1]["asked"].sort(key=lambda a: a["path"])


def match_while_mutating(s):
    s.answer("/more", patch(s, {"op": "replace", "path": "/spec/metrics/0/resource/target/averageUtilization", "value": 77}))
    s.configure("mutating", "match", s.hook("/more", rules=[rule(["horizontalpodautoscalers"], ["autoscaling"], ["v2"])]))
    s.do("POST", f"/apis/autoscaling/v1/namespaces/{s.namespace}/horizontalpodautoscalers", {**HPA, "spec": {**HPA["spec"], "targetCPUUtilizationPercentage": 50}})


def match_custom(s):
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    s.make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "doors.story.example"}, "spec": {
        "group": "story.example", "scope": "Namespaced", "names": {"plural": "doors", "kind": "Door"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}, {"name": "v2", "served": True, "storage": False, "schema": schema}]}})
    from server import eventually
    eventually("the definition is served", lambda: s.server.request("GET", "/apis/story.example/v2/doors")[0] == 200)
    s.answer("/door", patch(s, {"op": "add", "path": "/hinge", "value": {"oiled": True}}))
    s.configure("mutating", "door", s.hook("/door", rules=[rule(["doors"], ["story.example"], ["v2"])]))
    for version in ("v1", "v2"):
        s.do("POST", f"/apis/story.example/{version}/namespaces/{s.namespace}/doors", {"apiVersion": f"story.example/{version}", "kind": "Door", "metadata": {"name": "d" + version}})
    s.do("PATCH", f"/apis/story.example/v1/namespaces/{s.namespace}/doors/dv1", {"wood": "oak"}, {"Content-Type": "application/merge-patch+json"})


def selectors(s):
    s.answer("/other-namespace", allow(s))
    s.answer("/object", allow(s))
    s.answer("/namespaced", allow(s))
    s.answer("/cluster", allow(s))
    s.answer("/sub", allow(s))
    s.configure("validating", "selectors", s.hook("/other-namespace", namespaceSelector={"matchLabels": {"story": "other"}}),
                s.hook("/object", objectSelector={"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "c"]}]}),
                s.hook("/namespaced", rules=[rule(["*"], ["*"], scope="Namespaced", operations=["CREATE"])]),
                s.hook("/cluster", rules=[rule(["*"], ["*"], scope="Cluster", operations=["CREATE"])]),
                s.hook("/sub", rules=[rule(["*/status"])]))
    steps = [("POST", CM, config_map("c")), ("POST", CM, config_map("d", metadata={"labels": {"a": "b"}})), ("PUT", CM + "/d", config_map("d")), ("DELETE", CM + "/d", None),
             ("POST", "/api/v1/namespaces?dryRun=All", {"metadata": {"name": "x", "labels": {"story": s.name}}}), ("POST", "NS/pods", POD),
             ("PUT", "NS/pods/p/status", POD)]
    for method, path, body in steps:
        s.do(method, path, body, shows=False, reviews=False)
        s.transcript[-1]["asked"].sort(key=lambda a: a["path"])


def conditions(s):
    def condition(*expressions):
        return [{"name": f"c{i}", "expression": e} for i, e in enumerate(expressions)]
    cases = {
        "no": condition("object.metadata.name != 'c'"), "yes": condition("object.metadata.name == 'c'", "request.operation == 'CREATE'"),
        "error": condition("object.data.x == 'y'"), "error-and-false": condition("object.data.x == 'y'", "false"), "two-errors": condition("object.data.x == 'y'", "object.spec.x"
                                                                                                                                          " == 1"),
        "error-ignored": condition("object.data.x == 'y'"),
        "authorizer": condition("authorizer.group('').resource('configmaps').namespace('x').check('delete').allowed()"),
        "old": condition("oldObject == null"), "namespace": condition("request.namespace == 'story-conditions'"), "user": condition("request.userInfo.username == 'admin'"),
        "requested": condition("authorizer.requestResource.check('breakthrough').allowed()"),
    }
    for name in cases:
        s.answer("/" + name, allow(s))
    s.configure("validating", "conditions", *[s.hook("/" + n, matchConditions=c, objectSelector={"matchLabels": {"hook": n}}, **({"failurePolicy": "Ignore"} if n == "error-ignored" else {}))
                                              for n, c in cases.items()])
    for name in cases:
        s.do("POST", CM + "?dryRun=All", config_map("c", metadata={"labels": {"hook": name}}), shows=False, reviews=False)
    s.do("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {"metadata": {"name": "wrong"}, "webhooks": [
        {"name": "a.story.example", "clientConfig": {"url": "https://127.0.0.1:1/"}, "admissionReviewVersions": ["v1"], "sideEffects": "None", "rules": [],
         "matchConditions": condition("1", "variables.x", "namespaceObject.metadata.name == 'x'")}]})


def exempt(s):
    s.answer("/deny", deny(s))
    reviews = rule(["subjectaccessreviews", "selfsubjectaccessreviews", "tokenreviews", "selfsubjectreviews", "selfsubjectrulesreviews"], ["*"])
    s.configure("validating", "exempt", s.hook("/deny", namespaceSelector={}, rules=[rule(["*"], ["admissionregistration.k8s.io"])]), s.hook("/deny2", namespaceSelector={}, rules=[reviews]))
    s.answer("/deny2", deny(s))
    s.do("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?dryRun=All", {"metadata": {"name": "x"}, "webhooks": []}, shows=False)
    s.do("POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations?dryRun=All", {"metadata": {"name": "x"}, "webhooks": []}, shows=False)
    s.do("POST", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings?dryRun=All", {"metadata": {"name": "x"}, "spec": {"policyName": "y", "validationActions": ["Deny"]}}, shows=False)
    s.do("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}, reviews=False)
    s.do("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}, reviews=False, shows=False)
    s.do("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "x"}}, reviews=False, shows=False)


def order_of_configurations(s):
    add = lambda word: lambda r: s.hooks.review(r, allowed=True, patch=[{"op": "add", "path": "/data", "value": {"seen": (r["request"]["object"].get("data") or {}).get("seen", "") + word}}])
    for word in "abc":
        s.answer("/" + word, add(word))
    s.configure("mutating", "z-last", s.hook("/c"))
    s.configure("mutating", "a-first", s.hook("/b"), s.hook("/a"))
    s.do("POST", CM, config_map("c"), reviews=False)


def nothing_is_written(s):
    s.do("POST", CM, config_map("kept", data={"a": "1"}), shows=False)
    s.answer("/deny", deny(s))
    s.configure("validating", "deny", s.hook("/deny"))
    s.do("POST", CM, config_map("c"), reviews=False)
    s.do("PATCH", CM + "/kept", {"data": {"a": "2"}}, {"Content-Type": "application/merge-patch+json"}, reviews=False)
    s.do("DELETE", CM + "/kept", reviews=False)
    s.do("GET", CM + "/c")
    s.do("GET", CM + "/kept", reviews=False)


def limits_of_what_was_added(s):
    s.make(f"/api/v1/namespaces/{s.namespace}/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}}]}})
    s.answer("/sidecar", patch(s, {"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "x"}}))
    s.configure("mutating", "sidecar", s.hook("/sidecar", rules=[rule(["pods"], operations=["CREATE"])]))
    from server import eventually
    eventually("the limits are followed", lambda: "limits" in s.server.request("POST", f"/api/v1/namespaces/{s.namespace}/pods?dryRun=All", POD)[2]["spec"]["containers"][0]["resources"])
    s.do("POST", "NS/pods", POD)


def validating_policies(s):
    group = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    for name, action, expression in (("warn", "Warn", "!has(object.data) || !('warn' in object.data)"), ("deny", "Deny", "!has(object.data) || !('deny' in object.data)")):
        s.make(group, {"metadata": {"name": f"{s.name}-{name}"}, "spec": {"matchConstraints": {"resourceRules": [rule(["configmaps"], operations=["CREATE"])]},
                                                                          "validations": [{"expression": expression, "message": name}]}})
        s.make(group.replace("policies", "policybindings"), {"metadata": {"name": f"{s.name}-{name}"}, "spec": {
            "policyName": f"{s.name}-{name}", "validationActions": [action], "matchResources": {"namespaceSelector": {"matchLabels": {"story": s.name}}}}})
    from server import eventually
    probe = lambda key: s.server.request("POST", f"/api/v1/namespaces/{s.namespace}/configmaps?dryRun=All", config_map("probe", data={key: ""}))
    eventually("the policies are followed", lambda: probe("deny")[0] == 422 and probe("warn")[1].get_all("Warning"))
    s.answer("/hook", lambda r: s.hooks.review(r, allowed="refuse" not in (r["request"]["object"].get("data") or {}), warnings=["the hook was asked"]))
    s.answer("/adds", lambda r: s.hooks.review(r, allowed=True, patch=[{"op": "add", "path": "/data/deny", "value": ""}] if "sneaky" in (r["request"]["object"].get("data") or {}) else []))
    s.configure("mutating", "adds", s.hook("/adds"))
    s.configure("validating", "beside", s.hook("/hook"))
    for key in ("fine", "warn", "deny", "refuse", "sneaky"):
        s.do("POST", CM, config_map("c-" + key, data={key: ""}), reviews=False)


def mutated_subresources(s):
    s.do("POST", f"/apis/apps/v1/namespaces/{s.namespace}/deployments", {"metadata": {"name": "d"}, "spec": {
        "replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}}}, shows=False)
    s.answer("/more", patch(s, {"op": "replace", "path": "/spec/replicas", "value": 7}))
    s.answer("/nonsense", patch(s, {"op": "replace", "path": "/spec/replicas", "value": "many"}))
    s.answer("/negative", patch(s, {"op": "replace", "path": "/spec/replicas", "value": -1}))
    s.answer("/refuse", deny(s, message="no scaling to nine"))
    scale = f"/apis/apps/v1/namespaces/{s.namespace}/deployments/d/scale"
    when = lambda n: [{"name": "n", "expression": f"object.spec.replicas == {n}"}]
    rules = [rule(["deployments/scale"], ["apps"])]
    s.configure("mutating", "scales", s.hook("/more", rules=rules, matchConditions=when(3)), s.hook("/nonsense", rules=rules, matchConditions=when(4)),
                s.hook("/negative", rules=rules, matchConditions=when(5)), s.hook("/refuse", rules=rules, matchConditions=when(9)))
    for replicas in (3, 4, 5, 9):
        s.do("PATCH", scale, {"spec": {"replicas": replicas}}, {"Content-Type": "application/merge-patch+json"}, reviews=False)
    s.do("GET", scale)


def refused_actions(s):
    s.do("POST", "NS/pods", POD, shows=False)
    s.do("POST", "NS/serviceaccounts", {"metadata": {"name": "robot"}}, shows=False)
    s.answer("/deny", lambda r: s.hooks.review(r, allowed=False, status={"message": f"{r['request']['operation']} {r['request'].get('subResource')}"}))
    s.configure("validating", "deny", s.hook("/deny", rules=[rule(["pods/*", "serviceaccounts/*"])]))
    s.do("GET", "NS/pods/p/exec?command=ls&container=c", reviews=False)
    s.do("POST", "NS/pods/p/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}, reviews=False)
    s.do("POST", "NS/pods/p/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}, reviews=False)
    s.do("POST", "NS/serviceaccounts/robot/token", {"spec": {}}, reviews=False)
    s.do("PATCH", "NS/pods/p/status", {"status": {"phase": "Running"}}, {"Content-Type": "application/merge-patch+json"}, reviews=False)
    s.do("PATCH", "NS/pods/p/ephemeralcontainers", {"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}}, reviews=False,
         headers={"Content-Type": "application/strategic-merge-patch+json"})
    s.do("GET", "NS/pods/p", reviews=False)


def names_given_by_webhooks(s):
    s.answer("/name", patch(s, {"op": "add", "path": "/metadata/name", "value": "given"}))
    s.answer("/see", allow(s))
    s.configure("mutating", "name", s.hook("/name", rules=[rule(["configmaps"], operations=["CREATE"])]))
    s.configure("validating", "see", s.hook("/see"))
    s.do("POST", CM, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "begin-"}})


def updates_changed_on_the_way(s):
    s.do("POST", CM, config_map("c", data={"a": "1", "b": "1"}), shows=False)
    s.answer("/fix", patch(s, {"op": "add", "path": "/data/fixed", "value": "yes"}, {"op": "add", "path": "/metadata/finalizers", "value": ["story.example/held"]}))
    s.answer("/undo", lambda r: s.hooks.review(r, allowed=True, patch=[{"op": "replace", "path": "/data", "value": r["request"]["oldObject"]["data"]}]))
    s.answer("/owners", patch(s, {"op": "replace", "path": "/metadata/managedFields", "value": [{"manager": "nobody"}]}))
    s.answer("/identity", patch(s, {"op": "replace", "path": "/metadata/uid", "value": "11111111-2222-3333-4444-555555555555"}))
    s.answer("/rename", patch(s, {"op": "replace", "path": "/metadata/name", "value": "x"}))
    s.answer("/space", patch(s, {"op": "replace", "path": "/metadata/namespace", "value": "default"}))
    s.answer("/revision", patch(s, {"op": "replace", "path": "/metadata/resourceVersion", "value": "1"}))
    s.answer("/born", patch(s, {"op": "replace", "path": "/metadata/creationTimestamp", "value": "2001-01-01T00:00:00Z"}))
    names = ("fix", "undo", "owners", "identity", "rename", "space", "born")
    s.configure("mutating", "updates", *[s.hook("/" + n, rules=[rule(["configmaps"], operations=["UPDATE"])], matchConditions=[{"name": "n", "expression": f"object.data.a == '{n}'"}]) for n in names])
    for name in names:
        s.do("PATCH", CM + "/c", {"data": {"a": name}}, {"Content-Type": "application/merge-patch+json"}, reviews=False)
    s.do("PATCH", CM + "/c?fieldManager=other&force=true", config_map("c", data={"a": "fix", "c": "3"}), {"Content-Type": "application/apply-patch+yaml"}, reviews=False)
    s.do("GET", CM + "/c", reviews=False)
    s.do("PATCH", CM + "/c", {"metadata": {"finalizers": None}}, {"Content-Type": "application/merge-patch+json"}, shows=False, reviews=False)


def earlier_changes_are_seen(s):
    s.answer("/first", patch(s, {"op": "add", "path": "/metadata/labels", "value": {"seen": "first"}}))
    s.answer("/second", patch(s, {"op": "add", "path": "/data", "value": {"second": "yes"}}))
    s.configure("mutating", "a", s.hook("/first"))
    s.configure("mutating", "b", s.hook("/second", objectSelector={"matchLabels": {"seen": "first"}}, matchConditions=[{"name": "x", "expression": "object.metadata.labels.seen == 'first'"}]))
    s.do("POST", CM + "?dryRun=All", config_map("c"))
    s.do("GET", CM + "/c")


def collections_refused(s):
    for name in ("a", "b", "c"):
        s.do("POST", CM, config_map(name, data={"keep": "yes"} if name == "b" else {"x": "y"}, metadata={"labels": {"of": "story"}}), shows=False)
    s.answer("/keep", lambda r: s.hooks.review(r, allowed="keep" not in r["request"]["oldObject"].get("data", {}), status={"message": "kept"}))
    s.configure("validating", "keep", s.hook("/keep", rules=[rule(["configmaps"], operations=["DELETE"])]))
    s.do("DELETE", CM + "/b", reviews=False)
    s.do("GET", CM + "/b", shows=False)


def secrets_are_shown(s):
    s.answer("/see", allow(s))
    s.configure("validating", "see", s.hook("/see", rules=[rule(["secrets"])]))
    s.do("POST", "NS/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}})
    s.do("PATCH", "NS/secrets/s", {"stringData": {"a": "c"}}, {"Content-Type": "application/merge-patch+json"})


def namespaces_selected_by_themselves(s):
    s.answer("/see", allow(s))
    s.configure("validating", "see", s.hook("/see", namespaceSelector={"matchLabels": {"chosen": "yes"}}, rules=[rule(["namespaces"])]))
    s.do("POST", "/api/v1/namespaces?dryRun=All", {"metadata": {"name": "x", "labels": {"chosen": "yes"}}}, shows=False, reviews=False)
    s.do("POST", "/api/v1/namespaces?dryRun=All", {"metadata": {"name": "x"}}, shows=False, reviews=False)
    s.do("PATCH", f"/api/v1/namespaces/{s.namespace}?dryRun=All", {"metadata": {"labels": {"chosen": "yes"}}}, {"Content-Type": "application/merge-patch+json"}, shows=False, reviews=False)


SCENARIOS = {
    "reviews": reviews_of_writes, "impersonated": reviews_of_impersonated, "collections": reviews_of_collections, "subresources": reviews_of_subresources,
    "cluster": reviews_of_cluster_objects, "denials": denials, "mutating-denials": denials_while_mutating, "order": verdicts_in_order, "warnings": warnings,
    "faults": lambda s: faults(s, "Fail"), "faults-ignored": lambda s: faults(s, "Ignore"), "unreachable": lambda s: unreachable(s, "Fail"),
    "unreachable-ignored": lambda s: unreachable(s, "Ignore"), "patches": patches, "patched-deletes": patches_of_deletes, "patched-pods": patches_of_pods,
    "reinvocation": reinvocation, "reinvocation-alone": reinvocation_of_one, "reinvocation-late": reinvocation_and_selectors,
    "policies-again": lambda s: with_policies(s, "IfNeeded"), "policies-once": lambda s: with_policies(s, "Never"), "dry-run": dry_run, "old": old_reviews,
    "match": match_policies, "match-mutating": match_while_mutating, "match-custom": match_custom, "selectors": selectors, "conditions": conditions, "exempt": exempt,
    "configurations": order_of_configurations, "nothing-written": nothing_is_written,
    "limits": limits_of_what_was_added, "policies-beside": validating_policies, "mutated-scales": mutated_subresources, "refused-actions": refused_actions,
    "given-names": names_given_by_webhooks, "updates": updates_changed_on_the_way, "earlier": earlier_changes_are_seen, "kept": collections_refused,
    "secrets": secrets_are_shown, "namespaces": namespaces_selected_by_themselves,
}
