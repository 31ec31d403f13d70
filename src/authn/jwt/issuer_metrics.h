#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "authn/token_refusal.h"
#include "base/metrics.h"

namespace cardea::authn {

// Counters for the tokens and keys of one issuer. Counting takes no lock.
class IssuerMetrics {
 public:
  explicit IssuerMetrics(std::string_view url);

  void token_checked(bool accepted, std::chrono::nanoseconds took) {
    latency_[accepted].observe(took);
  }
  void discovered(bool success, std::chrono::system_clock::time_point at);
  void keys_fetched(bool success, std::chrono::system_clock::time_point at,
                    std::string_view key_set);

 private:
  friend class AuthenticationMetrics;
  std::string key_set() const;  // its hash; empty until keys were fetched

  const std::string url_;  // its hash
  Histogram latency_[2];   // refused, accepted
  Gauge fetched_at_[2];    // failure, success
  Gauge status_at_[2];     // unhealthy, healthy; only the last is shown
  mutable std::mutex mutex_;
  std::string key_set_;  // its hash; guarded by mutex_
};

// The metrics of JWT authentication, under kube-apiserver's names. From any thread.
class AuthenticationMetrics {
 public:
  explicit AuthenticationMetrics(std::string_view server_id);

  // The same for the same issuer, across reloads.
  std::shared_ptr<IssuerMetrics> issuer(const std::string& url);
  void forget_issuers_except(const std::map<std::string, bool>& urls);

  void hide_keys() { shows_keys_ = false; }  // before the first print
  void reloaded(bool success, std::chrono::system_clock::time_point at);
  void config_in_use(std::string_view text);
  void cache_asked(bool hit, std::chrono::nanoseconds took) {
    cache_[hit].add();
    cache_took_[hit].observe(took);
  }
  void token_verified(bool accepted) {
    verified_[accepted].add();
  }  // because it was not remembered
  // Verifications that wait for an issuer, and requests that wait for that of another.
  std::atomic<std::int64_t> in_flight{0}, blocked{0};
  void refused(std::size_t reason) { refusals_[reason].add(); }  // in kTokenRefusals

  // Issuers in the order of their URLs.
  void print(MetricPrinter& out) const;
  std::uint64_t reloads(bool success) const { return reloads_[success].value(); }

 private:
  void print_reloads(MetricPrinter& out) const;
  void print_tokens(MetricPrinter& out) const;
  void print_issuers(MetricPrinter& out) const;  // with mutex_ held
  std::string labels(MetricLabels more) const;   // those that follow the server's

  const std::string server_id_;  // its hash
  bool shows_keys_ = true;
  Counter reloads_[2];  // failure, success
  Gauge reloaded_at_[2];
  Counter cache_[2];  // miss, hit
  Histogram cache_took_[2];
  Counter verified_[2];
  std::array<Counter, kTokenRefusals.size()> refusals_;
  mutable std::mutex mutex_;
  std::string config_;                                             // its hash; guarded by mutex_
  std::map<std::string, std::shared_ptr<IssuerMetrics>> issuers_;  // guarded by mutex_
};

}  // namespace cardea::authn
