#include "authn/jwt/token_checks.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/clock.h"
#include "base/strings.h"

namespace cardea::authn {
namespace {

using namespace std::chrono_literals;

std::unexpected<Error> refuse(std::string message) {
  return fail(Error::of(Reason::kUnauthorized, std::move(message)));
}
std::unexpected<Error> wrong_shape(std::string_view claim) {
  return refuse(cat("oidc: failed to unmarshal claims: unexpected type of claim ", quoted(claim)));
}

// Seconds since 1970 of a NumericDate; a number in quotes counts, as Kubernetes reads it.
std::optional<std::int64_t> numeric_date(const json::Value& v) {
  if (v.is_int()) return v.as_int();
  double seconds = v.as_double();
  if (v.is_string()) {
    const std::string_view text = v.as_string();
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (problem != std::errc() || end != text.data() + text.size() || text.empty())
      return std::nullopt;
  } else if (!v.is_double()) {
    return std::nullopt;
  }
  if (!std::isfinite(seconds)) return std::nullopt;
  return static_cast<std::int64_t>(std::clamp(seconds, -9e15, 9e15));
}

// Far times are kept inside what a clock can say: its nanoseconds begin in 1677 and end in 2262.
Time time_of(std::int64_t seconds) {
  return Time(std::chrono::seconds(std::clamp<std::int64_t>(seconds, -9000000000, 9000000000)));
}

std::string shown(Time at) {
  std::string text = rfc3339(at);  // 2026-01-31T12:00:00Z
  if (text.size() < 20) return text;
  text[10] = ' ';
  text.pop_back();
  return text + " +0000 UTC";
}

std::string shown(std::span<const std::string> list) {
  std::string out = "[";
  for (const std::string& item : list) out += (out.size() > 1 ? " " : "") + quoted(item);
  return out + "]";
}

Result<void> check_shape(const json::Value& claims) {
  for (std::string_view name : {"iss", "sub", "nonce", "at_hash"})
    if (const json::Value& v = claims[name]; !v.is_null() && !v.is_string())
      return wrong_shape(name);
  for (std::string_view name : {"exp", "iat", "nbf"}) {
    const json::Value* v = claims.find(name);
    if (!v || (v->is_null() && name == "nbf")) continue;
    if (!numeric_date(*v)) return wrong_shape(name);
  }
  const json::Value& audience = claims["aud"];
  if (!audience.is_null() && !audience.is_string() && !audience.is_array())
    return wrong_shape("aud");
  for (const json::Value& item : audience.items())
    if (!item.is_string()) return wrong_shape("aud");
  return {};
}

Result<void> check_sources(const json::Value& claims) {
  const json::Value& names = claims["_claim_names"];
  const json::Value& sources = claims["_claim_sources"];
  if (!names.is_null() && !names.is_object()) return wrong_shape("_claim_names");
  if (!sources.is_null() && !sources.is_object()) return wrong_shape("_claim_sources");
  for (const json::Member& source : sources.members()) {
    if (!source.value.is_object() && !source.value.is_null()) return wrong_shape("_claim_sources");
    for (std::string_view member : {"endpoint", "access_token"})
      if (const json::Value& v = source.value[member]; !v.is_null() && !v.is_string())
        return wrong_shape("_claim_sources");
  }
  for (const json::Member& name : names.members()) {
    if (!name.value.is_string()) return wrong_shape("_claim_names");
    if (name.value.as_string().empty())
      return refuse("oidc: failed to obtain source from claim name");
    if (!sources.has(name.value.as_string())) return refuse("oidc: source does not exist");
  }
  return {};
}

std::vector<std::string> audiences_of(const json::Value& claims) {
  const json::Value& audience = claims["aud"];
  if (audience.is_string()) return {std::string(audience.as_string())};
  std::vector<std::string> out;
  for (const json::Value& item : audience.items()) out.emplace_back(item.as_string());
  return out;
}

bool meant_for(const json::Value& claims, std::span<const std::string> wanted) {
  const json::Value& audience = claims["aud"];
  for (const std::string& want : wanted) {
    if (audience.as_string() == want && audience.is_string()) return true;
    for (const json::Value& item : audience.items())
      if (item.as_string() == want) return true;
  }
  return false;
}

Result<void> check_audience(const json::Value& claims, std::span<const std::string> wanted) {
  if (meant_for(claims, wanted)) return {};
  const std::vector<std::string> got = audiences_of(claims);
  if (wanted.size() == 1)
    return refuse(cat("oidc: expected audience ", quoted(wanted[0]), " got ", shown(got)));
  std::vector<std::string> sorted(wanted.begin(), wanted.end());
  std::ranges::sort(sorted);
  return refuse(cat("oidc: expected audience in ", shown(sorted), " got ", shown(got)));
}

Result<void> check_lifetime(const json::Value& claims, Time now) {
  const json::Value* expires = claims.find("exp");
  if (!expires)
    return refuse("oidc: token is expired (Token Expiry: 0001-01-01 00:00:00 +0000 UTC)");
  const Time end = time_of(*numeric_date(*expires));
  if (end < now) return refuse(cat("oidc: token is expired (Token Expiry: ", shown(end), ")"));
  if (const json::Value& begins = claims["nbf"]; !begins.is_null())
    if (const Time start = time_of(*numeric_date(begins)); now + 60s < start)
      return refuse(cat("oidc: current time ", shown(now),
                        " before the nbf (not before) time: ", shown(start)));
  return {};
}

}  // namespace

AlgorithmSet AlgorithmSet::all() {
  AlgorithmSet set;
  for (int i = 0; i < kAlgorithmCount; ++i) set.add(static_cast<Algorithm>(i));
  return set;
}

std::vector<std::string> AlgorithmSet::names() const {
  std::vector<std::string> out;
  for (int i = 0; i < kAlgorithmCount; ++i)
    if (has(static_cast<Algorithm>(i))) out.emplace_back(algorithm_name(static_cast<Algorithm>(i)));
  std::ranges::sort(out);
  return out;
}

Result<Algorithm> check_token(const Jwt& jwt, const TokenExpectations& expected, Time now) {
  const json::Value& claims = jwt.claims;
  if (auto fine = check_shape(claims); !fine) return fail(std::move(fine.error()));
  if (auto fine = check_sources(claims); !fine) return fail(std::move(fine.error()));
  // Google issues tokens whose issuer has no scheme.
  const bool google = jwt.issuer() == "accounts.google.com" &&
                      expected.issuer == "https://accounts.google.com";
  if (jwt.issuer() != expected.issuer && !google)
    return refuse(cat("oidc: id token issued by a different provider, expected ",
                      quoted(expected.issuer), " got ", quoted(jwt.issuer())));
  // With one audience Kubernetes looks at it before the lifetime, with several afterwards.
  const bool audience_first = expected.audiences.size() == 1;
  if (audience_first)
    if (auto fine = check_audience(claims, expected.audiences); !fine)
      return fail(std::move(fine.error()));
  if (auto fine = check_lifetime(claims, now); !fine) return fail(std::move(fine.error()));
  if (!audience_first)
    if (auto fine = check_audience(claims, expected.audiences); !fine)
      return fail(std::move(fine.error()));
  const auto algorithm = algorithm_named(jwt.algorithm);
  if (!algorithm || !expected.algorithms.has(*algorithm))
    return refuse(cat("oidc: id token signed with unsupported algorithm, expected ",
                      shown(expected.algorithms.names()), " got ", quoted(jwt.algorithm)));
  return *algorithm;
}

Time expiry_of(const json::Value& claims) {
  return time_of(numeric_date(claims["exp"]).value_or(0));
}

}  // namespace cardea::authn
