#pragma once
#include "authz/rbac/role_table.h"
#include "base/snapshot.h"
#include "rest/guards/write_guard.h"

namespace cardea::rest {

// Prevents the writers of roles and bindings from giving permissions that they do not have.
class EscalationGuard : public WriteGuard {
 public:
  explicit EscalationGuard(const Snapshot<authz::rbac::RoleTable>& roles) : roles_(roles) {}
  bool applies(const catalog::Resource& resource) const override;
  Task<Result<void>> check(Call& call, WriteAttempt attempt) const override;

 private:
  const Snapshot<authz::rbac::RoleTable>& roles_;
};

}  // namespace cardea::rest
