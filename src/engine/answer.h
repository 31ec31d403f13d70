#pragma once
#include <memory>
#include <optional>
#include <utility>

#include "base/task.h"
#include "cardea/decision.h"
#include "engine/change.h"
#include "engine/question.h"
#include "engine/state.h"

namespace cardea::v1 {

// What a Decision is made of.
struct Decision::Content {
  authz::Decision decision;
  // Of a conditional decision: what it was made from. Null otherwise.
  std::shared_ptr<const engine::State> state;
  std::shared_ptr<const engine::Question> question;
};

}  // namespace cardea::v1

namespace cardea::engine {

enum class Folding : bool { kNo, kYes };

// The answer of a chain whose authorizers all answer at once.
authz::Decision answer(const State& state, const authz::Attributes& attributes,
                       Folding folding = Folding::kNo);
// The outcome of a conditional answer.
authz::Decision settled(const State& state, const authz::Decision& open,
                        const authz::ConditionData& data);

v1::Outcome outcome_of(authz::Decision::Kind kind);
v1::Decision public_decision(authz::Decision decision);
v1::Decision public_decision(authz::Decision decision, std::shared_ptr<const State> state,
                             std::shared_ptr<const Question> question);

}  // namespace cardea::engine
