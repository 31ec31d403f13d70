#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/metrics.h"
#include "rest/request_metrics.h"

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

  RequestMetrics& requests() { return requests_; }
  // How many requests are being answered, watches left out.
  std::atomic<std::int64_t>& in_flight(bool is_mutating) { return in_flight_[is_mutating]; }
  // `user` is the name of who was recognised; null: nobody was.
  void count_authentication(const std::string* user, std::chrono::nanoseconds took);
  void count_authorization(AuthorizationResult result, std::string_view verb,
                           std::chrono::nanoseconds duration);

  // Where other parts keep their own numbers.
  MetricRegistry& registry() { return registry_; }
  // Everything that was counted: the requests first, then the registry.
  void print(MetricPrinter& out) const;

 private:
  static constexpr std::array<std::string_view, 5> kResults = {"allowed", "denied", "no-opinion",
                                                               "error", "conditional"};

  static constexpr std::array<std::string_view, 9> kVerbs = {
      "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "other"};

  // The users that kube-apiserver counts by name; who has an address is "email_id".
  static constexpr std::array<std::string_view, 7> kUserNames = {
      "admin",    "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default",
      "email_id", "other"};

  RequestMetrics requests_;
  MetricRegistry registry_;
  std::atomic<std::int64_t> in_flight_[2] = {};
  Counter* authentications_[2] = {};
  Histogram* authentication_durations_[2] = {};
  std::array<Counter*, kUserNames.size()> authenticated_{};
  std::array<Counter*, kResults.size()> attempts_{};
  std::array<Histogram*, kResults.size()> authorization_durations_{};
  struct ByVerb {
    Counter* total = nullptr;
    Histogram* seconds = nullptr;
  };
  std::array<std::array<ByVerb, kResults.size()>, kVerbs.size()> by_verb_{};
};

}  // namespace cardea::rest
