#pragma once
#include "authz/access/index.h"
#include "base/snapshot.h"
#include "rest/guards/write_guard.h"

namespace cardea::rest {

// Limits the writers of access policies: they cannot give permissions that they do not have,
// and cannot deny without the permission to deny. Granting needs the granted permissions, none
// of them denied to the writer by any policy, or `escalate`. A permission that the writer has
// under a condition can be granted under the same condition or a stronger one
// (authz/access/delegation.h). Taking away (Deny, NoOpinion) needs `deny`. Both verbs are checked
// on the policy that is written. Changing or deleting a policy that takes away needs `deny` too.
class AccessPolicyGuard : public WriteGuard {
 public:
  // The policies outlive it.
  explicit AccessPolicyGuard(const Snapshot<authz::access::Index>& policies)
      : policies_(policies) {}
  bool applies(const catalog::Resource& resource) const override;
  Task<Result<void>> check(Call& call, WriteAttempt attempt) const override;
  Task<Result<void>> check_deletion(Call& call, const json::Value& old) const override;

 private:
  const Snapshot<authz::access::Index>& policies_;
};

}  // namespace cardea::rest
