#include "authz/evaluation.h"

#include "authz/authorizer.h"
#include "base/strings.h"

namespace cardea::authz {
namespace {

using Effect = Condition::Effect;

std::string with_description(const Condition& c) {
  return c.description.empty() ? quoted(c.id) : cat(quoted(c.id), " (", c.description, ")");
}

std::string decided_by(const Condition& c) {
  switch (c.effect) {
    case Effect::kDeny:
      return cat("condition ", with_description(c), " denied the request");
    case Effect::kNoOpinion:
      return cat("condition ", with_description(c), " has no opinion on the request");
    case Effect::kAllow:
      break;
  }
  return cat("condition ", with_description(c), " allowed the request");
}

// For the user that is refused: what would have been allowed.
std::string none_allowed(const Conditions::Set& set) {
  constexpr int kMostShown = 8;
  std::string out = "no condition allowed the request";
  int shown = 0;
  for (const Condition& c : set.conditions) {
    if (c.effect != Effect::kAllow) continue;
    if (++shown > kMostShown) return out + ", ...";
    out += cat(shown == 1 ? ": " : ", ", with_description(c));
  }
  return out;
}

// The conditions of one effect, looked at.
struct Look {
  const Condition* holds = nullptr;
  std::vector<std::string> errors;
  std::vector<Condition> open;  // and those with errors, which only count once all is known
  bool is_open = false;
};

Look look(const Conditions::Set& set, Effect effect, ConditionEvaluator& first,
          ConditionEvaluator* second) {
  Look out;
  for (const Condition& c : set.conditions) {
    if (c.effect != effect) continue;
    std::string error;
    Truth truth = first.truth(c, error);
    if (truth == Truth::kUnevaluatable && second) truth = second->truth(c, error);
    if (truth == Truth::kTrue) {
      out.holds = &c;
      return out;
    }
    if (truth == Truth::kError)
      out.errors.push_back(
          cat("condition ", quoted(c.id), " with effect ", effect_name(effect), ": ", error));
    if (truth != Truth::kFalse) out.open.push_back(c);
    out.is_open |= truth == Truth::kUnevaluatable;
  }
  return out;
}

// What stays open, together with all conditions of weaker effects.
Decision residual(const Conditions::Set& set, std::vector<Condition> open, Effect effect) {
  Conditions::Set left{.conditions = std::move(open), .failure_mode = set.failure_mode};
  for (const Condition& c : set.conditions)
    if (c.effect > effect) left.conditions.push_back(c);
  return conditional_on(std::move(left), Author::kOwnChecked);  // a part of what was checked
}

// What an error in the weightiest condition of `open` means; Allow when an error cannot take
// anything away.
Decision::Kind meaning_of_error(const Decision& open) {
  if (open.kind != Decision::Kind::kConditional) return Decision::Kind::kAllow;
  Decision::Kind out = Decision::Kind::kAllow;
  if (const Conditions::Set* set = open.conditions->set())
    for (const Condition& c : set->conditions) {
      if (c.effect == Effect::kDeny && set->failure_mode == Conditions::FailureMode::kDeny)
        return Decision::Kind::kDeny;
      if (c.effect != Effect::kAllow) out = Decision::Kind::kNoOpinion;
    }
  if (const Conditions::Chain* chain = open.conditions->chain())
    for (const NamedDecision& n : *chain) {
      Decision::Kind one = meaning_of_error(n.decision);
      if (one == Decision::Kind::kDeny) return one;
      if (one == Decision::Kind::kNoOpinion) out = one;
    }
  return out;
}

}  // namespace

Decision evaluated(const Conditions::Set& set, ConditionEvaluator& first,
                   ConditionEvaluator* second) {
  static_assert(Effect::kDeny < Effect::kNoOpinion && Effect::kNoOpinion < Effect::kAllow);
  for (Effect effect : {Effect::kDeny, Effect::kNoOpinion, Effect::kAllow}) {
    Look found = look(set, effect, first, second);
    if (found.holds) {
      Decision::Kind kind = effect == Effect::kDeny    ? Decision::Kind::kDeny
                            : effect == Effect::kAllow ? Decision::Kind::kAllow
                                                       : Decision::Kind::kNoOpinion;
      return {kind, decided_by(*found.holds), "", nullptr};
    }
    // What is still open may hold, which outdoes an error wherever an error does not have the
    // effect of the condition.
    bool outdoes = effect == Effect::kAllow ||
                   (effect == Effect::kDeny &&
                    set.failure_mode == Conditions::FailureMode::kNoOpinion);
    if (found.is_open && outdoes) return residual(set, std::move(found.open), effect);
    if (!found.errors.empty()) {
      bool denies = effect == Effect::kDeny && set.failure_mode == Conditions::FailureMode::kDeny;
      return {denies ? Decision::Kind::kDeny : Decision::Kind::kNoOpinion,
              "conditions could not be evaluated", aggregated(found.errors), nullptr};
    }
    if (found.is_open) return residual(set, std::move(found.open), effect);
  }
  return Decision::no_opinion(none_allowed(set));
}

Decision partially_evaluated(const Decision& decision, ConditionEvaluator& evaluator) {
  if (decision.kind != Decision::Kind::kConditional) return decision;
  if (const Conditions::Set* set = decision.conditions->set()) return evaluated(*set, evaluator);
  const Conditions::Chain* chain = decision.conditions->chain();
  if (!chain) return decision;
  Conditions::Chain out;
  bool is_open = false;
  for (const NamedDecision& n : *chain) {
    Decision next = is_open ? n.decision : partially_evaluated(n.decision, evaluator);
    is_open |= next.kind == Decision::Kind::kConditional;
    bool is_end = next.kind == Decision::Kind::kAllow || next.kind == Decision::Kind::kDeny;
    out.push_back({n.authorizer, std::move(next)});
    if (is_end) break;
  }
  return fold(std::move(out));
}

Decision despite_error(const Decision& open, Decision said) {
  Decision::Kind meaning = meaning_of_error(open);
  if (said.kind == Decision::Kind::kDeny || meaning == Decision::Kind::kAllow ||
      meaning == said.kind)
    return said;
  return {meaning, "conditions could not be evaluated", std::move(said.error), nullptr};
}

}  // namespace cardea::authz
