#pragma once
#include "authz/attributes.h"

namespace cardea::authz {

// Whether it is a connection to a running part of an object, which takes the verb `create` beside
// its own: pods/exec, pods/attach, pods/portforward, and the proxies of pods, services and nodes.
// Conditions on it see its options. Reading a log is a read.
bool is_connection(const Attributes& attributes);

// Whether a request goes through admission with an object, so that a conditional decision about
// it can be evaluated: writes of one kind, connections (whose object is their options), and access
// reviews, which are objects in this respect. Reads never do.
bool may_be_conditional(const Attributes& attributes);

}  // namespace cardea::authz
