#pragma once
#include "authz/policy/policy_authorizer.h"
#include "rest/write_guard.h"

namespace cardea::rest::policy {

// Nobody gives away by namespace policy what it does not give them, and nobody denies without the verb `deny` on roles. Decided
// from the policies themselves, exactly (authz/policy/covers.h). Past it come system:masters, and whom another authorizer
// than policy lets `escalate` roles or `bind` them: that a policy rule says `*` is no such leave.
//
// `attempt` is a Role or a RoleBinding that is valid, of a binding that its role exists. With a null authorizer only
// system:masters pass.
Task<Result<void>> check_escalation(Call& call, WriteAttempt attempt, const authz::policy::PolicyAuthorizer* authorizer);

}  // namespace cardea::rest::policy
