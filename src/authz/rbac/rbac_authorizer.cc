#include "authz/rbac/rbac_authorizer.h"

#include "authz/rbac/near_miss.h"
#include "base/strings.h"

namespace cardea::authz::rbac {

std::string aggregate(const std::vector<std::string>& errors) {
  return errors.size() < 2 ? join(errors, "") : cat("[", join(errors, ", "), "]");
}

Decision decide(const std::shared_ptr<const Policy>& policy, const Attributes& a) {
  bool is_broken = false;
  if (const Subject* grant = policy->find_allowing(a, is_broken))
    return Decision::allow(Explanation(policy, reinterpret_cast<std::uint64_t>(grant)));
  if (!is_broken) return Decision::no_opinion();
  return Decision::no_opinion(cat("RBAC: ", aggregate(policy->errors_for(a.user, a.namespace_name))));
}

std::optional<Decision> RbacAuthorizer::authorize(const Attributes& attributes) const { return decide(index_.policy(), attributes); }

void RbacAuthorizer::add_rules(const User& user, std::string_view namespace_name, Rules& rules) const {
  std::shared_ptr<const Policy> policy = index_.policy();
  for (const Subject* grant : policy->grants_of(user, namespace_name)) {
    const Role* role = policy->role_of(grant->binding());
    if (!role) continue;
    for (const PolicyRule& r : role->rules()) {
      if (!r.resources.empty()) rules.resource_rules.push_back({r.verbs, r.api_groups, r.resources, r.resource_names});
      if (!r.non_resource_urls.empty()) rules.non_resource_rules.push_back({r.verbs, r.non_resource_urls});
    }
  }
  if (std::string error = aggregate(policy->errors_for(user, namespace_name)); !error.empty()) rules.errors.push_back(std::move(error));
}

std::vector<Hint> RbacAuthorizer::hints(const Attributes& attributes) const {
  std::shared_ptr<const Policy> policy = index_.policy();
  return near_misses(*policy, attributes);
}

}  // namespace cardea::authz::rbac
