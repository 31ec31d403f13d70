"""Records what a real kube-apiserver answers in JSON and in Protobuf, for tests/conformance/data/protobuf/server.jsonl.

    CARDEA_PEERS=DIR record_protobuf.py > server.jsonl

DIR has a kube-apiserver and an etcd. Some objects are created here; the others are those that every cluster has. One line for each answer.
"""
import base64
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from peer import Kube  # noqa: E402

PROTOBUF = "application/vnd.kubernetes.protobuf"
MOST = 2  # objects of one kind that the server has anyway
LABELS = {"app": "a"}
SELECTOR = {"matchLabels": LABELS, "matchExpressions": [{"key": "k", "operator": "In", "values": ["v", ""]}, {"key": "e", "operator": "Exists"}]}
SELECTED = {**LABELS, "k": "v", "e": ""}
CONTAINER = {
    "name": "c", "image": "i:1", "command": ["a", ""], "args": ["-x"], "workingDir": "/w", "stdin": True,
    "ports": [{"containerPort": 80, "hostPort": 0, "name": "http"}],
    "env": [{"name": "A", "value": ""}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": False}}},
            {"name": "D", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}}],
    "envFrom": [{"prefix": "P", "configMapRef": {"name": "one", "optional": True}}],
    "resources": {"requests": {"cpu": "0.5", "memory": "64Mi"}, "limits": {"cpu": 2, "memory": "1e9", "example.com/gpu": "1"}},
    "livenessProbe": {"httpGet": {"path": "/", "port": "http", "httpHeaders": [{"name": "H", "value": ""}]}, "initialDelaySeconds": 0, "terminationGracePeriodSeconds": 1},
    "readinessProbe": {"exec": {"command": ["true"]}}, "startupProbe": {"grpc": {"port": 9, "service": ""}},
    "lifecycle": {"preStop": {"tcpSocket": {"port": 80}}, "postStart": {"exec": {"command": ["x"]}}},
    "securityContext": {"runAsUser": 0, "runAsNonRoot": False, "capabilities": {"add": ["X"], "drop": []}, "seccompProfile": {"type": "RuntimeDefault"}},
    "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": False}],
}
POD = {
    "containers": [CONTAINER], "serviceAccountName": "robot", "initContainers": [{"name": "i", "image": "i"}], "nodeName": "", "hostNetwork": False, "terminationGracePeriodSeconds": 0, "activeDeadlineSeconds": 5,
    "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 600}}, {"configMap": {"name": "one"}}, {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.labels"}}]}}]}},
                {"name": "x", "secret": {"secretName": "s", "defaultMode": 0o400, "items": [{"key": "k", "path": "p", "mode": 0}]}}, {"name": "y", "hostPath": {"path": "/", "type": ""}}],
    "tolerations": [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}, {"key": "k", "value": "v"}],
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Gt", "values": ["1"]}]}]}},
                 "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {"topologyKey": "k", "labelSelector": SELECTOR}}]}},
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}], "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["h"]}],
    "dnsConfig": {"options": [{"name": "n"}, {"name": "m", "value": ""}]}, "readinessGates": [{"conditionType": "example.com/x"}], "securityContext": {"fsGroup": 0, "sysctls": []},
}
TEMPLATE = {"metadata": {"labels": SELECTED}, "spec": {k: v for k, v in POD.items() if k not in ("activeDeadlineSeconds",)}}
RESTARTED = {"metadata": {"labels": SELECTED}, "spec": {**POD, "restartPolicy": "Never"}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1.5Gi"}}, "storageClassName": "", "selector": SELECTOR}
REFERENCE = {"kind": "Pod", "namespace": "default", "name": "p", "uid": "u", "apiVersion": "v1", "fieldPath": "spec"}
MICRO, TIME = "2024-01-02T03:04:05.000006Z", "2024-01-02T03:04:05Z"
RULE = {"operations": ["CREATE", "*"], "apiGroups": ["", "apps"], "apiVersions": ["v1"], "resources": ["pods"], "scope": "*"}
POLICY = {"failurePolicy": "Ignore", "matchConstraints": {"resourceRules": [{**RULE, "operations": ["CREATE"], "resourceNames": ["a"]}], "objectSelector": SELECTOR},
          "validations": [{"expression": "true", "message": "m", "messageExpression": "'x'", "reason": "Invalid"}], "variables": [{"name": "v", "expression": "1"}],
          "matchConditions": [{"name": "c", "expression": "true"}], "auditAnnotations": [{"key": "k", "valueExpression": "'v'"}]}
SCHEMA = {"type": "object", "required": ["a"], "properties": {
    "a": {"type": "number", "format": "double", "minimum": 0, "maximum": 1.5, "exclusiveMinimum": True, "default": 1, "enum": [1, 0.5], "nullable": False},
    "b": {"type": "array", "items": {"type": "string", "maxLength": 0, "pattern": "^a"}, "maxItems": 0, "x-kubernetes-list-type": "set"},
    "c": {"type": "object", "additionalProperties": {"type": "string"}}, "d": {"type": "object", "additionalProperties": True}, "e": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    "f": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "default": {"z": [1, {"y": None}], "a": "b"}, "x-kubernetes-validations": [{"rule": "true", "message": "m"}]},
    "g": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"]}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]},
    "h": {"type": "string", "not": {"enum": ["x"]}, "externalDocs": {"url": "u"}, "example": {"any": 1}}}}

NAMESPACED = {
    "v1": {
        "ConfigMap": {"data": {"a": "", "b": "ö\n"}, "binaryData": {"c": "AAE=", "d": ""}, "immutable": False},
        "Secret": {"data": {"k": "", "l": "/w=="}, "type": "Opaque"},
        "Pod": {"spec": POD}, "PodTemplate": {"template": TEMPLATE}, "ReplicationController": {"spec": {"replicas": 0, "selector": SELECTED, "template": TEMPLATE}},
        "Service": {"spec": {"ports": [{"name": "a", "port": 80, "targetPort": "http"}, {"name": "b", "port": 81, "targetPort": 8081, "protocol": "UDP"}], "selector": LABELS, "sessionAffinity": "ClientIP"}},
        "Endpoints": {"subsets": [{"addresses": [{"ip": "1.2.3.4", "nodeName": "n", "targetRef": REFERENCE}], "ports": [{"port": 1}]}]},
        "Event": {"involvedObject": REFERENCE, "reason": "r", "firstTimestamp": TIME, "lastTimestamp": TIME, "count": 0, "eventTime": MICRO, "series": {"count": 2, "lastObservedTime": MICRO}, "action": "a", "reportingComponent": "example.com/x", "reportingInstance": "i", "type": "Normal"},
        "PersistentVolumeClaim": {"spec": CLAIM}, "ResourceQuota": {"spec": {"hard": {"pods": "0", "requests.cpu": "1500m", "memory": "1Gi"}, "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}}},
        "LimitRange": {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "default": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "4"}}]}},
        "ServiceAccount": {"automountServiceAccountToken": False, "secrets": [{"name": "s"}], "imagePullSecrets": [{"name": ""}]},
    },
    "apps/v1": {
        "Deployment": {"spec": {"replicas": 0, "selector": SELECTOR, "template": TEMPLATE, "minReadySeconds": 0, "revisionHistoryLimit": 0, "paused": True, "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}}},
        "StatefulSet": {"spec": {"replicas": 0, "serviceName": "s", "selector": SELECTOR, "template": TEMPLATE, "volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": CLAIM}], "ordinals": {"start": 0}}},
        "DaemonSet": {"spec": {"selector": SELECTOR, "template": TEMPLATE}}, "ReplicaSet": {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
        "ControllerRevision": {"data": {"a": [1, {"b": None}], "spec": {"z": "x"}}, "revision": 0},
    },
    "batch/v1": {
        "Job": {"spec": {"template": RESTARTED, "parallelism": 0, "suspend": False, "backoffLimit": 0, "podFailurePolicy": {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 2]}}, {"action": "Count", "onPodConditions": [{"type": "X", "status": "True"}]}]}}},
        "CronJob": {"spec": {"schedule": "* * * * *", "timeZone": "UTC", "jobTemplate": {"spec": {"template": RESTARTED}}}},
    },
    "autoscaling/v2": {"HorizontalPodAutoscaler": {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}, "minReplicas": 1, "maxReplicas": 3, "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "100m"}}}],
                                                               "behavior": {"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}], "stabilizationWindowSeconds": 0}}}}},
    "policy/v1": {"PodDisruptionBudget": {"spec": {"minAvailable": "50%", "selector": SELECTOR}}},
    "networking.k8s.io/v1": {
        "Ingress": {"spec": {"rules": [{"host": "h.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"name": "http"}}}}]}}], "tls": [{"hosts": ["h.example.com"]}]}},
        "NetworkPolicy": {"spec": {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}, {"namespaceSelector": {}}], "ports": [{"port": 80, "endPort": 90, "protocol": "TCP"}, {"port": "http"}]}, {}], "policyTypes": ["Ingress"]}},
    },
    "coordination.k8s.io/v1": {"Lease": {"spec": {"holderIdentity": "", "acquireTime": MICRO, "renewTime": "2024-01-02T03:04:05.000000Z", "leaseDurationSeconds": 1, "leaseTransitions": 0}}},
    "discovery.k8s.io/v1": {"EndpointSlice": {"addressType": "IPv4", "endpoints": [{"addresses": ["1.2.3.4"], "conditions": {"ready": False}, "hints": {"forZones": [{"name": "z"}]}}], "ports": [{"port": 1, "name": ""}, {"name": "x"}]}},
    "rbac.authorization.k8s.io/v1": {"Role": {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "*"], "resourceNames": ["a"]}]},
                                     "RoleBinding": {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}, "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "default"}, {"kind": "User", "name": "u"}]}},
    "resource.k8s.io/v1": {"ResourceClaim": {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "count": 2, "selectors": [{"cel": {"expression": "true"}}]}}], "config": [{"opaque": {"driver": "d.example.com", "parameters": {"b": 1, "a": 2}}}]}}}},
}
OF_CLUSTER = {
    "v1": {
        "Node": {"spec": {"podCIDR": "10.0.0.0/24", "taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": TIME}], "unschedulable": False}},
        "PersistentVolume": {"spec": {"capacity": {"storage": "1Ti"}, "accessModes": ["ReadWriteOnce"], "csi": {"driver": "d", "volumeHandle": "h", "volumeAttributes": {"a": ""}}, "claimRef": REFERENCE,
                                      "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]}}}},
    },
    "storage.k8s.io/v1": {"StorageClass": {"provisioner": "p", "parameters": {"a": ""}, "allowVolumeExpansion": False, "reclaimPolicy": "Retain"}, "CSIDriver": {"spec": {"attachRequired": False, "tokenRequests": [{"audience": "", "expirationSeconds": 600}]}},
                          "VolumeAttachment": {"spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "p"}}}},
    "scheduling.k8s.io/v1": {"PriorityClass": {"value": -5, "preemptionPolicy": "Never"}}, "node.k8s.io/v1": {"RuntimeClass": {"handler": "h", "overhead": {"podFixed": {"cpu": "10m"}}, "scheduling": {"tolerations": [{"operator": "Exists"}]}}},
    "certificates.k8s.io/v1": {},
    "admissionregistration.k8s.io/v1": {
        "ValidatingWebhookConfiguration": {"webhooks": [{"name": "a.example.com", "clientConfig": {"service": {"name": "s", "namespace": "n", "path": "/", "port": 1}}, "rules": [{**RULE, "operations": ["CREATE"]}], "sideEffects": "None", "admissionReviewVersions": ["v1"], "objectSelector": SELECTOR}]},
        "MutatingWebhookConfiguration": {"webhooks": [{"name": "a.example.com", "clientConfig": {"url": "https://example.com/x"}, "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore", "rules": []}]},
        "ValidatingAdmissionPolicy": {"spec": POLICY}, "ValidatingAdmissionPolicyBinding": {"spec": {"policyName": "p", "validationActions": ["Deny", "Audit"], "paramRef": {"name": "n", "parameterNotFoundAction": "Deny"}}},
    },
    "apiextensions.k8s.io/v1": {"CustomResourceDefinition": {"spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["w"]}, "conversion": {"strategy": "None"}, "versions": [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}, "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a"}},
         "additionalPrinterColumns": [{"name": "A", "type": "integer", "jsonPath": ".a", "priority": 0}], "selectableFields": [{"jsonPath": ".h"}]}]}}},
    "resource.k8s.io/v1": {"DeviceClass": {"spec": {"selectors": [{"cel": {"expression": "true"}}]}}},
}
METADATA = {"labels": {"z": "", "a": "b"}, "annotations": {"n": "1"}, "finalizers": ["example.com/f"],
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "u", "controller": False, "blockOwnerDeletion": True}]}


def record(server, what, path, kind=""):
    lines = []
    for accept in ("application/json", PROTOBUF):
        shape = f";as={kind};g=meta.k8s.io;v=v1" if kind else ""
        status, _, body = server.request("GET", path, headers={"Accept": accept + shape})
        lines.append(body)
    print(json.dumps({"case": what, "object": lines[0], "protobuf": base64.b64encode(lines[1]).decode()}, separators=(",", ":"), ensure_ascii=False), flush=True)


def collections(server):
    """(path of a collection, whether it is of a namespace, kind, group/version)"""
    groups = [("/api/v1", "v1")]
    for group in server.request("GET", "/apis")[2]["groups"]:
        groups += [(f"/apis/{v['groupVersion']}", v["groupVersion"]) for v in group["versions"]]
    for path, version in groups:
        for resource in server.request("GET", path)[2]["resources"]:
            # The statuses of components have another order in each answer.
            if "list" in resource["verbs"] and "/" not in resource["name"] and resource["name"] != "componentstatuses":
                yield path, resource["name"], resource["namespaced"], resource["kind"], version


def main():
    with Kube("--authorization-mode=RBAC") as server:
        found = list(collections(server))
        made = []
        for path, name, is_namespaced, kind, version in found:
            rest = (NAMESPACED if is_namespaced else OF_CLUSTER).get(version, {}).get(kind)
            if rest is None:
                continue
            where = f"{path}/namespaces/default/{name}" if is_namespaced else f"{path}/{name}"
            called = "widgets.example.com" if kind == "CustomResourceDefinition" else "one"
            # A raw part of an object is kept as it was sent; ours are printed like this.
            sent = json.dumps({"apiVersion": version, "kind": kind, "metadata": {"name": called, **METADATA}, **rest}, separators=(",", ":"), sort_keys=True)
            status, _, body = server.request("POST", where, sent, {"Content-Type": "application/json"})
            if status != 201:
                print(f"{version} {kind}: {status} {body}", file=sys.stderr)
            made.append(f"{where}/{called}")
        for path, name, is_namespaced, kind, version in found:
            where = f"{path}/{name}"
            items = server.request("GET", where)[2]["items"]
            for item in items:
                space = item["metadata"].get("namespace")
                one = f"{path}/namespaces/{space}/{name}/{item['metadata']['name']}" if space else f"{where}/{item['metadata']['name']}"
                if one in made:
                    record(server, "object", one)
            others = [i for i in items if i["metadata"]["name"] not in ("one", "widgets.example.com")][:MOST]
            for item in others:
                space = item["metadata"].get("namespace")
                record(server, "object", f"{path}/namespaces/{space}/{name}/{item['metadata']['name']}" if space else f"{where}/{item['metadata']['name']}")
            record(server, "list", f"{where}?limit=1")
        maps = "/api/v1/namespaces/default/configmaps"
        for kind, path in (("PartialObjectMetadata", f"{maps}/one"), ("PartialObjectMetadataList", maps)):
            record(server, "metadata", path, kind)
        for path in (f"{maps}/none", f"{maps}?resourceVersion=x", "/apis/apps/v1/namespaces/default/deployments/one/scale", "/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1"):
            record(server, "document", path)


if __name__ == "__main__":
    main()
