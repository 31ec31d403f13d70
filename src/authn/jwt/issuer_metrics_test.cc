#include "authn/jwt/issuer_metrics.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "crypto/digest.h"

namespace cardea::authn {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kServer = "test";
const std::string kReloads = "apiserver_authentication_config_controller_automatic_reloads_total";
const std::string kReloadedAt =
    "apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds";
const std::string kConfig = "apiserver_authentication_config_controller_last_config_info";
const std::string kLatency = "apiserver_authentication_jwt_authenticator_latency_seconds";
const std::string
    kFetchedAt = "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds";
const std::string
    kKeySet = "apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info";
const std::string kCache = "authentication_token_cache_request_total";

std::string hash_label(std::string_view name, std::string_view of) {
  return cat(name, "=\"", crypto::sha256_name(of), "\"");
}

std::string head(std::string_view name, std::string_view help, std::string_view type) {
  return cat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

std::string whole_page(const AuthenticationMetrics& metrics) {
  MetricPrinter out;
  metrics.print(out);
  return out.text();
}

// Without the families that have a test of their own.
std::string printed(const AuthenticationMetrics& metrics) {
  const std::string text = whole_page(metrics);
  std::string out;
  for (std::string_view line : split(text, '\n')) {
    bool is_other = line.empty();
    for (std::string_view other :
         {"automatic_reload_failures_total", "provider_status", "cache_active", "cache_fetch",
          "cache_request_duration", "token_refusals"})
      is_other |= line.find(other) != line.npos;
    if (!is_other) out += cat(line, "\n");
  }
  return out;
}

// The page, with the series of each family.
std::string page(std::string_view reloads, std::string_view reloaded_at, std::string_view config,
                 std::string_view latency, std::string_view fetched_at, std::string_view key_set,
                 std::string_view cache) {
  return cat(
      head(kReloads, "Automatic reloads of the authentication configuration, by status.",
           "counter"),
      reloads,
      head(kReloadedAt, "When the authentication configuration was last reloaded, by status.",
           "gauge"),
      reloaded_at, head(kConfig, "The authentication configuration in use, by its hash.", "gauge"),
      config,
      head(kLatency, "How long it took to authenticate a token of a configured issuer.",
           "histogram"),
      latency,
      head(kFetchedAt, "When the keys of an issuer were last fetched, by result.", "gauge"),
      fetched_at, head(kKeySet, "The last keys fetched from an issuer, by their hash.", "gauge"),
      key_set, head(kCache, "Tokens looked up in the cache, by what came of it.", "counter"),
      cache);
}

// One token that was accepted after 20 ms.
std::string one_token(std::string_view issuer) {
  const std::string labels = cat(hash_label("jwt_issuer_hash", issuer), ",result=\"success\"");
  std::string out;
  for (std::string_view bound : {"0.001", "0.005", "0.01"})
    out += cat(kLatency, "_bucket{", labels, ",le=\"", bound, "\"} 0\n");
  for (std::string_view bound :
       {"0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf"})
    out += cat(kLatency, "_bucket{", labels, ",le=\"", bound, "\"} 1\n");
  return cat(out, kLatency, "_sum{", labels, "} 0.02\n", kLatency, "_count{", labels, "} 1\n");
}

TEST(AuthenticationMetrics, AFamilyWithoutNumbersHasItsHeadAlone) {
  AuthenticationMetrics metrics(kServer);
  metrics.issuer("https://a");
  EXPECT_EQ(printed(metrics), page("", "", "", "", "", "",
                                   cat(kCache, "{status=\"miss\"} 0\n",  //
                                       kCache, "{status=\"hit\"} 0\n")));
}

TEST(AuthenticationMetrics, IssuersArePrintedByUrlUntilTheyAreForgotten) {
  const std::chrono::system_clock::time_point at(1'700'000'000'250ms);
  AuthenticationMetrics metrics(kServer);
  metrics.reloaded(true, at);
  metrics.reloaded(true, at);
  metrics.reloaded(false, at + 1s);
  metrics.config_in_use("config");
  metrics.cache_asked(true, 1ms);
  auto kept = metrics.issuer("https://z");
  auto dropped = metrics.issuer("https://a");
  for (const auto& issuer : {kept, dropped}) {
    issuer->token_checked(true, 20ms);
    issuer->keys_fetched(true, at, "keys");
    issuer->keys_fetched(false, at + 2s, "");
  }

  const std::string server = hash_label("apiserver_id_hash", kServer);
  auto fetched_at = [&](std::string_view url) {
    const std::string labels = cat(server, ",", hash_label("jwt_issuer_hash", url));
    return cat(kFetchedAt, "{", labels, ",result=\"failure\"} 1.70000000225e+09\n",  //
               kFetchedAt, "{", labels, ",result=\"success\"} 1.70000000025e+09\n");
  };
  auto key_set = [&](std::string_view url) {
    return cat(kKeySet, "{", server, ",", hash_label("hash", "keys"), ",",
               hash_label("jwt_issuer_hash", url), "} 1\n");
  };
  auto page_of = [&](const std::vector<std::string_view>& urls) {
    std::string latency, fetched, keys;
    for (std::string_view url : urls) {
      latency += one_token(url);
      fetched += fetched_at(url);
      keys += key_set(url);
    }
    return page(cat(kReloads, "{", server, ",status=\"failure\"} 1\n",  //
                    kReloads, "{", server, ",status=\"success\"} 2\n"),
                cat(kReloadedAt, "{", server, ",status=\"failure\"} 1.70000000125e+09\n",
                    kReloadedAt, "{", server, ",status=\"success\"} 1.70000000025e+09\n"),
                cat(kConfig, "{", server, ",", hash_label("hash", "config"), "} 1\n"), latency,
                fetched, keys,
                cat(kCache, "{status=\"miss\"} 0\n",  //
                    kCache, "{status=\"hit\"} 1\n"));
  };
  EXPECT_EQ(printed(metrics), page_of({"https://a", "https://z"}));

  metrics.forget_issuers_except({{"https://z", true}});
  dropped->token_checked(true, 20ms);  // a request that began with the old configuration
  EXPECT_EQ(printed(metrics), page_of({"https://z"}));
}

TEST(AuthenticationMetrics, SayHowTokensFaredAndHowIssuersAre) {
  const std::chrono::system_clock::time_point at(1'700'000'000'000ms);
  AuthenticationMetrics metrics(kServer);
  metrics.reloaded(false, at);
  metrics.refused(refusal_reason("oidc: malformed jwt: the token is too large"));
  metrics.cache_asked(false, 20ms);
  metrics.token_verified(true);
  metrics.in_flight = 2;
  auto issuer = metrics.issuer("https://a");
  issuer->discovered(false, at);
  issuer->discovered(false, at + 10s);
  const std::string server = hash_label("apiserver_id_hash", kServer);
  auto has = [&](std::string_view line) {
    return cat("\n", whole_page(metrics)).find(cat("\n", line, "\n")) != std::string::npos;
  };
  auto status = [&](std::string_view which, std::string_view since) {
    return cat("apiserver_authentication_jwt_authenticator_provider_status_timestamp_seconds{",
               server, ",", hash_label("jwt_issuer_hash", "https://a"), ",status=\"", which, "\"} ",
               since);
  };
  EXPECT_TRUE(has(cat("apiserver_authentication_config_controller_automatic_reload_failures_total{",
                      server, "} 1")));
  EXPECT_TRUE(has(R"(cardea_authentication_token_refusals_total{reason="oversized"} 1)"));
  EXPECT_TRUE(has(R"(cardea_authentication_token_refusals_total{reason="unsigned"} 0)"));
  EXPECT_TRUE(has(R"(authentication_token_cache_fetch_total{status="ok"} 1)"));
  EXPECT_TRUE(has(R"(authentication_token_cache_active_fetch_count{status="in_flight"} 2)"));
  EXPECT_TRUE(has(R"(authentication_token_cache_request_duration_seconds_count{status="miss"} 1)"));
  EXPECT_TRUE(has(status("unhealthy", "1.7e+09"))) << whole_page(metrics);
  issuer->discovered(true, at + 20s);
  EXPECT_TRUE(has(status("healthy", "1.70000002e+09"))) << whole_page(metrics);
  EXPECT_FALSE(has(status("unhealthy", "1.7e+09")));

  issuer->keys_fetched(true, at, "keys");
  EXPECT_NE(whole_page(metrics).find(cat(kKeySet, "{")), std::string::npos);
  metrics.hide_keys();
  EXPECT_EQ(whole_page(metrics).find(cat(kKeySet, "{")), std::string::npos);
}

}  // namespace
}  // namespace cardea::authn
