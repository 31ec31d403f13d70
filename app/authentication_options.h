#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "authn/jwt/oidc_flags.h"
#include "authn/request_header.h"

namespace cardea::app {

// The authentication flags of `cardea serve`. Each field is the flag of the same name.
struct AuthenticationOptions {
  std::string requestheader_client_ca_file;
  authn::RequestHeaderOptions request_header;

  std::vector<std::string> api_audiences;
  std::vector<std::string> service_account_issuers;  // the first one issues
  std::vector<std::string> service_account_key_files;
  std::string service_account_signing_key_file;
  std::string service_account_jwks_uri;
  std::chrono::seconds service_account_max_token_expiration{0};  // 0: no limit
  bool service_account_extend_token_expiration = true;

  bool bootstrap_tokens = false;
  std::string authentication_config;
  authn::OidcFlags oidc;
  bool anonymous_auth_given = false;  // --anonymous-auth was on the command line

  std::string webhook_config_file;
  std::string webhook_version = "v1beta1";
  std::chrono::seconds webhook_cache_ttl{120};
};

}  // namespace cardea::app
