#pragma once
#include <memory>
#include <string>
#include <vector>

#include "authn/authenticator.h"

namespace cardea::authn {

// Requests without credentials are system:anonymous when they ask for exactly one of `paths`, and
// nobody otherwise.
std::unique_ptr<Authenticator> anonymous_authenticator_for(std::vector<std::string> paths);

}  // namespace cardea::authn
