#pragma once
#include <string>

#include "base/random.h"
#include "rest/controllers/controllers.h"

namespace cardea::app {

// What this process is called among the servers of a cluster. As kube-apiserver does, by a hash of
// the host's name. `address` is where other servers reach it; empty: nowhere.
rest::ServerIdentity own_identity(Random& random, std::string address);

}  // namespace cardea::app
