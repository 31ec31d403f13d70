#pragma once
#include <memory>

#include "authz/authorizer.h"
#include "base/task.h"
#include "impersonation/attempt.h"

namespace cardea::impersonation {

// The answer to the attempt's question without conditions: they are evaluated with the impersonated
// request. What is still conditional then allows nothing.
Task<authz::Decision> settle(std::shared_ptr<const authz::Chain> chain, const Attempt& attempt,
                             authz::Decision decision);

}  // namespace cardea::impersonation
