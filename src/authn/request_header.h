#pragma once
#include <memory>
#include <string>
#include <vector>

#include "authn/authenticator.h"

namespace cardea::authn {

// The headers in which a front proxy names the user of a request.
struct RequestHeaderOptions {
  std::vector<std::string> username_headers;  // the first that is not empty counts
  std::vector<std::string> uid_headers;
  std::vector<std::string> group_headers;   // all values of all of them
  std::vector<std::string> extra_prefixes;  // `X-Remote-Extra-Scopes: a` is extra `scopes`
  std::vector<std::string> allowed_names;   // common names of the proxy's certificate; empty: any
};

// Trusts the headers of a proxy with a certificate that a front proxy CA signed. On all other
// connections the headers have no meaning.
std::unique_ptr<Authenticator> request_header_authenticator(RequestHeaderOptions options);

// Removes those headers from a request of any sender, so that no later station trusts them.
void strip_request_headers(const RequestHeaderOptions& options, http::Headers& headers);

}  // namespace cardea::authn
