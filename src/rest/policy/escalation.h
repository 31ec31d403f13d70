#pragma once
#include "authz/namespace_policy/policy_authorizer.h"
#include "rest/guards/write_guard.h"

namespace cardea::rest::policy {

// A user cannot grant by namespace policy a permission that the policy does not give them, and
// cannot deny without the verb `deny` on roles. This is decided exactly, from the policies
// themselves (authz/namespace_policy/covers.h). Exempt are system:masters, and users to whom an
// authorizer other than policy gives `escalate` or `bind` on roles. The verb `*` in a policy rule
// does not include these two.
//
// `attempt` is a valid Role or RoleBinding; the role of a binding exists. With a null authorizer
// only system:masters pass.
Task<Result<void>> check_escalation(Call& call, WriteAttempt attempt,
                                    const authz::namespace_policy::PolicyAuthorizer* authorizer);

// Deleting a denial, or a binding to one, needs the verb `deny`, as writing it does, except in
// a namespace that is being deleted. Users cannot remove a denial from themselves if they would
// not hold the permission otherwise, with or without `deny`; check_escalation knows users that
// are exempt. Unreadable content denies. `old` is a Role or a RoleBinding.
Task<Result<void>> check_lifting(Call& call, const json::Value& old,
                                 const authz::namespace_policy::PolicyAuthorizer* authorizer);

}  // namespace cardea::rest::policy
