#include "rest/metrics.h"

#include <algorithm>

namespace cardea::rest {

Metrics::Metrics() {
  const std::vector<double> kRequestBounds = {0.001, 0.0025, 0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6,
                                              0.8,   1,      1.25,  1.5,   2,    3,   4,   5,   6,
                                              8,     10,     15,    20,    30,   45,  60};
  for (std::size_t i = 0; i < kVerbs.size(); ++i)
    durations_[i] = &registry_.histogram(
        {"apiserver_request_duration_seconds", "How long answers took, watches left out, by verb."},
        kRequestBounds, {{"verb", std::string(kVerbs[i])}});
  for (std::size_t i = 0; i < kResults.size(); ++i) {
    MetricRegistry::Labels labels = {{"result", std::string(kResults[i])}};
    attempts_[i] = &registry_.counter(
        {"authorization_attempts_total", "Requests authorized, by result."}, labels);
    authorization_durations_[i] = &registry_.histogram(
        {"authorization_duration_seconds", "How long authorization took, by result."},
        exponential_bounds(0.001, 2, 15), labels);
  }
}

std::size_t Metrics::row_of(std::string_view verb) {
  auto row = static_cast<std::size_t>(std::ranges::find(kVerbs, verb) - kVerbs.begin());
  return std::min(row, kVerbs.size() - 1);
}

void Metrics::count(std::string_view verb, int code, std::chrono::nanoseconds duration) {
  count_stream(verb, code);
  durations_[row_of(verb)]->observe(duration);
}

void Metrics::count_stream(std::string_view verb, int code) {
  auto column = static_cast<std::size_t>(code);
  counts_[row_of(verb)][std::min(column, kCodes - 1)].fetch_add(1, std::memory_order_relaxed);
}

void Metrics::count_authorization(AuthorizationResult result, std::chrono::nanoseconds duration) {
  auto i = static_cast<std::size_t>(result);
  attempts_[i]->add();
  authorization_durations_[i]->observe(duration);
}

void Metrics::print(MetricPrinter& out) const {
  out.begin({"apiserver_request_total", "Requests answered, by verb and status code."},
            MetricType::kCounter);
  for (std::size_t row = 0; row < kVerbs.size(); ++row)
    for (std::size_t code = 0; code < kCodes; ++code)
      if (std::uint64_t n = counts_[row][code].load(std::memory_order_relaxed))
        out.add_integer(
            print_labels({{"verb", std::string(kVerbs[row])}, {"code", std::to_string(code)}}), n);
  registry_.print(out);
}

}  // namespace cardea::rest
