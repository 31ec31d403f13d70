// Tokens: a configuration and signed claims give a user, no opinion, or an error. The test makes
// the keys.
#include <cstdio>
#include <future>
#include <thread>

#include "authn/jwt/authentication_config.h"
#include "authn/jwt/authentication_validation.h"
#include "authn/jwt/jwks.h"
#include "authn/jwt/jwt_issuer.h"
#include "base/clock.h"
#include "base/strings.h"
#include "conformance/conformance.h"
#include "conformance/test_issuer.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::conformance {
namespace {

using authn::SigningKey;

const SigningKey& key_named(std::string_view id) {
  static const SigningKey rsa_1 = *SigningKey::make_rsa(), rsa_2 = *SigningKey::make_rsa(),
                          ec_1 = *SigningKey::make_ec(521), ec_2 = *SigningKey::make_ec(521);
  return id == "rsa_2" ? rsa_2 : id == "ecdsa_1" ? ec_1 : id == "ecdsa_2" ? ec_2 : rsa_1;
}

std::string key_set_of(const json::Value& published) {
  json::Value keys = json::Value::array();
  for (const json::Value& entry : published.items())
    keys.push_back(jwk_from_key(key_named(entry["id"].as_string()), entry["alg"].as_string()));
  if (!published.is_array()) keys.push_back(jwk_from_key(key_named("any"), "RS256"));
  return json::print(json::Value::object({{"keys", keys}}));
}

// Texts with replaced placeholders; "now+1200" is a number.
json::Value filled_in(const json::Value& v, const std::string& url, std::int64_t now) {
  if (v.is_string()) {
    std::string text(v.as_string());
    if (text.starts_with("now+")) return now + parse_int(text.substr(4)).value_or(0);
    for (std::size_t at; (at = text.find("{{URL}}")) != text.npos;) text.replace(at, 7, url);
    return text;
  }
  json::Value out = v;
  for (std::size_t i = 0; i < v.items().size(); ++i) out.item(i) = filled_in(v[i], url, now);
  for (const json::Member& m : v.members()) out.set(m.key(), filled_in(m.value, url, now));
  return out;
}

class FailingFetcher : public authn::Fetcher {
 public:
  void get(std::string, std::string, Done done) override {
    done(fail(internal_error("some unexpected oidc error")));
  }
};

json::Value document_of(const authz::User& user) {
  json::Value out = json::Value::object({{"username", user.name}});
  if (!user.uid.empty()) out.set("uid", user.uid);
  for (const std::string& group : user.groups) out.member("groups").push_back(group);
  for (const auto& [key, values] : user.extra)
    for (const std::string& value : values) out.member("extra").member(key).push_back(value);
  return out;
}

std::string algorithm_of(const json::Value& sign_with) {
  const std::string name(sign_with["alg"].as_string());
  return name.substr(0, name.find(' '));  // "RS256 or ES256"
}

struct Harness {
  TestIssuer issuer;
  net::Loops loops{1};
  net::Dialer dialer;
};

// The result: `user {...}`, `skip`, `error ...`, `init ...`, `health ...`.
struct Got {
  std::string kind;
  std::string text;
  json::Value user;
};

Got run_case(Harness& h, const json::Value& raw) {
  const bool real_clock = raw["clock"].as_string() == "real";
  const std::int64_t now = real_clock              ? std::time(nullptr)
                           : raw["clock"].is_int() ? raw["clock"].as_int()
                                                   : 1257894000;
  const json::Value c = filled_in(raw, h.issuer.url(), now);
  FakeClock clock{authn::Time(std::chrono::seconds(now))};

  json::Value document = json::Value::object({{"apiVersion", "apiserver.config.k8s.io/v1"},
                                              {"kind", "AuthenticationConfiguration"},
                                              {"jwt", json::Value::array({c["authenticator"]})}});
  auto config = authn::load_authentication_config(json::print(document));
  if (!config) return {"init", config.error().message, {}};
  authn::JwtConfig& jwt = config->jwt[0];
  jwt.issuer.certificate_authority = h.issuer.ca();

  authn::AlgorithmSet algorithms;
  for (const json::Value& name : c["signingAlgs"].items()) {
    auto algorithm = authn::algorithm_named(name.as_string());
    if (!algorithm)
      return {"init", cat("oidc: unsupported signing alg: ", cardea::quoted(name.as_string())), {}};
    algorithms.add(*algorithm);
  }
  if (!c.has("signingAlgs")) algorithms.add(authn::Algorithm::kRs256);
  authn::ValidationContext context;
  for (const json::Value& issuer : c["disallowedIssuers"].items())
    context.disallowed_issuers.emplace_back(issuer.as_string());
  std::vector<authn::ClaimRules> rules;
  if (auto errors = authn::validate(jwt, context, "", rules); !errors.empty())
    return {"init", authn::message_of(errors), {}};
  if (auto egress = authn::egress_of(jwt); !egress) return {"init", egress.error().message, {}};

  h.issuer.clear();
  const json::Value discovery = c.has("discovery")
                                    ? c["discovery"]
                                    : json::Value::object(
                                          {{"issuer", jwt.issuer.url},
                                           {"jwks_uri", h.issuer.url() + "/.testing/keys"}});
  for (const char* path :
       {"/.well-known/openid-configuration", "/c/d/bar/.well-known/openid-configuration"})
    h.issuer.serve(path, json::print(discovery));
  h.issuer.serve("/.testing/keys", key_set_of(c["published"]));
  const SigningKey& key = key_named(c["signWith"]["id"].as_string());
  const std::string alg = algorithm_of(c["signWith"]);
  for (const json::Member& m : c["distributed"].members())
    h.issuer.serve(std::string(m.value["path"].as_string()),
                   sign_token(key, alg, m.value["claims"]),
                   std::string(m.value["expectBearer"].as_string()));

  auto fetcher = *authn::make_fetcher(h.loops.at(0), h.dialer, h.issuer.ca());
  if (c.has("httpClient")) fetcher = std::make_shared<FailingFetcher>();
  std::shared_ptr<authn::KeySource> keys;
  if (c["keySource"].as_string() == "static")
    keys = authn::fixed_keys(*authn::parse_key_set(key_set_of(c["published"])));
  else
    keys = authn::discovered_keys(h.loops.at(0), fetcher, clock,
                                  {.issuer = jwt.issuer.url,
                                   .discovery_url = jwt.issuer.discovery_url,
                                   .metrics = {},
                                   .log = {}});
  std::promise<Result<void>> ready;
  spawn(keys->ready(), [&](Result<void> outcome) { ready.set_value(std::move(outcome)); });
  if (auto outcome = ready.get_future().get(); !outcome) return {"health", keys->health(), {}};

  std::string token = sign_token(key, alg, c["claims"], c["tokenHeader"]);
  if (c["serialization"].as_string() == "json-flattened") {
    auto parts = split(token, '.');
    token = json::print(json::Value::object(
        {{"protected", parts[0]}, {"payload", parts[1]}, {"signature", parts[2]}}));
  } else if (c.has("serialization")) {
    token += ".extra";
  }
  auto parsed = authn::parse_jwt(token);
  const bool google = jwt.issuer.url == "https://accounts.google.com" && parsed &&
                      parsed->issuer() == "accounts.google.com";
  if (!parsed || (parsed->issuer() != jwt.issuer.url && !google))
    return {"skip", parsed ? "another issuer" : parsed.error().message, {}};
  const authn::JwtIssuer issuer(
      {.config = jwt,
       .rules = std::move(rules[0]),
       .algorithms = algorithms,
       .keys = keys,
       .distributed = std::make_shared<authn::DistributedClaims>(h.loops.at(0), fetcher, clock),
       .metrics = {}});
  auto outcome = issuer.check(*parsed, clock.now());
  if (!outcome) {
    std::promise<Result<authn::Identity>> waited;
    spawn(issuer.check_waiting(*parsed, clock.now()),
          [&](Result<authn::Identity> identity) { waited.set_value(std::move(identity)); });
    outcome = waited.get_future().get();
  }
  if (!*outcome) return {"error", outcome->error().message, {}};
  authz::User user = (*outcome)->user;
  if (real_clock)
    user.groups.emplace_back(authz::kAuthenticatedGroup);  // as the chain does; such rows were
                                                           // recorded behind it
  return {"user", "", document_of(user)};
}

bool as_expected(const Got& got, const json::Value& expect, const std::string& url) {
  auto contains = [&](const json::Value& part) {
    return got.text.find(filled_in(part, url, 0).as_string()) != got.text.npos;
  };
  if (expect.has("user"))
    return got.kind == "user" && json::print(got.user) == json::print(expect["user"]);
  if (expect.has("skip")) return got.kind == "skip";
  if (expect.has("initError")) return got.kind == "init" && contains(expect["initError"]);
  if (expect.has("healthErrorSubstring"))
    return got.kind == "health" && contains(expect["healthErrorSubstring"]);
  if (expect.has("healthErrorPrefix"))
    return got.kind == "health" && contains(expect["healthErrorPrefix"]);
  if (expect.has("errorSubstring"))
    return got.kind == "error" && contains(expect["errorSubstring"]);
  if (expect.has("error")) return got.kind == "error" && contains(expect["error"]);
  return got.kind == "error" && expect["httpStatus"].as_int() == 401;
}

// Features that only a caller of Kubernetes' Go library has: its own client or key set, or an
// egress lookup.
bool is_of_the_library(const json::Value& c) {
  const std::string_view egress = c["egress"].as_string();
  return c.has("callerKeySet") || (c.has("httpClient") && c["expect"].has("initError")) ||
         egress.starts_with("lookup fails") || egress.find("working dialer") != egress.npos;
}

}  // namespace

Counts run_oidc_claims(const std::string& path) {
  Counts counts;
  Harness harness;
  const json::Value data = read(path);
  for (const json::Value& c : data["cases"].items()) {
    if (is_of_the_library(c)) {
      ++counts.skipped;
      continue;
    }
    const Got got = run_case(harness, c);
    const bool ok = as_expected(got, c["expect"], harness.issuer.url());
    counts.check(ok);
    if (!ok)
      std::printf("oidc-claims %s:\n  got  %s %s %s\n  want %s\n", json::print(c["id"]).c_str(),
                  got.kind.c_str(), got.text.c_str(), json::print(got.user).c_str(),
                  json::print(c["expect"]).c_str());
  }
  return counts;
}

}  // namespace cardea::conformance
