// conditional-authz.json: decisions and condition sets, their evaluation, chains. The suites about
// whole requests are in conditional_requests.cc.
#include "conformance/conditional.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "authz/authorizer.h"
#include "authz/evaluation.h"
#include "base/strings.h"
#include "json/print.h"

namespace cardea::conformance {

using authz::Condition;
using authz::Conditions;
using authz::Decision;
using json::Value;

Decision::Kind kind_named(std::string_view name) {
  if (name == "Allow") return Decision::Kind::kAllow;
  if (name == "NoOpinion") return Decision::Kind::kNoOpinion;
  return Decision::Kind::kDeny;
}

std::string name_of(const Decision& d) {
  switch (d.kind) {
    case Decision::Kind::kAllow:
      return "Allow";
    case Decision::Kind::kNoOpinion:
      return "NoOpinion";
    case Decision::Kind::kConditional:
      return d.conditions->set() ? "ConditionsMap" : "Union";
    case Decision::Kind::kDeny:
      break;
  }
  return "Deny";
}

namespace {

Condition::Effect effect_named(std::string_view name) {
  return name == "Allow"  ? Condition::Effect::kAllow
         : name == "Deny" ? Condition::Effect::kDeny
                          : Condition::Effect::kNoOpinion;
}

std::string text_of(const Value& condition, const char* key, const char* generator) {
  const Value& made = condition[generator];
  if (made.is_null()) return std::string(condition[key].as_string());
  std::string out;
  for (std::int64_t i = 0; i < made["count"].as_int(); ++i) out += made["repeat_char"].as_string();
  return out;
}

Value possible_names(const authz::Outcomes& o) {
  Value out = Value::array();
  if (o.allow) out.push_back("Allow");
  if (o.deny) out.push_back("Deny");
  if (o.no_opinion) out.push_back("NoOpinion");
  return out;
}

}  // namespace

Conditions::Set set_of(const Value& conditions) {
  Conditions::Set set;
  for (const Value& c : conditions.items()) {
    if (const Value& g = c["generate"]; !g.is_null()) {
      for (std::int64_t i = 0; i < g["count"].as_int(); ++i) {
        std::string id(g["id_template"].as_string());
        if (auto at = id.find("%d"); at != std::string::npos) id.replace(at, 2, std::to_string(i));
        set.conditions.push_back({.effect = effect_named(g["effect"].as_string()), .id = id});
      }
      continue;
    }
    set.conditions.push_back({.effect = effect_named(c["effect"].as_string()),
                              .id = std::string(c["id"].as_string()),
                              .type = std::string(c["type"].as_string()),
                              .text = text_of(c, "condition", "condition_gen"),
                              .description = text_of(c, "description", "description_gen")});
  }
  return set;
}

Conditions::Chain chain_of(const Value& entries) {
  Conditions::Chain chain;
  for (const Value& e : entries.items())
    chain.push_back({std::string(e["authorizer"].as_string()), decision_of(e["decision"])});
  return chain;
}

Decision decision_of(const Value& input) {
  std::string_view type = input["type"].as_string();
  if (type == "ConditionsMap") return authz::conditional_on(set_of(input["conditions"]));
  if (type == "Union") return authz::fold(chain_of(input["chain"]));
  Decision out;
  if (type == "ZeroValue") return out;
  std::string_view name = type == "LegacyResult" ? input["legacy_decision"].as_string() : type;
  out.kind = kind_named(name);
  out.reason = std::string(input["reason"].as_string());
  out.error = std::string(input["error"].as_string());
  if (out.kind == Decision::Kind::kDeny && name != "Deny")
    out.error = cat("unknown decision ", name);
  return out;
}

namespace {

// Gives the results that the case lists for its conditions.
class Scripted : public authz::ConditionEvaluator {
 public:
  Scripted(const Value& conditions, const char* key) { add(conditions, key); }
  void add(const Value& conditions, const char* key) {
    for (const Value& c : conditions.items()) answers_[std::string(c["id"].as_string())] = c[key];
  }
  authz::Truth truth(const Condition& c, std::string& error) override {
    ++calls;
    const Value& answer = answers_[c.id];
    if (answer.is_bool()) return answer.as_bool() ? authz::Truth::kTrue : authz::Truth::kFalse;
    if (answer.as_string() != "error") return authz::Truth::kUnevaluatable;
    error = "eval error";
    return authz::Truth::kError;
  }
  int calls = 0;

 private:
  std::map<std::string, Value> answers_;
};

Value ids_of(const Conditions::Set& set, Condition::Effect effect) {
  Value out = Value::array();
  for (const Condition& c : set.conditions)
    if (c.effect == effect) out.push_back(c.id);
  return out;
}

bool names_condition(const Decision& d, const Value& id) {
  return id.is_null() || d.reason.text().find(quoted(id.as_string())) != std::string::npos;
}

Check construction(const Value& c) {
  Decision d = decision_of(c["input"]);
  const Value& want = c["expected"];
  Check check;
  check.same("decision", name_of(d), c["expected_decision"].as_string());
  check.same("possible", json::print(possible_names(authz::possible_outcomes(d))),
             json::print(want["possible_decisions"]));
  check.same("failure", name_of({authz::failure_decision(d), {}, "", nullptr}),
             want["failure_decision"].as_string());
  check.that("end", authz::has_an_end(d) == want["contains_unconditional_allow_or_deny"].as_bool());
  check.that("error", d.error.empty() != want["has_error"].as_bool());
  check.same("fold", name_of(authz::folded(d)), c["derived"]["unaware_fold"].as_string());
  return check;
}

Check set_evaluation(const Value& c) {
  const Value& want = c["expected"];
  Scripted first(c["conditions"], "evaluates_to"), second(c["conditions"], "fallback_evaluates_to");
  Conditions::Set set = set_of(c["conditions"]);
  Decision d = authz::evaluated(set, first, &second);
  Check check;
  check.same("decision", name_of(d), c["expected_decision"].as_string());
  check.that("error", d.error.empty() != want["has_error"].as_bool());
  check.that("named", names_condition(d, want["deciding_condition"]));
  if (want["fallback_evaluator_called"].is_bool())
    check.that("second called", (second.calls > 0) == want["fallback_evaluator_called"].as_bool());
  const Value& ids = want["residual_condition_ids"];
  if (!ids.is_null() && d.conditions)
    for (Condition::Effect e :
         {Condition::Effect::kDeny, Condition::Effect::kNoOpinion, Condition::Effect::kAllow})
      check.same("residual", json::print(ids_of(*d.conditions->set(), e)),
                 json::print(ids.has(authz::effect_name(e)) ? ids[authz::effect_name(e)]
                                                            : Value::array()));
  // The decision is the same for every order of the conditions.
  std::ranges::reverse(set.conditions);
  check.same("reversed", name_of(authz::evaluated(set, first, &second)), name_of(d));
  return check;
}

// The evaluator of the conditions, and then one for types that the case lists.
class PartialEvaluator : public authz::ConditionEvaluator {
 public:
  PartialEvaluator(const Value& input, const Value& in_process) : in_process_(in_process) {
    collect(input);
  }
  authz::Truth truth(const Condition& c, std::string&) override {
    if (own_.contains(c.id)) return own_[c.id] ? authz::Truth::kTrue : authz::Truth::kFalse;
    if (in_process_.is_null() || !supports(c.type)) return authz::Truth::kUnevaluatable;
    if (is_broken_[c.id]) return authz::Truth::kUnevaluatable;  // decision 10
    return c.text == in_process_["true_when_condition_equals"].as_string() ||
                   c.id == in_process_["true_when_condition_equals"].as_string()
               ? authz::Truth::kTrue
               : authz::Truth::kFalse;
  }

 private:
  bool supports(const std::string& type) const {
    const Value& types = in_process_["supported_types"];
    if (types.is_string()) return true;
    for (const Value& t : types.items())
      if (t.as_string() == type) return true;
    return false;
  }
  void collect(const Value& input) {
    for (const Value& c : input["conditions"].items()) {
      if (c["self_evaluates_to"].is_bool())
        own_[std::string(c["id"].as_string())] = c["self_evaluates_to"].as_bool();
      if (c["evaluates_to"].as_string() == "error")
        is_broken_[std::string(c["id"].as_string())] = true;
    }
    for (const Value& e : input["chain"].items()) collect(e["decision"]);
  }
  const Value& in_process_;
  std::map<std::string, bool> own_, is_broken_;
};

void compare_residual(Check& check, const Decision& d, const Value& want) {
  check.same("residual", name_of(d), want["type"].as_string());
  if (!d.conditions) return;
  if (const Conditions::Set* set = d.conditions->set()) {
    Conditions::Set wanted = set_of(want["conditions"]);
    check.that("conditions", wanted.conditions.size() == set->conditions.size());
    for (std::size_t i = 0; i < wanted.conditions.size() && i < set->conditions.size(); ++i) {
      const Condition &a = wanted.conditions[i], &b = set->conditions[i];
      check.that("condition", a.id == b.id && a.effect == b.effect && a.text == b.text &&
                                  a.type == b.type && a.description == b.description);
    }
    return;
  }
  const Conditions::Chain& chain = *d.conditions->chain();
  check.that("entries", chain.size() == want["chain"].size());
  for (std::size_t i = 0; i < chain.size(); ++i)
    compare_residual(check, chain[i].decision, want["chain"][i]);
}

Check partial(const Value& c) {
  PartialEvaluator evaluator(c["input"], c["in_process_evaluator"]);
  Decision input = decision_of(c["input"]);
  Decision d = authz::partially_evaluated(input, evaluator);
  Check check;
  const Value& want = c["expected"]["residual"];
  if (!want.is_null()) {
    compare_residual(check, d, want);
    return check;
  }
  // The recommendation of the page: partial evaluation followed by the owner's evaluation gives the
  // result of the owner alone.
  Scripted owner(c["input"]["conditions"], "owner_evaluates_to");
  check.same("then the owner", name_of(authz::partially_evaluated(d, owner)), "Allow");
  return check;
}

Check builder(const Value& c) {
  Conditions::Chain entries = chain_of(c["chain"]);
  Decision d = authz::fold(entries);
  const Value& want = c["expected"];
  entries.push_back({"late", Decision::deny("late")});
  Check check;
  check.same("decision", name_of(d), c["expected_decision"].as_string());
  check.that("error", d.error.empty() != want["has_error"].as_bool());
  if (want.has("possible_decisions"))
    check.same("possible", json::print(possible_names(authz::possible_outcomes(d))),
               json::print(want["possible_decisions"]));
  Value names = Value::array();
  if (d.conditions && d.conditions->chain())
    for (const auto& n : *d.conditions->chain()) names.push_back(n.authorizer);
  if (want.has("retained_authorizers"))
    check.same("retained", json::print(names), json::print(want["retained_authorizers"]));
  return check;
}

Check limits(const Value& c) {
  if (c.has("chain")) return builder(c);
  Decision d = authz::conditional_on(set_of(c["conditions"]));
  Check check;
  check.same("decision", name_of(d), c["expected_decision"].as_string());
  check.that("error", d.error.empty() != c["expected"]["has_error"].as_bool());
  return check;
}

Check unaware(const Value& c) {
  Decision d = decision_of(c["input"]);
  Decision folded = authz::folded(d);
  Check check;
  check.same("decision", name_of(folded), c["expected_decision"].as_string());
  check.that("folded",
             (d.kind == Decision::Kind::kConditional) == c["expected"]["folded"].as_bool());
  check.that("error",
             folded.error.empty() != c["expected"]["error_when_folding_is_expected"].as_bool());
  return check;
}

// An authorizer as the case describes it.
class Described : public authz::Authorizer {
 public:
  explicit Described(const Value& entry) : name_(entry["authorizer"].as_string()), entry_(entry) {}
  std::string_view name() const override { return name_; }
  std::optional<Decision> authorize(const authz::Attributes&) const override {
    ++calls;
    return first();
  }
  Decision first() const {
    if (entry_.has("condition_effect"))
      return authz::conditional_on(
          {.conditions = {
               {.effect = effect_named(entry_["condition_effect"].as_string()), .id = "c"}}});
    std::string error(entry_.has("error") ? entry_["error"].as_string()
                                          : entry_["authorize_error"].as_string());
    return {kind_named(entry_["decision"].as_string()), {}, std::move(error), nullptr};
  }
  Task<Decision> evaluate(std::shared_ptr<const Conditions> conditions,
                          const authz::ConditionData& data) const override {
    std::string_view outcome = entry_["condition_set_evaluates_to"].as_string();
    if (outcome == "not-supported") {
      Decision d = co_await Authorizer::evaluate(conditions, data);
      co_return d;
    }
    co_return Decision{
        kind_named(outcome), {}, std::string(entry_["evaluation_error"].as_string()), nullptr};
  }
  mutable int calls = 0;

 private:
  std::string name_;
  Value entry_;
};

const authz::User kNobody{.name = "somebody"};

template <typename T>
T run(Task<T> task) {
  std::optional<T> value;
  spawn(std::move(task), [&](T v) { value.emplace(std::move(v)); });
  return std::move(*value);
}

using List = std::vector<std::shared_ptr<const authz::Authorizer>>;

Decision both_phases(const authz::Chain& chain, authz::Asking asking, Decision* first = nullptr) {
  authz::Attributes question(kNobody);
  Decision d = run(chain.authorize(question, asking)).decision;
  if (first) *first = d;
  return d.kind == Decision::Kind::kConditional ? run(chain.evaluate(d, {})) : d;
}

List described(const Value& entries) {
  List list;
  for (const Value& e : entries.items()) list.push_back(std::make_shared<Described>(e));
  return list;
}

Check two_phases(const Value& c) {
  List flat = described(c["chain"]);
  Check check;
  check.that("five authorizers", flat.size() == 5);
  if (flat.size() != 5) return check;
  auto chain = [](List list) { return std::make_shared<const authz::Chain>(std::move(list)); };
  std::shared_ptr<const authz::Authorizer> inner = authz::nested("union2",
                                                                 chain({flat[0], flat[1]}));
  std::shared_ptr<const authz::Authorizer> left = authz::nested("union1", chain({inner, flat[2]}));
  std::shared_ptr<const authz::Authorizer> middle = authz::nested("union3", chain({flat[3]}));
  authz::Chain whole({left, middle, flat[4]});
  Decision first;
  Decision final = both_phases(whole, authz::Asking::kConditionsAwareAtOnce, &first);
  const Value& want = c["expected"];
  check.same("first phase", name_of(first), want["phase1_decision"].as_string());
  check.same("final", name_of(final), c["expected_decision"].as_string());
  check.that("error", final.error.empty() != want["has_error"].as_bool());
  check.same("possible", json::print(possible_names(authz::possible_outcomes(first))),
             json::print(c["derived"]["possible_decisions"]));
  check.same("flat", name_of(both_phases(authz::Chain(flat), authz::Asking::kConditionsAware)),
             name_of(final));
  authz::Attributes question(kNobody);
  check.same("folded", name_of(run(whole.authorize(question)).decision),
             c["derived"]["unaware_decision"].as_string());
  return check;
}

Check calls(const Value& c) {
  List list = described(c["chain"]);
  Check check;
  check.same("decision", name_of(both_phases(authz::Chain(list), authz::Asking::kConditionsAware)),
             c["expected_decision"].as_string());
  Value counts = Value::array();
  for (const auto& a : list) counts.push_back(static_cast<const Described&>(*a).calls);
  check.same("calls", json::print(counts), json::print(c["expected"]["phase1_call_counts"]));
  return check;
}

Check unconditional(const Value& c) {
  Check check;
  for (authz::Asking asking : {authz::Asking::kFolded, authz::Asking::kConditionsAware}) {
    Decision d = both_phases(authz::Chain(described(c["chain"])), asking);
    check.same("decision", name_of(d), c["expected_decision"].as_string());
    check.that("error", d.error.empty() != c["expected"]["has_error"].as_bool());
  }
  return check;
}

// The chain is made here. The chain that evaluates the conditions may lack the author.
Check routing(const Value& c) {
  List list;
  Conditions::Chain entries;
  for (const Value& e : c["chain"].items()) {
    auto author = std::make_shared<Described>(e);
    entries.push_back({std::string(author->name()), author->first()});
    if (e["condition_set_evaluates_to"].as_string() != "authorizer-not-registered")
      list.push_back(author);
  }
  Decision whole = Decision::conditional(std::make_shared<const Conditions>(std::move(entries)));
  Decision d = run(authz::Chain(list).evaluate(whole, {}));
  Check check;
  check.same("decision", name_of(d), c["expected_decision"].as_string());
  check.that("error", d.error.empty() != c["expected"]["has_error"].as_bool());
  return check;
}

struct Suite {
  std::string_view name;
  Check (*run)(const Value&);
};
constexpr Suite kSuites[] = {
    {"decision_construction", construction},
    {"condition_set_evaluation", set_evaluation},
    {"partial_evaluation", partial},
    {"union_builder", builder},
    {"chain_two_phase", two_phases},
    {"chain_short_circuit", calls},
    {"chain_unconditional", unconditional},
    {"chain_routing", routing},
    {"limits_and_names", limits},
    {"fold_for_unaware_caller", unaware},
    {"sample_authorizer_cel", cel_sample},
    {"authorizer_policy_folding", policy_folding},
    {"request_eligibility", eligibility},
    {"handled_decision_types", handled_types},
    {"authorization_phase_http", authorization_phase},
    {"admission_phase_http", admission_phase},
    {"api_request", api_request},
    {"webhook_sar_response", webhook_status},
    {"webhook_unasked_conditional", webhook_unasked},
    {"webhook_evaluate_conditions", webhook_settles},
    {"webhook_config", webhook_config},
    {"conditional_decision_validation", decision_validation},
    {"sar_endpoint", sar_endpoint},
    {"sar_wire_shape", sar_wire_shape},
};

bool has_condition(const Value& conditions, std::string_view effect, std::string_view outcome) {
  for (const Value& c : conditions.items()) {
    std::string_view said = c["fallback_evaluates_to"].is_null()
                                ? c["evaluates_to"].as_string()
                                : c["fallback_evaluates_to"].as_string();
    if (c["effect"].as_string() == effect && said == outcome) return true;
  }
  return false;
}

bool lacks_domain(const Value& conditions) {
  for (const Value& c : conditions.items()) {
    std::string_view id = c["id"].as_string(), type = c["type"].as_string();
    if (id.find('/') == std::string_view::npos ||
        (!type.empty() && type.find('/') == std::string_view::npos))
      return true;
  }
  return false;
}

// The decision of the page that a row contradicts; 0: no contradiction.
int contradicts(const Value& c) {
  std::string_view suite = c["suite"].as_string();
  // 6: an error in an Allow condition counts as false, so that other conditions may still allow.
  if (suite == "condition_set_evaluation" && c["expected_decision"].as_string() == "NoOpinion" &&
      has_condition(c["conditions"], "Allow", "error") &&
      has_condition(c["conditions"], "Allow", "unevaluatable") &&
      !has_condition(c["conditions"], "NoOpinion", "error"))
    return 6;
  // 8: the domain part of ids and types is optional.
  if (suite == "limits_and_names" && c["expected"]["has_error"].as_bool() &&
      c["name"].as_string().find("domain prefix") != std::string_view::npos &&
      lacks_domain(c["conditions"]))
    return 8;
  if (suite == "conditional_decision_validation" &&
      c["name"].as_string().find("domain prefix") != std::string_view::npos)
    return 8;
  // 4: a review without a response is not a silent NoOpinion.
  if (suite == "webhook_evaluate_conditions" &&
      c["acr_response"].as_string() == "no-response-field" && !c["expected"]["has_error"].as_bool())
    return 4;
  // 14: access reviews are also subject to access control.
  if (suite == "request_eligibility" &&
      c["request"]["group"].as_string() == "authorization.k8s.io" &&
      !c["expected"]["eligible"].as_bool() && c["request"]["verb"].as_string() == "create")
    return 14;
  // 14 again: the body of the review decides.
  bool of_review = c["request"]["group"].as_string() == "authorization.k8s.io" &&
                   c["request"]["verb"].as_string() == "create";
  if (suite == "api_request" && of_review && c["note"].as_string().starts_with("not eligible") &&
      c["webhook_decision"]["conditions"].size() > 0 &&
      c["webhook_decision"]["conditions"][0]["effect"].as_string() == "Allow")
    return 14;
  return 0;
}

// Rows may refer to the row before: the same text again, or its left side compared with another
// value. If there is no such row, the left side is the subject of the rows: a label of the
// namespace.
void complete(Value& c, std::string& last) {
  if (c["suite"].as_string() != "api_request") return;
  const Value& rows = c["webhook_decision"]["conditions"];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string text(rows[i]["condition"].as_string());
    if (text == "same as above") {
      text = last;
    } else if (text.starts_with("... ==")) {
      std::string left = last.find("namespaceObject") != std::string::npos
                             ? last.substr(0, last.find(" =="))
                             : "namespaceObject.metadata.labels.env";
      text = left + text.substr(3);
    }
    last = text;
    c.member("webhook_decision").member("conditions").item(i).set("condition", text);
  }
}

}  // namespace

Counts run_conditional(const std::string& path) {
  Counts counts;
  std::map<std::string, int> unread;
  Value data = read(path);
  std::string last;
  for (Value c : data["cases"].items()) {
    complete(c, last);
    if (int decision = contradicts(c)) {
      std::printf("conditional %s: skipped, decision %d says otherwise\n",
                  std::string(c["id"].as_string()).c_str(), decision);
      ++counts.skipped;
      continue;
    }
    auto suite = std::ranges::find(kSuites, c["suite"].as_string(), &Suite::name);
    if (suite == std::end(kSuites)) {
      ++unread[std::string(c["suite"].as_string())];
      ++counts.skipped;
      continue;
    }
    Check check = suite->run(c);
    counts.check(check.problems.empty());
    if (!check.problems.empty())
      std::printf("conditional %s: %s\n", std::string(c["id"].as_string()).c_str(),
                  check.problems.c_str());
  }
  for (const auto& [suite, n] : unread)
    std::printf("conditional %s: %d skipped, not read yet\n", suite.c_str(), n);
  return counts;
}

}  // namespace cardea::conformance
