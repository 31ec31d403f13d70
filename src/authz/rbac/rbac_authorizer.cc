#include "authz/rbac/rbac_authorizer.h"

#include "authz/rbac/near_miss.h"
#include "base/strings.h"

namespace cardea::authz::rbac {

namespace {

void add_allowed_by(const RoleTable& policy, const Attributes& attributes,
                    AllowedSubjects& allowed) {
  policy.for_each_allowed(
      attributes, [&](const Subject& s, const Role& role, const PolicyRule& rule) {
        // No user has another kind, and no service account is without a namespace.
        bool is_nobody = s.kind() == Subject::Kind::kOther ||
                         (s.kind() == Subject::Kind::kServiceAccount && s.namespace_name().empty());
        if (is_nobody) return;
        const Binding& b = s.binding();
        bool is_account = s.kind() == Subject::Kind::kServiceAccount;
        allowed.subjects.push_back(
            {.kind = std::string(s.kind_name()),
             .name = std::string(s.name()),
             .namespace_name = is_account ? std::string(s.namespace_name()) : "",
             .binding_kind = b.is_cluster_binding() ? "ClusterRoleBinding" : "RoleBinding",
             .binding_namespace = std::string(b.namespace_name()),
             .binding = std::string(b.name()),
             .role_kind = role.is_cluster_role() ? "ClusterRole" : "Role",
             .role = role.name(),
             .rule = as_json(rule)});
      });
}

// One policy that stays as it is.
class FrozenRbac : public Authorizer {
 public:
  explicit FrozenRbac(std::shared_ptr<const RoleTable> policy) : policy_(std::move(policy)) {}
  std::string_view name() const override { return "rbac"; }
  std::string_view type() const override { return "RBAC"; }
  std::optional<Decision> authorize(const Attributes& attributes) const override {
    return decide(policy_, attributes);
  }
  void add_allowed(const Attributes& attributes, AllowedSubjects& allowed) const override {
    add_allowed_by(*policy_, attributes, allowed);
  }
  std::vector<Hint> hints(const Attributes& attributes) const override {
    return near_misses(*policy_, attributes);
  }

 private:
  std::shared_ptr<const RoleTable> policy_;
};

}  // namespace

std::string aggregate(const std::vector<std::string>& errors) {
  return errors.size() < 2 ? join(errors, "") : cat("[", join(errors, ", "), "]");
}

Decision decide(const std::shared_ptr<const RoleTable>& policy, const Attributes& a) {
  bool is_broken = false;
  if (const Subject* grant = policy->find_allowing(a, is_broken))
    return Decision::allow(Explanation(policy, reinterpret_cast<std::uint64_t>(grant)));
  if (!is_broken) return Decision::no_opinion();
  return Decision::no_opinion(
      cat("RBAC: ", aggregate(policy->errors_for(a.user, a.namespace_name))));
}

std::optional<Decision> RbacAuthorizer::authorize(const Attributes& attributes) const {
  return decide(roles_.get(), attributes);
}

void RbacAuthorizer::add_rules(const User& user, std::string_view namespace_name,
                               Rules& rules) const {
  std::shared_ptr<const RoleTable> policy = roles_.get();
  for (const Subject* grant : policy->grants_of(user, namespace_name)) {
    const Role* role = policy->role_of(grant->binding());
    if (!role) continue;
    for (const PolicyRule& r : role->rules()) {
      if (!r.resources.empty())
        rules.resource_rules.push_back({r.verbs, r.api_groups, r.resources, r.resource_names});
      if (!r.non_resource_urls.empty())
        rules.non_resource_rules.push_back({r.verbs, r.non_resource_urls});
    }
  }
  if (std::string error = aggregate(policy->errors_for(user, namespace_name)); !error.empty())
    rules.errors.push_back(std::move(error));
}

void RbacAuthorizer::add_allowed(const Attributes& attributes, AllowedSubjects& allowed) const {
  std::shared_ptr<const RoleTable> policy = roles_.get();
  add_allowed_by(*policy, attributes, allowed);
}

std::shared_ptr<const Authorizer> RbacAuthorizer::frozen() const {
  return authorizer_of(roles_.get());
}

std::shared_ptr<const Authorizer> authorizer_of(std::shared_ptr<const RoleTable> policy) {
  return std::make_shared<FrozenRbac>(std::move(policy));
}

std::vector<Hint> RbacAuthorizer::hints(const Attributes& attributes) const {
  std::shared_ptr<const RoleTable> policy = roles_.get();
  return near_misses(*policy, attributes);
}

}  // namespace cardea::authz::rbac
