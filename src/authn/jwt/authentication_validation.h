#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "authn/jwt/authentication_config.h"
#include "authn/jwt/claim_rules.h"
#include "json/field_error.h"
#include "net/dialer.h"

namespace cardea::authn {

inline constexpr std::size_t kMaxJwtAuthenticators = 64;

// Facts about the rest of the server that a configuration depends on.
struct ValidationContext {
  std::vector<std::string> disallowed_issuers;  // those of service account tokens
  bool egress_selectors = true;                 // the feature gate
};

// All errors of the configuration, in Kubernetes' order and words. `rules` receives one entry
// per jwt[i]; they may be used only when there are no errors.
json::FieldErrors validate(const AuthenticationConfig& config, const ValidationContext& context,
                           std::vector<ClaimRules>* rules = nullptr);

// The same for one authenticator, with paths below `path` ("jwt[0]." or "").
json::FieldErrors validate(const JwtConfig& config, const ValidationContext& context,
                           const std::string& path, std::vector<ClaimRules>& rules);

// The ways to other networks, by the names that `egressSelectorType` uses.
using EgressDialers = std::map<std::string, net::Dialer*, std::less<>>;

// The way to the issuer; null when it names none. An error: the way that it names is not there.
Result<net::Dialer*> egress_of(const JwtConfig& config, const EgressDialers& there = {});

// One line for all of them: `a`, or `[a, b]`; each once.
std::string message_of(const json::FieldErrors& errors);

// The certificates of a PEM text as a bundle to trust: blocks named CERTIFICATE without headers. An
// error when there is none or one cannot be read.
Result<std::string> certificates_of(std::string_view pem);

}  // namespace cardea::authn
