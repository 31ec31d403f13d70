#pragma once
#include <string>
#include <vector>

#include "authz/authorizer.h"
#include "authz/rbac/rule.h"

namespace cardea::authz {

// Users cannot give others a permission that is denied to themselves, by any kind of document:
// an access policy, a Role or a RoleBinding of either kind. One check for all of them.

// Whether any permission of `granted`, or any of its effects, may be denied to a user with
// these rules. The check may report too much, never too little. A permission that is denied to
// all users alike does not count, because it is denied to the receivers too.
bool may_be_denied(const Rules& rules, const std::vector<rbac::PolicyRule>& granted);

// Whether a verb is a permission on fields with which a new object gets its name, so that it can be
// created.
bool names_new_objects(std::string_view verb);

// Whether a verb replaces a check of what its holder may give or take (`escalate`, `bind`, `deny`).
bool replaces_checks(std::string_view verb);

// `user "u" is attempting to grant a permission that a policy may deny to this user: this needs the
// verb "escalate"`.
std::string denied_grant_text(const User& user, std::string_view exemption);

}  // namespace cardea::authz
