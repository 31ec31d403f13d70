#pragma once
#include "authz/authorizer.h"
#include "base/error.h"

namespace cardea::authz {

// The 403 that tells what `decision` means. Message, reason and details are Kubernetes';
// `details.causes` is added for those who may `get` the roles involved: which rules came near, and
// what they lacked. Who may not read the roles learns nothing from it. An authorizer of the chain
// that would have to be waited for counts as a no.
Error refusal(const Chain& chain, const Attributes& attributes, const Decision& decision);

}  // namespace cardea::authz
