#pragma once
#include "authz/attributes.h"

namespace cardea::authz {

// Whether a request goes through admission with an object, so that a conditional decision about
// it can be evaluated: writes of one kind, and access reviews, which are objects in this
// respect. Streams to pods and proxies do not yet; reads never do.
bool may_be_conditional(const Attributes& attributes);

}  // namespace cardea::authz
