#pragma once
#include <string>
#include <vector>

#include "authn/jwt/jwt_authenticators.h"

namespace cardea::app {

// Where people can sign in to the page of --ui: the issuers whose tokens this server accepts for a
// client of the page. The client is a public one, so nothing here is a secret.
struct UiSignIn {
  struct Issuer {
    std::string url, origin;  // https://login.example.com/realm, https://login.example.com
    std::string client_id;
  };
  std::vector<Issuer> issuers;
  std::vector<std::string> scopes;  // beside `openid`

  std::string document() const;  // JSON, for the page
};

// Those of `issuers` with one of `clients` among their audiences. The first that fits counts.
UiSignIn ui_sign_in(const authn::IssuerSet& issuers, const std::vector<std::string>& clients,
                    const std::vector<std::string>& scopes);

// The origin of an https URL as a content policy names it; empty for anything else.
std::string origin_of(const std::string& url);

}  // namespace cardea::app
