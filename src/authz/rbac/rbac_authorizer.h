#pragma once
#include <memory>

#include "authz/authorizer.h"
#include "authz/rbac/role_table.h"
#include "base/snapshot.h"

namespace cardea::authz::rbac {

// Allows the permissions of roles that are bound to the user; never denies. Answers at once,
// from the current policy, and allocates nothing unless there is a broken binding to report.
class RbacAuthorizer : public Authorizer {
 public:
  // `roles` outlives it, and is never without a table.
  explicit RbacAuthorizer(const Snapshot<RoleTable>& roles) : roles_(roles) {}

  std::string_view name() const override { return "rbac"; }
  std::string_view type() const override { return "RBAC"; }
  std::optional<Decision> authorize(const Attributes& attributes) const override;
  void add_rules(const User& user, std::string_view namespace_name, Rules& rules) const override;

  void add_allowed(const Attributes& attributes, AllowedSubjects& allowed) const override;
  std::shared_ptr<const Authorizer> frozen() const override;

  std::vector<Hint> hints(const Attributes& attributes) const override;

 private:
  const Snapshot<RoleTable>& roles_;
};

// The same for one policy that does not change.
Decision decide(const std::shared_ptr<const RoleTable>& policy, const Attributes& attributes);

// The authorizer of one policy that stays as it is.
std::shared_ptr<const Authorizer> authorizer_of(std::shared_ptr<const RoleTable> policy);

// `[a, b]`, or the one there is.
std::string aggregate(const std::vector<std::string>& errors);

}  // namespace cardea::authz::rbac
