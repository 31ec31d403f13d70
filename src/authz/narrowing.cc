// What is left of the conditions of an impersonation check once the impersonated request is known.
#include <algorithm>

#include "authz/authorizer.h"
#include "base/strings.h"

namespace cardea::authz {

Decision Authorizer::narrowed(std::shared_ptr<const Conditions> conditions,
                              const Attributes&) const {
  return Decision::conditional(std::move(conditions));
}

namespace {

bool is_part_of(const Outcomes& part, const Outcomes& whole) {
  return (!part.allow || whole.allow) && (!part.deny || whole.deny) &&
         (!part.no_opinion || whole.no_opinion);
}

// What the author leaves of its conditions, within what they left open.
Decision narrowed_by(const Authorizer& author, const Decision& open,
                     const Attributes& impersonated) {
  Decision left = author.narrowed(open.conditions, impersonated);
  if (is_part_of(possible_outcomes(left), possible_outcomes(open))) return left;
  return failed(open,
                cat("authorizer ", quoted(author.name()), " answered what its conditions exclude"));
}

bool is_open(const Conditions::Chain& chain) {
  return std::ranges::any_of(chain, [](const NamedDecision& n) {
    return n.decision.kind == Decision::Kind::kConditional;
  });
}

}  // namespace

Task<bool> Chain::narrow_the_rest(const Conditions::Deferred& rest, const Attributes& impersonated,
                                  Conditions::Chain& left) const {
  const Attributes& question = rest.question->get();
  for (std::size_t i = rest.from; i < authorizers_.size(); ++i) {
    const Authorizer& authorizer = *authorizers_[i];
    std::optional<Decision> answer = authorizer.authorize(question);
    if (!answer && is_open(left)) {
      Conditions::Deferred later{i, rest.question};
      answer = Decision::conditional(std::make_shared<const Conditions>(std::move(later)));
      left.push_back({std::string(authorizer.name()), std::move(*answer)});
      co_return true;
    }
    if (!answer) {
      Decision waited = co_await authorizer.authorize_waiting(question);
      answer = std::move(waited);
    }
    count(i, *answer);
    if (answer->kind == Decision::Kind::kConditional)
      answer = narrowed_by(authorizer, *answer, impersonated);
    left.push_back({std::string(authorizer.name()), std::move(*answer)});
    if (has_an_end(left.back().decision)) break;
  }
  co_return true;
}

Task<Decision> Chain::narrow(Decision conditional, const Attributes& impersonated) const {
  const Conditions::Chain* chain = conditional.conditions ? conditional.conditions->chain()
                                                          : nullptr;
  if (!chain) co_return failed(conditional, "the decision is not one of a chain");
  Conditions::Chain left;
  for (const NamedDecision& entry : *chain) {
    const Decision& open = entry.decision;
    // What comes after an answer that stays open is looked at when that is settled.
    if (is_open(left) || open.kind != Decision::Kind::kConditional) {
      left.push_back(entry);
    } else if (const Conditions::Deferred* rest = open.conditions->deferred()) {
      bool asked = co_await narrow_the_rest(*rest, impersonated, left);
      (void)asked;
      break;
    } else {
      auto author = std::ranges::find(authorizers_, entry.authorizer,
                                      [](const auto& a) { return a->name(); });
      left.push_back({entry.authorizer,
                      author == authorizers_.end()
                          ? failed(open, cat("no authorizer is named ", quoted(entry.authorizer)))
                          : narrowed_by(**author, open, impersonated)});
    }
    if (has_an_end(left.back().decision)) break;
  }
  co_return fold_named(std::move(left));
}

}  // namespace cardea::authz
