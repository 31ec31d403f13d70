#pragma once
#include "catalog/strategy.h"

namespace cardea::catalog {

// The rules of each kind of the core group. The table in builtin_strategies.cc assigns them to
// kinds.
const Strategy& config_map_strategy();
const Strategy& core_event_strategy();
const Strategy& endpoints_strategy();
const Strategy& limit_range_strategy();
const Strategy& namespace_strategy();
const Strategy& node_strategy();
const Strategy& persistent_volume_strategy();
const Strategy& persistent_volume_claim_strategy();
const Strategy& pod_strategy();
const Strategy& pod_template_strategy();
const Strategy& replication_controller_strategy();
const Strategy& resource_quota_strategy();
const Strategy& secret_strategy();
const Strategy& service_strategy();
const Strategy& service_account_strategy();

}  // namespace cardea::catalog
