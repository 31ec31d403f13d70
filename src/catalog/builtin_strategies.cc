#include <algorithm>

#include "catalog/definition.h"
#include "catalog/kinds/core/core_strategies.h"
#include "catalog/kinds/strategies.h"
#include "catalog/strategy.h"

namespace cardea::catalog {
namespace {

struct Entry {
  std::string_view group, kind;
  const Strategy& (*strategy)();
};

// One line for each kind that has its own hooks.
constexpr Entry kEntries[] = {
    {"admissionregistration.k8s.io", "MutatingAdmissionPolicy", mutating_admission_policy_strategy},
    {"admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding",
     mutating_admission_policy_binding_strategy},
    {"admissionregistration.k8s.io", "MutatingWebhookConfiguration",
     mutating_webhook_configuration_strategy},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy",
     validating_admission_policy_strategy},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding",
     validating_admission_policy_binding_strategy},
    {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration",
     validating_webhook_configuration_strategy},
    {"apiregistration.k8s.io", "APIService", api_service_strategy},
    {"apps", "ControllerRevision", controller_revision_strategy},
    {"apps", "DaemonSet", daemon_set_strategy},
    {"apps", "Deployment", deployment_strategy},
    {"apps", "ReplicaSet", replica_set_strategy},
    {"apps", "StatefulSet", stateful_set_strategy},
    {"autoscaling", "HorizontalPodAutoscaler", horizontal_pod_autoscaler_strategy},
    {"batch", "CronJob", cron_job_strategy},
    {"batch", "Job", job_strategy},
    {"certificates.k8s.io", "CertificateSigningRequest", certificate_signing_request_strategy},
    {"access.cardea.dev", "AccessPolicy", access_policy_strategy},
    {"access.cardea.dev", "ClusterAccessPolicy", cluster_access_policy_strategy},
    {"access.cardea.dev", "Decision", decision_strategy},
    {"access.cardea.dev", "PermissionMap", permission_map_strategy},
    {"authorization.openshift.io", "Policy", policy_document_strategy},
    {"authorization.openshift.io", "PolicyBinding", policy_document_strategy},
    {"authorization.openshift.io", "Role", policy_document_strategy},
    {"authorization.openshift.io", "RoleBinding", policy_document_strategy},
    {"permissionconfig.k8s.io", "UncoveredPermissionSet", uncovered_permission_set_strategy},
    {"", "ConfigMap", config_map_strategy},
    {"", "Endpoints", endpoints_strategy},
    {"", "Event", core_event_strategy},
    {"", "LimitRange", limit_range_strategy},
    {"", "Namespace", namespace_strategy},
    {"", "Node", node_strategy},
    {"", "PersistentVolume", persistent_volume_strategy},
    {"", "PersistentVolumeClaim", persistent_volume_claim_strategy},
    {"", "Pod", pod_strategy},
    {"", "PodTemplate", pod_template_strategy},
    {"", "ReplicationController", replication_controller_strategy},
    {"", "ResourceQuota", resource_quota_strategy},
    {"", "Secret", secret_strategy},
    {"", "Service", service_strategy},
    {"", "ServiceAccount", service_account_strategy},
    {"apiextensions.k8s.io", "CustomResourceDefinition", definition_strategy},
    {"coordination.k8s.io", "Lease", lease_strategy},
    {"discovery.k8s.io", "EndpointSlice", endpoint_slice_strategy},
    {"events.k8s.io", "Event", events_event_strategy},
    {"flowcontrol.apiserver.k8s.io", "FlowSchema", flow_schema_strategy},
    {"flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration",
     priority_level_configuration_strategy},
    {"networking.k8s.io", "IPAddress", ip_address_strategy},
    {"networking.k8s.io", "Ingress", ingress_strategy},
    {"networking.k8s.io", "IngressClass", ingress_class_strategy},
    {"networking.k8s.io", "NetworkPolicy", network_policy_strategy},
    {"networking.k8s.io", "ServiceCIDR", service_cidr_strategy},
    {"node.k8s.io", "RuntimeClass", runtime_class_strategy},
    {"policy", "PodDisruptionBudget", pod_disruption_budget_strategy},
    {"rbac.authorization.k8s.io", "ClusterRole", cluster_role_strategy},
    {"rbac.authorization.k8s.io", "ClusterRoleBinding", cluster_role_binding_strategy},
    {"rbac.authorization.k8s.io", "Role", role_strategy},
    {"rbac.authorization.k8s.io", "RoleBinding", role_binding_strategy},
    {"resource.k8s.io", "DeviceClass", device_class_strategy},
    {"resource.k8s.io", "ResourceClaim", resource_claim_strategy},
    {"resource.k8s.io", "ResourceClaimTemplate", resource_claim_template_strategy},
    {"resource.k8s.io", "ResourceSlice", resource_slice_strategy},
    {"scheduling.k8s.io", "PriorityClass", priority_class_strategy},
    {"storage.k8s.io", "CSIDriver", csi_driver_strategy},
    {"storage.k8s.io", "CSINode", csi_node_strategy},
    {"storage.k8s.io", "CSIStorageCapacity", csi_storage_capacity_strategy},
    {"storage.k8s.io", "StorageClass", storage_class_strategy},
    {"storage.k8s.io", "VolumeAttachment", volume_attachment_strategy},
    {"storage.k8s.io", "VolumeAttributesClass", volume_attributes_class_strategy},
};

constexpr bool each_kind_has_one_line() {
  for (auto a = std::begin(kEntries); a != std::end(kEntries); ++a)
    for (auto b = a + 1; b != std::end(kEntries); ++b)
      if (a->group == b->group && a->kind == b->kind) return false;
  return true;
}
static_assert(each_kind_has_one_line(), "the first line of a kind hides a second one");

}  // namespace

const Strategy* builtin_strategy(std::string_view group, std::string_view kind) {
  auto at = std::ranges::find_if(
      kEntries, [&](const Entry& e) { return e.group == group && e.kind == kind; });
  return at == std::end(kEntries) ? nullptr : &at->strategy();
}

}  // namespace cardea::catalog
