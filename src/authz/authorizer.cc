#include "authz/authorizer.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::authz {
namespace {

class MastersAuthorizer : public Authorizer {
 public:
  std::string_view name() const override { return "kubernetes.io/system-privileged-group"; }
  std::optional<Decision> authorize(const Attributes& a) const override {
    return a.user.in_group(kMastersGroup) ? Decision::allow() : Decision::no_opinion();
  }
};

class ConstantAuthorizer : public Authorizer {
 public:
  ConstantAuthorizer(std::string name, Decision decision) : name_(std::move(name)), decision_(std::move(decision)) {}
  std::string_view name() const override { return name_; }
  std::optional<Decision> authorize(const Attributes&) const override { return decision_; }

 private:
  std::string name_;
  Decision decision_;
};

// Joins what several authorizers said, each thing once.
void add_line(std::vector<std::string>& lines, std::string line) {
  if (!line.empty() && std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
}

std::string described(const Attributes& r) {
  std::string who = cat("User ", quoted(r.user.name), " cannot ", r.verb);
  if (!r.is_resource_request) return cat(who, " path ", quoted(r.path));
  std::string resource = r.subresource.empty() ? std::string(r.resource) : cat(r.resource, "/", r.subresource);
  std::string where = r.namespace_name.empty() ? "at the cluster scope" : cat("in the namespace ", quoted(r.namespace_name));
  return cat(who, " resource ", quoted(resource), " in API group ", quoted(r.api_group), " ", where);
}

}  // namespace

Task<Decision> Authorizer::authorize_waiting(Attributes) const {
  co_return Decision::deny("this authorizer cannot wait");
}

Task<Decision> Authorizer::evaluate(std::shared_ptr<const Conditions>, const ConditionData&) const {
  Decision refusal = Decision::deny({});
  refusal.error = "condition evaluation not supported";
  co_return refusal;
}

void Authorizer::add_rules(const User&, std::string_view, Rules&) const {}

std::vector<Hint> Authorizer::hints(const Attributes&) const { return {}; }

// What is known while a chain is being asked.
struct Chain::Progress {
  Asking asking;
  Conditions::Chain answers;         // from the first conditional answer on
  std::vector<std::string> reasons;  // of those without an opinion
  std::vector<std::string> errors;

  // Takes the next answer; a value ends the asking.
  std::optional<Decision> take(const Authorizer& authorizer, Decision decision) {
    if (asking == Asking::kFolded) decision = folded(std::move(decision));
    bool is_final = decision.kind == Decision::Kind::kAllow || decision.kind == Decision::Kind::kDeny;
    if (answers.empty() && is_final) return decision;
    if (decision.kind == Decision::Kind::kNoOpinion) {
      if (!decision.reason.empty()) add_line(reasons, decision.reason.text());
      add_line(errors, decision.error);
    }
    if (!answers.empty() || decision.kind == Decision::Kind::kConditional)
      answers.push_back({std::string(authorizer.name()), std::move(decision)});
    if (is_final) return fold(std::move(answers));
    return std::nullopt;
  }

  Decision end() {
    if (!answers.empty()) return fold(std::move(answers));
    return Decision::no_opinion(join(reasons, "\n"), aggregated(errors));
  }
};

Chain::Verdict Chain::verdict_of(Decision decision) const {
  bool may_allow = possible_outcomes(decision).allow;
  std::optional<Permit> permit;
  if (may_allow) permit = Permit(decision);
  return {std::move(decision), std::move(permit)};
}

std::optional<Chain::Verdict> Chain::decide(const Attributes& attributes, Asking asking) const {
  Progress progress{.asking = asking};
  for (const auto& authorizer : authorizers_) {
    std::optional<Decision> answer = authorizer->authorize(attributes);
    if (!answer) return std::nullopt;
    if (auto final = progress.take(*authorizer, std::move(*answer))) return verdict_of(std::move(*final));
  }
  return verdict_of(progress.end());
}

Task<Chain::Verdict> Chain::authorize(Attributes attributes, Asking asking) const {
  Progress progress{.asking = asking};
  for (const auto& authorizer : authorizers_) {
    std::optional<Decision> answer = authorizer->authorize(attributes);
    if (!answer) {
      Decision waited = co_await authorizer->authorize_waiting(attributes);
      answer = std::move(waited);
    }
    if (auto final = progress.take(*authorizer, std::move(*answer))) co_return verdict_of(std::move(*final));
  }
  co_return verdict_of(progress.end());
}

Task<Decision> Chain::evaluate(Decision conditional, const ConditionData& data) const {
  Decision closed{failure_decision(conditional), {}, "", nullptr};
  const Conditions::Chain* chain = conditional.conditions ? conditional.conditions->chain() : nullptr;
  if (!chain) {
    closed.error = "the decision is not one of a chain";
    co_return closed;
  }
  std::vector<std::string> reasons, errors;
  for (const NamedDecision& entry : *chain) {
    Decision decision = entry.decision;
    if (decision.kind == Decision::Kind::kConditional) {
      auto author = std::ranges::find(authorizers_, entry.authorizer, [](const auto& a) { return a->name(); });
      Decision settled;
      if (author != authorizers_.end()) {
        Decision answer = co_await (*author)->evaluate(decision.conditions, data);
        settled = std::move(answer);
      } else {
        settled.error = cat("no authorizer is named ", quoted(entry.authorizer));
        settled.kind = failure_decision(decision);
      }
      Outcomes possible = possible_outcomes(decision);
      bool fits = settled.kind == Decision::Kind::kAllow ? possible.allow : settled.kind == Decision::Kind::kDeny ? possible.deny
                  : settled.kind == Decision::Kind::kNoOpinion && possible.no_opinion;
      if (!fits) {
        if (settled.error.empty()) settled.error = cat("authorizer ", quoted(entry.authorizer), " answered what its conditions exclude");
        settled.kind = failure_decision(decision);
      }
      decision = std::move(settled);
    }
    if (decision.kind != Decision::Kind::kNoOpinion) co_return decision;
    if (!decision.reason.empty()) add_line(reasons, decision.reason.text());
    add_line(errors, decision.error);
  }
  co_return Decision::no_opinion(join(reasons, "\n"), aggregated(errors));
}

Rules Chain::rules_for(const User& user, std::string_view namespace_name) const {
  Rules rules;
  for (const auto& authorizer : authorizers_) authorizer->add_rules(user, namespace_name, rules);
  return rules;
}

std::string html_escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else out += c;
  }
  return out;
}

std::string aggregated(const std::vector<std::string>& errors) {
  std::vector<std::string> distinct;
  for (const std::string& e : errors) add_line(distinct, e);
  return distinct.size() < 2 ? join(distinct, "") : cat("[", join(distinct, ", "), "]");
}

std::unique_ptr<Authorizer> masters_authorizer() { return std::make_unique<MastersAuthorizer>(); }
std::unique_ptr<Authorizer> always_allow() {
  return std::make_unique<ConstantAuthorizer>("alwaysallow", Decision::allow());
}
std::unique_ptr<Authorizer> always_deny() {
  return std::make_unique<ConstantAuthorizer>("alwaysdeny", Decision::no_opinion("Everything is forbidden."));
}
std::unique_ptr<Authorizer> unavailable_mode(std::string mode) {
  return std::make_unique<ConstantAuthorizer>(lower(mode), Decision::no_opinion());
}

Error forbidden(const Attributes& r, const std::string& reason) {
  std::string text = html_escaped(described(r));
  if (!reason.empty()) text += ": " + reason;
  std::string about = r.api_group.empty() ? std::string(r.resource) : cat(r.resource, ".", r.api_group);
  std::string message;
  if (r.api_group.empty() && r.resource.empty())
    message = cat("forbidden: ", text);
  else if (r.name.empty())
    message = cat(about, " is forbidden: ", text);
  else
    message = cat(about, " ", quoted(r.name), " is forbidden: ", text);
  return Error::of(Reason::kForbidden, std::move(message))
      .with({.name = std::string(r.name), .group = std::string(r.api_group), .kind = std::string(r.resource)});
}

}  // namespace cardea::authz
