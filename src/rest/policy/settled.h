#pragma once
#include <memory>
#include <string>

#include "authz/authorizer.h"
#include "base/task.h"
#include "rest/call.h"
#include "rest/policy/review_question.h"

namespace cardea::rest::policy {

// The chain's answer to a review.
struct Settled {
  authz::Decision decision;  // never conditional: what is left open does not allow
  std::string open;  // the conditions that decide, for a person, when there was no object to decide
                     // with
};

// Asks `chain`, and evaluates conditions on the object with the question's content: the object
// that would be created or replace the stored object, or the object that would be deleted.
Task<Settled> settle_question(Call& call, std::shared_ptr<const authz::Chain> chain,
                              ReviewQuestion question, authz::User user);

}  // namespace cardea::rest::policy
