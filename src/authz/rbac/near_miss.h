#pragma once
#include <vector>

#include "authz/authorizer.h"
#include "authz/rbac/role_table.h"

namespace cardea::authz::rbac {

// The rules of the user that almost allowed the request: rules with one part that does not
// match come before rules with two. A few at most; a rule without anything in common with the
// request is left out.
std::vector<Hint> near_misses(const RoleTable& policy, const Attributes& attributes);

}  // namespace cardea::authz::rbac
