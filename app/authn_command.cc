#include "app/authn_command.h"

#include <cstdio>
#include <future>

#include "app/command_line.h"
#include "app/known_resources.h"
#include "app/output.h"
#include "app/text_table.h"
#include "authn/jwt/authentication_config.h"
#include "authn/jwt/authentication_validation.h"
#include "authn/jwt/fetch.h"
#include "authn/jwt/jwks.h"
#include "authn/jwt/token_checks.h"
#include "authz/user_info.h"
#include "base/clock.h"
#include "base/strings.h"
#include "json/parse.h"
#include "net/loop.h"
#include "upstream/proxy_environment.h"

namespace cardea::app {

using json::Value;

namespace {

struct Configuration {
  authn::AuthenticationConfig config;
  std::vector<authn::ClaimRules> rules;  // one for each issuer
};

Result<Configuration> load(const std::string& file) {
  auto text = read_input(file);
  if (!text) return fail(text.error());
  Configuration out;
  auto config = authn::read_authentication_config(file, std::move(*text));
  if (!config) return fail(config.error());
  out.config = std::move(*config);
  json::FieldErrors errors = authn::validate(out.config, {}, &out.rules);
  if (!errors.empty()) return fail(bad_request(cat("`", file, "`: ", authn::message_of(errors))));
  return out;
}

// --- test ---------------------------------------------------------------------------------------

struct TestOptions {
  std::string config, token = "-", jwks, output = "table";
};

// What was found on the way, for people and for programs.
struct Findings {
  Value document = Value::object({});
  TextTable table{{"STEP", "RESULT"}};

  void note(std::string_view step, const std::string& result) {
    document.set(step, result);
    table.add({std::string(step), result});
  }
};

Result<std::string> get(authn::Fetcher& fetcher, const std::string& url) {
  std::promise<Result<http::Answer>> promise;
  fetcher.get(url, "", [&promise](Result<http::Answer> a) { promise.set_value(std::move(a)); });
  Result<http::Answer> answer = promise.get_future().get();
  if (!answer) return fail(answer.error());
  if (answer->status != 200)
    return fail(bad_request(cat("`", url, "` answered with status ", answer->status)));
  return std::move(answer->body);
}

std::string discovery_url(const authn::IssuerConfig& issuer) {
  if (!issuer.discovery_url.empty()) return issuer.discovery_url;
  std::string_view url = issuer.url;
  while (url.ends_with('/')) url.remove_suffix(1);
  return cat(url, "/.well-known/openid-configuration");
}

// The issuer's published keys.
Result<std::string> fetch_keys(const authn::IssuerConfig& issuer) {
  net::Loops loops{1};
  auto dialer = upstream::dialer_of_environment();
  if (!dialer) return fail(dialer.error());
  auto fetcher = authn::make_fetcher(loops.at(0), **dialer, issuer.certificate_authority);
  if (!fetcher) return fail(fetcher.error());
  auto text = get(**fetcher, discovery_url(issuer));
  if (!text) return fail(text.error());
  auto document = json::parse(*text);
  if (!document) return fail(bad_request("the discovery document is not JSON"));
  if (std::string_view said = (*document)["issuer"].as_string(); said != issuer.url)
    return fail(bad_request(cat("the discovery document is of the issuer `", said, "`")));
  return get(**fetcher, std::string((*document)["jwks_uri"].as_string()));
}

Result<std::shared_ptr<const authn::KeySet>> keys_for(const TestOptions& o,
                                                      const authn::IssuerConfig& issuer) {
  auto text = o.jwks.empty() ? fetch_keys(issuer) : read_input(o.jwks);
  if (!text) return fail(text.error());
  return authn::parse_key_set(*text);
}

std::string origin(const authn::PrefixedClaim& from) {
  if (!from.expression.empty()) return cat("from the expression `", from.expression, "`");
  if (from.claim.empty()) return "";
  std::string prefix = from.prefix.value_or("");
  return cat("from the claim `", from.claim, "`",
             prefix.empty() ? "" : cat(" with the prefix `", prefix, "`"));
}

void note_user(const authz::User& user, const authn::ClaimMappings& from, Findings& found) {
  auto with = [](const std::string& value, const std::string& where) {
    return where.empty() ? value : cat(value, " (", where, ")");
  };
  found.note("username", with(user.name, origin(from.username)));
  if (!user.uid.empty()) found.note("uid", with(user.uid, origin(from.uid)));
  if (!user.groups.empty())
    found.note("groups", with(join(user.groups, ", "), origin(from.groups)));
  for (const authn::ExtraMapping& extra : from.extra)
    if (auto values = user.extra.find(extra.key); values != user.extra.end())
      found.note(cat("extra ", extra.key),
                 with(join(values->second, ", "),
                      cat("from the expression `", extra.value_expression, "`")));
}

// Why the token is refused; empty when it is accepted.
std::string judge(const Configuration& c, const std::string& token, const TestOptions& o,
                  Findings& found) {
  auto jwt = authn::parse_jwt(token);
  if (!jwt) return jwt.error().message;
  const std::string issuer(jwt->issuer());
  std::size_t at = 0;
  while (at < c.config.jwt.size() && c.config.jwt[at].issuer.url != issuer) ++at;
  if (at == c.config.jwt.size())
    return cat("no issuer of the configuration is `", issuer, "`, as the token says");
  const authn::JwtConfig& config = c.config.jwt[at];
  found.note("issuer", cat(issuer, " (jwt[", at, "])"));
  auto algorithm = authn::check_token(
      *jwt, {config.issuer.url, config.issuer.audiences, authn::AlgorithmSet::all()},
      SystemClock().now());
  if (!algorithm) return algorithm.error().message;
  found.note("token", cat("signed with ", jwt->algorithm, ", for this audience, not expired"));
  auto keys = keys_for(o, config.issuer);
  if (!keys) return cat("the issuer's keys cannot be had: ", keys.error().message);
  if (!(*keys)->verifier_of(*jwt, *algorithm))
    return cat("none of the issuer's ", (*keys)->keys.size(), " keys made the signature");
  found.note("signature", jwt->key_id.empty() ? "valid" : cat("valid, key ", jwt->key_id));
  auto user = c.rules[at].user_of(jwt->claims);
  if (!user) return user.error().message;
  note_user(*user, config.mappings, found);
  return "";
}

// --- explain ------------------------------------------------------------------------------------

std::string sentence(std::string_view what, const authn::PrefixedClaim& from) {
  std::string where = origin(from);
  return cat("  ", what, where.empty() ? ": none" : ": ", where, "\n");
}

std::string explained(const authn::JwtConfig& c, std::size_t number) {
  std::string out = cat("jwt[", number, "]: tokens of ", c.issuer.url, "\n");
  out += cat("  keys: from ", discovery_url(c.issuer), ", trusted by ",
             c.issuer.certificate_authority.empty() ? "the system's roots" : "its own CA", "\n");
  out += cat("  audience: one of ", join(c.issuer.audiences, ", "), "\n");
  for (const authn::ClaimRule& rule : c.claim_rules)
    out += rule.expression.empty()
               ? cat("  refused unless the claim `", rule.claim, "` is `", rule.required_value,
                     "`\n")
               : cat("  refused unless `", rule.expression, "`: ", rule.message, "\n");
  out += sentence("user name", c.mappings.username);
  out += sentence("groups", c.mappings.groups);
  out += sentence("uid", c.mappings.uid);
  for (const authn::ExtraMapping& e : c.mappings.extra)
    out += cat("  extra ", e.key, ": from the expression `", e.value_expression, "`\n");
  for (const authn::UserRule& rule : c.user_rules)
    out += cat("  the user is refused unless `", rule.expression, "`: ", rule.message, "\n");
  return out;
}

std::string explained(const std::optional<authn::AnonymousConfig>& anonymous) {
  if (!anonymous) return "anonymous requests: as --anonymous-auth says\n";
  if (!anonymous->enabled) return "anonymous requests: refused\n";
  if (anonymous->paths.empty()) return "anonymous requests: accepted\n";
  return cat("anonymous requests: accepted for ", join(anonymous->paths, ", "), " alone\n");
}

}  // namespace

int authn_test_command(int argc, char** argv) {
  TestOptions o;
  CommandLine line(
      {"authn test",
       "Checks a token as a server with this AuthenticationConfiguration would: which issuer, "
       "which claim becomes what, which rule refuses it and why. The issuer's keys are fetched "
       "from it, or read from a file. The token is printed nowhere. Exits with 0 when the token "
       "is accepted, 1 when it is refused, and 2 when this cannot be told.",
       {"authn test --config FILE [--token TOKEN|-] [flags]"},
       {"cardea authn test --config authn.yaml --jwks keys.json < token",
        "cardea authn test --config authn.yaml --token \"$TOKEN\" -o json"}});
  line.value("--config", o.config, "FILE", "the AuthenticationConfiguration");
  line.value("--token", o.token, "TOKEN", "the token; `-` (the default) is standard input");
  line.value("--jwks", o.jwks, "FILE", "the issuer's keys, a JWK set; nothing is fetched then");
  declare_output(line, o.output);
  if (auto status = line.read(argc, argv)) return *status;
  if (o.config.empty()) return line.misuse("`--config` is required");
  auto configuration = load(o.config);
  if (!configuration) return line.failed(configuration.error().message);
  std::string token = o.token;
  if (token == "-") {
    auto text = read_input("-");
    if (!text) return line.failed(text.error().message);
    token = trim(*text);
  }
  Findings found;
  std::string refusal = judge(*configuration, token, o, found);
  found.note("result", refusal.empty() ? "accepted" : cat("refused: ", refusal));
  if (!print_document(o.output, found.document)) std::fputs(found.table.text().c_str(), stdout);
  return refusal.empty() ? 0 : 1;
}

int authn_explain_command(int argc, char** argv) {
  std::string file;
  CommandLine line({"authn explain",
                    "Says in words what an AuthenticationConfiguration means: whose tokens are "
                    "accepted, what makes the user, and what is refused. Exits with 0, and with 2 "
                    "when the file is not valid.",
                    {"authn explain --config FILE"},
                    {"cardea authn explain --config authn.yaml"}});
  line.value("--config", file, "FILE", "the AuthenticationConfiguration; `-` is standard input");
  if (auto status = line.read(argc, argv)) return *status;
  if (file.empty()) return line.misuse("`--config` is required");
  auto configuration = load(file);
  if (!configuration) return line.failed(configuration.error().message);
  const authn::AuthenticationConfig& config = configuration->config;
  for (std::size_t i = 0; i < config.jwt.size(); ++i)
    std::fputs(explained(config.jwt[i], i).c_str(), stdout);
  std::fputs(explained(config.anonymous).c_str(), stdout);
  return 0;
}

}  // namespace cardea::app
