#pragma once
#include <memory>
#include <string>
#include <vector>

#include "authz/authorizer.h"
#include "base/task.h"
#include "impersonation/attempt.h"

namespace cardea::impersonation {

// One question of an attempt, with its answer. Owns its texts.
struct PlannedQuestion {
  bool is_resource_request = true;
  std::string verb, api_group, resource, subresource, namespace_name, name, path;
  authz::Decision decision;  // conditional: it depends on the object
  bool counts = true;        // false: a refusal of it refuses nothing, others are asked instead
};

// All questions of one mode, also those after the first refusal.
struct PlannedMode {
  Mode mode = Mode::kLegacy;
  std::vector<PlannedQuestion> questions;
  std::string flaw;  // why this mode can never allow it; empty: nothing is wrong

  bool is_allowed() const;
  // Allowed, or it depends on the object.
  bool may_be_allowed() const;
};

// Everything that an impersonation depends on: the modes that apply, in the order in which they are
// tried. The first that is allowed is the one that a request would use; if there is none, the first
// that may be allowed. `may_stay_open`: as of an Attempt.
//
// Decides nothing: a request is decided by Impersonator, which stops at the first answer.
Task<std::vector<PlannedMode>> plan(std::shared_ptr<const authz::Chain> chain, authz::User sender,
                                    authz::User asked, authz::RequestInfo request,
                                    Attempt::Rules rules, authz::Asking asking,
                                    bool may_stay_open = false);

}  // namespace cardea::impersonation
