#pragma once
#include <memory>

#include "authz/authorizer.h"
#include "rest/call.h"

namespace cardea::rest {

// Further questions of a request to a chain of authorizers. An authorizer on another server, or one
// that evaluates conditions, may answer on another thread: these come back to the loop of the
// request's connection before they return. Both keep the chain until then.

Task<authz::Chain::Verdict> ask_chain(Call& call, std::shared_ptr<const authz::Chain> chain,
                                      authz::Attributes attributes,
                                      authz::Asking asking = authz::Asking::kFolded);

// Evaluates the conditions of a decision of this chain. `data` borrows until the return.
Task<authz::Decision> settle_decision(Call& call, std::shared_ptr<const authz::Chain> chain,
                                      authz::Decision conditional, authz::ConditionData data);

}  // namespace cardea::rest
