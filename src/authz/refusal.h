#pragma once
#include "authz/authorizer.h"
#include "base/error.h"

namespace cardea::authz {

// The 403 for `decision`. Message, reason and details are Kubernetes'. For callers that may
// `get` the roles involved, `details.causes` lists the rules that almost matched, and what they
// lack. A caller that may not read a role learns nothing about it. If an authorizer of the
// chain would have to wait, its answer counts as a no.
Error refusal(const Chain& chain, const Attributes& attributes, const Decision& decision);

// The rules that almost allowed a request, of the roles that `reader` may `get`.
std::vector<Hint> readable_hints(const Chain& chain, const Attributes& attributes,
                                 const User& reader);

}  // namespace cardea::authz
