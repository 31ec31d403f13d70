#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "authn/jwt/authentication_config.h"
#include "authn/jwt/token_checks.h"

namespace cardea::authn {

// One issuer as the `--oidc-*` flags describe it. Each field is the flag of the same name; `given`
// are the names of those that were on the command line, with their default value or another.
struct OidcFlags {
  std::string issuer_url, client_id, ca_file;
  std::string username_claim = "sub", username_prefix;
  std::string groups_claim, groups_prefix;
  std::vector<std::string> signing_algs = {"RS256"};
  std::map<std::string, std::string> required_claims;
  std::vector<std::string> given;
};

// Takes the `--oidc-*` flags out of a command line, `--name=value` or `--name value`; other
// arguments are added to `others`.
Result<OidcFlags> parse_oidc_flags(const std::vector<std::string>& arguments,
                                   std::vector<std::string>& others);

// Adds one flag, named as on the command line without its dashes ("oidc-client-id"). False when
// the flag does not exist; an error when its value is wrong.
Result<bool> add_oidc_flag(OidcFlags& flags, std::string_view name, const std::string& value);

// Whether the flags fit together and with a configuration file; the messages are Kubernetes'.
Result<void> check_oidc_flags(const OidcFlags& flags, bool has_config_file);

// The configuration that means the same, when any flag was given. `ca` is the text of the CA file,
// or empty.
AuthenticationConfig config_of(const OidcFlags& flags, const std::string& ca);
Result<AlgorithmSet> algorithms_of(const OidcFlags& flags);

}  // namespace cardea::authn
