// Whether the sender of a request may act for its user, where that depends on the object.
#include "base/strings.h"
#include "impersonation/impersonation.h"
#include "rest/asking.h"
#include "rest/call.h"
#include "rest/write/settlement.h"

namespace cardea::rest {
namespace {

using admission::Review;
using authz::ConditionData;
using authz::Decision;

// The question with the object. INVARIANT: it is about the sender. What conditions see of users is
// the sender, as `user`, and the user that it acts for, in `impersonated`.
ConditionData data_for(const impersonation::OpenImpersonation& acting,
                       const authz::Attributes& asked, ConditionData data) {
  const bool is_about_object = asked.resource == data.resource && asked.api_group == data.group;
  if (!is_about_object) {
    data.kind = {};
    data.version = asked.api_version;
  }
  data.group = asked.api_group;
  data.resource = asked.resource;
  data.subresource = asked.subresource;
  data.namespace_name = asked.namespace_name;
  data.name = asked.name;
  data.user = &asked.user;
  data.impersonated = &acting.request->get();
  return data;
}

bool is_allowed(const impersonation::OpenQuestion& question, const Decision& decision) {
  if (!question.only_denials_refuse) return decision.allowed();
  return decision.kind != Decision::Kind::kDeny && decision.error.empty();
}

void tell_refusal(const Review& review, const impersonation::OpenImpersonation& acting,
                  const Decision& decision, std::string_view why) {
  if (!review.audit) return;
  auto tell = [&](std::string_view key, std::string_view value) { review.audit->set(key, value); };
  if (!decision.error.empty()) tell("authorization.cardea.dev/conditions-error", decision.error);
  tell("impersonation.cardea.dev/requested-user", acting.request->get().user.name);
  tell("impersonation.cardea.dev/refused-mode", impersonation::mode_name(acting.mode));
  tell("impersonation.cardea.dev/refusal", why);
  tell("authorization.k8s.io/decision", "forbid");
  tell("authorization.k8s.io/reason", why);
}

}  // namespace

Task<Result<void>> Settlement::settle_acting(const Review& review, const ConditionData& about) {
  std::string granted;
  for (const impersonation::OpenQuestion& question : acting_->questions) {
    const authz::Attributes& asked = question.asked->get();
    ConditionData data = data_for(*acting_, asked, about);
    ConditionData parent;
    if (about.parent) {
      parent = *about.parent;
      parent.user = data.user;
      parent.impersonated = data.impersonated;
      data.parent = &parent;
    }
    Decision decision = co_await settle_decision(*call_, acting_->chain, question.decision, data);
    const std::string why = decision.reason.text();
    if (!is_allowed(question, decision)) {
      tell_refusal(review, *acting_, decision, why);
      has_refused_ = true;
      co_return fail(authz::forbidden(asked, why));
    }
    granted += cat(granted.empty() ? "" : "; ", why);
  }
  if (review.audit) review.audit->set("impersonation.cardea.dev/granted-by", granted);
  co_return Result<void>();
}

}  // namespace cardea::rest
