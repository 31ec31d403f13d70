#include "authz/conditions.h"

#include <algorithm>
#include <set>

#include "authz/authorizer.h"
#include "base/names.h"
#include "base/strings.h"

namespace cardea::authz {
namespace {

constexpr std::string_view kClosed = "failed closed";
constexpr std::string_view
    kDeniedPerhaps = "denied under conditions, which cannot be evaluated for this request",
    kAllowedPerhaps = "allowed under conditions only, which cannot be evaluated for this request";
constexpr Condition::Effect kInOrder[] = {Condition::Effect::kDeny, Condition::Effect::kNoOpinion,
                                          Condition::Effect::kAllow};

Outcomes outcomes_of(const Conditions::Set& set) {
  Outcomes out{.no_opinion = true};
  for (const Condition& c : set.conditions) {
    out.allow |= c.effect == Condition::Effect::kAllow;
    out.deny |= c.effect == Condition::Effect::kDeny;
  }
  return out;
}

// After a final answer there is no combined "no opinion".
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

bool is_reserved(std::string_view id) {
  return id.starts_with("k8s.io/") || id.starts_with("kubernetes.io/");
}

// What is wrong with one condition; empty when nothing is.
std::string problem_of(const Condition& c, Author author) {
  if (author != Author::kOwnChecked) {
    if (Problems p = label_key_problems(c.id); !p.empty())
      return cat("invalid condition ID ", quoted(c.id), ": ", join(p, "; "));
    if (author == Author::kThirdParty && is_reserved(c.id))
      return cat("condition ID ", quoted(c.id), " is reserved");
    if (!c.type.empty())
      if (Problems p = label_key_problems(c.type); !p.empty())
        return cat("invalid condition type ", quoted(c.type), ": ", join(p, "; "));
  }
  if (author == Author::kOwnChecked) return "";
  if (c.text.size() > kLongestCondition)
    return cat("condition ", quoted(c.id), " is too long: ", c.text.size(), " bytes, at most ",
               kLongestCondition, " are allowed");
  if (c.description.size() > kLongestDescription)
    return cat("description of condition ", quoted(c.id), " is too long: ", c.description.size(),
               " bytes, at most ", kLongestDescription, " are allowed");
  return "";
}

std::string problem_of(const Conditions::Set& set, Author author) {
  if (author != Author::kOwnChecked && set.conditions.size() > kMostConditions)
    return cat("too many conditions: ", set.conditions.size(), ", at most ", kMostConditions,
               " are allowed");
  std::set<std::string_view> ids;
  for (Condition::Effect effect : kInOrder)
    for (const Condition& c : set.conditions) {
      if (c.effect != effect) continue;
      if (set.conditions.size() > 1 && !ids.insert(c.id).second)
        return cat("duplicate condition ID ", quoted(c.id));
      if (std::string problem = problem_of(c, author); !problem.empty()) return problem;
    }
  return "";
}

Decision closed(const Outcomes& possible, std::string error) {
  return {possible.deny ? Decision::Kind::kDeny : Decision::Kind::kNoOpinion, std::string(kClosed),
          std::move(error), nullptr};
}

// The unconditional answer that ends `decision`.
const Decision* end_of(const Decision& decision) {
  if (decision.kind != Decision::Kind::kConditional)
    return decision.kind == Decision::Kind::kNoOpinion ? nullptr : &decision;
  if (const Conditions::Chain* chain = decision.conditions->chain())
    for (const NamedDecision& n : *chain)
      if (const Decision* end = end_of(n.decision)) return end;
  return nullptr;
}

// What comes after it never matters.
void end_at_the_first_end(Conditions::Chain& chain) {
  auto last = std::ranges::find_if(chain,
                                   [](const NamedDecision& n) { return has_an_end(n.decision); });
  if (last != chain.end()) chain.erase(last + 1, chain.end());
}

}  // namespace

Conditions::Conditions(Set set)
    : content_(std::move(set)), possible_(outcomes_of(std::get<Set>(content_))) {}
Conditions::Conditions(Chain chain)
    : content_(std::move(chain)), possible_(outcomes_of(std::get<Chain>(content_))) {}
Conditions::Conditions(Deferred deferred)
    : content_(std::move(deferred)), possible_{true, true, true} {}

bool is_cel_type(std::string_view type) {
  return type == kCelType || type == "authorizer.kubernetes.io/cel" || type == "k8s.io/cel";
}

std::string_view effect_name(Condition::Effect effect) {
  switch (effect) {
    case Condition::Effect::kAllow:
      return "Allow";
    case Condition::Effect::kNoOpinion:
      return "NoOpinion";
    case Condition::Effect::kDeny:
      break;
  }
  return "Deny";
}

bool has_an_end(const Decision& decision) {
  return end_of(decision) != nullptr;
}

Outcomes possible_outcomes(const Decision& decision) {
  switch (decision.kind) {
    case Decision::Kind::kAllow:
      return {.allow = true};
    case Decision::Kind::kNoOpinion:
      return {.no_opinion = true};
    case Decision::Kind::kConditional:
      return decision.conditions->possible();
    case Decision::Kind::kDeny:
      break;
  }
  return {.deny = true};
}

bool allows(const Outcomes& outcomes, Decision::Kind kind) {
  switch (kind) {
    case Decision::Kind::kAllow:
      return outcomes.allow;
    case Decision::Kind::kDeny:
      return outcomes.deny;
    case Decision::Kind::kNoOpinion:
      return outcomes.no_opinion;
    case Decision::Kind::kConditional:
      break;
  }
  return false;
}

Decision::Kind failure_decision(const Decision& decision) {
  return possible_outcomes(decision).deny ? Decision::Kind::kDeny : Decision::Kind::kNoOpinion;
}

Decision failed(const Decision& decision, std::string error) {
  return closed(possible_outcomes(decision), std::move(error));
}

Decision folded(Decision decision) {
  if (decision.kind != Decision::Kind::kConditional) return decision;
  Outcomes possible = decision.conditions->possible();
  if (possible.deny) return Decision::deny(std::string(kDeniedPerhaps));
  return Decision::no_opinion(std::string(kAllowedPerhaps));
}

bool was_folded(const Decision& decision) {
  if (decision.allowed() || decision.reason.empty()) return false;
  const std::string reason = decision.reason.text();
  return reason.find(kDeniedPerhaps) != std::string::npos ||
         reason.find(kAllowedPerhaps) != std::string::npos;
}

Decision conditional_on(Conditions::Set set, Author author) {
  if (set.conditions.empty())
    return Decision::no_opinion({}, "a conditional answer without conditions");
  Outcomes possible = outcomes_of(set);
  const bool is_too_large = author != Author::kOwnChecked &&
                            set.conditions.size() > kMostConditions;
  if (!possible.allow && !possible.deny && !is_too_large) return Decision::no_opinion();
  if (std::string problem = problem_of(set, author); !problem.empty())
    return closed(possible, std::move(problem));
  return Decision::conditional(std::make_shared<const Conditions>(std::move(set)));
}

std::string problem_of_names(const std::vector<std::string_view>& names) {
  std::set<std::string_view> seen;
  std::vector<std::string> problems;
  for (std::string_view name : names) {
    if (name.empty())
      problems.push_back("an authorizer without a name");
    else if (!dns_subdomain_problems(name).empty())
      problems.push_back(cat("invalid authorizer name ", quoted(name)));
    if (!seen.insert(name).second)
      problems.push_back(cat("duplicate authorizer name ", quoted(name)));
  }
  return aggregated(problems);
}

Decision fold(Conditions::Chain chain) {
  end_at_the_first_end(chain);
  std::vector<std::string_view> names;
  for (const NamedDecision& n : chain) names.push_back(n.authorizer);
  if (std::string problem = problem_of_names(names); !problem.empty())
    return closed(outcomes_of(chain), std::move(problem));
  return fold_named(std::move(chain));
}

Decision fold_named(Conditions::Chain chain) {
  end_at_the_first_end(chain);
  Outcomes possible = outcomes_of(chain);
  if (possible == Outcomes{.allow = true} || possible == Outcomes{.deny = true})
    return *end_of(chain.back().decision);
  if (possible == Outcomes{.no_opinion = true}) return without_opinion(chain);
  return Decision::conditional(std::make_shared<const Conditions>(std::move(chain)));
}

Decision without_opinion(const Conditions::Chain& chain) {
  std::vector<std::string> reasons, errors;
  for (const NamedDecision& n : chain) {
    if (!n.decision.reason.empty()) reasons.push_back(n.decision.reason.text());
    errors.push_back(n.decision.error);
  }
  return Decision::no_opinion(each_once(reasons, "\n"), aggregated(errors));
}

std::string_view ConditionData::object_name() const {
  if (!name.empty()) return name;
  for (const json::Value* o : {object, old_object})
    if (o && !o->is_null()) return (*o)["metadata"]["name"].as_string();
  return {};
}

}  // namespace cardea::authz
