#pragma once
#include "base/task.h"
#include "rest/call.h"

namespace cardea::rest {

// An object before it is stored: decoded, changed by admission, not yet prepared or validated.
struct WriteAttempt {
  const json::Value& object;
  const json::Value* old;       // null for a create
  std::string_view name;        // of the object; empty when it is about to be generated
  bool keeps_identity = false;  // an update that was sent with the uid, resourceVersion and
                                // creationTimestamp of `old`
};

// Refuses writes for their content, where authorization of the request alone is not enough.
// Called after mutating admission and before validation (for a deletion: before admission), for
// each attempt. Shared between threads.
class WriteGuard {
 public:
  virtual ~WriteGuard() = default;
  virtual bool applies(const catalog::Resource& resource) const = 0;
  virtual Task<Result<void>> check(Call& call, WriteAttempt attempt) const = 0;
  // The same for an object that is about to be deleted, alone or with its collection.
  virtual Task<Result<void>> check_deletion(Call&, const json::Value& /*old*/) const {
    co_return Result<void>();
  }
};

}  // namespace cardea::rest
