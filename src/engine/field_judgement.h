#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "cardea/fields.h"
#include "engine/change.h"
#include "engine/question.h"
#include "engine/state.h"

namespace cardea::engine {

// What a change takes, field by field.
Result<std::vector<v1::FieldDemand>> field_demands(const State& state, const KnownChange& change);
// Whether the user of the question may make it.
Result<v1::FieldJudgement> judged_fields(const State& state, const Question& question,
                                         const KnownChange& change);

}  // namespace cardea::engine
