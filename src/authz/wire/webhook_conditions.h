#pragma once
#include <string>
#include <string_view>

#include "authz/conditions.h"
#include "authz/wire/decision_json.h"
#include "base/result.h"
#include "json/value.h"

// What a webhook authorizer says about conditions, and what it is asked about them. Pure functions.
namespace cardea::authz::wire {

// Adds to the spec of a review how conditions may be answered.
void invite_conditions(json::Value& spec, Dialect dialect);

// What the status of an answered review decides.
//
// An answer that allows and denies denies, with an error, whatever anybody declared. A conditional
// one is read in the dialect that was asked for; to a question that did not ask for it, it means
// Deny if that stands anywhere in it, else NoOpinion, with an error. The Error is for what is
// malformed: the failure policy decides then.
Result<Decision> decision_in_status(const json::Value& status, Dialect asked);

// The review of conditions that asks the author of `open` whether they hold. `uid` tells answers
// apart.
json::Value conditions_review(const Decision& open, const ConditionData& data, std::string_view uid,
                              Dialect dialect);

// What the answer to it decides: within what `open` leaves possible, otherwise failed closed, with
// an error. A review without a response, with another uid, of another kind, or with more than one
// answer fails closed. An `evaluationError` is decided by the failure mode of the conditions
// (`despite_error`).
Decision settled_by(const json::Value& answer, const Decision& open, std::string_view uid,
                    Dialect dialect);

}  // namespace cardea::authz::wire
