#pragma once
#include "base/result.h"
#include "rest/loopback.h"

namespace cardea::rest {

// Sees that the default roles and bindings exist and give what they should, whatever was done to
// them since the last start; what somebody added stays, and an object whose `autoupdate` annotation
// says "false" is left alone. From outside the loops, before clients are served.
Result<void> reconcile_default_roles(const Loopback& api);

}  // namespace cardea::rest
