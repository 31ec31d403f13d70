#include "authz/conditions.h"

#include <algorithm>
#include <set>

#include "base/strings.h"

namespace cardea::authz {
namespace {

constexpr std::size_t kMostConditions = 128;

Outcomes outcomes_of(const Conditions::Set& set) {
  Outcomes out{.no_opinion = true};
  for (const Condition& c : set.conditions) {
    out.allow |= c.effect == Condition::Effect::kAllow;
    out.deny |= c.effect == Condition::Effect::kDeny;
  }
  return out;
}

// An unconditional Allow or Deny anywhere in it ends the chain: nobody is left to have no opinion.
bool has_an_end(const Decision& decision) {
  if (decision.kind != Decision::Kind::kConditional) return decision.kind != Decision::Kind::kNoOpinion;
  const Conditions::Chain* chain = decision.conditions->chain();
  return chain && std::ranges::any_of(*chain, [](const NamedDecision& n) { return has_an_end(n.decision); });
}

Outcomes outcomes_of(const Conditions::Chain& chain) {
  Outcomes out{.no_opinion = true};
  for (const NamedDecision& n : chain) {
    Outcomes one = possible_outcomes(n.decision);
    out.allow |= one.allow;
    out.deny |= one.deny;
    if (has_an_end(n.decision)) out.no_opinion = false;
  }
  return out;
}

}  // namespace

Conditions::Conditions(Set set) : content_(std::move(set)), possible_(outcomes_of(std::get<Set>(content_))) {}
Conditions::Conditions(Chain chain) : content_(std::move(chain)), possible_(outcomes_of(std::get<Chain>(content_))) {}

Outcomes possible_outcomes(const Decision& decision) {
  switch (decision.kind) {
    case Decision::Kind::kAllow: return {.allow = true};
    case Decision::Kind::kNoOpinion: return {.no_opinion = true};
    case Decision::Kind::kConditional: return decision.conditions->possible();
    case Decision::Kind::kDeny: break;
  }
  return {.deny = true};
}

Decision::Kind failure_decision(const Decision& decision) {
  return possible_outcomes(decision).deny ? Decision::Kind::kDeny : Decision::Kind::kNoOpinion;
}

Decision folded(Decision decision) {
  if (decision.kind != Decision::Kind::kConditional) return decision;
  return {failure_decision(decision), {}, "", nullptr};
}

Decision conditional_on(Conditions::Set set) {
  if (set.conditions.empty()) return Decision::no_opinion({}, "a conditional answer without conditions");
  Outcomes possible = outcomes_of(set);
  Decision closed = possible.deny ? Decision::deny({}) : Decision::no_opinion();
  if (set.conditions.size() > kMostConditions) {
    closed.error = cat("too many conditions: ", set.conditions.size(), ", at most ", kMostConditions, " are allowed");
    return closed;
  }
  if (!possible.allow && !possible.deny) return Decision::no_opinion();
  std::set<std::string_view> ids;
  for (const Condition& c : set.conditions)
    if (!ids.insert(c.id).second) {
      closed.error = cat("duplicate condition id ", quoted(c.id));
      return closed;
    }
  return Decision::conditional(std::make_shared<const Conditions>(std::move(set)));
}

Decision fold(Conditions::Chain chain) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Decision& d = chain[i].decision;
    if (!has_an_end(d)) continue;
    chain.resize(i + 1);
    break;
  }
  bool is_conditional = std::ranges::any_of(
      chain, [](const NamedDecision& n) { return n.decision.kind == Decision::Kind::kConditional; });
  Outcomes possible = outcomes_of(chain);
  if (!is_conditional && !chain.empty() && !possible.no_opinion) return chain.back().decision;
  if (possible == Outcomes{.allow = true}) return chain.back().decision;
  if (possible == Outcomes{.deny = true}) return chain.back().decision;
  if (possible == Outcomes{.no_opinion = true}) return Decision::no_opinion();
  return Decision::conditional(std::make_shared<const Conditions>(std::move(chain)));
}

}  // namespace cardea::authz
