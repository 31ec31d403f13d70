#pragma once
#include <string>
#include <vector>

#include "authz/authorizer.h"
#include "authz/rbac/rule.h"

namespace cardea::authz {

// Nobody gives to others what is denied to themselves, by whichever kind of document they give it:
// an access policy, a Role or a RoleBinding of either kind. One check for all of them.

// Whether any of `granted`, or what it comes to, may be denied to whoever has these rules: rather
// too often than too seldom. What is denied to everybody alike does not count, for it is denied to
// whom it is granted too.
bool may_be_denied(const Rules& rules, const std::vector<rbac::PolicyRule>& granted);

// `user "u" is attempting to grant what a policy may deny to them: that takes the verb "escalate"`.
std::string denied_grant_text(const User& user, std::string_view exemption);

}  // namespace cardea::authz
