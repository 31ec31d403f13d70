#pragma once
#include <string>

#include "authn/authenticator.h"
#include "base/task.h"
#include "http/exchange.h"

namespace cardea::rest::pipeline {

// The user of the credentials, and how the user was authenticated.
struct Recognised {
  authn::Identity identity;
};

// Removes the credentials from the request. The error is a 401 without a reason; `why`, when
// not null, receives the reason.
Task<Result<Recognised>> recognise(const authn::AuthenticatorChain& authenticators,
                                   http::Exchange& exchange, std::string* why);

}  // namespace cardea::rest::pipeline
