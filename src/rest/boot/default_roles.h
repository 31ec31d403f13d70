#pragma once
#include "base/result.h"
#include "rest/loopback.h"

namespace cardea::rest {

// Restores the default roles and bindings so that they exist and give at least their default
// permissions. Additions stay, and an object whose `autoupdate` annotation is "false" is not
// changed. From outside the loops, before clients are served.
Result<void> reconcile_default_roles(const Loopback& api);

}  // namespace cardea::rest
