#include "rest/metrics.h"

#include <algorithm>

#include "authz/decision_metrics.h"

namespace cardea::rest {

Metrics::Metrics() {
  for (bool is_recognised : {false, true}) {
    MetricRegistry::Labels labels = {{"result", is_recognised ? "success" : "failure"}};
    authentications_[is_recognised] = &registry_.counter(
        {"authentication_attempts", "Requests whose user was looked for, by result."}, labels);
    authentication_durations_[is_recognised] = &registry_.histogram(
        {"authentication_duration_seconds", "How long authentication took, by result."},
        exponential_bounds(0.001, 2, 15), labels);
  }
  for (std::size_t i = 0; i < kUserNames.size(); ++i)
    authenticated_[i] = &registry_.counter(
        {"authenticated_user_requests",
         "Requests whose user was found; only a few users of clusters are named."},
        {{"username", std::string(kUserNames[i])}});
  for (std::size_t i = 0; i < kResults.size(); ++i) {
    MetricRegistry::Labels labels = {{"result", std::string(kResults[i])}};
    attempts_[i] = &registry_.counter(
        {"authorization_attempts_total", "Requests authorized, by result."}, labels);
    authorization_durations_[i] = &registry_.histogram(
        {"authorization_duration_seconds", "How long authorization took, by result."},
        exponential_bounds(0.001, 2, 15), labels);
  }
  for (std::size_t v = 0; v < kVerbs.size(); ++v)
    for (std::size_t i = 0; i < kResults.size(); ++i) {
      const MetricRegistry::Labels labels = {{"verb", std::string(kVerbs[v])},
                                             {"decision", std::string(kResults[i])}};
      by_verb_[v][i] = {&registry_.counter(authz::kDecisionsByVerb, labels),
                        &registry_.histogram(authz::kDecisionDurations,
                                             authz::decision_duration_bounds(), labels)};
    }
}

void Metrics::count_authentication(const std::string* user, std::chrono::nanoseconds took) {
  authentications_[user != nullptr]->add();
  authentication_durations_[user != nullptr]->observe(took);
  if (!user) return;
  constexpr std::size_t kOther = kUserNames.size() - 1, kEmail = kOther - 1;
  std::size_t at = static_cast<std::size_t>(
      std::find(kUserNames.begin(), kUserNames.begin() + kEmail, *user) - kUserNames.begin());
  if (at == kEmail && !user->contains('@')) at = kOther;
  authenticated_[at]->add();
}

void Metrics::count_authorization(AuthorizationResult result, std::string_view verb,
                                  std::chrono::nanoseconds duration) {
  auto i = static_cast<std::size_t>(result);
  attempts_[i]->add();
  authorization_durations_[i]->observe(duration);
  constexpr auto kOther = kVerbs.end() - 1;
  const auto known = std::find(kVerbs.begin(), kOther, verb);
  const ByVerb& counted = by_verb_[static_cast<std::size_t>(known - kVerbs.begin())][i];
  counted.total->add();
  counted.seconds->observe(duration);
}

void Metrics::print(MetricPrinter& out) const {
  requests_.print(out);
  out.begin({"apiserver_current_inflight_requests",
             "Requests that are being answered; watches are left out."},
            MetricType::kGauge);
  for (bool is_mutating : {true, false})
    out.add_number(print_labels({{"request_kind", is_mutating ? "mutating" : "readOnly"}}),
                   static_cast<double>(in_flight_[is_mutating].load(std::memory_order_relaxed)));
  registry_.print(out);
}

}  // namespace cardea::rest
