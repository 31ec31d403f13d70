#include "rest/metrics.h"

#include <algorithm>

namespace cardea::rest {

Metrics::Metrics() {
  for (bool is_recognised : {false, true})
    authentications_[is_recognised] = &registry_.counter(
        {"authentication_attempts", "Requests whose user was looked for, by result."},
        {{"result", is_recognised ? "success" : "failure"}});
  authenticated_ = &registry_.counter(
      {"authenticated_user_requests", "Requests whose user was found; no user is named."},
      {{"username", "other"}});
  for (std::size_t i = 0; i < kResults.size(); ++i) {
    MetricRegistry::Labels labels = {{"result", std::string(kResults[i])}};
    attempts_[i] = &registry_.counter(
        {"authorization_attempts_total", "Requests authorized, by result."}, labels);
    authorization_durations_[i] = &registry_.histogram(
        {"authorization_duration_seconds", "How long authorization took, by result."},
        exponential_bounds(0.001, 2, 15), labels);
  }
}

void Metrics::count_authorization(AuthorizationResult result, std::chrono::nanoseconds duration) {
  auto i = static_cast<std::size_t>(result);
  attempts_[i]->add();
  authorization_durations_[i]->observe(duration);
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
