#pragma once
#include "rest/guards/write_guard.h"

namespace cardea::rest {

// Tells whoever writes an UncoveredPermissionSet which kinds it is about: a set can lock people out
// of what they do every day. It refuses nothing.
class UncoveredSetGuard : public WriteGuard {
 public:
  bool applies(const catalog::Resource& resource) const override;
  Task<Result<void>> check(Call& call, WriteAttempt attempt) const override;
};

}  // namespace cardea::rest
