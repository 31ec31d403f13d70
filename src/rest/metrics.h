#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/metrics.h"

namespace cardea::rest {

// How the chain answered a request, as `authorization_attempts_total` counts it.
enum class AuthorizationResult : std::uint8_t {
  kAllowed,
  kDenied,
  kNoOpinion,
  kError,
  kConditional
};

// What the server has answered so far, for /metrics. Counting costs a few atomic additions.
class Metrics {
 public:
  Metrics();

  void count(std::string_view verb, int code, std::chrono::nanoseconds duration);
  // Counts the start of a watch; its duration is not observed.
  void count_stream(std::string_view verb, int code);
  void count_authorization(AuthorizationResult result, std::chrono::nanoseconds duration);

  // Where other parts keep their own numbers.
  MetricRegistry& registry() { return registry_; }
  // Everything that was counted: the requests first, then the registry.
  void print(MetricPrinter& out) const;

 private:
  static constexpr std::array<std::string_view, 11> kVerbs = {
      "get",     "list", "watch", "create", "update", "patch", "delete", "deletecollection",
      "connect", "path", "other"};
  static constexpr std::array<std::string_view, 5> kResults = {"allowed", "denied", "no-opinion",
                                                               "error", "conditional"};
  static constexpr std::size_t kCodes = 600;
  static std::size_t row_of(std::string_view verb);

  MetricRegistry registry_;
  std::array<std::array<std::atomic<std::uint64_t>, kCodes>, kVerbs.size()> counts_{};
  std::array<Histogram*, kVerbs.size()> durations_{};
  std::array<Counter*, kResults.size()> attempts_{};
  std::array<Histogram*, kResults.size()> authorization_durations_{};
};

}  // namespace cardea::rest
