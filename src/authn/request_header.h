#pragma once
#include <memory>
#include <string>
#include <vector>

#include "authn/authenticator.h"

namespace cardea::authn {

// Which headers a front proxy sets about whom it speaks for.
struct RequestHeaderOptions {
  std::vector<std::string> username_headers;  // the first that is not empty counts
  std::vector<std::string> uid_headers;
  std::vector<std::string> group_headers;   // all values of all of them
  std::vector<std::string> extra_prefixes;  // `X-Remote-Extra-Scopes: a` is extra `scopes`
  std::vector<std::string> allowed_names;   // common names of the proxy's certificate; empty: any
};

// Believes the headers of a proxy whose certificate a front proxy CA vouches for. From anybody else
// they mean nothing.
std::unique_ptr<Authenticator> request_header_authenticator(RequestHeaderOptions options);

// Takes those headers off a request, whoever sent them, so that nothing behind authentication
// believes them.
void strip_request_headers(const RequestHeaderOptions& options, http::Headers& headers);

}  // namespace cardea::authn
