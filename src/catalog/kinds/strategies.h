#pragma once
#include <string_view>
#include <vector>

#include "catalog/strategy.h"

namespace cardea::catalog {

// The rules of each built-in kind outside the core group. The table in builtin_strategies.cc
// assigns them to groups and kinds.

const Strategy& deployment_strategy();
const Strategy& replica_set_strategy();
const Strategy& stateful_set_strategy();
const Strategy& daemon_set_strategy();
const Strategy& controller_revision_strategy();
const Strategy& job_strategy();
const Strategy& cron_job_strategy();
const Strategy& horizontal_pod_autoscaler_strategy();
const Strategy& pod_disruption_budget_strategy();
const Strategy& ingress_strategy();
const Strategy& ingress_class_strategy();
const Strategy& network_policy_strategy();
const Strategy& ip_address_strategy();
const Strategy& service_cidr_strategy();
const Strategy& role_strategy();
const Strategy& access_policy_strategy();
const Strategy& cluster_access_policy_strategy();
const Strategy& decision_strategy();
const Strategy& policy_document_strategy();
const Strategy& permission_map_strategy();
const Strategy& uncovered_permission_set_strategy();
const Strategy& cluster_role_strategy();
const Strategy& role_binding_strategy();
const Strategy& cluster_role_binding_strategy();
const Strategy& validating_webhook_configuration_strategy();
const Strategy& mutating_webhook_configuration_strategy();
const Strategy& validating_admission_policy_strategy();
const Strategy& validating_admission_policy_binding_strategy();
const Strategy& mutating_admission_policy_strategy();
const Strategy& mutating_admission_policy_binding_strategy();
const Strategy& api_service_strategy();
const Strategy& lease_strategy();
const Strategy& endpoint_slice_strategy();
const Strategy& events_event_strategy();
const Strategy& priority_class_strategy();
const Strategy& runtime_class_strategy();
const Strategy& storage_class_strategy();
const Strategy& volume_attachment_strategy();
const Strategy& csi_driver_strategy();
const Strategy& csi_node_strategy();
const Strategy& csi_storage_capacity_strategy();
const Strategy& volume_attributes_class_strategy();
const Strategy& certificate_signing_request_strategy();
const Strategy& flow_schema_strategy();
const Strategy& priority_level_configuration_strategy();
const Strategy& resource_claim_strategy();
const Strategy& resource_claim_template_strategy();
const Strategy& resource_slice_strategy();
const Strategy& device_class_strategy();

// Objects that a new server has from the beginning.
std::vector<json::Value> bootstrap_priority_classes();
std::vector<json::Value> bootstrap_flow_control(std::string_view now);

}  // namespace cardea::catalog
