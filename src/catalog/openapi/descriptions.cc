#include "catalog/openapi/descriptions.h"

#include <algorithm>
#include <iterator>

namespace cardea::catalog::openapi {

namespace {

struct Text {
  std::string_view first, second, text;
};

// Tests of clients look for the beginnings of some of these texts in `kubectl explain`.
constexpr Text kMeta[] = {
    {"", "annotations", "Free data of tools and libraries, by key; not for selecting."},
    {"", "creationTimestamp",
     "CreationTimestamp is a timestamp of the moment the server first stored the object. Set by "
     "the server."},
    {"", "deletionGracePeriodSeconds",
     "How long the object may take to end after its deletion was asked for."},
    {"", "deletionTimestamp",
     "When deletion was asked for; the object goes once its finalizers are gone. Set by the "
     "server."},
    {"", "finalizers", "Who must act before the object may be removed."},
    {"", "generateName", "A prefix from which the server makes a unique name when none is given."},
    {"", "generation", "Counts changes of the desired state. Set by the server."},
    {"", "labels", "Short texts by key, by which objects are organised and selected."},
    {"", "managedFields", "Which manager owns which fields. Kept by the server."},
    {"", "name", "The name, unique among objects of its kind in the namespace. Cannot be changed."},
    {"", "namespace", "The namespace the object lives in. Cannot be changed."},
    {"", "ownerReferences",
     "The objects this one depends on; when all are gone it is removed too."},
    {"", "resourceVersion",
     "The version of the stored object, an opaque text for optimistic concurrency. Set by the "
     "server."},
    {"", "selfLink", "No longer used."},
    {"", "uid", "Identifies the object among all that ever existed. Set by the server."},
};

constexpr Text kCommon[] = {
    {"", "apiVersion",
     "APIVersion defines the group and version of the schema this object is written in."},
    {"", "kind", "Kind names the type of this object, in CamelCase."},
    {"", "spec", "The desired state."},
    {"", "status", "The last observed state. Written by the system."},
    {"", "items", "The objects of the list."},
};

constexpr Text kPolicyFields[] = {
    {"", "description", "The purpose of this policy, shown in refusals."},
    {"", "effect",
     "The answer of the policy where it applies: Allow, Deny or NoOpinion. Deny has precedence "
     "over NoOpinion, NoOpinion over Allow."},
    {"", "expression",
     "When the policy applies, in CEL: a bool from request, operation, object, oldObject, options, "
     "namespaceObject and authorizer. Empty: always."},
    {"", "rules", "Which requests the policy is about, as in a role. Empty: all."},
    {"", "subjects",
     "The users, groups and service accounts that the policy applies to. Empty: all users."},
    {"", "conditions",
     "Whether the policy is in force (Ready), and the type warnings of its expression "
     "(TypeChecked)."},
    {"", "observedGeneration", "The generation of the policy that the conditions are about."},
};

constexpr Text kKinds[] = {
    {"access.cardea.dev", "AccessPolicy",
     "AccessPolicy allows or denies requests in one namespace, depending on what they write."},
    {"authorization.openshift.io", "Policy",
     "Policy holds the roles of a namespace. There is one, named default."},
    {"authorization.openshift.io", "PolicyBinding",
     "PolicyBinding holds the bindings of a namespace to the roles of one Policy, after whose "
     "namespace it is named."},
    {"authorization.openshift.io", "Role",
     "Role names a list of rules, which may allow and deny. It lives in the Policy of its "
     "namespace."},
    {"authorization.openshift.io", "RoleBinding",
     "RoleBinding gives a role of its own namespace or of the master namespace to users and "
     "groups. It is stored in a PolicyBinding."},
    {"access.cardea.dev", "ClusterAccessPolicy",
     "ClusterAccessPolicy allows or denies requests anywhere, depending on what they write."},
    {"permissionconfig.k8s.io", "UncoveredPermissionSet",
     "UncoveredPermissionSet names permissions on fields that no other permission implies."},
    {"authorization.k8s.io", "AuthorizationConditionsReview",
     "AuthorizationConditionsReview asks whether conditions of an earlier decision hold for an "
     "object."},
    {"", "ConfigMap", "ConfigMap holds configuration for programs to read."},
    {"", "Endpoints", "Endpoints lists the addresses behind a service."},
    {"", "Event", "Event reports something that happened to an object."},
    {"", "LimitRange", "LimitRange bounds what each object in a namespace may ask for."},
    {"", "Namespace", "Namespace is a scope for names."},
    {"", "Node", "Node is a machine that runs pods."},
    {"", "PersistentVolume", "PersistentVolume is a piece of storage of the cluster."},
    {"", "PersistentVolumeClaim", "PersistentVolumeClaim asks for a persistent volume."},
    {"", "Pod", "Pod is a group of containers that run together on one node."},
    {"", "PodTemplate", "PodTemplate is a pattern to make pods from."},
    {"", "ReplicationController", "ReplicationController keeps a number of pods running."},
    {"", "ResourceQuota", "ResourceQuota bounds what a namespace may use in all."},
    {"", "Secret", "Secret holds confidential data."},
    {"", "Service", "Service gives a set of pods one stable address."},
    {"", "ServiceAccount", "ServiceAccount is an identity for programs."},
    {"admissionregistration.k8s.io", "MutatingAdmissionPolicy",
     "MutatingAdmissionPolicy changes objects as they are written, by expressions."},
    {"admissionregistration.k8s.io", "MutatingWebhookConfiguration",
     "MutatingWebhookConfiguration names services that may change objects as they are written."},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy",
     "ValidatingAdmissionPolicy accepts or refuses objects by expressions."},
    {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration",
     "ValidatingWebhookConfiguration names services that may refuse objects."},
    {"apiextensions.k8s.io", "CustomResourceDefinition",
     "CustomResourceDefinition adds a resource to the API."},
    {"apiregistration.k8s.io", "APIService", "APIService says who serves a version of a group."},
    {"apps", "ControllerRevision", "ControllerRevision is a snapshot of a controller's state."},
    {"apps", "DaemonSet", "DaemonSet runs a pod on every node that matches."},
    {"apps", "Deployment", "Deployment keeps pods running and rolls out changes to them."},
    {"apps", "ReplicaSet", "ReplicaSet keeps a number of pods running."},
    {"apps", "StatefulSet", "StatefulSet runs pods with stable names and storage."},
    {"autoscaling", "HorizontalPodAutoscaler",
     "HorizontalPodAutoscaler sets the number of replicas by measured load."},
    {"batch", "CronJob", "CronJob makes jobs on a schedule."},
    {"batch", "Job", "Job runs pods until enough of them succeed."},
    {"certificates.k8s.io", "CertificateSigningRequest",
     "CertificateSigningRequest asks for a signed certificate."},
    {"coordination.k8s.io", "Lease", "Lease says who holds something, and until when."},
    {"discovery.k8s.io", "EndpointSlice",
     "EndpointSlice lists some of the addresses behind a service."},
    {"networking.k8s.io", "Ingress", "Ingress routes HTTP requests from outside to services."},
    {"networking.k8s.io", "IngressClass", "IngressClass names a controller of ingresses."},
    {"networking.k8s.io", "NetworkPolicy",
     "NetworkPolicy says which traffic a set of pods allows."},
    {"node.k8s.io", "RuntimeClass", "RuntimeClass names a container runtime."},
    {"policy", "PodDisruptionBudget",
     "PodDisruptionBudget bounds how many pods may be taken away at once."},
    {"rbac.authorization.k8s.io", "ClusterRole",
     "ClusterRole is a set of permissions, for the whole cluster or any namespace."},
    {"rbac.authorization.k8s.io", "ClusterRoleBinding",
     "ClusterRoleBinding grants a cluster role in the whole cluster."},
    {"rbac.authorization.k8s.io", "Role", "Role is a set of permissions in one namespace."},
    {"rbac.authorization.k8s.io", "RoleBinding", "RoleBinding grants a role in one namespace."},
    {"resource.k8s.io", "DeviceClass",
     "DeviceClass is a selection of devices that claims refer to."},
    {"resource.k8s.io", "ResourceClaim", "ResourceClaim asks for devices."},
    {"resource.k8s.io", "ResourceClaimTemplate",
     "ResourceClaimTemplate is a pattern to make resource claims from."},
    {"resource.k8s.io", "ResourceSlice", "ResourceSlice lists devices of one pool."},
    {"scheduling.k8s.io", "PriorityClass", "PriorityClass gives a priority a name."},
    {"storage.k8s.io", "StorageClass", "StorageClass describes a way to provide volumes."},
};

template <std::size_t N>
std::string_view look_up(const Text (&table)[N], std::string_view first, std::string_view second) {
  auto at = std::find_if(std::begin(table), std::end(table),
                         [&](const Text& t) { return t.first == first && t.second == second; });
  return at == std::end(table) ? std::string_view() : at->text;
}

}  // namespace

std::string_view describe_field(std::string_view owner, std::string_view field) {
  if (owner == "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta") return look_up(kMeta, "", field);
  if (owner.starts_with("dev.cardea.access."))
    if (auto text = look_up(kPolicyFields, "", field); !text.empty()) return text;
  if (field == "metadata")
    return owner.ends_with("List") ? "Standard list metadata."
                                   : "Standard object's metadata: name, labels, owners.";
  return look_up(kCommon, "", field);
}

std::string_view describe_kind(std::string_view group, std::string_view kind) {
  return look_up(kKinds, group, kind);
}

}  // namespace cardea::catalog::openapi
