#include "authz/wire/webhook_conditions.h"

#include "authz/cel_conditions.h"
#include "base/strings.h"

namespace cardea::authz::wire {

using json::Value;

namespace {

// Whether anything in a tree could deny; what is not understood could.
bool could_deny(const Value& tree, int depth = 0) {
  std::string_view type = tree["type"].as_string();
  if (depth > 16) return true;
  if (type == "Allow" || type == "NoOpinion") return false;
  const Value& denials = tree["conditionsMap"]["denyConditions"];
  if (type == "ConditionsMap") return !denials.empty() || (!denials.is_null() && !denials.is_array());
  if (type != "Union" || !tree["union"].is_array()) return true;
  for (const Value& entry : tree["union"].items())
    if (could_deny(entry["decision"], depth + 1)) return true;
  return false;
}

bool list_could_deny(const Value& list) {
  if (!list.is_array()) return true;
  for (const Value& entry : list.items()) {
    if (entry["denied"].as_bool()) return true;
    for (const Value& c : (entry.has("conditions") ? entry["conditions"] : entry["conditionsSet"]).items())
      if (c["effect"].as_string() != "Allow" && c["effect"].as_string() != "NoOpinion") return true;
  }
  return false;
}

Decision with_error(Decision d, std::string error) {
  d.error = std::move(error);
  return d;
}

Result<Decision> malformed(std::string why) { return fail(internal_error(cat("the webhook's answer is malformed: ", why))); }

Result<Decision> read_tree(const Value& tree) {
  std::string_view type = tree["type"].as_string();
  if (type == "Allow" || type == "Deny" || type == "NoOpinion")
    return malformed("status.conditionalDecision.type: unconditional decisions must be expressed with allowed and denied");
  json::FieldErrors errors;
  Result<Decision> out = from_tree(tree, "status.conditionalDecision", errors, Author::kThirdParty);
  if (!out) return malformed(out.error().message);
  return out;
}

}  // namespace

void invite_conditions(Value& spec, Dialect dialect) {
  if (dialect == Dialect::kTree)
    spec.set("authorizationOptions",
             Value::object({{"handledDecisionTypes", Value::array({"Allow", "Deny", "NoOpinion", "ConditionsMap", "Union"})}}));
  if (dialect == Dialect::kList) spec.set("conditionalAuthorization", Value::object({{"mode", "Optimized"}}));
}

Result<Decision> decision_in_status(const Value& status, Dialect asked) {
  bool allowed = status["allowed"].as_bool(), denied = status["denied"].as_bool();
  const Value& tree = status["conditionalDecision"];
  const Value& list = status["conditionsChain"];
  std::string reason(status["reason"].as_string()), error(status["evaluationError"].as_string());
  if (allowed && denied) return with_error(Decision::deny(reason), "webhook subject access review returned both allow and deny response");
  if (tree.is_null() && list.is_null()) {
    Decision out{allowed ? Decision::Kind::kAllow : denied ? Decision::Kind::kDeny : Decision::Kind::kNoOpinion, reason, error, nullptr};
    return out;
  }
  if (allowed || denied) return malformed("it is conditional, and allows or denies");
  bool is_asked = (asked == Dialect::kTree && list.is_null()) || (asked == Dialect::kList && tree.is_null());
  if (!is_asked) {
    bool denies = !tree.is_null() ? could_deny(tree) : list_could_deny(list);
    std::string_view where = !tree.is_null() ? "conditionalDecision" : "conditionsChain";
    return with_error(denies ? Decision::deny({}) : Decision::no_opinion(), cat("status.", where, ": Forbidden: the webhook answered with conditions that nobody asked for"));
  }
  if (asked == Dialect::kTree) return read_tree(tree);
  json::FieldErrors errors;
  Result<Decision> out = from_list(list, "status.conditionsChain", errors, Author::kThirdParty);
  if (!out) return malformed(out.error().message);
  return out;
}

Value conditions_review(const Decision& open, const ConditionData& data, std::string_view uid, Dialect dialect) {
  Value about = admission_request(data);
  about.set("object", data.object ? *data.object : Value());
  about.set("oldObject", data.old_object ? *data.old_object : Value());
  Value request;
  if (dialect == Dialect::kTree) {
    about.set("uid", uid);
    request = Value::object({{"decision", as_tree(open)}, {"admissionRequest", std::move(about)}});
  } else {
    request = std::move(about);
    request.set("conditionSets", as_list(open, false));
  }
  if (data.impersonated) request.set("impersonatedRequest", impersonated_request(data));
  return Value::object({{"apiVersion", "authorization.k8s.io/v1alpha1"}, {"kind", "AuthorizationConditionsReview"}, {"request", std::move(request)}});
}

Decision settled_by(const Value& answer, const Decision& open, std::string_view uid, Dialect dialect) {
  if (open.kind != Decision::Kind::kConditional) return failed(open, "there is nothing to evaluate in an unconditional decision");
  const Value& response = answer["response"];
  if (!response.is_object()) return failed(open, "the review of conditions came back without a response");
  Decision out;
  if (dialect == Dialect::kTree) {
    if (response["uid"].as_string() != uid) return failed(open, "the review of conditions came back with another uid");
    std::optional<Decision> said = unconditional_from_tree(response["decision"]);
    if (!said) return failed(open, cat("the review of conditions came back with a decision of type ", quoted(response["decision"]["type"].as_string())));
    out = std::move(*said);
  } else {
    if (!response["allowed"].is_bool()) return failed(open, "the review of conditions came back without an answer");
    if (response["allowed"].as_bool() && response["denied"].as_bool()) return failed(open, "the review of conditions came back both allowed and denied");
    Result<Decision> said = decision_in_status(response, Dialect::kNone);
    if (!said) return failed(open, said.error().message);
    out = std::move(*said);
  }
  if (!allows(possible_outcomes(open), out.kind)) return failed(open, "the review of conditions came back with what the conditions exclude");
  return out;
}

}  // namespace cardea::authz::wire
