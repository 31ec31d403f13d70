#pragma once
#include "rest/guards/write_guard.h"

namespace cardea::rest {

// Limits the writers of access policies: they cannot give permissions that they do not have,
// and cannot deny without the permission to deny. Granting needs the granted permissions, none
// of them denied to the writer by any policy, or `escalate`. Taking away (Deny, NoOpinion)
// needs `deny`. Both verbs are checked on the policy that is written. Changing or deleting a
// policy that takes away needs `deny` too.
class AccessPolicyGuard : public WriteGuard {
 public:
  bool applies(const catalog::Resource& resource) const override;
  Task<Result<void>> check(Call& call, WriteAttempt attempt) const override;
  Task<Result<void>> check_deletion(Call& call, const json::Value& old) const override;
};

}  // namespace cardea::rest
