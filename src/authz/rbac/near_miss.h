#pragma once
#include <vector>

#include "authz/authorizer.h"
#include "authz/rbac/role_table.h"

namespace cardea::authz::rbac {

// The rules bound to the user that came nearest to allowing the request: those that one part kept
// from matching before those that two did. A few at most; a rule that has nothing in common with
// the request is not near.
std::vector<Hint> near_misses(const RoleTable& policy, const Attributes& attributes);

}  // namespace cardea::authz::rbac
