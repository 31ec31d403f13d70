#pragma once
#include <memory>

#include "authz/authorizer.h"
#include "base/task.h"
#include "impersonation/attempt.h"

namespace cardea::impersonation {

// The answer to the attempt's question: conditions are evaluated with the impersonated request.
// What still depends on the object stays conditional where the attempt may stay open, and allows
// nothing otherwise.
Task<authz::Decision> settle(std::shared_ptr<const authz::Chain> chain, const Attempt& attempt,
                             authz::Decision decision);

}  // namespace cardea::impersonation
