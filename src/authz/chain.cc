#include <algorithm>
#include <vector>

#include "authz/authorizer.h"
#include "authz/traced_question.h"
#include "base/strings.h"

namespace cardea::authz {

// What is known while a chain is being asked. Authorizers that have nothing to say cost no
// allocation.
struct Chain::Progress {
  const Chain& chain;
  Asking asking;
  std::size_t silent = 0;  // the number of authorizers at the beginning without any opinion
  std::vector<Decision> answers = {};  // of the authorizers from the first on; empty while all were
                                       // silent
  bool is_conditional = false;
  bool may_allow = false;

  // Takes the next answer; a value ends the asking.
  std::optional<Decision> take(Decision decision) {
    if (asking == Asking::kFolded) decision = folded(std::move(decision));
    bool is_final = decision.kind == Decision::Kind::kAllow ||
                    decision.kind == Decision::Kind::kDeny;
    if (is_final && !is_conditional) return decision;
    if (decision.kind == Decision::Kind::kConditional) {
      is_conditional = true;
      may_allow |= decision.conditions->possible().allow;
      is_final = has_an_end(decision);
    }
    bool says_nothing = decision.kind == Decision::Kind::kNoOpinion && decision.reason.empty() &&
                        decision.error.empty();
    if (answers.empty() && says_nothing) {
      ++silent;
      return std::nullopt;
    }
    if (answers.empty()) {
      answers.reserve(chain.authorizers_.size() + 1);  // and what is deferred
      answers.assign(silent, Decision::no_opinion());
    }
    answers.push_back(std::move(decision));
    if (is_final) return end();
    return std::nullopt;
  }

  // No server is called over the network before it is known that its answer matters.
  bool defers() const { return may_allow && asking == Asking::kConditionsAware; }
  Decision defer(const Attributes& attributes) {
    Conditions::Deferred rest{answers.size(), std::make_shared<const OwnedAttributes>(attributes)};
    answers.push_back(Decision::conditional(std::make_shared<const Conditions>(std::move(rest))));
    return end();
  }

  Decision end() {
    if (answers.empty()) return Decision::no_opinion();
    Conditions::Chain named;
    named.reserve(answers.size());
    for (std::size_t i = 0; i < answers.size(); ++i)
      named.push_back({std::string(chain.authorizers_[i]->name()), std::move(answers[i])});
    if (!is_conditional) return without_opinion(named);
    return chain.names_are_sound_ ? fold_named(std::move(named)) : fold(std::move(named));
  }
};

Chain::Chain(std::vector<std::shared_ptr<const Authorizer>> authorizers, MetricRegistry* metrics)
    : authorizers_(std::move(authorizers)) {
  std::vector<std::string_view> names;
  for (const auto& a : authorizers_) names.push_back(a->name());
  names_are_sound_ = problem_of_names(names).empty();
  if (!metrics) return;
  for (const auto& a : authorizers_) {
    Tally& tally = tallies_.emplace_back();
    if (a->name() == kMastersName) continue;  // which Kubernetes does not count either
    auto counter = [&](std::string_view decision) {
      return &metrics->counter(
          {"apiserver_authorization_decisions_total", "Terminal decisions by authorizer."},
          {{"type", std::string(a->type())},
           {"name", std::string(a->name())},
           {"decision", std::string(decision)}});
    };
    tally = {counter("allowed"), counter("denied"), counter("conditional")};
  }
}

void Chain::count(std::size_t index, const Decision& decision) const {
  if (tallies_.empty() || !tallies_[index].allowed) return;
  if (decision.kind == Decision::Kind::kAllow) tallies_[index].allowed->add();
  if (decision.kind == Decision::Kind::kDeny) tallies_[index].denied->add();
  if (decision.kind == Decision::Kind::kConditional) tallies_[index].conditional->add();
}

Chain::Verdict Chain::verdict_of(Decision decision, std::string_view authorizer) const {
  bool may_allow = possible_outcomes(decision).allow;
  std::optional<Permit> permit;
  if (may_allow) permit = Permit(decision);
  return {std::move(decision), std::move(permit), authorizer};
}

std::optional<Decision> Chain::answer(const Attributes& asked, Asking asking,
                                      std::string_view& authorizer) const {
  Attributes attributes = asked;
  attributes.takes_conditions = asking != Asking::kFolded;
  Progress progress{*this, asking};
  Trace* const trace = TracedQuestion::take();
  for (std::size_t i = 0; i < authorizers_.size(); ++i) {
    std::optional<Decision> answer;
    {
      TraceSpan span(trace, "authorizer", authorizers_[i]->name());
      answer = authorizers_[i]->authorize(attributes);
    }
    if (!answer && progress.defers()) return progress.defer(attributes);
    if (!answer) return std::nullopt;
    count(i, *answer);
    bool is_final = answer->kind == Decision::Kind::kAllow || answer->kind == Decision::Kind::kDeny;
    if (is_final && !progress.is_conditional) {
      authorizer = authorizers_[i]->name();
      return answer;
    }
    if (auto final = progress.take(std::move(*answer))) {
      if (!progress.is_conditional) authorizer = authorizers_[i]->name();
      return final;
    }
  }
  return progress.end();
}

std::optional<Decision> Chain::answer(const Attributes& attributes, Asking asking) const {
  std::string_view authorizer;
  return answer(attributes, asking, authorizer);
}

std::optional<Chain::Verdict> Chain::decide(const Attributes& attributes, Asking asking) const {
  std::string_view authorizer;
  std::optional<Decision> decision = answer(attributes, asking, authorizer);
  if (!decision) return std::nullopt;
  return verdict_of(std::move(*decision), authorizer);
}

Task<Chain::Verdict> Chain::authorize(Attributes attributes, Asking asking) const {
  Trace* const trace = TracedQuestion::take();
  attributes.takes_conditions = asking != Asking::kFolded;
  Progress progress{*this, asking};
  for (std::size_t i = 0; i < authorizers_.size(); ++i) {
    const Authorizer& authorizer = *authorizers_[i];
    TraceSpan span(trace, "authorizer", authorizer.name());
    std::optional<Decision> answer = authorizer.authorize(attributes);
    if (!answer && progress.defers()) co_return verdict_of(progress.defer(attributes));
    if (!answer) {
      TracedQuestion::give(trace, &authorizer);
      Decision waited = co_await authorizer.authorize_waiting(attributes);
      answer = std::move(waited);
    }
    count(i, *answer);
    if (auto final = progress.take(std::move(*answer)))
      co_return verdict_of(std::move(*final),
                           progress.is_conditional ? std::string_view() : authorizer.name());
  }
  co_return verdict_of(progress.end());
}

namespace {

// What an author made of its conditions, within what they leave open.
Decision within(const Authorizer& author, const Decision& open, Decision settled) {
  if (allows(possible_outcomes(open), settled.kind)) return settled;
  std::string error = settled.error.empty() ? cat("authorizer ", quoted(author.name()),
                                                  " answered what its conditions exclude")
                                            : settled.error;
  return failed(open, std::move(error));
}

void tell_outdone(const Conditions::Chain& passed, const ConditionData& data) {
  if (!data.outdone) return;
  for (const NamedDecision& n : passed)
    if (!n.decision.error.empty()) data.outdone->push_back(n.decision.error);
}

}  // namespace

Task<Decision> Chain::ask_the_rest(const Conditions::Deferred& rest,
                                   const ConditionData& data) const {
  const Attributes& attributes = rest.question->get();
  Conditions::Chain answers;
  for (std::size_t i = rest.from; i < authorizers_.size(); ++i) {
    const Authorizer& authorizer = *authorizers_[i];
    std::optional<Decision> answer = authorizer.authorize(attributes);
    if (!answer) {
      TracedQuestion::give(nullptr);
      Decision waited = co_await authorizer.authorize_waiting(attributes);
      answer = std::move(waited);
    }
    count(i, *answer);
    if (answer->kind == Decision::Kind::kConditional) {
      Decision settled = co_await authorizer.evaluate(answer->conditions, data);
      answer = within(authorizer, *answer, std::move(settled));
      count(i, *answer);
    }
    if (answer->kind != Decision::Kind::kNoOpinion) {
      tell_outdone(answers, data);
      co_return std::move(*answer);
    }
    answers.push_back({std::string(authorizer.name()), std::move(*answer)});
  }
  co_return without_opinion(answers);
}

Task<Decision> Chain::evaluate(Decision conditional, ConditionData data) const {
  if (!data.authorizer) data.authorizer = this;
  const Conditions::Chain* chain = conditional.conditions ? conditional.conditions->chain()
                                                          : nullptr;
  if (!chain) co_return failed(conditional, "the decision is not one of a chain");
  Conditions::Chain passed;
  for (const NamedDecision& entry : *chain) {
    Decision decision = entry.decision;
    if (decision.kind == Decision::Kind::kConditional) {
      auto author = std::ranges::find(authorizers_, entry.authorizer,
                                      [](const auto& a) { return a->name(); });
      if (author == authorizers_.end()) {
        decision = failed(decision, cat("no authorizer is named ", quoted(entry.authorizer)));
      } else if (const Conditions::Deferred* rest = decision.conditions->deferred()) {
        Decision settled = co_await ask_the_rest(*rest, data);
        decision = std::move(settled);
      } else {
        Decision settled = co_await (*author)->evaluate(decision.conditions, data);
        decision = within(**author, decision, std::move(settled));
        count(static_cast<std::size_t>(author - authorizers_.begin()), decision);
      }
    }
    if (decision.kind != Decision::Kind::kNoOpinion) {
      tell_outdone(passed, data);
      co_return decision;
    }
    if (decision.reason.empty() && decision.error.empty()) continue;
    if (std::string reason = decision.reason.text(); !reason.empty())
      decision.reason = cat(entry.authorizer, ": ", reason);
    passed.push_back({entry.authorizer, std::move(decision)});
  }
  co_return without_opinion(passed);
}

bool Chain::may_deny() const {
  return std::ranges::any_of(authorizers_, [](const auto& a) { return a->may_deny(); });
}

bool Chain::exempts(const User& user) const {
  return std::ranges::any_of(authorizers_, [&](const auto& a) { return a->exempts(user); });
}

Rules Chain::rules_for(const User& user, std::string_view namespace_name) const {
  Rules rules;
  for (const auto& authorizer : authorizers_) authorizer->add_rules(user, namespace_name, rules);
  return rules;
}

std::shared_ptr<const Chain> Chain::frozen() const {
  auto out = std::make_shared<Chain>(*this);
  for (auto& authorizer : out->authorizers_)
    if (auto still = authorizer->frozen()) authorizer = std::move(still);
  return out;
}

namespace {

class NestedAuthorizer : public Authorizer {
 public:
  NestedAuthorizer(std::string name, std::shared_ptr<const Chain> chain)
      : name_(std::move(name)), chain_(std::move(chain)) {}
  std::string_view name() const override { return name_; }

  std::optional<Decision> authorize(const Attributes& attributes) const override {
    std::optional<Chain::Verdict> verdict = chain_->decide(attributes, asking(attributes));
    if (!verdict) return std::nullopt;
    return std::move(verdict->decision);
  }
  Task<Decision> authorize_waiting(Attributes attributes) const override {
    Chain::Verdict verdict = co_await chain_->authorize(attributes, asking(attributes));
    co_return std::move(verdict.decision);
  }
  Task<Decision> evaluate(std::shared_ptr<const Conditions> conditions,
                          const ConditionData& data) const override {
    Decision decision = co_await chain_->evaluate(Decision::conditional(std::move(conditions)),
                                                  data);
    co_return decision;
  }
  bool may_deny() const override { return chain_->may_deny(); }
  bool exempts(const User& user) const override { return chain_->exempts(user); }
  void add_rules(const User& user, std::string_view namespace_name, Rules& rules) const override {
    for (const auto& authorizer : chain_->authorizers())
      authorizer->add_rules(user, namespace_name, rules);
  }

 private:
  static Asking asking(const Attributes& a) {
    return a.takes_conditions ? Asking::kConditionsAwareAtOnce : Asking::kFolded;
  }

  std::string name_;
  std::shared_ptr<const Chain> chain_;
};

}  // namespace

std::unique_ptr<Authorizer> nested(std::string name, std::shared_ptr<const Chain> chain) {
  return std::make_unique<NestedAuthorizer>(std::move(name), std::move(chain));
}

}  // namespace cardea::authz
