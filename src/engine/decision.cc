#include "cardea/decision.h"

#include "base/strings.h"
#include "engine/answer.h"
#include "engine/guarded.h"

namespace cardea::v1 {
namespace {

Effect effect_of(authz::Condition::Effect effect) {
  switch (effect) {
    case authz::Condition::Effect::kAllow:
      return Effect::kAllow;
    case authz::Condition::Effect::kNoOpinion:
      return Effect::kNoOpinion;
    case authz::Condition::Effect::kDeny:
      break;
  }
  return Effect::kDeny;
}

// All conditions in `decision`, which the authorizer `who` gave.
void collect(const authz::Decision& decision, const std::string& who, std::vector<Condition>& out) {
  using Kind = authz::Decision::Kind;
  if (decision.kind == Kind::kAllow || decision.kind == Kind::kDeny)
    out.push_back({.authorizer = who,
                   .id = "",
                   .effect = decision.kind == Kind::kAllow ? Effect::kAllow : Effect::kDeny,
                   .type = std::string(authz::kCelType),
                   .expression = "true",
                   .description = decision.reason.text()});
  if (decision.kind != Kind::kConditional || !decision.conditions) return;
  if (const auto* set = decision.conditions->set())
    for (const authz::Condition& c : set->conditions)
      out.push_back({.authorizer = who,
                     .id = c.id,
                     .effect = effect_of(c.effect),
                     .type = c.type,
                     .expression = c.shown_text(),
                     .description = c.description});
  if (const auto* chain = decision.conditions->chain())
    for (const authz::NamedDecision& n : *chain)
      collect(n.decision, who.empty() ? n.authorizer : cat(who, "/", n.authorizer), out);
}

}  // namespace

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAllow:
      return "Allow";
    case Outcome::kNoOpinion:
      return "NoOpinion";
    case Outcome::kConditional:
      return "Conditional";
    case Outcome::kDeny:
      break;
  }
  return "Deny";
}

const char* name_of(Effect effect) {
  switch (effect) {
    case Effect::kAllow:
      return "Allow";
    case Effect::kNoOpinion:
      return "NoOpinion";
    case Effect::kDeny:
      break;
  }
  return "Deny";
}

Decision::Decision() = default;

const Decision::Content& Decision::content() const {
  static const Content kDenial{authz::Decision::deny("no decision was made"), nullptr, nullptr};
  return content_ ? *content_ : kDenial;
}

Outcome Decision::outcome() const {
  return engine::outcome_of(content().decision.kind);
}

std::string Decision::reason() const {
  return engine::guarded([&] { return content().decision.reason.text(); },
                         [](std::string what) { return what; });
}

std::string Decision::error() const {
  return content().decision.error;
}

std::vector<Condition> Decision::conditions() const {
  return engine::guarded(
      [&] {
        std::vector<Condition> out;
        if (outcome() == Outcome::kConditional) collect(content().decision, "", out);
        return out;
      },
      [](std::string) { return std::vector<Condition>(); });
}

Decision Decision::settle(const Change& change) const {
  if (outcome() != Outcome::kConditional) return *this;
  const Content& open = content();
  return engine::guarded(
      [&] {
        auto known = engine::KnownChange::read(*open.state, *open.question, change);
        return engine::public_decision(
            known ? engine::settled(*open.state, open.decision, known->data())
                  : authz::failed(open.decision, known.error().message));
      },
      [](std::string) { return Decision(); });
}

}  // namespace cardea::v1
