#include "engine/answer.h"

#include "authz/eligibility.h"

namespace cardea::engine {

using authz::Decision;

namespace {

// Everything the engine awaits is there at once: whatever is not counts as no answer.
template <typename T>
std::optional<T> at_once(Task<T> task) {
  auto kept = std::make_shared<std::optional<T>>();
  spawn(std::move(task), [kept](T value) { kept->emplace(std::move(value)); });
  return std::move(*kept);
}

}  // namespace

Decision answer(const State& state, const authz::Attributes& attributes, Folding folding) {
  const bool is_open = folding == Folding::kNo && authz::may_be_conditional(attributes);
  auto decision = state.chain->answer(
      attributes, is_open ? authz::Asking::kConditionsAwareAtOnce : authz::Asking::kFolded);
  if (!decision) return Decision::no_opinion("", "an authorizer did not answer");
  return std::move(*decision);
}

Decision settled(const State& state, const Decision& open, const authz::ConditionData& data) {
  auto decision = at_once(state.chain->evaluate(open, data));
  if (!decision || decision->kind == Decision::Kind::kConditional)
    return authz::failed(open, "the conditions could not be settled");
  return std::move(*decision);
}

v1::Outcome outcome_of(Decision::Kind kind) {
  switch (kind) {
    case Decision::Kind::kAllow:
      return v1::Outcome::kAllow;
    case Decision::Kind::kNoOpinion:
      return v1::Outcome::kNoOpinion;
    case Decision::Kind::kConditional:
      return v1::Outcome::kConditional;
    case Decision::Kind::kDeny:
      break;
  }
  return v1::Outcome::kDeny;
}

v1::Decision public_decision(Decision decision) {
  return public_decision(std::move(decision), nullptr, nullptr);
}

v1::Decision public_decision(Decision decision, std::shared_ptr<const State> state,
                             std::shared_ptr<const Question> question) {
  return v1::Decision(std::make_shared<const v1::Decision::Content>(
      v1::Decision::Content{std::move(decision), std::move(state), std::move(question)}));
}

}  // namespace cardea::engine
