#pragma once
#include "rest/write_guard.h"

namespace cardea::rest {

// Keeps those who may write access policies from giving away what they do not have, and from denying to others what
// nobody let them deny. To grant needs the permissions that are granted, or `escalate`; to deny needs `deny`; both on the
// policy that is written. So does changing a policy that denies.
class AccessPolicyGuard : public WriteGuard {
 public:
  bool applies(const catalog::Resource& resource) const override;
  Task<Result<void>> check(Call& call, WriteAttempt attempt) const override;
};

}  // namespace cardea::rest
