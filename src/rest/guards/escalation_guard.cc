#include "rest/guards/escalation_guard.h"

#include <algorithm>

#include "authz/denied_grants.h"
#include "authz/held_grants.h"
#include "authz/namespace_policy/policy_authorizer.h"
#include "authz/rbac/escalation.h"
#include "base/strings.h"
#include "catalog/excluded_permissions.h"
#include "rest/guards/escalation_exemption.h"
#include "rest/present/status.h"
#include "rest/write/blind_caller.h"
#include "rest/write/field_permissions.h"

namespace cardea::rest {
namespace {

using authz::rbac::PolicyRule;

// Whether roles of RBAC may give what namespace policy gives. A role of RBAC that is asked first
// would pass the denials of the policy.
bool asks_policy_first(const authz::Chain& chain) {
  auto place_of = [&](std::string_view type) {
    return std::ranges::find_if(chain.authorizers(),
                                [&](const auto& one) { return one->type() == type; });
  };
  return place_of("Policy") < place_of("RBAC") && place_of("RBAC") != chain.authorizers().end();
}

bool is_part_of_writing(const Call& call, std::string_view group, std::string_view resource,
                        std::string_view verb) {
  const FieldPermissions* permissions = call.services.field_permissions;
  if (!permissions || !catalog::has_field_permission(*call.catalog, group, resource, verb))
    return false;
  const std::string_view whole = resource.substr(0, resource.find('/'));
  // In all groups: an object may be stored in another one.
  return !permissions->uncovered()->excludes("*", whole, verb) &&
         !catalog::excludes_permission(*call.catalog, group, whole, verb);
}

// The chain without namespace policy, which has been asked exactly.
authz::Chain others_of(const authz::Chain& chain) {
  std::vector<std::shared_ptr<const authz::Authorizer>> others;
  for (const auto& one : chain.authorizers())
    if (one->type() != "Policy") others.push_back(one);
  return authz::Chain(std::move(others));
}

bool may_be_denied(const authz::Chain& chain, const Call& call,
                   const std::vector<PolicyRule>& granted) {
  return chain.may_deny() &&
         authz::may_be_denied(chain.rules_for(call.user, call.info.namespace_name), granted);
}

}  // namespace

bool EscalationGuard::applies(const catalog::Resource& r) const {
  return r.group == authz::rbac::kGroup &&
         (r.name == "roles" || r.name == "clusterroles" || r.name == "rolebindings" ||
          r.name == "clusterrolebindings");
}

Task<Result<void>> EscalationGuard::check(Call& call, WriteAttempt attempt) const {
  const catalog::Resource& r = *call.resource;
  if (call.chain->exempts(call.user)) co_return Result<void>();
  // Whether something changes would show the stored content to a caller that may not read it.
  if (!is_known_blind(call) && attempt.old && attempt.keeps_identity &&
      authz::rbac::only_changes_ownership(attempt.object, *attempt.old))
    co_return Result<void>();
  authz::rbac::Grant grant{.user = call.user,
                           .resource = r.name,
                           .namespace_name = call.info.namespace_name,
                           .request_name = call.info.name,
                           .object = attempt.object,
                           .old = attempt.old};
  if (std::optional<authz::Attributes> asked = authz::rbac::exemption(grant)) {
    bool exempt = co_await is_exempt(call, *asked);
    if (exempt) co_return Result<void>();
  }
  std::shared_ptr<const authz::rbac::RoleTable> roles = roles_.get();
  const bool policy_counts = asks_policy_first(*call.chain);
  std::shared_ptr<const authz::namespace_policy::Index> policy = policy_.documents().get();
  const std::vector<PolicyRule> by_rbac = authz::rbac::held_by_writer(*roles, grant),
                                granted = authz::rbac::granted_by(*roles, grant);
  std::optional<authz::HeldGrants> otherwise;  // made when RBAC is not enough
  auto refusal = authz::rbac::check_escalation(*roles, grant, [&](const PolicyRule& missing) {
    if (!otherwise)
      otherwise.emplace(authz::HeldGrants::Writer{call.user, call.info.namespace_name, by_rbac},
                        policy_counts ? policy.get() : nullptr, policy_.surroundings().kinds,
                        [&](auto group, auto resource, auto verb) {
                          return is_part_of_writing(call, group, resource, verb);
                        });
    return otherwise->holds(missing);
  });
  if (!refusal) {
    // Kubernetes' check ends here; what a document denies to the caller they do not give away
    // either.
    const bool is_exact = policy_counts && otherwise;
    const bool is_denied = is_exact ? (policy->may_deny() && !otherwise->holds_all(granted)) ||
                                          may_be_denied(others_of(*call.chain), call, granted)
                                    : may_be_denied(*call.chain, call, granted);
    if (!is_denied) co_return Result<void>();
    bool is_binding = r.name == "rolebindings" || r.name == "clusterrolebindings";
    co_return fail(refused_grant(
        r, attempt.name, authz::denied_grant_text(call.user, is_binding ? "bind" : "escalate")));
  }
  using Kind = authz::rbac::EscalationRefusal::Kind;
  if (refusal->kind == Kind::kMissingRole) co_return fail(not_found(r, refusal->text));
  if (refusal->kind == Kind::kBadRequest) co_return fail(bad_request(refusal->text));
  co_return fail(refused_grant(r, attempt.name, refusal->text));
}

}  // namespace cardea::rest
