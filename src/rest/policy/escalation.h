#pragma once
#include "authz/namespace_policy/policy_authorizer.h"
#include "rest/guards/write_guard.h"

namespace cardea::rest::policy {

// Nobody gives away by namespace policy what it does not give them, and nobody denies without the
// verb `deny` on roles. Decided from the policies themselves, exactly
// (authz/namespace_policy/covers.h). Exempt are system:masters, and users whom another authorizer
// than policy allows to `escalate` or `bind` roles. The verb `*` in a policy rule does not include
// these two.
//
// `attempt` is a Role or a RoleBinding that is valid, of a binding that its role exists. With a
// null authorizer only system:masters pass.
Task<Result<void>> check_escalation(Call& call, WriteAttempt attempt,
                                    const authz::namespace_policy::PolicyAuthorizer* authorizer);

// To delete a denial, or a binding to one, takes the verb `deny` as writing it does, but not where
// the whole namespace is on its way out. Nobody lifts from themselves what they would not hold
// otherwise, deny or not: who writes past that is known to check_escalation too. What cannot be
// read denies. `old` is a Role or a RoleBinding.
Task<Result<void>> check_lifting(Call& call, const json::Value& old,
                                 const authz::namespace_policy::PolicyAuthorizer* authorizer);

}  // namespace cardea::rest::policy
