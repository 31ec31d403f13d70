#include "authz/access/access_authorizer.h"

#include <algorithm>

#include "authz/access/residuals.h"
#include "base/strings.h"
#include "cel/ast.h"

namespace cardea::authz::access {
namespace {

using Effect = Condition::Effect;

Explanation because(const Policy& policy) { return {policy.shared_from_this(), 0}; }

// Puts a policy that selects the request where it belongs.
void consider(const Policy& policy, const Variables& variables, const cel::Unknowns& unknowns, Budget& budget, Matches& out) {
  Effect effect = policy.effect();
  auto unconditional = [&] {
    const Policy*& first = effect == Effect::kDeny ? out.denies : effect == Effect::kAllow ? out.allows : out.abstains;
    if (!first || policy.name() < first->name()) first = &policy;
  };
  auto broken = [&](std::string_view why) {
    // Failing closed is the effect itself, unless that is to allow.
    if (effect == Effect::kAllow) return;
    unconditional();
    if (effect == Effect::kDeny && out.denies == &policy) out.denial = cat(policy.shown_name(), " denies what it selects: ", why);
  };
  if (!policy.problem().empty()) {
    if (effect == Effect::kDeny) broken("its expression does not compile");
    return;
  }
  if (!policy.program()) return unconditional();
  if (!policy.needs_object()) {
    if (budget.is_used_up()) return broken(kTooDear);
    cel::Value v = budget.run(*policy.program(), variables);
    if (v.is_true()) unconditional();
    else if (!v.is_false()) broken(error_text(v));
    return;
  }
  auto leave = [&](std::shared_ptr<const Residue> residue) {
    if (!matters(effect, residue->residual())) return;
    auto& list = effect == Effect::kDeny ? out.deny_if : effect == Effect::kAllow ? out.allow_if : out.abstain_if;
    list.push_back(policy.condition_on(std::move(residue)));
  };
  if (const std::shared_ptr<const Residue>& fixed = policy.fixed_residue()) return leave(fixed);
  if (budget.is_used_up()) return broken(kTooDear);
  cel::Residual rest = budget.reduce(policy.program(), variables, unknowns);
  if (rest.is_value()) {
    if (rest.value().is_true()) unconditional();
    else if (!rest.value().is_false()) broken(error_text(rest.value()));
    return;
  }
  leave(std::make_shared<const Residue>(std::move(rest)));
}

// One run of what is open. On the stack, for it is too much to be kept where a coroutine keeps what it needs later.
[[gnu::noinline]] Decision settled_once(const Decision& open, const ConditionData& data, SecondaryChecks& checks, ConditionMeter* meter) {
  ResidualRuns runs(data, checks, meter);
  return partially_evaluated(open, runs);
}

void append(std::vector<Condition>& to, std::vector<Condition> more) {
  for (Condition& c : more) to.push_back(std::move(c));
}

// Whom a policy without an expression names: "u:NAME", "g:NAME"; a service account by its user name.
AllowedSubject subject_of(std::string_view key) {
  constexpr std::string_view kAccount = "system:serviceaccount:";
  std::string_view name = key.substr(2);
  if (key.starts_with("g:")) return {.kind = "Group", .name = std::string(name)};
  std::size_t colon = name.starts_with(kAccount) ? name.find(':', kAccount.size()) : std::string_view::npos;
  if (colon == std::string_view::npos) return {.kind = "User", .name = std::string(name)};
  return {.kind = "ServiceAccount", .name = std::string(name.substr(colon + 1)), .namespace_name = std::string(name.substr(kAccount.size(), colon - kAccount.size()))};
}

// Settles conditions; the policies are not looked at again.
Task<Decision> evaluated(std::shared_ptr<const Conditions> conditions, const ConditionData& data, std::shared_ptr<ConditionMeter> meter) {
  SecondaryChecks checks(data.authorizer, data.user);
  Decision open = Decision::conditional(conditions);
  Stopwatch watch;
  for (;;) {
    Decision outcome = settled_once(open, data, checks, meter.get());
    if (!checks.is_waiting()) {
      if (meter) meter->took(true, watch.elapsed());
      co_return outcome;
    }
    bool goes_on = co_await checks.wait();
    if (!goes_on) co_return failed(open, "an expression asks the authorizer too much");
  }
}

// All policies as they were at one moment.
class FrozenAccess : public Authorizer {
 public:
  FrozenAccess(std::shared_ptr<const Index> index, std::shared_ptr<ConditionMeter> meter) : index_(std::move(index)), meter_(std::move(meter)) {}
  std::string_view name() const override { return "access"; }
  std::string_view type() const override { return "Access"; }
  std::optional<Decision> authorize(const Attributes& attributes) const override {
    return index_->size() == 0 ? Decision::no_opinion() : decide(*index_, attributes);
  }
  Task<Decision> evaluate(std::shared_ptr<const Conditions> conditions, const ConditionData& data) const override {
    return evaluated(std::move(conditions), data, meter_);
  }
  void add_allowed(const Attributes& attributes, AllowedSubjects& allowed) const override { add_allowed_by(*index_, attributes, allowed); }

 private:
  std::shared_ptr<const Index> index_;
  std::shared_ptr<ConditionMeter> meter_;
};

}  // namespace

Decision combined(Matches m) {
  if (m.denies) return Decision::deny(m.denial.empty() ? because(*m.denies) : Explanation(m.denial));
  Conditions::Set set{.conditions = std::move(m.deny_if)};
  if (m.abstains) {
    if (set.conditions.empty()) return Decision::no_opinion(because(*m.abstains));
    return conditional_on(std::move(set), Author::kOwnChecked);
  }
  bool may_allow = m.allows || !m.allow_if.empty();
  if (!may_allow && set.conditions.empty()) return Decision::no_opinion();
  if (may_allow) append(set.conditions, std::move(m.abstain_if));
  if (m.allows && set.conditions.empty()) return Decision::allow(because(*m.allows));
  if (m.allows)
    set.conditions.push_back({.effect = Effect::kAllow, .id = m.allows->condition_id(), .type = std::string(kCelType), .text = "true", .description = m.allows->description()});
  else
    append(set.conditions, std::move(m.allow_if));
  return conditional_on(std::move(set), Author::kOwnChecked);
}

Decision decide(const Index& index, const Attributes& attributes) {
  Index::Found found;
  index.find(attributes, found);
  if (found.empty()) return Decision::no_opinion();
  if (found.size() == 1)
    if (const std::shared_ptr<const Conditions>& alone = found[0]->fixed_conditions()) return Decision::conditional(alone);
  RequestValue request(attributes);
  Variables variables;
  variables[Language::kRequest] = request.get();
  variables[Language::kImpersonatedRequest] = cel::Value::null();
  const cel::Unknowns& unknowns = is_impersonation_check(attributes) ? language().impersonation_unknowns : language().unknowns;
  Matches cluster, local;
  bool has_local = false;
  // What fails for being too dear denies: so denials, which not everybody may write, come before all others, and the
  // namespace has a budget of its own.
  Budget cluster_budget(kMostTogether), local_budget(kMostTogether);
  for (bool denies : {true, false})
    for (const Policy* policy : found) {
      if ((policy->effect() == Effect::kDeny) != denies) continue;
      bool is_local = !policy->namespace_name().empty();
      has_local |= is_local;
      consider(*policy, variables, unknowns, is_local ? local_budget : cluster_budget, is_local ? local : cluster);
    }
  auto by_id = [](const Condition& a, const Condition& b) { return a.id < b.id; };
  for (Matches* m : {&cluster, &local})
    for (auto* list : {&m->deny_if, &m->abstain_if, &m->allow_if}) std::ranges::sort(*list, by_id);
  Decision first = combined(std::move(cluster));
  bool is_open = first.kind == Decision::Kind::kNoOpinion || first.kind == Decision::Kind::kConditional;
  if (!has_local || !is_open) return first;
  Decision second = combined(std::move(local));
  if (first.kind == Decision::Kind::kNoOpinion && first.error.empty()) return second;
  return fold_named({{"cluster", std::move(first)}, {"namespace", std::move(second)}});
}

AccessAuthorizer::AccessAuthorizer(const PolicyFeed& feed, MetricRegistry* metrics)
    : feed_(feed), meter_(metrics ? std::make_shared<ConditionMeter>(*metrics, "access") : nullptr) {}

std::optional<Decision> AccessAuthorizer::authorize(const Attributes& attributes) const {
  const std::shared_ptr<const Index>& index = feed_.index();
  if (index->size() == 0) return Decision::no_opinion();
  return decide(*index, attributes);
}

Task<Decision> AccessAuthorizer::evaluate(std::shared_ptr<const Conditions> conditions, const ConditionData& data) const {
  return evaluated(std::move(conditions), data, meter_);
}

namespace {

// What of a policy selects the request, and the expression that has the last word.
json::Value shown_rule(const Policy& policy, const Attributes& attributes) {
  auto at = std::ranges::find_if(policy.rules(), [&](const rbac::PolicyRule& rule) { return rbac::rule_allows(rule, attributes); });
  json::Value out = at == policy.rules().end() ? json::Value::object() : rbac::as_json(*at);
  if (policy.program()) out.set("expression", policy.program()->source().text());
  return out;
}

}  // namespace

void add_allowed_by(const Index& index, const Attributes& attributes, AllowedSubjects& allowed) {
  if (index.size() == 0) return;
  static const std::vector<std::string> kEverybody = {cat("g:", kAuthenticatedGroup), cat("g:", kUnauthenticatedGroup)};
  index.for_each_selecting(attributes, [&](const Policy& policy) {
    bool allows = policy.effect() == Effect::kAllow;
    if (allows && !policy.problem().empty()) return;  // one that cannot be compiled allows nothing
    if (!allows || policy.program()) {
      std::string_view may = allows ? "may allow" : policy.effect() == Effect::kDeny ? "may deny" : "may leave open";
      allowed.incomplete = true;
      allowed.remarks.push_back(cat(policy.shown_name(), " ", may, " this, depending on who asks, or for which object"));
    }
    if (!allows) return;
    for (const std::string& key : policy.reach().subjects ? *policy.reach().subjects : kEverybody) {
      AllowedSubject subject = subject_of(key);
      subject.binding_kind = policy.namespace_name().empty() ? "ClusterAccessPolicy" : "AccessPolicy";
      subject.binding_namespace = policy.namespace_name();
      subject.binding = policy.name();
      subject.rule = shown_rule(policy, attributes);
      allowed.subjects.push_back(std::move(subject));
    }
  });
}

void AccessAuthorizer::add_allowed(const Attributes& attributes, AllowedSubjects& allowed) const {
  std::shared_ptr<const Index> index = feed_.index();
  add_allowed_by(*index, attributes, allowed);
}

std::shared_ptr<const Authorizer> AccessAuthorizer::frozen() const { return std::make_shared<FrozenAccess>(feed_.index(), meter_); }

void AccessAuthorizer::add_rules(const User& user, std::string_view namespace_name, Rules& rules) const {
  // What expressions say depends on the request, so that a list of rules can only ever be a part.
  std::shared_ptr<const Index> index = feed_.index();
  if (index->size() == 0) return;
  index->for_each_about(user, namespace_name, [&](const Policy& policy) {
    bool is_plain = policy.effect() == Effect::kAllow && !policy.program() && policy.problem().empty();
    bool takes_away = policy.effect() != Effect::kAllow;
    if (!is_plain) rules.incomplete = true;
    if (!is_plain && !takes_away) return;
    for (const rbac::PolicyRule& r : policy.granted()) {
      if (r.non_resource_urls.empty()) (takes_away ? rules.denied_resources : rules.resource_rules).push_back({r.verbs, r.api_groups, r.resources, r.resource_names});
      else (takes_away ? rules.denied_paths : rules.non_resource_rules).push_back({r.verbs, r.non_resource_urls});
    }
  });
}

}  // namespace cardea::authz::access
