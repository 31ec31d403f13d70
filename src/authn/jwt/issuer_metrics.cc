#include "authn/jwt/issuer_metrics.h"

#include "crypto/digest.h"

namespace cardea::authn {
namespace {

constexpr const char* kOutcomes[] = {"failure", "success"};
constexpr MetricFamily kReloads{
    "apiserver_authentication_config_controller_automatic_reloads_total",
    "Automatic reloads of the authentication configuration, by status."};
constexpr MetricFamily kReloadedAt{
    "apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds",
    "When the authentication configuration was last reloaded, by status."};
constexpr MetricFamily kConfig{"apiserver_authentication_config_controller_last_config_info",
                               "The authentication configuration in use, by its hash."};
constexpr MetricFamily kLatency{"apiserver_authentication_jwt_authenticator_latency_seconds",
                                "How long it took to authenticate a token of a configured issuer."};
constexpr MetricFamily kFetchedAt{
    "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds",
    "When the keys of an issuer were last fetched, by result."};
constexpr MetricFamily kKeySet{
    "apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info",
    "The last keys fetched from an issuer, by their hash."};
constexpr MetricFamily kStatus{
    "apiserver_authentication_jwt_authenticator_provider_status_timestamp_seconds",
    "Since when an issuer is in its state: healthy, or not discovered."};
constexpr MetricFamily kReloadFailures{
    "apiserver_authentication_config_controller_automatic_reload_failures_total",
    "Automatic reloads of the authentication configuration that failed."};
constexpr MetricFamily kCache{"authentication_token_cache_request_total",
                              "Tokens looked up in the cache, by what came of it."};
constexpr MetricFamily kCacheTook{"authentication_token_cache_request_duration_seconds",
                                  "How long tokens of configured issuers took, by whether they "
                                  "were in the cache."};
constexpr MetricFamily kCacheFetches{"authentication_token_cache_fetch_total",
                                     "Tokens verified because they were not in the cache."};
constexpr MetricFamily kCacheActive{"authentication_token_cache_active_fetch_count",
                                    "Tokens that wait for an issuer now, and requests that wait "
                                    "for the same token."};
constexpr MetricFamily kRefusals{"cardea_authentication_token_refusals_total",
                                 "Bearer tokens refused, by reason."};

const std::vector<double>& latency_bounds() {
  static const std::vector<double> kBounds = {.001, .005, .01, .025, .05, .1,
                                              .25,  .5,   1,   2.5,  5,   10};
  return kBounds;
}

const std::vector<double>& cache_bounds() {
  static const std::vector<double> kBounds = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};
  return kBounds;
}

// In whole milliseconds.
double seconds(std::chrono::system_clock::time_point at) {
  using std::chrono::milliseconds;
  auto since = std::chrono::duration_cast<milliseconds>(at.time_since_epoch());
  return static_cast<double>(since.count()) / 1000;
}

}  // namespace

IssuerMetrics::IssuerMetrics(std::string_view url)
    : url_(crypto::sha256_name(url)),
      latency_{Histogram(latency_bounds()), Histogram(latency_bounds())} {}

void IssuerMetrics::discovered(bool success, std::chrono::system_clock::time_point at) {
  status_at_[!success].hide();
  if (!status_at_[success].is_shown()) status_at_[success].set(seconds(at));
}

void IssuerMetrics::keys_fetched(bool success, std::chrono::system_clock::time_point at,
                                 std::string_view key_set) {
  fetched_at_[success].set(seconds(at));
  if (!success) return;
  std::string hash = crypto::sha256_name(key_set);
  std::lock_guard lock(mutex_);
  key_set_ = std::move(hash);
}

std::string IssuerMetrics::key_set() const {
  std::lock_guard lock(mutex_);
  return key_set_;
}

AuthenticationMetrics::AuthenticationMetrics(std::string_view server_id)
    : server_id_(crypto::sha256_name(server_id)),
      cache_took_{Histogram(cache_bounds()), Histogram(cache_bounds())} {}

std::shared_ptr<IssuerMetrics> AuthenticationMetrics::issuer(const std::string& url) {
  std::lock_guard lock(mutex_);
  auto& entry = issuers_[url];
  if (!entry) entry = std::make_shared<IssuerMetrics>(url);
  return entry;
}

void AuthenticationMetrics::forget_issuers_except(const std::map<std::string, bool>& urls) {
  std::lock_guard lock(mutex_);
  std::erase_if(issuers_, [&](const auto& entry) { return !urls.contains(entry.first); });
}

void AuthenticationMetrics::reloaded(bool success, std::chrono::system_clock::time_point at) {
  reloads_[success].add();
  reloaded_at_[success].set(seconds(at));
}

void AuthenticationMetrics::config_in_use(std::string_view text) {
  std::string hash = crypto::sha256_name(text);
  std::lock_guard lock(mutex_);
  config_ = std::move(hash);
}

std::string AuthenticationMetrics::labels(MetricLabels more) const {
  more.emplace(more.begin(), "apiserver_id_hash", server_id_);
  return print_labels(more);
}

void AuthenticationMetrics::print(MetricPrinter& out) const {
  print_reloads(out);
  {
    std::lock_guard lock(mutex_);
    out.begin(kConfig, MetricType::kGauge);
    if (!config_.empty()) out.add_integer(labels({{"hash", config_}}), 1);
    print_issuers(out);
  }
  print_tokens(out);
}

void AuthenticationMetrics::print_tokens(MetricPrinter& out) const {
  auto hits = [](bool hit) { return print_labels({{"status", hit ? "hit" : "miss"}}); };
  out.begin(kCacheActive, MetricType::kGauge);
  out.add_number(print_labels({{"status", "blocked"}}), static_cast<double>(blocked.load()));
  out.add_number(print_labels({{"status", "in_flight"}}), static_cast<double>(in_flight.load()));
  out.begin(kCacheFetches, MetricType::kCounter);
  for (bool ok : {false, true})
    out.add_integer(print_labels({{"status", ok ? "ok" : "error"}}), verified_[ok].value());
  out.begin(kCacheTook, MetricType::kHistogram);
  for (bool hit : {false, true})
    if (!cache_took_[hit].is_empty()) out.add_histogram(hits(hit), cache_took_[hit]);
  out.begin(kCache, MetricType::kCounter);
  for (bool hit : {false, true}) out.add_integer(hits(hit), cache_[hit].value());
  out.begin(kRefusals, MetricType::kCounter);
  for (std::size_t i = 0; i < kTokenRefusals.size(); ++i)
    out.add_integer(print_labels({{"reason", std::string(kTokenRefusals[i])}}),
                    refusals_[i].value());
}

void AuthenticationMetrics::print_reloads(MetricPrinter& out) const {
  out.begin(kReloadFailures, MetricType::kCounter);
  if (auto n = reloads_[0].value()) out.add_integer(labels({}), n);
  out.begin(kReloads, MetricType::kCounter);
  for (bool ok : {false, true})
    if (auto n = reloads_[ok].value()) out.add_integer(labels({{"status", kOutcomes[ok]}}), n);
  out.begin(kReloadedAt, MetricType::kGauge);
  for (bool ok : {false, true})
    if (const Gauge& at = reloaded_at_[ok]; at.is_shown())
      out.add_number(labels({{"status", kOutcomes[ok]}}), at.value());
}

void AuthenticationMetrics::print_issuers(MetricPrinter& out) const {
  out.begin(kLatency, MetricType::kHistogram);
  for (const auto& [url, issuer] : issuers_)
    for (bool ok : {false, true})
      if (const Histogram& latency = issuer->latency_[ok]; !latency.is_empty())
        out.add_histogram(
            print_labels({{"jwt_issuer_hash", issuer->url_}, {"result", kOutcomes[ok]}}), latency);
  out.begin(kFetchedAt, MetricType::kGauge);
  for (const auto& [url, issuer] : issuers_)
    for (bool ok : {false, true})
      if (const Gauge& at = issuer->fetched_at_[ok]; at.is_shown() && shows_keys_)
        out.add_number(labels({{"jwt_issuer_hash", issuer->url_}, {"result", kOutcomes[ok]}}),
                       at.value());
  out.begin(kStatus, MetricType::kGauge);
  for (const auto& [url, issuer] : issuers_)
    for (bool ok : {false, true})
      if (const Gauge& at = issuer->status_at_[ok]; at.is_shown())
        out.add_number(
            labels({{"jwt_issuer_hash", issuer->url_}, {"status", ok ? "healthy" : "unhealthy"}}),
            at.value());
  out.begin(kKeySet, MetricType::kGauge);
  for (const auto& [url, issuer] : issuers_)
    if (std::string hash = issuer->key_set(); !hash.empty() && shows_keys_)
      out.add_integer(labels({{"hash", hash}, {"jwt_issuer_hash", issuer->url_}}), 1);
}

}  // namespace cardea::authn
