#include "rest/access_policy_guard.h"

#include "authz/access/policy.h"
#include "authz/rbac/covers.h"
#include "base/strings.h"

namespace cardea::rest {
namespace {

using Effect = authz::access::Policy::Effect;

Error refused(const catalog::Resource& r, std::string_view name, std::string_view why) {
  std::string about = name.empty() ? r.qualified_name() : cat(r.qualified_name(), " ", quoted(name));
  return Error::of(Reason::kForbidden, cat(about, " is forbidden: ", why))
      .with({.name = std::string(name), .group = std::string(r.group), .kind = std::string(r.name)});
}

Task<bool> may(Call& call, std::string_view verb, std::string_view name) {
  authz::Attributes a(call.user);
  a.is_resource_request = true;
  a.verb = verb;
  a.api_group = authz::access::kGroup;
  a.api_version = call.resource->version;
  a.resource = call.resource->name;
  a.namespace_name = call.info.namespace_name;
  a.name = name;
  // A condition on the object has nobody to settle it here.
  authz::Chain::Verdict verdict = co_await call.services.authorizer.authorize(a);
  co_return verdict.decision.allowed();
}

std::vector<authz::rbac::PolicyRule> held_by(Call& call) {
  std::vector<authz::rbac::PolicyRule> out;
  authz::Rules rules = call.services.authorizer.rules_for(call.user, call.info.namespace_name);
  for (authz::ResourceRule& r : rules.resource_rules) out.push_back({r.verbs, r.api_groups, r.resources, r.resource_names, {}});
  for (authz::NonResourceRule& r : rules.non_resource_rules) out.push_back({r.verbs, {}, {}, {}, r.urls});
  return out;
}

}  // namespace

bool AccessPolicyGuard::applies(const catalog::Resource& r) const {
  return r.group == authz::access::kGroup && (r.name == "clusteraccesspolicies" || r.name == "accesspolicies");
}

Task<Result<void>> AccessPolicyGuard::check(Call& call, WriteAttempt attempt) const {
  const catalog::Resource& r = *call.resource;
  if (call.user.in_group(authz::kMastersGroup)) co_return Result<void>();
  if (attempt.old && attempt.object["spec"] == (*attempt.old)["spec"]) co_return Result<void>();
  authz::access::Policy policy(call.info.namespace_name, attempt.name, attempt.object);
  bool denied = attempt.old && authz::access::Policy(call.info.namespace_name, attempt.name, *attempt.old).effect() == Effect::kDeny;
  if (policy.effect() == Effect::kDeny || denied) {
    bool allowed = co_await may(call, "deny", attempt.name);
    if (!allowed) co_return fail(refused(r, attempt.name, cat("user ", quoted(call.user.name), " may not write policies that deny: that takes the verb \"deny\"")));
  }
  if (policy.effect() != Effect::kAllow) co_return Result<void>();
  bool escalates = co_await may(call, "escalate", attempt.name);
  if (escalates) co_return Result<void>();
  std::vector<authz::rbac::PolicyRule> missing = authz::rbac::missing_rules(held_by(call), policy.granted());
  if (missing.empty()) co_return Result<void>();
  co_return fail(refused(r, attempt.name, authz::rbac::escalation_text(call.user, std::move(missing), "")));
}

}  // namespace cardea::rest
