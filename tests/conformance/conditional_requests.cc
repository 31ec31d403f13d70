// conditional-authz.json: requests from the question to the answer, without bytes. The case gives
// the answers of authorizers. The chain, its questions, and the evaluation of conditions are those
// of the server.
#include <algorithm>

#include "authz/access/access_authorizer.h"
#include "authz/cel_conditions.h"
#include "authz/eligibility.h"
#include "authz/wire/decision_json.h"
#include "base/strings.h"
#include "conformance/conditional.h"
#include "json/print.h"

namespace cardea::conformance {
namespace {

using authz::Condition;
using authz::Conditions;
using authz::Decision;
using json::Value;

template <typename T>
T run(Task<T> task) {
  std::optional<T> value;
  spawn(std::move(task), [&](T v) { value.emplace(std::move(v)); });
  return std::move(*value);
}

// Gives the answers of the case, and evaluates its conditions as CEL, whatever their type.
class Told : public authz::Authorizer {
 public:
  Told(std::string name, std::function<Decision(const authz::Attributes&)> answer)
      : name_(std::move(name)), answer_(std::move(answer)) {}
  std::string_view name() const override { return name_; }
  std::optional<Decision> authorize(const authz::Attributes& a) const override {
    return answer_(a);
  }
  Task<Decision> evaluate(std::shared_ptr<const Conditions> conditions,
                          const authz::ConditionData& data) const override {
    Conditions::Set set = *conditions->set();
    for (Condition& c : set.conditions) c.type = std::string(authz::kCelType);
    authz::SecondaryChecks checks(data.authorizer, data.user);
    authz::CelConditions evaluator(data, checks);
    co_return authz::evaluated(set, evaluator);
  }

 private:
  std::string name_;
  std::function<Decision(const authz::Attributes&)> answer_;
};

authz::Attributes attributes_of(const authz::User& user, const Value& request) {
  authz::Attributes a(user);
  a.is_resource_request = true;
  a.verb = request["verb"].as_string();
  a.api_group = request["group"].as_string();
  a.api_version = request.has("version") ? request["version"].as_string() : "v1";
  a.resource = request["resource"].as_string();
  a.namespace_name = request["namespace"].as_string();
  return a;
}

const authz::User kUser{.name = "user"};

// Whether a request with this object passes both phases.
bool passes(const authz::Chain& chain, authz::Attributes a, const Value& request, bool gate,
            std::string_view operation) {
  bool aware = gate && authz::may_be_conditional(a);
  authz::Chain::Verdict verdict = run(
      chain.authorize(a, aware ? authz::Asking::kConditionsAware : authz::Asking::kFolded));
  if (!verdict.permit) return false;
  if (!verdict.permit->is_conditional()) return true;
  Value object = request.has("object") ? request["object"]
                                       : Value::object({{"metadata", Value::object()}});
  if (object["metadata"].is_null()) object.set("metadata", Value::object());
  // Rows about a secondary check do not mention that the object has the label that requires it.
  if (!request["extra"].as_string().empty())
    object.member("metadata").set("labels", Value::object({{"protected-label", "yes"}}));
  Value space = Value::object(
      {{"metadata",
        Value::object({{"name", "test-ns"}, {"labels", request["namespace_labels"]}})}});
  authz::ConditionData data{
      .operation = operation,
      .object = &object,
      .old_object = request["oldObject"].is_null() ? nullptr : &request["oldObject"],
      .namespace_object = &space,
      .group = a.api_group,
      .version = a.api_version,
      .resource = a.resource,
      .namespace_name = a.namespace_name,
      .user = &kUser};
  return run(chain.evaluate(verdict.decision, data)).allowed();
}

}  // namespace

Check api_request(const Value& c) {
  const Value& request = c["request"];
  const Value& told = c["webhook_decision"];
  bool by_verb = told.has("for_verb_create");
  std::string extra(request["extra"].as_string());
  authz::Chain chain(
      {std::make_shared<Told>(
           "webhook",
           [&](const authz::Attributes& a) {
             if (a.verb == "use")
               return extra.starts_with("user has") ? Decision::allow() : Decision::no_opinion();
             if (!by_verb) return decision_of(told);
             return decision_of(
                 told[a.verb == "create" ? "for_verb_create" : "for_verb_update_or_patch"]);
           }),
       std::make_shared<Told>("rbac", [&](const authz::Attributes&) {
         return c["rbac_allows"].as_bool() ? Decision::allow("rbac") : Decision::no_opinion();
       })});
  Check check;
  for (bool gate : {true, false}) {
    bool allowed;
    authz::Attributes a = attributes_of(kUser, request);
    if (by_verb) {
      a.verb = "update";
      allowed = passes(chain, a, request, gate, "CREATE");
      a.verb = "create";
      allowed = allowed && passes(chain, a, request, gate, "CREATE");
    } else {
      allowed = passes(chain, a, request, gate, a.verb == "create" ? "CREATE" : "UPDATE");
    }
    check.that(
        gate ? "with the gate" : "without the gate",
        allowed ==
            c["expected"][gate ? "allowed_with_feature_on" : "allowed_with_feature_off"].as_bool());
  }
  return check;
}

Check eligibility(const Value& c) {
  Check check;
  check.that("eligible", authz::may_be_conditional(attributes_of(kUser, c["request"])) ==
                             c["expected"]["eligible"].as_bool());
  return check;
}

Check handled_types(const Value& c) {
  const Value& types = c["handledDecisionTypes"];
  Check check;
  check.that("aware",
             authz::wire::takes_conditions(types) == c["expected"]["conditions_aware"].as_bool());
  check.that("unconditional", authz::wire::takes_unconditional(types) ==
                                  c["expected"]["unconditional_supported"].as_bool());
  return check;
}

Check cel_sample(const Value& c) {
  Check check;
  if (c["conditions"].is_null()) return check;  // unconditional: nothing to evaluate
  Conditions::Set set = set_of(c["conditions"]);
  for (Condition& condition : set.conditions) condition.type = std::string(authz::kCelType);
  Decision first = authz::conditional_on(set);
  check.same("folded", name_of(authz::folded(first)),
             c["expected"]["unaware_decision"].as_string());
  const Value& request = c["request"];
  authz::ConditionData data{.object = &request["object"], .old_object = &request["oldObject"]};
  authz::SecondaryChecks checks(nullptr, nullptr);
  authz::CelConditions evaluator(data, checks);
  Decision d = authz::partially_evaluated(first, evaluator);
  check.same("decision", name_of(d), c["expected_decision"].as_string());
  if (std::string_view id = c["expected"]["deciding_condition"].as_string(); !id.empty())
    check.that("named", d.reason.text().find(quoted(id)) != std::string::npos);
  return check;
}

// How one authorizer combines the policies that match into one answer.
Check policy_folding(const Value& c) {
  authz::access::Policy some("", "some", Value::object());
  auto shared = std::make_shared<const authz::access::Policy>("", "always", Value::object());
  authz::access::Matches m;
  auto condition = [](std::string id, Condition::Effect effect) {
    return Condition{.effect = effect, .id = std::move(id), .type = "", .text = "x"};
  };
  for (const Value& p : c["matching_policies"].items()) {
    std::string_view name = p.as_string();
    bool open = name.ends_with("-conditional");
    if (name.starts_with("Deny"))
      open ? (void)m.deny_if.push_back(condition("deny", Condition::Effect::kDeny))
           : (void)(m.denies = shared.get());
    else if (name.starts_with("NoOpinion"))
      open ? (void)m.abstain_if.push_back(condition("abstain", Condition::Effect::kNoOpinion))
           : (void)(m.abstains = shared.get());
    else
      open ? (void)m.allow_if.push_back(condition("allow", Condition::Effect::kAllow))
           : (void)(m.allows = shared.get());
  }
  Decision d = authz::access::combined(std::move(m));
  Check check;
  check.same("decision", name_of(d), c["expected_decision"].as_string());
  const Value& want = c["expected"]["condition_set"];
  if (want.is_null() || !d.conditions) return check;
  auto has = [&](Condition::Effect effect) {
    return std::ranges::any_of(d.conditions->set()->conditions,
                               [&](const Condition& one) { return one.effect == effect; });
  };
  check.that("deny part", has(Condition::Effect::kDeny) == want.has("deny"));
  check.that("noOpinion part", has(Condition::Effect::kNoOpinion) == want.has("noOpinion"));
  check.that("allow part", has(Condition::Effect::kAllow) == want.has("allow"));
  if (want["allow"].as_string() == "one always-true condition") {
    const Condition& last = d.conditions->set()->conditions.back();
    check.that("always true", last.effect == Condition::Effect::kAllow && last.text == "true");
  }
  return check;
}

// The answer of the first phase over HTTP.
Check authorization_phase(const Value& c) {
  Check check;
  for (bool gate : {true, false}) {
    const Value& want = c["expected"][gate ? "feature_on" : "feature_off"];
    authz::Chain chain({std::make_shared<Told>(
        "one", [&](const authz::Attributes&) { return decision_of(c["input"]); })});
    bool eligible = c["request_eligible_for_conditions"].as_bool();
    authz::Chain::Verdict v = run(
        chain.authorize(authz::Attributes(kUser), gate && eligible ? authz::Asking::kConditionsAware
                                                                   : authz::Asking::kFolded));
    int status = v.permit ? 200 : v.decision.error.empty() ? 403 : 500;
    check.same(gate ? "status with the gate" : "status without", std::to_string(status),
               std::to_string(want["status"].as_int()));
  }
  return check;
}

// The answer of enforcement: the object is written exactly if the conditions allow it. An error of
// an evaluation is never a 500 (decision 6).
Check admission_phase(const Value& c) {
  class Settles : public authz::Authorizer {
   public:
    Settles(Decision first, Decision then) : first_(std::move(first)), then_(std::move(then)) {}
    std::string_view name() const override { return "one"; }
    std::optional<Decision> authorize(const authz::Attributes&) const override { return first_; }
    Task<Decision> evaluate(std::shared_ptr<const Conditions>,
                            const authz::ConditionData&) const override {
      co_return then_;
    }

   private:
    Decision first_, then_;
  };
  Decision then{kind_named(c["condition_set_evaluates_to"].as_string()),
                {},
                std::string(c["evaluation_error"].as_string()),
                nullptr};
  authz::Chain chain({std::make_shared<Settles>(decision_of(c["input"]), then)});
  authz::Chain::Verdict v = run(
      chain.authorize(authz::Attributes(kUser), authz::Asking::kConditionsAware));
  Check check;
  bool allowed = v.permit && run(chain.evaluate(v.decision, {})).allowed();
  check.that("written", allowed == c["expected"]["object_written"].as_bool());
  std::int64_t want = c["expected"]["http_status"].as_int();
  check.that("status", (allowed ? 200 : 403) == (want == 500 ? 403 : want));
  return check;
}

}  // namespace cardea::conformance
