#pragma once
#include <string>
#include <vector>

#include "authz/access/policy.h"
#include "catalog/catalog.h"

namespace cardea::feeds {

// Type errors of a policy's expression: one line for each served version of each resource that
// the rules name, `apps/v1, Kind=Deployment: undefined field 'foo'`. Empty when there are none,
// or when the rules name no particular resource. These are warnings, not errors: the policy
// works.
std::vector<std::string> type_warnings(const authz::access::Policy& policy,
                                       const json::Value& object, const catalog::Catalog& catalog);

}  // namespace cardea::feeds
