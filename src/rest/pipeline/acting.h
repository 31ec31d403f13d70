#pragma once
#include <optional>

#include "impersonation/impersonation.h"
#include "rest/call.h"

namespace cardea::rest::pipeline {

// In whose name: from here on the request is this user's.
struct Acting {
  authz::User user;
  std::optional<impersonation::Deputy> deputy = {};  // who sends a request that is served for
                                                     // somebody else
};

// `sender` unless headers ask for somebody else, and then that user, if the sender may act for
// them. Where it succeeds, `sender` is moved from.
Task<Result<Acting>> act(const Services& services, const impersonation::Impersonator& impersonator,
                         http::Exchange& exchange, const authz::RequestInfo& info,
                         authz::User& sender);

}  // namespace cardea::rest::pipeline
