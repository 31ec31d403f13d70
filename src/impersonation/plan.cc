#include "impersonation/plan.h"

#include <algorithm>

#include "authz/conditions.h"
#include "impersonation/settle.h"

namespace cardea::impersonation {
namespace {

using authz::Decision;

PlannedQuestion copy_of(const authz::Attributes& q) {
  return {.is_resource_request = q.is_resource_request,
          .verb = std::string(q.verb),
          .api_group = std::string(q.api_group),
          .resource = std::string(q.resource),
          .subresource = std::string(q.subresource),
          .namespace_name = std::string(q.namespace_name),
          .name = std::string(q.name),
          .path = std::string(q.path),
          .decision = {}};
}

// Before there were modes, an error was a refusal even beside an Allow.
Decision judged(Decision decision, Attempt::Rules rules) {
  if (rules == Attempt::Rules::kLegacyOnly && decision.allowed() && !decision.error.empty())
    return Decision::no_opinion(decision.error);
  // What depends on the object and cannot become an allow is a refusal.
  if (rules == Attempt::Rules::kLegacyOnly || !authz::possible_outcomes(decision).allow)
    return authz::folded(std::move(decision));
  return decision;
}

bool is_open(const PlannedQuestion& q) {
  return q.decision.kind == Decision::Kind::kConditional;
}

}  // namespace

bool PlannedMode::is_allowed() const {
  return flaw.empty() && std::ranges::all_of(questions, [](const PlannedQuestion& q) {
           return q.decision.allowed() || !q.counts;
         });
}

bool PlannedMode::may_be_allowed() const {
  return flaw.empty() && std::ranges::all_of(questions, [](const PlannedQuestion& q) {
           return q.decision.allowed() || is_open(q) || !q.counts;
         });
}

Task<std::vector<PlannedMode>> plan(std::shared_ptr<const authz::Chain> chain, authz::User sender,
                                    authz::User asked, authz::RequestInfo request,
                                    Attempt::Rules rules, authz::Asking asking,
                                    bool may_stay_open) {
  std::vector<PlannedMode> out;
  for (;;) {
    // One attempt for each mode: those before it are refused at once, and in this one every refusal
    // is passed over, so that all questions come.
    Attempt attempt(sender, asked, request, rules);
    attempt.mind_denials(chain->may_deny());
    attempt.may_stay_open(may_stay_open);
    std::size_t before = 0;
    for (; attempt.question() && before < out.size(); ++before)
      attempt.answer(Decision::no_opinion(""));
    if (!attempt.question()) co_return out;
    PlannedMode planned{.mode = attempt.mode()};
    while (attempt.question() && attempt.mode() == planned.mode) {
      PlannedQuestion one = copy_of(*attempt.question());
      authz::Chain::Verdict verdict = co_await chain->authorize(*attempt.question(), asking);
      Decision settled = co_await settle(chain, attempt, std::move(verdict.decision));
      one.decision = judged(std::move(settled), rules);
      const bool is_allowed = one.decision.allowed();
      const bool is_denied = one.decision.kind == Decision::Kind::kDeny;
      if (is_open(one) && attempt.is_probe()) one.decision = authz::folded(one.decision);
      one.counts = !attempt.is_probe() && (!attempt.is_covered() || is_denied || is_open(one));
      attempt.answer(attempt.is_probe() && !is_allowed ? Decision::no_opinion("")
                                                       : Decision::allow(""));
      planned.questions.push_back(std::move(one));
    }
    if (!attempt.is_allowed()) planned.flaw = attempt.flaw();
    out.push_back(std::move(planned));
  }
}

}  // namespace cardea::impersonation
