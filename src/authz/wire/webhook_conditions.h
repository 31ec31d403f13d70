#pragma once
#include <string>
#include <string_view>

#include "authz/conditions.h"
#include "authz/wire/decision_json.h"
#include "base/result.h"
#include "json/value.h"

// The parts of a webhook's answers about conditions, and the questions about them. Pure
// functions.
namespace cardea::authz::wire {

// Adds to the spec of a review the forms in which conditions may be answered.
void invite_conditions(json::Value& spec, Dialect dialect);

// The decision in the status of an answered review.
//
// An answer that allows and denies denies, with an error, whatever was declared. A conditional
// answer is read in the requested dialect; if no conditions were requested, it means Deny if it
// contains a Deny, else NoOpinion, with an error. The Error is for malformed answers: then the
// failure policy decides.
Result<Decision> decision_in_status(const json::Value& status, Dialect asked);

// The review that asks the author of `open` whether its conditions hold. `uid` identifies the
// answer.
json::Value conditions_review(const Decision& open, const ConditionData& data, std::string_view uid,
                              Dialect dialect);

// The decision in the answer: within the outcomes that `open` leaves possible, otherwise failed
// closed, with an error. A review without a response, with another uid, of another kind, or
// with more than one answer fails closed. For an `evaluationError` the failure mode of the
// conditions decides (`despite_error`).
Decision settled_by(const json::Value& answer, const Decision& open, std::string_view uid,
                    Dialect dialect);

}  // namespace cardea::authz::wire
