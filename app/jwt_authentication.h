#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/authentication_options.h"
#include "authn/jwt/authentication_reload.h"
#include "authn/jwt/jwt_authenticators.h"
#include "base/log.h"

namespace cardea::app {

// The parts that JWT authentication is built from. All of them must outlive it.
struct JwtParts {
  net::Loop& loop;
  net::Dialer& dialer;
  authn::EgressDialers egress;
  const Clock& clock;
  const Log& log;
  std::vector<std::string> audiences;        // of this server
  std::vector<std::string> account_issuers;  // of service account tokens: no other issuer may use
                                             // these names
  std::string server_id;
  bool anonymous_auth = true;    // the flag
  bool egress_selectors = true;  // the feature gate
};

// JWT and anonymous authentication by the configuration. With a file, its changes are loaded.
struct JwtAuthentication {
  std::unique_ptr<authn::AuthenticationMetrics> metrics;
  std::shared_ptr<authn::JwtAuthenticators> authenticators;
  std::shared_ptr<const authn::Authenticator> anonymous;  // null: anonymous requests are refused
  std::unique_ptr<authn::AuthenticationReload> reload;    // null without a file
};

// What --authentication-config or the --oidc-* flags say.
struct JwtSource {
  authn::AuthenticationConfig config;
  std::string text;  // of the file, or empty
  authn::AlgorithmSet algorithms = authn::AlgorithmSet::all();
};
Result<JwtSource> read_jwt_source(const AuthenticationOptions& options);

Result<JwtAuthentication> make_jwt_authentication(const AuthenticationOptions& options,
                                                  const JwtParts& parts);

}  // namespace cardea::app
