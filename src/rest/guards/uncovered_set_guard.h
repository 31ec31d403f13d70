#pragma once
#include "rest/guards/write_guard.h"

namespace cardea::rest {

// Warns the writer of an UncoveredPermissionSet which kinds it affects: a set can lock users
// out of their daily work. Refuses a verb that none of these kinds has: it would protect nothing.
class UncoveredSetGuard : public WriteGuard {
 public:
  bool applies(const catalog::Resource& resource) const override;
  Task<Result<void>> check(Call& call, WriteAttempt attempt) const override;
};

}  // namespace cardea::rest
