#pragma once
#include "base/result.h"
#include "rest/loopback.h"

namespace cardea::rest {

// Restores the default roles and bindings so that they exist and give at least their default
// permissions. Additions stay, and an object whose `autoupdate` annotation is "false" is not
// changed. With conditional authorization, `system:auth-delegator` may also have conditions
// settled. From outside the loops, before clients are served.
Result<void> reconcile_default_roles(const Loopback& api, bool conditional_authorization);

}  // namespace cardea::rest
