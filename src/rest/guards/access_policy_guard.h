#pragma once
#include "rest/guards/write_guard.h"

namespace cardea::rest {

// Keeps those who may write access policies from giving away what they do not have, and from
// denying to others what nobody let them deny. To grant needs the permissions that are granted,
// none of them denied to the writer by any policy, or `escalate`; to take away (Deny, NoOpinion)
// needs `deny`; both on the policy that is written. So does changing or deleting a policy that
// takes away.
class AccessPolicyGuard : public WriteGuard {
 public:
  bool applies(const catalog::Resource& resource) const override;
  Task<Result<void>> check(Call& call, WriteAttempt attempt) const override;
  Task<Result<void>> check_deletion(Call& call, const json::Value& old) const override;
};

}  // namespace cardea::rest
