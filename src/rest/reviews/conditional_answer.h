#pragma once
#include "authz/access_review.h"
#include "authz/authorizer.h"
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

// The status of an access review, in the form that its sender asked for.
inline json::Value answer_status(const Call& call, const authz::Attributes& question,
                                 const authz::Decision& decision, const authz::wire::Wish& wish,
                                 std::string_view remarks) {
  if (decision.kind != authz::Decision::Kind::kConditional)
    return authz::review_status(decision, remarks);
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
