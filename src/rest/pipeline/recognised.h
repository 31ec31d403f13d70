#pragma once
#include <string>

#include "authn/authenticator.h"
#include "base/task.h"
#include "http/exchange.h"

namespace cardea::rest::pipeline {

// Who asks: the user, and how they were recognised.
struct Recognised {
  authn::Identity identity;
};

// Takes the credentials off the request. The error is a 401 that says nothing; `why`, when not
// null, gets the reason.
Task<Result<Recognised>> recognise(const authn::AuthenticatorChain& authenticators,
                                   http::Exchange& exchange, std::string* why);

}  // namespace cardea::rest::pipeline
