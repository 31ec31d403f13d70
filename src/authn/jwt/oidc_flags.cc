#include "authn/jwt/oidc_flags.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::authn {

Result<bool> add_oidc_flag(OidcFlags& flags, std::string_view name, const std::string& value) {
  struct Row {
    std::string_view name;
    std::string OidcFlags::* field;
  };
  static constexpr Row kRows[] = {{"oidc-issuer-url", &OidcFlags::issuer_url},
                                  {"oidc-client-id", &OidcFlags::client_id},
                                  {"oidc-ca-file", &OidcFlags::ca_file},
                                  {"oidc-username-claim", &OidcFlags::username_claim},
                                  {"oidc-username-prefix", &OidcFlags::username_prefix},
                                  {"oidc-groups-claim", &OidcFlags::groups_claim},
                                  {"oidc-groups-prefix", &OidcFlags::groups_prefix}};
  bool known = false;
  for (const Row& row : kRows)
    if (row.name == name) {
      flags.*row.field = value;
      known = true;
    }
  const bool again = std::ranges::find(flags.given, name) != flags.given.end();
  if (name == "oidc-signing-algs") {
    if (!again) flags.signing_algs.clear();
    for (std::string_view one : split(value, ',')) flags.signing_algs.emplace_back(one);
    known = true;
  } else if (name == "oidc-required-claim") {
    for (std::string_view pair : split(value, ',')) {
      const auto equals = pair.find('=');
      if (equals == pair.npos || equals == 0)
        return fail(bad_request(
            cat("--oidc-required-claim: malformed pair, expect string=string: `", pair, "`")));
      flags.required_claims[std::string(pair.substr(0, equals))] = pair.substr(equals + 1);
    }
    known = true;
  }
  if (known && !again) flags.given.emplace_back(name);
  return known;
}

Result<OidcFlags> parse_oidc_flags(const std::vector<std::string>& arguments,
                                   std::vector<std::string>& others) {
  OidcFlags flags;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view argument = arguments[i];
    if (!argument.starts_with("--oidc-")) {
      others.emplace_back(argument);
      continue;
    }
    const auto equals = argument.find('=');
    const std::string_view name = argument.substr(
        2, equals == argument.npos ? argument.npos : equals - 2);
    if (equals == argument.npos && i + 1 == arguments.size())
      return fail(bad_request(cat("flag needs an argument: --", name)));
    const std::string value(equals == argument.npos ? std::string_view(arguments[++i])
                                                    : argument.substr(equals + 1));
    auto known = add_oidc_flag(flags, name, value);
    if (!known) return fail(std::move(known.error()));
    if (!*known) return fail(bad_request(cat("unknown flag: --", name)));
  }
  return flags;
}

Result<void> check_oidc_flags(const OidcFlags& flags, bool has_config_file) {
  if (flags.given.empty()) return {};
  if (has_config_file)
    return fail(bad_request("authentication-config file and oidc-* flags are mutually exclusive"));
  if (flags.issuer_url.empty() || flags.client_id.empty())
    return fail(
        bad_request("oidc-issuer-url and oidc-client-id must be specified together when any oidc-* "
                    "flags are set"));
  return {};
}

AuthenticationConfig config_of(const OidcFlags& flags, const std::string& ca) {
  if (flags.given.empty()) return {};
  JwtConfig jwt;
  jwt.issuer.url = flags.issuer_url;
  jwt.issuer.certificate_authority = ca;
  jwt.issuer.audiences = {flags.client_id};
  std::string prefix = flags.username_prefix;
  // A name that other issuers could give too gets its issuer as a prefix, unless the operator
  // says otherwise.
  if (prefix.empty() && flags.username_claim != "email") prefix = flags.issuer_url + "#";
  if (prefix == "-") prefix.clear();
  jwt.mappings.username = {.claim = flags.username_claim, .prefix = prefix, .expression = {}};
  if (!flags.groups_claim.empty())
    jwt.mappings.groups = {
        .claim = flags.groups_claim, .prefix = flags.groups_prefix, .expression = {}};
  for (const auto& [claim, value] : flags.required_claims)
    jwt.claim_rules.push_back(
        {.claim = claim, .required_value = value, .expression = {}, .message = {}});
  AuthenticationConfig config;
  config.jwt.push_back(std::move(jwt));
  return config;
}

Result<AlgorithmSet> algorithms_of(const OidcFlags& flags) {
  AlgorithmSet set;
  for (const std::string& name : flags.signing_algs) {
    auto algorithm = algorithm_named(name);
    if (!algorithm) return fail(bad_request(cat("oidc: unsupported signing alg: ", quoted(name))));
    set.add(*algorithm);
  }
  return set;
}

}  // namespace cardea::authn
