#pragma once
#include "authz/rbac/policy_index.h"
#include "rest/guards/write_guard.h"

namespace cardea::rest {

// Keeps those who may write roles and bindings from giving away what they do not have.
class EscalationGuard : public WriteGuard {
 public:
  explicit EscalationGuard(const authz::rbac::PolicyIndex& index) : index_(index) {}
  bool applies(const catalog::Resource& resource) const override;
  Task<Result<void>> check(Call& call, WriteAttempt attempt) const override;

 private:
  const authz::rbac::PolicyIndex& index_;
};

}  // namespace cardea::rest
