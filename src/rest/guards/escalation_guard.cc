#include "rest/guards/escalation_guard.h"

#include "authz/denied_grants.h"
#include "authz/rbac/escalation.h"
#include "base/strings.h"
#include "rest/guards/escalation_exemption.h"
#include "rest/present/status.h"
#include "rest/write/blind_caller.h"

namespace cardea::rest {
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
  std::shared_ptr<const authz::rbac::RoleTable> policy = roles_.get();
  std::optional<authz::rbac::EscalationRefusal> refusal = authz::rbac::check_escalation(*policy,
                                                                                        grant);
  if (!refusal) {
    // Kubernetes' check ends here; what a document denies to the caller they do not give away
    // either.
    if (!call.chain->may_deny()) co_return Result<void>();
    authz::Rules rules = call.chain->rules_for(call.user, call.info.namespace_name);
    if (!authz::may_be_denied(rules, authz::rbac::granted_by(*policy, grant)))
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
