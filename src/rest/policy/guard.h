#pragma once
#include <string>

#include "rest/write_guard.h"

namespace cardea::rest::policy {

// Refuses documents of namespace policy for what they say: rules without meaning, containers that are created with content,
// references to what is not there; and for who says it: nobody gives away what they do not have, and denying takes the
// verb `deny`.
class PolicyGuard : public WriteGuard {
 public:
  explicit PolicyGuard(std::string master) : master_(std::move(master)) {}
  bool applies(const catalog::Resource& resource) const override;
  Task<Result<void>> check(Call& call, WriteAttempt attempt) const override;

 private:
  const std::string master_;
};

}  // namespace cardea::rest::policy
