#pragma once
#include <string_view>
#include <vector>

#include "json/value.h"

namespace cardea::authz::rbac {

// The rules that the aggregated ClusterRole `name` should have: those of the roles it selects,
// selector by selector, roles by name, each rule once. A selected role that is itself
// aggregated counts with the rules it should have, so that one pass is enough; roles that
// select each other in a circle add no rules of their own.
std::vector<json::Value> aggregated_rules(std::string_view name,
                                          const std::vector<json::Value>& cluster_roles);

}  // namespace cardea::authz::rbac
