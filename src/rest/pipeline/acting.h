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
  // What must hold for the object of the request before the sender may have acted for the user;
  // null: nothing.
  std::shared_ptr<const impersonation::OpenImpersonation> open = {};
};

// A user that the sender may not act for. For audit.
struct RefusedImpersonation {
  std::string user;
  impersonation::Mode mode = impersonation::Mode::kLegacy;  // the one whose refusal is told
};

// `sender`, unless headers name another user; then that user, if the sender may act for it. On
// success `sender` is moved from. `refused` is set when the sender may not.
Task<Result<Acting>> act(const Services& services, const impersonation::Impersonator& impersonator,
                         http::Exchange& exchange, const authz::RequestInfo& info,
                         authz::User& sender, std::optional<RefusedImpersonation>& refused);

}  // namespace cardea::rest::pipeline
