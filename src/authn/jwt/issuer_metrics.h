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

namespace cardea::authn {

// Counters for the tokens and keys of one issuer. Counting takes no lock.
class IssuerMetrics {
 public:
  static constexpr std::array<double, 12> kBuckets = {.001, .005, .01, .025, .05, .1,
                                                      .25,  .5,   1,   2.5,  5,   10};

  void token_checked(bool accepted, std::chrono::nanoseconds took);
  void keys_fetched(bool success, std::chrono::system_clock::time_point at,
                    std::string_view key_set);

 private:
  friend class AuthenticationMetrics;
  struct Histogram {
    std::array<std::atomic<std::uint64_t>, kBuckets.size() + 1> counts{};
    std::atomic<std::uint64_t> nanoseconds{0};
  };
  Histogram latency_[2];                          // refused, accepted
  std::atomic<std::int64_t> fetched_at_[2] = {};  // milliseconds since 1970
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

  void reloaded(bool success, std::chrono::system_clock::time_point at);
  void config_in_use(std::string_view text);
  void cache_asked(bool hit) { cache_[hit].fetch_add(1, std::memory_order_relaxed); }

  std::string print() const;
  std::uint64_t reloads(bool success) const { return reloads_[success].load(); }

 private:
  const std::string server_id_;
  std::atomic<std::uint64_t> reloads_[2] = {};
  std::atomic<std::int64_t> reloaded_at_[2] = {};
  std::atomic<std::uint64_t> cache_[2] = {};
  mutable std::mutex mutex_;
  std::string config_;                                             // its hash; guarded by mutex_
  std::map<std::string, std::shared_ptr<IssuerMetrics>> issuers_;  // guarded by mutex_
};

}  // namespace cardea::authn
