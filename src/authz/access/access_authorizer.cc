#include "authz/access/access_authorizer.h"

#include <algorithm>
#include <unordered_set>

#include "authz/access/residuals.h"
#include "authz/effects.h"
#include "base/strings.h"
#include "cel/syntax/ast.h"

namespace cardea::authz::access {
namespace {

Explanation because(const Policy& policy) {
  return {policy.shared_from_this(), 0};
}

// A question to policies: the request itself or, for denials, one of its effects.
struct Question {
  Question(const Attributes& asked, const Attributes& of_request, const IndirectEffect* indirect)
      : attributes(asked),
        request(of_request),
        effect(indirect),
        // Who says a word for a stream means the request as it is.
        value(effect && effect->is_word ? request : attributes),
        unknowns(is_impersonation_check(request) ? language().impersonation_unknowns
                                                 : language().unknowns) {
    variables[Language::kRequest] = value.get();
    variables[Language::kImpersonatedRequest] = cel::Value::null();
  }

  const Attributes& attributes;
  const Attributes& request;
  const IndirectEffect* effect;  // null: the request itself
  RequestValue value;
  Variables variables;
  const cel::Unknowns& unknowns;

  // Tells the conditions of one policy apart.
  std::string more() const {
    return effect ? cat("_as_", attributes.verb,
                        attributes.api_group == request.api_group ? "" : "_elsewhere")
                  : "";
  }
};

// Puts a policy that selects the request where it belongs.
class Considering {
 public:
  Considering(const Policy& policy, const Question& question, Budget& budget, Matches& out)
      : policy_(policy),
        question_(question),
        budget_(budget),
        out_(out),
        effect_(policy.effect()) {}

  void run() {
    if (!policy_.problem().empty()) {
      if (effect_ == Condition::Effect::kDeny) broken("its expression does not compile");
      return;
    }
    const Attributes& a = question_.attributes;
    if (effect_ == Condition::Effect::kDeny && a.is_resource_request && a.name.empty()) {
      names_ = policy_.denied_names(a);
      if (names_ || policy_.reads_name()) return unnamed();
    }
    if (!policy_.program()) return hold();
    if (!policy_.needs_object()) {
      if (budget_.is_used_up()) return broken(kTooDear);
      return settle(budget_.run(*policy_.program(), question_.variables));
    }
    if (const std::shared_ptr<const Residue>& fixed = policy_.fixed_residue()) return leave(fixed);
    if (auto rest = reduced(question_.unknowns)) leave(std::move(rest));
  }

 private:
  void unconditional() {
    const Policy*& first = effect_ == Condition::Effect::kDeny    ? out_.denies
                           : effect_ == Condition::Effect::kAllow ? out_.allows
                                                                  : out_.abstains;
    if (first && first->name() <= policy_.name()) return;
    first = &policy_;
    if (effect_ == Condition::Effect::kDeny) out_.denial.clear();
  }
  void deny_because(std::string_view why) {
    unconditional();
    if (effect_ == Condition::Effect::kDeny && out_.denies == &policy_) out_.denial = why;
  }
  void broken(std::string_view why) {
    // Failing closed is the effect itself, unless that is to allow.
    if (effect_ != Condition::Effect::kAllow)
      deny_because(cat(policy_.shown_name(), " denies all requests that it selects: ", why));
  }
  // It holds, whatever the object is.
  void hold() {
    if (!question_.effect) return unconditional();
    deny_because(cat(because(policy_).text(), ": ", as_text(*question_.effect)));
  }
  void settle(const cel::Value& v) {
    if (v.is_true())
      hold();
    else if (!v.is_false())
      broken(error_text(v));
  }

  // Null: the result is a value, which settles the expression.
  std::shared_ptr<const Residue> reduced(const cel::Unknowns& unknowns) {
    if (budget_.is_used_up()) {
      broken(kTooDear);
      return nullptr;
    }
    cel::Residual rest = budget_.reduce(policy_.program(), question_.variables, unknowns);
    if (!rest.is_value()) return std::make_shared<const Residue>(std::move(rest));
    if (rest.value().is_true() && names_)
      unnamed(nullptr);
    else
      settle(rest.value());
    return nullptr;
  }
  void leave(std::shared_ptr<const Residue> rest) {
    if (matters(effect_, rest->residual())) leave_condition(std::move(rest));
  }
  void leave_condition(std::shared_ptr<const Condition::Compiled> rest) {
    Condition condition = policy_.condition_on(std::move(rest), question_.more());
    if (question_.effect && question_.effect->on_parent) {
      condition.on_parent = true;
      condition.type = kParentType;
    }
    auto& list = effect_ == Condition::Effect::kDeny    ? out_.deny_if
                 : effect_ == Condition::Effect::kAllow ? out_.allow_if
                                                        : out_.abstain_if;
    list.push_back(std::move(condition));
  }

  // A denial that depends on a name, and a request that has none, or not yet.
  void unnamed() {
    if (!policy_.program()) return unnamed(nullptr);
    // Nothing of what the expression can deny is asked for.
    const auto& could = policy_.reach().names;
    if (could && !could->empty() && std::ranges::all_of(*could, [&](const std::string& n) {
          return selectors_exclude(question_.request, n);
        }))
      return;
    std::shared_ptr<const Residue> rest = reduced(language().unnamed_unknowns);
    if (rest && matters(effect_, rest->residual())) unnamed(std::move(rest));
  }
  void unnamed(std::shared_ptr<const Residue> rest) {
    if (reaches_all(question_.request))
      return deny_because(cat(because(policy_).text(), ": ", kAskByName));
    if (!names_) return leave_condition(std::move(rest));
    leave_condition(std::make_shared<const NamedResidue>(std::move(*names_), std::move(rest)));
  }

  const Policy& policy_;
  const Question& question_;
  Budget& budget_;
  Matches& out_;
  Condition::Effect effect_;
  std::optional<std::vector<std::string>> names_;  // of a denial by rules that name objects
};

// One run of what is open. On the stack, for it is too much to be kept where a coroutine keeps what
// it needs later.
[[gnu::noinline]] Decision settled_once(const Decision& open, const ConditionData& data,
                                        SecondaryChecks& checks, ConditionMeter* meter) {
  WithParent<ResidualRuns, SecondaryChecks&, ConditionMeter*> runs(data, checks, meter);
  return partially_evaluated(open, runs);
}

void append(std::vector<Condition>& to, std::vector<Condition> more) {
  for (Condition& c : more) to.push_back(std::move(c));
}

// The subjects of a policy without an expression: "u:NAME", "g:NAME"; a service account by its
// user name.
AllowedSubject subject_of(std::string_view key) {
  constexpr std::string_view kAccount = "system:serviceaccount:";
  std::string_view name = key.substr(2);
  if (key.starts_with("g:")) return {.kind = "Group", .name = std::string(name)};
  std::size_t colon = name.starts_with(kAccount) ? name.find(':', kAccount.size())
                                                 : std::string_view::npos;
  if (colon == std::string_view::npos) return {.kind = "User", .name = std::string(name)};
  return {.kind = "ServiceAccount",
          .name = std::string(name.substr(colon + 1)),
          .namespace_name = std::string(name.substr(kAccount.size(), colon - kAccount.size()))};
}

// What the impersonated request decides alone.
Decision narrowed_by_request(std::shared_ptr<const Conditions> conditions,
                             const Attributes& impersonated) {
  ImpersonatedRuns runs(impersonated);
  return partially_evaluated(Decision::conditional(std::move(conditions)), runs);
}

// All policies as they were at one moment.
class FrozenAccess : public Authorizer {
 public:
  FrozenAccess(std::shared_ptr<const Index> index, std::shared_ptr<ConditionMeter> meter)
      : index_(std::move(index)), meter_(std::move(meter)) {}
  std::string_view name() const override { return "access"; }
  std::string_view type() const override { return "Access"; }
  std::optional<Decision> authorize(const Attributes& attributes) const override {
    return index_->size() == 0 ? Decision::no_opinion() : decide(*index_, attributes);
  }
  Task<Decision> evaluate(std::shared_ptr<const Conditions> conditions,
                          const ConditionData& data) const override {
    return settled(std::move(conditions), data, meter_);
  }
  Decision narrowed(std::shared_ptr<const Conditions> conditions,
                    const Attributes& impersonated) const override {
    return narrowed_by_request(std::move(conditions), impersonated);
  }
  void add_allowed(const Attributes& attributes, AllowedSubjects& allowed) const override {
    add_allowed_by(*index_, attributes, allowed);
  }
  bool may_deny() const override { return index_->denials() > 0; }

 private:
  std::shared_ptr<const Index> index_;
  std::shared_ptr<ConditionMeter> meter_;
};

}  // namespace

// The policies are not looked at again.
Task<Decision> settled(std::shared_ptr<const Conditions> conditions, const ConditionData& data,
                       std::shared_ptr<ConditionMeter> meter) {
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

Decision combined(Matches m) {
  if (m.denies)
    return Decision::deny(m.denial.empty() ? because(*m.denies) : Explanation(m.denial));
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
    set.conditions.push_back({.effect = Condition::Effect::kAllow,
                              .id = m.allows->condition_id(),
                              .type = std::string(kCelType),
                              .text = "true",
                              .description = m.allows->description()});
  else
    append(set.conditions, std::move(m.allow_if));
  return conditional_on(std::move(set), Author::kOwnChecked);
}

namespace {

// Whether a denial is of names that the request, which has none, may reach.
bool is_about_names(const Policy& policy, const Attributes& a) {
  return policy.effect() == Condition::Effect::kDeny && a.is_resource_request && a.name.empty() &&
         policy.denied_names(a).has_value();
}

// The denials that match an effect of the request.
struct Indirect {
  Indirect(const Index& index, const Attributes& attributes)
      : effects(index.denials() == 0 ? IndirectEffects() : effects_of(attributes)) {
    found.resize(effects.size());
    for (std::size_t i = 0; i < effects.size(); ++i) {
      index.find_denials(effects[i].attributes, effects[i].is_word, found[i]);
      is_empty &= found[i].empty();
    }
  }

  IndirectEffects effects;
  boost::container::static_vector<Index::Found, kMostEffects> found;
  bool is_empty = true;
};

// Gives each of several conditions with one id, which are neighbours, an id of its own.
void tell_apart(std::vector<Condition>& sorted) {
  if (std::ranges::adjacent_find(sorted, {}, &Condition::id) == sorted.end()) return;
  std::unordered_set<std::string> taken;
  for (Condition& c : sorted) {
    const std::string id = c.id;
    for (int k = 1; !taken.insert(c.id).second; ++k) c.id = cat(id, "_", k);
  }
}

// What all policies make of a request.
class Deciding {
 public:
  explicit Deciding(const Attributes& request) : request_(request) {}

  void ask(const Index::Found& policies, const Question& question, bool denials) {
    for (const Policy* policy : policies) {
      bool is_local = !policy->namespace_name().empty();
      if ((policy->effect() == Condition::Effect::kDeny) != denials ||
          (is_local && request_.above_namespaces))
        continue;
      has_local_ |= is_local;
      Considering(*policy, question, is_local ? local_budget_ : cluster_budget_,
                  is_local ? local_ : cluster_)
          .run();
    }
  }

  Decision outcome() {
    auto by_id = [](const Condition& a, const Condition& b) { return a.id < b.id; };
    for (Matches* m : {&cluster_, &local_})
      for (auto* list : {&m->deny_if, &m->abstain_if, &m->allow_if}) {
        std::ranges::sort(*list, by_id);
        tell_apart(*list);
      }
    Decision first = combined(std::move(cluster_));
    bool is_open = first.kind == Decision::Kind::kNoOpinion ||
                   first.kind == Decision::Kind::kConditional;
    if (!has_local_ || !is_open) return first;
    Decision second = combined(std::move(local_));
    if (first.kind == Decision::Kind::kNoOpinion && first.error.empty()) return second;
    return fold_named({{"cluster", std::move(first)}, {"namespace", std::move(second)}});
  }

 private:
  const Attributes& request_;
  Matches cluster_, local_;
  bool has_local_ = false;
  Budget cluster_budget_{kMostTogether}, local_budget_{kMostTogether};
};

}  // namespace

Decision decide(const Index& index, const Attributes& attributes) {
  Index::Found found;
  index.find(attributes, found);
  Indirect indirect(index, attributes);
  if (found.empty() && indirect.is_empty) return Decision::no_opinion();
  if (found.size() == 1 && indirect.is_empty && !attributes.above_namespaces)
    if (const std::shared_ptr<const Conditions>& alone = found[0]->fixed_conditions();
        alone && !is_about_names(*found[0], attributes))
      return Decision::conditional(alone);
  Deciding deciding(attributes);
  // A policy that exceeds the cost limit denies. So denials, which only some users may write, are
  // evaluated first, and the namespace has a separate limit.
  Question own(attributes, attributes, nullptr);
  deciding.ask(found, own, true);
  for (std::size_t i = 0; i < indirect.found.size(); ++i)
    if (!indirect.found[i].empty())
      deciding.ask(indirect.found[i],
                   Question(indirect.effects[i].attributes, attributes, &indirect.effects[i]),
                   true);
  deciding.ask(found, own, false);
  return deciding.outcome();
}

AccessAuthorizer::AccessAuthorizer(const Snapshot<Index>& policies, MetricRegistry* metrics)
    : policies_(policies),
      meter_(metrics ? std::make_shared<ConditionMeter>(*metrics, "access") : nullptr) {}

std::optional<Decision> AccessAuthorizer::authorize(const Attributes& attributes) const {
  const std::shared_ptr<const Index>& index = policies_.get();
  if (index->size() == 0) return Decision::no_opinion();
  return decide(*index, attributes);
}

Task<Decision> AccessAuthorizer::evaluate(std::shared_ptr<const Conditions> conditions,
                                          const ConditionData& data) const {
  return settled(std::move(conditions), data, meter_);
}

Decision AccessAuthorizer::narrowed(std::shared_ptr<const Conditions> conditions,
                                    const Attributes& impersonated) const {
  return narrowed_by_request(std::move(conditions), impersonated);
}

namespace {

// What of a policy selects the request, and the expression that has the last word.
json::Value shown_rule(const Policy& policy, const Attributes& attributes) {
  auto at = std::ranges::find_if(policy.rules(), [&](const rbac::PolicyRule& rule) {
    return rbac::rule_allows(rule, attributes);
  });
  json::Value out = at == policy.rules().end() ? json::Value::object() : rbac::as_json(*at);
  if (policy.program()) out.set("expression", policy.program()->source().text());
  return out;
}

}  // namespace

void add_allowed_by(const Index& index, const Attributes& attributes, AllowedSubjects& allowed) {
  if (index.size() == 0) return;
  static const std::vector<std::string> kEverybody = {cat("g:", kAuthenticatedGroup),
                                                      cat("g:", kUnauthenticatedGroup)};
  index.for_each_selecting(attributes, [&](const Policy& policy) {
    bool allows = policy.effect() == Condition::Effect::kAllow;
    if (allows && !policy.problem().empty()) return;  // one that cannot be compiled allows nothing
    if (!allows || policy.program()) {
      std::string_view may = allows                                        ? "may allow"
                             : policy.effect() == Condition::Effect::kDeny ? "may deny"
                                                                           : "may leave open";
      allowed.incomplete = true;
      allowed.remarks.push_back(
          cat(policy.shown_name(), " ", may, " this, depending on who asks, or for which object"));
    }
    if (!allows) return;
    for (const std::string& key : policy.reach().subjects ? *policy.reach().subjects : kEverybody) {
      AllowedSubject subject = subject_of(key);
      subject.binding_kind = policy.namespace_name().empty() ? "ClusterAccessPolicy"
                                                             : "AccessPolicy";
      subject.binding_namespace = policy.namespace_name();
      subject.binding = policy.name();
      subject.rule = shown_rule(policy, attributes);
      allowed.subjects.push_back(std::move(subject));
    }
  });
}

void AccessAuthorizer::add_allowed(const Attributes& attributes, AllowedSubjects& allowed) const {
  std::shared_ptr<const Index> index = policies_.get();
  add_allowed_by(*index, attributes, allowed);
}

std::shared_ptr<const Authorizer> AccessAuthorizer::frozen() const {
  return std::make_shared<FrozenAccess>(policies_.get(), meter_);
}

void AccessAuthorizer::add_rules(const User& user, std::string_view namespace_name,
                                 Rules& rules) const {
  // What expressions say depends on the request, so that a list of rules can only ever be a part.
  std::shared_ptr<const Index> index = policies_.get();
  if (index->size() == 0) return;
  index->for_each_about(user, namespace_name, [&](const Policy& policy) {
    bool is_plain = policy.effect() == Condition::Effect::kAllow && !policy.program() &&
                    policy.problem().empty();
    bool takes_away = policy.effect() != Condition::Effect::kAllow;
    if (!is_plain) rules.incomplete = true;
    if (!is_plain && !takes_away) return;
    for (const rbac::PolicyRule& r : policy.granted()) {
      if (r.non_resource_urls.empty())
        (takes_away ? rules.denied_resources : rules.resource_rules)
            .push_back(
                {r.verbs, r.api_groups, r.resources, r.resource_names, policy.is_for_everybody()});
      else
        (takes_away ? rules.denied_paths : rules.non_resource_rules)
            .push_back({r.verbs, r.non_resource_urls, policy.is_for_everybody()});
    }
  });
}

std::shared_ptr<const Authorizer> authorizer_of(std::shared_ptr<const Index> index) {
  return std::make_shared<FrozenAccess>(std::move(index), nullptr);
}

}  // namespace cardea::authz::access
