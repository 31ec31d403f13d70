#pragma once
#include <optional>

#include "impersonation/impersonation.h"
#include "rest/call.h"

namespace cardea::rest::pipeline {

// The user for whom the request is served from here on.
struct Acting {
  authz::User user;
  std::optional<impersonation::Deputy> deputy = {};  // the sender of a request that impersonates
                                                     // another user
};

// `sender`, unless headers name another user; then that user, if the sender may act for it. On
// success `sender` is moved from.
Task<Result<Acting>> act(const Services& services, const impersonation::Impersonator& impersonator,
                         http::Exchange& exchange, const authz::RequestInfo& info,
                         authz::User& sender);

}  // namespace cardea::rest::pipeline
