#include "authn/jwt/issuer_metrics.h"

#include "base/strings.h"
#include "crypto/digest.h"

namespace cardea::authn {
namespace {

constexpr std::string_view kOutcomes[] = {"failure", "success"};

std::int64_t milliseconds(std::chrono::system_clock::time_point at) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}
std::string seconds(std::int64_t ms) {
  return go_float(static_cast<double>(ms) / 1000);
}

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  out += cat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

}  // namespace

AuthenticationMetrics::AuthenticationMetrics(std::string_view server_id)
    : server_id_(crypto::sha256_name(server_id)) {}

void IssuerMetrics::token_checked(bool accepted, std::chrono::nanoseconds took) {
  const double seconds = std::chrono::duration<double>(took).count();
  std::size_t bucket = 0;
  while (bucket < kBuckets.size() && seconds > kBuckets[bucket]) ++bucket;
  Histogram& histogram = latency_[accepted];
  histogram.counts[bucket].fetch_add(1, std::memory_order_relaxed);
  histogram.nanoseconds.fetch_add(static_cast<std::uint64_t>(took.count()),
                                  std::memory_order_relaxed);
}

void IssuerMetrics::keys_fetched(bool success, std::chrono::system_clock::time_point at,
                                 std::string_view key_set) {
  fetched_at_[success].store(milliseconds(at), std::memory_order_relaxed);
  if (!success) return;
  std::string hash = crypto::sha256_name(key_set);
  std::lock_guard lock(mutex_);
  key_set_ = std::move(hash);
}

std::shared_ptr<IssuerMetrics> AuthenticationMetrics::issuer(const std::string& url) {
  std::lock_guard lock(mutex_);
  auto& entry = issuers_[url];
  if (!entry) entry = std::make_shared<IssuerMetrics>();
  return entry;
}

void AuthenticationMetrics::forget_issuers_except(const std::map<std::string, bool>& urls) {
  std::lock_guard lock(mutex_);
  std::erase_if(issuers_, [&](const auto& entry) { return !urls.contains(entry.first); });
}

void AuthenticationMetrics::reloaded(bool success, std::chrono::system_clock::time_point at) {
  reloads_[success].fetch_add(1, std::memory_order_relaxed);
  reloaded_at_[success].store(milliseconds(at), std::memory_order_relaxed);
}

void AuthenticationMetrics::config_in_use(std::string_view text) {
  std::string hash = crypto::sha256_name(text);
  std::lock_guard lock(mutex_);
  config_ = std::move(hash);
}

std::string AuthenticationMetrics::print() const {
  std::string out;
  const std::string server = cat("apiserver_id_hash=\"", server_id_, "\"");
  constexpr std::string_view
      kReloads = "apiserver_authentication_config_controller_automatic_reloads_total";
  constexpr std::string_view kReloadedAt =
      "apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds";
  constexpr std::string_view
      kConfig = "apiserver_authentication_config_controller_last_config_info";
  constexpr std::string_view
      kLatency = "apiserver_authentication_jwt_authenticator_latency_seconds";
  constexpr std::string_view
      kFetchedAt = "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds";
  constexpr std::string_view
      kKeySet = "apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info";
  head(out, kReloads, "counter",
       "Automatic reloads of the authentication configuration, by status.");
  for (int ok : {0, 1})
    if (auto n = reloads_[ok].load())
      out += cat(kReloads, "{", server, ",status=\"", kOutcomes[ok], "\"} ", n, "\n");
  head(out, kReloadedAt, "gauge",
       "When the authentication configuration was last reloaded, by status.");
  for (int ok : {0, 1})
    if (auto at = reloaded_at_[ok].load())
      out += cat(kReloadedAt, "{", server, ",status=\"", kOutcomes[ok], "\"} ", seconds(at), "\n");

  std::lock_guard lock(mutex_);
  head(out, kConfig, "gauge", "The authentication configuration in use, by its hash.");
  if (!config_.empty()) out += cat(kConfig, "{", server, ",hash=\"", config_, "\"} 1\n");
  head(out, kLatency, "histogram",
       "How long it took to authenticate a token of a configured issuer.");
  for (const auto& [url, metrics] : issuers_)
    for (int ok : {0, 1}) {
      const auto& histogram = metrics->latency_[ok];
      const std::string labels = cat("jwt_issuer_hash=\"", crypto::sha256_name(url), "\",result=\"",
                                     kOutcomes[ok], "\"");
      std::uint64_t total = 0;
      std::string lines;
      for (std::size_t i = 0; i <= IssuerMetrics::kBuckets.size(); ++i) {
        total += histogram.counts[i].load();
        const std::string bound = i < IssuerMetrics::kBuckets.size()
                                      ? go_float(IssuerMetrics::kBuckets[i])
                                      : "+Inf";
        lines += cat(kLatency, "_bucket{", labels, ",le=\"", bound, "\"} ", total, "\n");
      }
      if (total == 0) continue;
      out += lines;
      out += cat(kLatency, "_sum{", labels, "} ",
                 go_float(static_cast<double>(histogram.nanoseconds.load()) / 1e9), "\n");
      out += cat(kLatency, "_count{", labels, "} ", total, "\n");
    }
  head(out, kFetchedAt, "gauge", "When the keys of an issuer were last fetched, by result.");
  for (const auto& [url, metrics] : issuers_)
    for (int ok : {0, 1})
      if (auto at = metrics->fetched_at_[ok].load())
        out += cat(kFetchedAt, "{", server, ",jwt_issuer_hash=\"", crypto::sha256_name(url),
                   "\",result=\"", kOutcomes[ok], "\"} ", seconds(at), "\n");
  head(out, kKeySet, "gauge", "The last keys fetched from an issuer, by their hash.");
  for (const auto& [url, metrics] : issuers_) {
    std::lock_guard keys(metrics->mutex_);
    if (!metrics->key_set_.empty())
      out += cat(kKeySet, "{", server, ",hash=\"", metrics->key_set_, "\",jwt_issuer_hash=\"",
                 crypto::sha256_name(url), "\"} 1\n");
  }
  head(out, "authentication_token_cache_request_total", "counter",
       "Tokens looked up in the cache, by what came of it.");
  for (int hit : {0, 1})
    out += cat("authentication_token_cache_request_total{status=\"", hit ? "hit" : "miss", "\"} ",
               cache_[hit].load(), "\n");
  return out;
}

}  // namespace cardea::authn
