#pragma once
#include "authz/access_review.h"
#include "authz/authorizer.h"
#include "authz/condition_line.h"
#include "authz/eligibility.h"
#include "authz/wire/decision_json.h"
#include "rest/call.h"
#include "rest/reviews/condition_seal.h"

namespace cardea::rest {

// Conditions are about objects of one kind: a question about any is answered without.
inline authz::Asking asking_for(const authz::wire::Wish& wish, const authz::Attributes& a) {
  auto named = [](std::string_view part) { return !part.empty() && part != "*"; };
  const bool is_concrete = a.is_resource_request && a.api_group != "*" && named(a.api_version) &&
                           named(a.resource);
  return wish.dialect != authz::wire::Dialect::kNone && is_concrete
             ? authz::Asking::kConditionsAwareAtOnce
             : authz::Asking::kFolded;
}

// Whether conditions on such a request can become an Allow. Nobody says a version when asking.
inline bool may_be_settled(authz::Attributes a) {
  if (a.api_version.empty() || a.api_version == "*") a.api_version = "v1";
  return authz::may_be_conditional(a);
}

// For a person whose client takes no conditions: `no` would be half of the truth. Not for reads: no
// condition can turn those.
inline void tell_conditions(const Call& call, const authz::Attributes& question,
                            const authz::Decision& decision, json::Value& status) {
  if (!call.services.conditional_authorization || !authz::was_folded(decision) ||
      !may_be_settled(question))
    return;
  auto open = call.services.authorizer.get()->decide(question, authz::Asking::kConditionsAware);
  if (!open || !open->permit || !open->permit->is_conditional()) return;
  status.set("reason",
             cat(authz::condition_line(open->decision), "; `cardea can-i ", question.verb, " ",
                 question.resource, question.api_group.empty() ? "" : ".", question.api_group,
                 question.subresource.empty() ? "" : "/", question.subresource, "` tells more"));
}

// The status of an access review, in the form that its sender asked for.
inline json::Value answer_status(const Call& call, const authz::Attributes& question,
                                 const authz::Decision& decision, const authz::wire::Wish& wish,
                                 std::string_view remarks) {
  if (decision.kind != authz::Decision::Kind::kConditional) {
    json::Value status = authz::review_status(decision, remarks);
    tell_conditions(call, question, decision, status);
    return status;
  }
  const authz::Decision sent = call.services.condition_seal.seal(
      decision, *call.services.authorizer.get(), call.user.name, question,
      call.services.clock.now());
  json::Value status = json::Value::object({{"allowed", false}});
  if (wish.dialect == authz::wire::Dialect::kTree)
    status.set("conditionalDecision", authz::wire::as_tree(sent));
  else
    status.set("conditionsChain", authz::wire::as_list(sent, wish.with_descriptions));
  return status;
}

}  // namespace cardea::rest
