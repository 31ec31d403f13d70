// Authentication configurations: their errors, how they are loaded, the meaning of flags, and the
// effect of a reload.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "authn/jwt/authentication_config.h"
#include "authn/jwt/authentication_reload.h"
#include "authn/jwt/authentication_validation.h"
#include "authn/jwt/jwks.h"
#include "authn/jwt/jwt_authenticators.h"
#include "authn/jwt/oidc_flags.h"
#include "base/strings.h"
#include "conformance/conformance.h"
#include "conformance/test_issuer.h"
#include "json/print.h"
#include "json/yaml.h"

namespace cardea::conformance {
namespace {

void differ(const json::Value& c, const std::string& got, const std::string& want) {
  std::printf("authn-config %s:\n  got  %s\n  want %s\n", json::print(c["id"]).c_str(), got.c_str(),
              want.c_str());
}

std::vector<std::string> texts(const json::Value& list) {
  std::vector<std::string> out;
  for (const json::Value& item : list.items()) out.emplace_back(item.as_string());
  return out;
}

void run_validation(const json::Value& c, Counts& counts) {
  auto config = authn::load_authentication_config(json::print(c["config"]));
  std::vector<std::string> got;
  if (!config) {
    got.push_back(config.error().message);
  } else {
    authn::ValidationContext context{
        .disallowed_issuers = texts(c["disallowedIssuers"]),
        .egress_selectors = !c["egressSelectorFeatureEnabled"].is_bool() ||
                            c["egressSelectorFeatureEnabled"].as_bool()};
    for (const json::FieldError& e : authn::validate(*config, context)) got.push_back(e.message());
  }
  bool ok = c["valid"].as_bool() == got.empty();
  if (c.has("errors")) {
    ok = ok && texts(c["errors"]) == got;
  } else {
    const std::string all = join(got, "\n");
    for (const std::string& part : texts(c["errorSubstrings"]))
      ok = ok && all.find(part) != all.npos;
  }
  counts.check(ok);
  if (!ok)
    differ(c, join(got, " | "),
           c["valid"].as_bool()
               ? "no error"
               : json::print(c.has("errors") ? c["errors"] : c["errorSubstrings"]));
}

json::Value without_type(json::Value document) {
  document.erase("apiVersion");
  document.erase("kind");
  return document;
}

void run_load(const json::Value& c, Counts& counts) {
  auto config = authn::load_authentication_config(c["text"].as_string());
  const std::string got = config ? json::print(without_type(authn::document_of(*config)))
                                 : config.error().message;
  const bool ok = c.has("loadErrorSubstring")
                      ? !config && got.find(c["loadErrorSubstring"].as_string()) != got.npos
                      : config && got == json::print(c["loaded"]);
  counts.check(ok);
  if (!ok) differ(c, got, json::print(c.has("loaded") ? c["loaded"] : c["loadErrorSubstring"]));
}

// The authentication of a server with these flags.
struct FlagOutcome {
  std::string error;
  authn::AuthenticationConfig config;
  bool anonymous = true;
  std::vector<std::string> anonymous_paths;
  std::vector<std::string> algorithms;
};

FlagOutcome outcome_of(const json::Value& c) {
  FlagOutcome out;
  std::vector<std::string> others;
  auto flags = authn::parse_oidc_flags(texts(c["args"]), others);
  if (!flags) return {.error = flags.error().message, .config = {}};
  std::string file;
  bool anonymous_given = false;
  for (const std::string& argument : others) {
    if (argument.starts_with("--authentication-config="))
      file = argument.substr(argument.find('=') + 1);
    if (argument.starts_with("--anonymous-auth=")) {
      anonymous_given = true;
      out.anonymous = lower(argument).ends_with("true");
    }
  }
  if (auto fit = authn::check_oidc_flags(*flags, !file.empty()); !fit)
    return {.error = fit.error().message, .config = {}};
  if (c["stage"].as_string() == "Validate") return out;
  if (file.empty()) {
    out.config = authn::config_of(*flags, "");
    auto algorithms = authn::algorithms_of(*flags);
    if (!algorithms) return {.error = algorithms.error().message, .config = {}};
    if (!flags->given.empty()) out.algorithms = algorithms->names();
  } else {
    auto loaded = authn::read_authentication_config(
        file, c.has("file") ? std::optional(std::string(c["file"].as_string())) : std::nullopt);
    if (!loaded) return {.error = loaded.error().message, .config = {}};
    out.config = std::move(*loaded);
    out.algorithms = authn::AlgorithmSet::all().names();
  }
  if (auto errors = authn::validate(out.config, {}); !errors.empty())
    out.error = authn::message_of(errors);
  if (out.config.anonymous) {
    if (auto fit = authn::check_anonymous(out.config, anonymous_given); !fit)
      out.error = fit.error().message;
    out.anonymous = out.config.anonymous->enabled;
    out.anonymous_paths = out.config.anonymous->paths;
  }
  return out;
}

void run_flags(const json::Value& c, Counts& counts) {
  const FlagOutcome got = outcome_of(c);
  bool ok = true;
  std::string want;
  if (c["errorSubstring"].is_string()) {
    want = c["errorSubstring"].as_string();
    ok = got.error.find(want) != got.error.npos;
  } else {
    want = json::print(c["expect"]);
    ok = got.error.empty();
    const json::Value& expect = c["expect"];
    if (expect.has("config"))
      ok = ok && without_type(authn::document_of(got.config)) == expect["config"];
    if (expect.has("signingAlgs")) ok = ok && got.algorithms == texts(expect["signingAlgs"]);
    if (expect.has("effectiveAnonymous")) {
      std::vector<std::string> paths;
      for (const json::Value& condition : expect["effectiveAnonymous"]["conditions"].items())
        paths.emplace_back(condition["path"].as_string());
      ok = ok && got.anonymous == expect["effectiveAnonymous"]["enabled"].as_bool() &&
           got.anonymous_paths == paths;
    }
  }
  counts.check(ok);
  if (!ok) differ(c, cat(got.error, " ", json::print(authn::document_of(got.config))), want);
}

// A file for one reload.
class ConfigFile {
 public:
  ConfigFile() {
    std::string name = (std::filesystem::temp_directory_path() / "cardea-authn-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~ConfigFile() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/config.yaml"; }
  void write(const std::string& text) const {
    std::ofstream(path() + ".new") << text;
    std::filesystem::rename(path() + ".new", path());
  }

 private:
  std::string folder_;
};

std::string filled_in(std::string_view text, const TestIssuer& issuer) {
  std::string out(text);
  auto replace = [&](std::string_view what, const std::string& with) {
    for (std::size_t at; (at = out.find(what)) != out.npos;) out.replace(at, what.size(), with);
  };
  replace("{{ISSUER}}", issuer.url());
  replace("{{CA}}", cardea::quoted(issuer.ca()));
  return out;
}

Result<authn::Identity> ask(authn::AuthenticatorChain& chain, const std::string& token) {
  authn::Credentials credentials;
  credentials.token = token;
  std::promise<Result<authn::Identity>> answer;
  spawn(chain.authenticate(credentials),
        [&](Result<authn::Identity> identity) { answer.set_value(std::move(identity)); });
  return answer.get_future().get();
}

void run_reload(const json::Value& c, Counts& counts) {
  if (!c.has("old")) {
    // Derived rows without texts describe the anonymous section, whose rule does not depend on
    // issuers.
    auto changed = authn::check_anonymous_unchanged(
        std::nullopt, authn::AnonymousConfig{.enabled = true, .paths = {}});
    const bool ok = !changed && changed.error().message.find(c["errorSubstring"].as_string()) !=
                                    std::string::npos;
    counts.check(ok);
    if (!ok)
      differ(c, changed ? "no error" : changed.error().message, json::print(c["errorSubstring"]));
    return;
  }
  static const authn::SigningKey key = *authn::SigningKey::make_ec();
  TestIssuer issuer;
  issuer.serve("/.well-known/openid-configuration",
               json::print(json::Value::object(
                   {{"issuer", issuer.url()}, {"jwks_uri", issuer.url() + "/keys"}})));
  issuer.serve("/keys", json::print(json::Value::object(
                            {{"keys", json::Value::array({jwk_from_key(key, "ES256")})}})));

  SystemClock clock;
  net::Loops loops(1);
  net::Dialer dialer;
  authn::AuthenticationMetrics metrics("test");
  authn::IssuerParts parts{.loop = loops.at(0),
                           .dialer = dialer,
                           .clock = clock,
                           .metrics = metrics,
                           .log = {},
                           .context = {}};
  const std::string before = filled_in(c["old"].as_string(), issuer),
                    after = filled_in(c["new"].as_string(), issuer);
  auto config = authn::load_authentication_config(before);
  auto issuers = config ? authn::build_issuers(*config, parts)
                        : Result<std::shared_ptr<const authn::IssuerSet>>(fail(config.error()));
  if (!issuers) {
    counts.check(false);
    return differ(c, issuers.error().message, "a configuration that can be built");
  }
  auto jwt = std::make_shared<authn::JwtAuthenticators>(*issuers, std::vector<std::string>{}, clock,
                                                        &metrics);
  authn::AuthenticatorChain chain({jwt, authn::anonymous_authenticator()});
  ConfigFile file;
  file.write(before);
  const std::int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                               clock.now().time_since_epoch())
                               .count();
  auto matches = [&](const json::Value& expected) {
    // Discovery at start runs in the background: the test waits for an issuer that will be found.
    if (expected.has("username"))
      for (int i = 0; i < 500 && !jwt->issuers()->health().empty(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    auto identity = ask(chain, sign_token(key, "ES256",
                                          json::Value::object({{"iss", issuer.url()},
                                                               {"sub", "john_doe"},
                                                               {"aud", "foo"},
                                                               {"exp", now + 1200}})));
    return expected.has("username")
               ? identity && identity->user.name == expected["username"].as_string()
               : !identity;
  };
  const bool before_ok = matches(c["before"]);
  bool after_ok, counted;
  {
    authn::AuthenticationReload reload({.file = file.path(),
                                        .text = before,
                                        .anonymous = config->anonymous,
                                        .patience = std::chrono::milliseconds(2000),
                                        .poll = std::chrono::hours(1)},
                                       parts, *jwt, metrics);
    file.write(after);
    reload.look();
    const bool success = c["reloadStatus"].as_string() == "success";
    after_ok = matches(c["after"]);
    reload.look();  // content that was refused is not counted again
    counted = success ? metrics.reloads(true) == 1 && metrics.reloads(false) == 0
                      : metrics.reloads(true) == 0 && metrics.reloads(false) > 0;
    if (c.has("failureCount"))
      counted = counted &&
                metrics.reloads(false) == static_cast<std::uint64_t>(c["failureCount"].as_int());
  }
  counts.check(before_ok && after_ok && counted);
  if (!before_ok || !after_ok || !counted)
    differ(
        c,
        cat("before ", before_ok ? "as expected" : "wrong", ", after ",
            after_ok ? "as expected" : "wrong", ", counters ", counted ? "as expected" : "wrong"),
        json::print(c["after"]));
}

}  // namespace

Counts run_authn_config(const std::string& path) {
  Counts counts;
  const json::Value data = read(path);
  for (const json::Value& c : data["validation"].items()) run_validation(c, counts);
  for (const json::Value& c : data["load"].items()) run_load(c, counts);
  for (const json::Value& c : data["flags"].items()) run_flags(c, counts);
  for (const json::Value& c : data["reload"].items()) run_reload(c, counts);
  return counts;
}

}  // namespace cardea::conformance
