#include "rest/bridge/bridge.h"

#include <algorithm>

#include "authz/refusal.h"
#include "base/strings.h"
#include "json/parse.h"
#include "rest/asking.h"
#include "rest/bridge/admission_question.h"
#include "rest/verbs/body.h"

namespace cardea::rest::bridge {
namespace {

using authz::Decision;
using json::Value;

constexpr MetricFamily kAnswers{"cardea_bridge_answers_total",
                                "Conditional answers to the cluster's authorization."};
constexpr MetricFamily kReviews{"cardea_bridge_admission_reviews_total",
                                "Requests that the cluster's admission asked about."};

// The namespace object of the cluster, which is read only when a condition looks at it: the first
// evaluation tells whether one does.
class ClusterNamespace : public authz::ObjectOnDemand {
 public:
  const Value* get() const override {
    is_wanted_ = true;
    return space_.is_null() ? nullptr : &space_;
  }
  bool is_wanted() const { return is_wanted_; }
  void set(Value space) { space_ = std::move(space); }

 private:
  mutable bool is_wanted_ = false;
  Value space_;
};

Value review_answer(const Value& uid, const std::string& refusal) {
  Value response = Value::object({{"uid", uid}, {"allowed", refusal.empty()}});
  if (!refusal.empty())
    response.set("status",
                 Value::object({{"code", 403}, {"reason", "Forbidden"}, {"message", refusal}}));
  return Value::object({{"apiVersion", "admission.k8s.io/v1"},
                        {"kind", "AdmissionReview"},
                        {"response", std::move(response)}});
}

Finding finding_of(const Decision& first, const Decision& last) {
  const bool was_open = first.kind == Decision::Kind::kConditional;
  switch (last.kind) {
    case Decision::Kind::kAllow:
      return Finding::kAllowed;
    case Decision::Kind::kNoOpinion:
      return was_open && first.conditions->possible().allow ? Finding::kRefused
                                                            : Finding::kNoOpinion;
    case Decision::Kind::kDeny:
      return was_open ? Finding::kForbidden : Finding::kDenied;
    case Decision::Kind::kConditional:
      break;
  }
  return Finding::kForbidden;  // nothing may stay open
}

}  // namespace

Bridge::Bridge(std::vector<std::string> askers, std::chrono::milliseconds longest_request,
               std::unique_ptr<ClusterWatch> cluster, MetricRegistry& metrics)
    : askers_(std::move(askers)),
      cluster_(std::move(cluster)),
      promises_(longest_request),
      allowed_(metrics.counter(kAnswers, {{"answer", "allowed"}})),
      left_open_(metrics.counter(kAnswers, {{"answer", "no_opinion"}})),
      folded_(metrics.counter(kAnswers, {{"answer", "folded"}})),
      admitted_(metrics.counter(kReviews, {{"outcome", "allowed"}})),
      refused_(metrics.counter(kReviews, {{"outcome", "refused"}})) {}

bool Bridge::bridges(const authz::User& asker, const authz::Attributes& question) const {
  return std::ranges::find(askers_, asker.name) != askers_.end() && cluster_->covers(question);
}

Decision Bridge::answer(const authz::Attributes& question, Decision decision) const {
  if (decision.kind != Decision::Kind::kConditional) return decision;
  const bool may_allow = decision.conditions->possible().allow;
  // Other servers may have taken their time to answer.
  if (!cluster_->covers(question) ||
      (may_allow && !promises_.give(question, std::chrono::steady_clock::now()))) {
    folded_.add();
    return authz::folded(std::move(decision));
  }
  if (may_allow) {
    allowed_.add();
    return Decision::allow("allowed on conditions, which the admission webhook settles");
  }
  left_open_.add();
  return Decision::no_opinion("conditions may deny it: the admission webhook settles them");
}

std::optional<Decision> Bridge::answer_to_probe(const authz::User& asker,
                                                const authz::Attributes& q) const {
  if (q.api_group != Probe::kGroup || q.resource != Probe::kResource) return std::nullopt;
  if (std::ranges::find(askers_, asker.name) == askers_.end()) return std::nullopt;
  if (!cluster_->probe().is_asked(q.name, q.verb)) return std::nullopt;
  constexpr const char* kReason = "a probe of the bridge";
  return q.verb == Probe::kAllowedVerb ? Decision::allow(kReason) : Decision::no_opinion(kReason);
}

Task<Result<Answer>> Bridge::admit(Call& call) const {
  if (call.request().method != "POST")
    co_return fail(Error::of(Reason::kMethodNotAllowed, "admission reviews are sent by POST"));
  if (call.request().body_too_large) co_return fail(body_too_large());
  auto review = json::parse(call.request().body);
  if (!review) co_return fail(bad_request(cat("the body is not JSON: ", review.error().message)));
  auto question = AdmissionQuestion::read(*review);
  if (!question) co_return fail(question.error());
  std::string refusal = co_await judged(call, **question);
  (refusal.empty() ? admitted_ : refused_).add();
  co_return Answer::of(review_answer((*question)->uid(), refusal));
}

// Why the request is refused; empty: it is not.
Task<std::string> Bridge::judged(Call& call, const AdmissionQuestion& question) const {
  if (const std::string secret(question.annotation(Probe::kAnnotation));
      !secret.empty() && question.is_about("authentication.k8s.io", "selfsubjectreviews") &&
      cluster_->probe().is_reviewed(secret))
    co_return cat("a probe of the bridge: ", secret);
  const std::shared_ptr<const authz::Chain> chain = call.services.authorizer.get();
  std::vector<Finding> findings;
  std::string why;
  for (authz::Attributes candidate : question.candidates()) {
    if (!is_bridgeable(candidate)) continue;
    candidate.via = call.info.via;
    authz::Chain::Verdict verdict = co_await ask_chain(call, chain, candidate,
                                                       authz::Asking::kConditionsAware);
    const Decision first = verdict.decision;
    Decision last = first;
    if (first.kind == Decision::Kind::kConditional) {
      Result<Decision> outcome = co_await settled(call, chain, first, question);
      if (outcome)
        last = std::move(*outcome);
      else
        last = Decision::deny(cat("conditions failed closed: ", outcome.error().message));
    }
    findings.push_back(finding_of(first, last));
    // An authorizer that failed might have had conditions.
    if (findings.back() == Finding::kNoOpinion && first.kind == Decision::Kind::kNoOpinion &&
        !first.error.empty())
      findings.back() = Finding::kRefused;
    const bool is_left_to_others = findings.back() == Finding::kNoOpinion ||
                                   findings.back() == Finding::kDenied;
    if (is_left_to_others && promises_.has(candidate, std::chrono::steady_clock::now())) {
      findings.back() = Finding::kRefused;
      last.reason = "the conditions on which it was let through are gone";
    }
    if (findings.back() == Finding::kAllowed || findings.back() == Finding::kNoOpinion) continue;
    const std::string reason = last.error.empty() ? last.reason.text()
                                                  : cat(last.reason.text(), ": ", last.error);
    // The last word is that of conditions, where there are any.
    if (why.empty() || findings.back() != Finding::kDenied)
      why = authz::forbidden(candidate, reason).message;
  }
  // Never bridged: the answers that authorization got were plain.
  if (findings.empty()) co_return std::string();
  if (passes(question.operation(), findings)) co_return std::string();
  co_return why.empty() ? std::string("the bridge cannot settle this request") : why;
}

Task<Result<Decision>> Bridge::settled(Call& call, std::shared_ptr<const authz::Chain> chain,
                                       Decision conditional,
                                       const AdmissionQuestion& question) const {
  if (std::string why = question.problem_of_data(); !why.empty())
    co_return fail(internal_error(std::move(why)));
  ClusterNamespace space;
  authz::ConditionData data = question.data(space);
  authz::ConditionData parent = data;
  if (question.describe_parent(parent)) data.parent = &parent;
  Decision outcome = co_await settle_decision(call, chain, conditional, data);
  if (!space.is_wanted() || question.space().empty()) co_return outcome;
  Result<Value> found = co_await cluster_->namespace_object(std::string(question.space()));
  if (!found)
    co_return fail(internal_error(
        cat("a condition reads the namespace, which the bridge cannot: ", found.error().message)));
  space.set(std::move(*found));
  outcome = co_await settle_decision(call, chain, std::move(conditional), data);
  co_return outcome;
}

}  // namespace cardea::rest::bridge
