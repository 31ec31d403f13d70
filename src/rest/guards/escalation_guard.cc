#include "rest/guards/escalation_guard.h"

#include <algorithm>

#include "authz/denied_grants.h"
#include "authz/namespace_policy/covers.h"
#include "authz/namespace_policy/policy_authorizer.h"
#include "authz/rbac/escalation.h"
#include "base/strings.h"
#include "catalog/excluded_permissions.h"
#include "rest/guards/escalation_exemption.h"
#include "rest/present/status.h"
#include "rest/write/blind_caller.h"
#include "rest/write/field_permissions.h"

namespace cardea::rest {

namespace policy = authz::namespace_policy;
using authz::rbac::PolicyRule;

namespace {

// A rule of RBAC in the words of namespace policy, which mean at least as much.
policy::Rule in_words_of_policy(const PolicyRule& rule) {
  policy::Rule out;
  // In RBAC `*` contains the permissions that are excluded from whole objects. In namespace policy
  // it does so only in a rule for everything.
  if (std::ranges::find(rule.verbs, "*") != rule.verbs.end()) {
    out.verbs = out.resource_kinds = {"*"};
    out.non_resource_urls = rule.non_resource_urls;
    return out;
  }
  out.verbs = rule.verbs;
  out.api_groups = rule.api_groups;
  for (const std::string& r : rule.resources)
    out.resource_kinds.push_back(r.starts_with("*/") ? "*" : r);
  out.resource_names = rule.resource_names;
  out.non_resource_urls = rule.non_resource_urls;
  return out;
}

bool is_excluded(const Call& call, std::string_view group, std::string_view resource,
                 std::string_view verb) {
  const FieldPermissions* permissions = call.services.field_permissions;
  // Then these verbs are as any other.
  if (!permissions || permissions->uncovered()->verbs.verbs.contains(verb)) return true;
  return catalog::excludes_permission(*call.catalog, group, resource, verb);
}

authz::rbac::MoreHoldings more_holdings(const Call& call) {
  authz::rbac::MoreHoldings out;
  out.is_excluded = [&call](std::string_view group, std::string_view resource,
                            std::string_view verb) {
    return is_excluded(call, group, resource, verb);
  };
  for (const auto& authorizer : call.services.authorizer.get()->authorizers()) {
    const auto* documents = dynamic_cast<const policy::PolicyAuthorizer*>(authorizer.get());
    if (!documents) continue;
    out.gives = [&call, documents, index = documents->documents().get()](const PolicyRule& rule) {
      const std::string& space = call.info.namespace_name;
      return !policy::first_missing(*index, call.user, space.empty() ? index->master() : space,
                                    {in_words_of_policy(rule)}, documents->surroundings().kinds,
                                    index->groups());
    };
  }
  return out;
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
  std::optional<authz::rbac::EscalationRefusal> refusal = authz::rbac::check_escalation(
      *roles, grant, more_holdings(call));
  if (!refusal) {
    // Kubernetes' check ends here; what a document denies to the caller they do not give away
    // either.
    if (!call.chain->may_deny()) co_return Result<void>();
    authz::Rules rules = call.chain->rules_for(call.user, call.info.namespace_name);
    if (!authz::may_be_denied(rules, authz::rbac::granted_by(*roles, grant)))
      co_return Result<void>();
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
