#pragma once
#include <memory>
#include <string>
#include <vector>

#include "authn/authenticator.h"

namespace cardea::authn {

// Requests without credentials are system:anonymous if their path is exactly one of `paths`;
// other requests are refused.
std::unique_ptr<Authenticator> anonymous_authenticator_for(std::vector<std::string> paths);

}  // namespace cardea::authn
