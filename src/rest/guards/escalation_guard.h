#pragma once
#include "authz/rbac/role_table.h"
#include "base/snapshot.h"
#include "rest/guards/write_guard.h"

namespace cardea::authz::namespace_policy {
class PolicyAuthorizer;
}

namespace cardea::rest {

// Prevents the writers of roles and bindings of RBAC from giving permissions that they do not have.
// Permissions by namespace policy count too, where the chain asks it before RBAC, and permissions
// on fields count as parts of whole objects (authz/held_grants.h).
class EscalationGuard : public WriteGuard {
 public:
  // Both outlive it.
  EscalationGuard(const Snapshot<authz::rbac::RoleTable>& roles,
                  const authz::namespace_policy::PolicyAuthorizer& policy)
      : roles_(roles), policy_(policy) {}
  bool applies(const catalog::Resource& resource) const override;
  Task<Result<void>> check(Call& call, WriteAttempt attempt) const override;

 private:
  const Snapshot<authz::rbac::RoleTable>& roles_;
  const authz::namespace_policy::PolicyAuthorizer& policy_;
};

}  // namespace cardea::rest
