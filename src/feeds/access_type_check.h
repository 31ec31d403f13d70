#pragma once
#include <string>
#include <vector>

#include "authz/access/policy.h"
#include "catalog/catalog.h"

namespace cardea::feeds {

// What the expression of a policy says about objects that does not fit: one line for each served
// version of each resource that the rules name, `apps/v1, Kind=Deployment: undefined field 'foo'`.
// Empty when all is well, or the rules name nothing in particular. Doubts, not errors: the policy
// works as it is.
std::vector<std::string> type_warnings(const authz::access::Policy& policy,
                                       const json::Value& object, const catalog::Catalog& catalog);

}  // namespace cardea::feeds
