#include "impersonation/impersonation.h"

#include "authz/conditions.h"
#include "authz/decision_metrics.h"
#include "base/strings.h"
#include "impersonation/settle.h"

namespace cardea::impersonation {

using authz::Decision;

// All numbers, looked up once.
class Impersonator::Meter {
 public:
  explicit Meter(MetricRegistry& registry) {
    for (std::size_t i = 0; i < kModes; ++i) {
      std::string mode(mode_name(static_cast<Mode>(i)));
      attempts_[i] = attempt(registry, mode, "allowed");
      open_attempts_[i] = attempt(registry, mode, word_for(Answer::kConditional));
      for (Answer answer : {Answer::kDenied, Answer::kAllowed, Answer::kConditional}) {
        const std::string word = word_for(answer);
        const auto at = static_cast<std::size_t>(answer);
        const MetricRegistry::Labels labels = {{"mode", mode}, {"decision", word}};
        questions_[i][at] = {
            &registry.counter(
                {"apiserver_impersonation_authorization_attempts_total",
                 "[ALPHA] Authorization checks of impersonation, by mode and decision."},
                labels),
            &registry.histogram({"apiserver_impersonation_authorization_attempts_duration_seconds",
                                 "[ALPHA] How long authorization checks of impersonation took."},
                                exponential_bounds(0.001, 2, 15), labels)};
        const Mode which = static_cast<Mode>(i);
        decisions_[i][false][at] = decision(
            registry, which == Mode::kLegacy ? "impersonate" : cat("impersonate:", mode), word);
        // Verbs of actions are as many as clients like.
        decisions_[i][true][at] = which == Mode::kLegacy
                                      ? decisions_[i][false][at]
                                      : decision(registry, cat(kActionVerb, mode, ":*"), word);
      }
    }
    // A refusal holds for all modes.
    attempts_[kModes] = attempt(registry, "", "denied");
  }

  void asked(Mode mode, std::string_view verb, const Decision& decision,
             std::chrono::nanoseconds took) {
    const auto answer = static_cast<std::size_t>(decision.allowed() ? Answer::kAllowed
                                                 : decision.kind == Decision::Kind::kConditional
                                                     ? Answer::kConditional
                                                     : Answer::kDenied);
    questions_[static_cast<std::size_t>(mode)][answer].add(took);
    const bool is_action = verb.starts_with(kActionVerb);
    decisions_[static_cast<std::size_t>(mode)][is_action][answer].add(took);
  }
  void allowed(Mode mode, bool is_open, std::chrono::nanoseconds took) {
    (is_open ? open_attempts_ : attempts_)[static_cast<std::size_t>(mode)].add(took);
  }
  void denied(std::chrono::nanoseconds took) { attempts_[kModes].add(took); }

 private:
  struct Series {
    Counter* total = nullptr;
    Histogram* seconds = nullptr;
    void add(std::chrono::nanoseconds took) {
      total->add();
      seconds->observe(took);
    }
  };
  enum class Answer : std::uint8_t { kDenied, kAllowed, kConditional };
  static constexpr std::size_t kAnswers = 3;
  static constexpr std::string_view kActionVerb = "impersonate-on:";

  static std::string word_for(Answer answer) {
    return answer == Answer::kAllowed  ? "allowed"
           : answer == Answer::kDenied ? "denied"
                                       : "conditional";
  }
  static Series decision(MetricRegistry& registry, const std::string& verb,
                         const std::string& decision) {
    const MetricRegistry::Labels labels = {{"verb", verb}, {"decision", decision}};
    return {
        &registry.counter(authz::kDecisionsByVerb, labels),
        &registry.histogram(authz::kDecisionDurations, authz::decision_duration_bounds(), labels)};
  }
  static Series attempt(MetricRegistry& registry, const std::string& mode,
                        const std::string& decision) {
    const MetricRegistry::Labels labels = {{"mode", mode}, {"decision", decision}};
    return {
        &registry.counter({"apiserver_impersonation_attempts_total",
                           "[ALPHA] Requests to impersonate another user, by mode and decision."},
                          labels),
        &registry.histogram({"apiserver_impersonation_attempts_duration_seconds",
                             "[ALPHA] How long deciding about impersonation took."},
                            exponential_bounds(0.001, 2, 15), labels)};
  }

  Series attempts_[kModes + 1], open_attempts_[kModes];
  Series questions_[kModes][kAnswers];
  Series decisions_[kModes][2][kAnswers];  // about a user and about an action
};

Impersonator::Impersonator(Attempt::Rules rules, MetricRegistry* metrics)
    : rules_(rules),
      meter_(metrics && rules == Attempt::Rules::kConstrained ? std::make_unique<Meter>(*metrics)
                                                              : nullptr) {}
Impersonator::~Impersonator() = default;

void Impersonator::take(Attempt& attempt, Decision decision) const {
  if (meter_) meter_->asked(attempt.mode(), attempt.question()->verb, decision, attempt.lap());
  attempt.answer(std::move(decision));
}

bool Impersonator::advance(const authz::Chain& chain, Attempt& attempt,
                           authz::Asking asking) const {
  attempt.mind_denials(chain.may_deny());
  while (const authz::Attributes* question = attempt.question()) {
    std::optional<Decision> decision = chain.answer(*question, asking);
    if (!decision) return false;
    if (decision->kind == Decision::Kind::kConditional) {
      attempt.keep(std::move(*decision));
      return false;
    }
    take(attempt, std::move(*decision));
  }
  return true;
}

Task<Decision> settle(std::shared_ptr<const authz::Chain> chain, const Attempt& attempt,
                      Decision decision) {
  if (decision.kind != Decision::Kind::kConditional) co_return decision;
  if (attempt.may_stay_open()) {
    Decision left = co_await chain->narrow(std::move(decision), attempt.impersonated_request());
    co_return left;
  }
  const authz::Attributes& question = *attempt.question();
  authz::ConditionData data{.group = question.api_group,
                            .version = question.api_version,
                            .resource = question.resource,
                            .subresource = question.subresource,
                            .namespace_name = question.namespace_name,
                            .name = question.name,
                            .user = &question.user,
                            .impersonated = &attempt.impersonated_request()};
  Decision settled = co_await chain->evaluate(std::move(decision), data);
  co_return authz::folded(std::move(settled));
}

Task<bool> Impersonator::finish(std::shared_ptr<const authz::Chain> chain, Attempt& attempt,
                                authz::Asking asking) const {
  while (const authz::Attributes* question = attempt.question()) {
    std::optional<Decision> decision = attempt.take_kept();
    if (!decision) {
      authz::Chain::Verdict verdict = co_await chain->authorize(*question, asking);
      decision = std::move(verdict.decision);
    }
    Decision settled = co_await settle(chain, attempt, std::move(*decision));
    take(attempt, std::move(settled));
    bool is_settled = advance(*chain, attempt, asking);
    if (is_settled) break;
  }
  co_return true;
}

std::shared_ptr<const OpenImpersonation> open_impersonation(
    const Attempt& attempt, std::shared_ptr<const authz::Chain> chain) {
  if (!attempt.is_allowed() || attempt.open().empty()) return nullptr;
  return std::make_shared<const OpenImpersonation>(
      std::move(chain),
      std::make_shared<const authz::OwnedAttributes>(attempt.impersonated_request()),
      attempt.mode(), attempt.open());
}

Result<authz::User> Impersonator::outcome(Attempt& attempt) const {
  if (!attempt.is_allowed()) {
    if (meter_) meter_->denied(attempt.age());
    return fail(attempt.refusal());
  }
  if (meter_) meter_->allowed(attempt.mode(), !attempt.open().empty(), attempt.age());
  return attempt.take_user();
}

}  // namespace cardea::impersonation
