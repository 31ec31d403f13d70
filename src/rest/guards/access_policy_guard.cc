#include "rest/guards/access_policy_guard.h"

#include <algorithm>

#include "authz/access/delegation.h"
#include "authz/access/policy.h"
#include "authz/denied_grants.h"
#include "authz/rbac/covers.h"
#include "base/strings.h"
#include "rest/guards/escalation_exemption.h"
#include "rest/write/blind_caller.h"

namespace cardea::rest {
namespace {

using Effect = authz::access::Policy::Effect;

// After the permissions that are missing.
constexpr std::string_view kHeldSometimes =
    "\nThe user holds some of these under a condition: then the expression must imply the "
    "condition, "
    "in a way that can be proved";

authz::Attributes on_policy(const Call& call, std::string_view verb, std::string_view name) {
  authz::Attributes a(call.user);
  a.is_resource_request = true;
  a.verb = verb;
  a.api_group = authz::access::kGroup;
  a.api_version = call.resource->version;
  a.resource = call.resource->name;
  a.namespace_name = call.info.namespace_name;
  a.name = name;
  return a;
}

bool takes_away(Effect effect) {
  return effect != Effect::kAllow;
}

// Whether conditions of access policies decide about requests.
bool has_conditions(const Call& call) {
  return call.services.conditional_authorization &&
         std::ranges::any_of(call.chain->authorizers(),
                             [](const auto& one) { return one->type() == "Access"; });
}

Task<Result<void>> check_denying(Call& call, std::string_view name) {
  bool allowed = co_await is_exempt(call, on_policy(call, "deny", name));
  if (allowed) co_return Result<void>();
  co_return fail(
      refused_grant(*call.resource, name,
                    cat("user ", quoted(call.user.name),
                        " may not write, change or delete policies that take permissions "
                        "away: this needs the verb \"deny\"")));
}

}  // namespace

bool AccessPolicyGuard::applies(const catalog::Resource& r) const {
  return r.group == authz::access::kGroup &&
         (r.name == "clusteraccesspolicies" || r.name == "accesspolicies");
}

Task<Result<void>> AccessPolicyGuard::check(Call& call, WriteAttempt attempt) const {
  const catalog::Resource& r = *call.resource;
  if (call.chain->exempts(call.user)) co_return Result<void>();
  // If an owner does not exist, the garbage collector deletes the policy. Whether something
  // changes would show the stored content to a caller that may not read it.
  bool same_spec = !is_known_blind(call) && attempt.old &&
                   attempt.object["spec"] == (*attempt.old)["spec"];
  bool same_owners = attempt.old && attempt.object["metadata"]["ownerReferences"] ==
                                        (*attempt.old)["metadata"]["ownerReferences"];
  if (same_spec && same_owners) co_return Result<void>();
  authz::access::Policy policy(call.info.namespace_name, attempt.name, attempt.object);
  bool took_away = attempt.old && takes_away(authz::access::Policy(call.info.namespace_name,
                                                                   attempt.name, *attempt.old)
                                                 .effect());
  if (takes_away(policy.effect()) || took_away) {
    Result<void> allowed = co_await check_denying(call, attempt.name);
    if (!allowed) co_return allowed;
  }
  if (same_spec) co_return Result<void>();
  if (policy.effect() != Effect::kAllow) co_return Result<void>();
  bool escalates = co_await is_exempt(call, on_policy(call, "escalate", attempt.name));
  if (escalates) co_return Result<void>();
  authz::Rules rules = call.services.authorizer.rules_for(call.user, call.info.namespace_name);
  std::vector<authz::rbac::PolicyRule> granted = policy.granted();
  std::vector<authz::rbac::PolicyRule> missing = authz::rbac::missing_rules(held_rules(rules),
                                                                            granted);
  std::string_view hint;
  if (!missing.empty() && has_conditions(call)) {
    const std::shared_ptr<const authz::access::Index> index = policies_.get();
    const authz::access::ConditionalHoldings held(*index, call.user, call.info.namespace_name);
    std::erase_if(missing, [&](const auto& rule) { return held.hold(rule, policy); });
    if (std::ranges::any_of(missing, [&](const auto& rule) { return held.hold_sometimes(rule); }))
      hint = kHeldSometimes;
  }
  if (!missing.empty())
    co_return fail(
        refused_grant(r, attempt.name,
                      cat(authz::rbac::escalation_text(call.user, std::move(missing), ""), hint)));
  if (authz::may_be_denied(rules, granted))
    co_return fail(refused_grant(r, attempt.name, authz::denied_grant_text(call.user, "escalate")));
  co_return Result<void>();
}

Task<Result<void>> AccessPolicyGuard::check_deletion(Call& call, const json::Value& old) const {
  if (call.chain->exempts(call.user)) co_return Result<void>();
  std::string name(old["metadata"]["name"].as_string());
  if (!takes_away(authz::access::Policy(call.info.namespace_name, name, old).effect()) ||
      is_being_emptied(call))
    co_return Result<void>();
  Result<void> allowed = co_await check_denying(call, name);
  co_return allowed;
}

}  // namespace cardea::rest
