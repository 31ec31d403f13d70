#include "authz/wire/webhook_conditions.h"

#include "authz/cel_conditions.h"
#include "authz/evaluation.h"
#include "base/strings.h"

namespace cardea::authz::wire {

using json::Value;

namespace {

constexpr std::string_view kConditionsKind = "AuthorizationConditionsReview",
                           kConditionsVersion = "authorization.k8s.io/v1alpha1";

// Whether anything in a tree could deny; what is not understood could.
bool could_deny(const Value& tree, int depth = 0) {
  std::string_view type = tree["type"].as_string();
  if (depth > 16) return true;
  if (type == "Allow" || type == "NoOpinion") return false;
  const Value& denials = tree["conditionsMap"]["denyConditions"];
  if (type == "ConditionsMap")
    return !denials.empty() || (!denials.is_null() && !denials.is_array());
  if (type != "Union" || !tree["union"].is_array()) return true;
  for (const Value& entry : tree["union"].items())
    if (could_deny(entry["decision"], depth + 1)) return true;
  return false;
}

bool list_could_deny(const Value& list) {
  if (!list.is_array()) return true;
  for (const Value& entry : list.items()) {
    if (entry["denied"].as_bool()) return true;
    for (const Value& c :
         (entry.has("conditions") ? entry["conditions"] : entry["conditionsSet"]).items())
      if (c["effect"].as_string() != "Allow" && c["effect"].as_string() != "NoOpinion") return true;
  }
  return false;
}

Decision with_error(Decision d, std::string error) {
  d.error = std::move(error);
  return d;
}

Result<Decision> malformed(std::string why) {
  return fail(internal_error(cat("the webhook's answer is malformed: ", why)));
}

Result<Decision> read_tree(const Value& tree) {
  std::string_view type = tree["type"].as_string();
  if (type == "Allow" || type == "Deny" || type == "NoOpinion")
    return malformed(
        "status.conditionalDecision.type: unconditional decisions must be expressed with allowed "
        "and denied");
  json::FieldErrors errors;
  Result<Decision> out = from_tree(tree, "status.conditionalDecision", errors, Author::kThirdParty);
  if (!out) return malformed(out.error().message);
  return out;
}

Result<Decision> read_list(const Value& list) {
  json::FieldErrors errors;
  Result<Decision> out = from_list(list, "status.conditionsChain", errors, Author::kThirdParty);
  if (!out) return malformed(out.error().message);
  return out;
}

// Conditions that were not asked for deny if any of them could, and allow nothing. Unreadable
// ones are an error.
Result<Decision> unasked(const Value& tree, const Value& list) {
  const bool denies = (!tree.is_null() && could_deny(tree)) ||
                      (!list.is_null() && list_could_deny(list));
  if (!denies && !tree.is_null())
    if (Result<Decision> read = read_tree(tree); !read) return read;
  if (!denies && !list.is_null())
    if (Result<Decision> read = read_list(list); !read) return read;
  std::string_view where = !tree.is_null() ? "conditionalDecision" : "conditionsChain";
  return with_error(
      denies ? Decision::deny({}) : Decision::no_opinion(),
      cat("status.", where,
          ": Forbidden: the webhook answered with conditions that the server did not ask for"));
}

// A field of another type would read as empty: as no denial, or as no error.
std::string problem_of_types(const Value& said, std::string_view at) {
  for (std::string_view key : {"allowed", "denied"})
    if (const Value& v = said[key]; !v.is_null() && !v.is_bool())
      return cat(at, ".", key, " must be a boolean");
  for (std::string_view key : {"uid", "reason", "evaluationError"})
    if (const Value& v = said[key]; !v.is_null() && !v.is_string())
      return cat(at, ".", key, " must be a string");
  return "";
}

// What is wrong with the form of an answered review of conditions; empty when nothing is.
std::string problem_of_review(const Value& answer) {
  if (const Value& kind = answer["kind"]; !kind.is_null() && kind.as_string() != kConditionsKind)
    return cat("with the kind ", quoted(kind.as_string()));
  if (const Value& version = answer["apiVersion"];
      !version.is_null() && version.as_string() != kConditionsVersion)
    return cat("with the apiVersion ", quoted(version.as_string()));
  const Value& response = answer["response"];
  if (!response.is_object()) return "without a response";
  std::string problem = problem_of_types(response, "response");
  const Value& tree = response["decision"];
  for (std::string_view member : {"allow", "deny", "noOpinion"})
    if (problem.empty())
      problem = problem_of_types(tree[member], cat("response.decision.", member));
  return problem.empty() ? "" : cat("malformed: ", problem);
}

// What `allowed` and `denied` say, where they are there, does not contradict `kind`.
bool agrees(const Value& response, Decision::Kind kind) {
  const Value &allowed = response["allowed"], &denied = response["denied"];
  return (allowed.is_null() || allowed.as_bool() == (kind == Decision::Kind::kAllow)) &&
         (denied.is_null() || denied.as_bool() == (kind == Decision::Kind::kDeny));
}

// The one answer of a response, in the words of `dialect`.
Result<Decision> answer_in(const Value& response, std::string_view uid, Dialect dialect) {
  auto wrong = [](std::string how) {
    return fail(internal_error(cat("the review of conditions came back ", how)));
  };
  const Value& tree = response["decision"];
  std::optional<Decision> said = unconditional_from_tree(tree);
  if ((dialect == Dialect::kTree || !tree.is_null()) && !said)
    return wrong(cat("with a decision of type ", quoted(tree["type"].as_string())));
  if (said && !agrees(response, said->kind))
    return wrong("with two answers that contradict each other");
  if (dialect == Dialect::kTree) {
    if (response["uid"].as_string() != uid) return wrong("with another uid");
    return std::move(*said);
  }
  if (!response["allowed"].is_bool()) return wrong("without an answer");
  if (response["allowed"].as_bool() && response["denied"].as_bool())
    return wrong("both allowed and denied");
  return decision_in_status(response, Dialect::kNone);
}

}  // namespace

void invite_conditions(Value& spec, Dialect dialect) {
  if (dialect == Dialect::kTree)
    spec.set("authorizationOptions",
             Value::object({{"handledDecisionTypes", Value::array({"Allow", "Deny", "NoOpinion",
                                                                   "ConditionsMap", "Union"})}}));
  if (dialect == Dialect::kList)
    spec.set("conditionalAuthorization", Value::object({{"mode", "Optimized"}}));
}

Result<Decision> decision_in_status(const Value& status, Dialect asked) {
  bool allowed = status["allowed"].as_bool(), denied = status["denied"].as_bool();
  const Value& tree = status["conditionalDecision"];
  const Value& list = status["conditionsChain"];
  std::string reason(status["reason"].as_string()), error(status["evaluationError"].as_string());
  if (allowed && denied)
    return with_error(Decision::deny(reason),
                      "webhook subject access review returned both allow and deny response");
  if (tree.is_null() && list.is_null()) {
    Decision out{allowed  ? Decision::Kind::kAllow
                 : denied ? Decision::Kind::kDeny
                          : Decision::Kind::kNoOpinion,
                 reason, error, nullptr};
    return out;
  }
  if (allowed || denied) return malformed("it is conditional, and allows or denies");
  bool is_asked = (asked == Dialect::kTree && list.is_null()) ||
                  (asked == Dialect::kList && tree.is_null());
  if (!is_asked) return unasked(tree, list);
  return asked == Dialect::kTree ? read_tree(tree) : read_list(list);
}

Value conditions_review(const Decision& open, const ConditionData& data, std::string_view uid,
                        Dialect dialect) {
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
  return Value::object({{"apiVersion", kConditionsVersion},
                        {"kind", kConditionsKind},
                        {"request", std::move(request)}});
}

Decision settled_by(const Value& answer, const Decision& open, std::string_view uid,
                    Dialect dialect) {
  if (open.kind != Decision::Kind::kConditional)
    return failed(open, "there is nothing to evaluate in an unconditional decision");
  if (std::string problem = problem_of_review(answer); !problem.empty())
    return failed(open, cat("the review of conditions came back ", problem));
  Result<Decision> said = answer_in(answer["response"], uid, dialect);
  if (!said) return failed(open, said.error().message);
  Decision out = said->error.empty() ? std::move(*said) : despite_error(open, std::move(*said));
  if (allows(possible_outcomes(open), out.kind)) return out;
  return failed(open, out.error.empty()
                          ? "the review of conditions came back with what the conditions exclude"
                          : out.error);
}

}  // namespace cardea::authz::wire
