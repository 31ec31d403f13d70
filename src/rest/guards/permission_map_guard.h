#pragma once
#include "rest/guards/write_guard.h"

namespace cardea::rest {

// Checks a PermissionMap against the resource that it is about, and limits its writers.
//
// A map makes a field reachable by a verb that others may hold already. So who adds a permission
// must be able to write the whole resource, everywhere and under no condition, or hold `escalate`
// on the map. A map that takes a permission away again may open a field that an
// UncoveredPermissionSet keeps shut by this permission: this needs the excluded verbs too.
class PermissionMapGuard : public WriteGuard {
 public:
  bool applies(const catalog::Resource& resource) const override;
  Task<Result<void>> check(Call& call, WriteAttempt attempt) const override;
  Task<Result<void>> check_deletion(Call& call, const json::Value& old) const override;
};

}  // namespace cardea::rest
