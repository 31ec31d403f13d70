// conditional-authz.json: what webhooks answer, about requests and about conditions.
#include "authz/wire/webhook_conditions.h"
#include "base/strings.h"
#include "conformance/conditional.h"

namespace cardea::conformance {

using authz::Decision;
using authz::wire::Dialect;
using json::Value;

Check webhook_status(const Value& c) {
  const Value& webhook = c["webhook"];
  bool denies = webhook["failurePolicy"].as_string() == "Deny";
  Decision d = denies ? Decision::deny({}) : Decision::no_opinion();
  d.error = "failed";
  if (webhook["transport_error"].is_null())
    if (auto read = authz::wire::decision_in_status(webhook["sar_status"], Dialect::kTree))
      d = std::move(*read);
  Check check;
  check.same("decision", name_of(d), c["expected_decision"].as_string());
  check.that("error", d.error.empty() != c["expected"]["has_error"].as_bool());
  Value spec = Value::object();
  authz::wire::invite_conditions(spec, Dialect::kTree);
  check.that("invitation", spec["authorizationOptions"]["handledDecisionTypes"] ==
                               c["expected"]["request_spec_contains_handledDecisionTypes"]);
  return check;
}

Check webhook_unasked(const Value& c) {
  auto d = authz::wire::decision_in_status(c["webhook"]["sar_status"], Dialect::kNone);
  Check check;
  check.that("readable", d.has_value());
  if (!d) return check;
  check.same("decision", name_of(*d), c["expected_decision"].as_string());
  check.that("error", d->error.empty() != c["expected"]["has_error"].as_bool());
  return check;
}

Check webhook_settles(const Value& c) {
  Decision open = decision_of(c["input"]);
  const Value& told = c["acr_response"];
  Value answer = Value::object();
  std::string error;
  if (told.is_object()) {
    Value response = told;
    if (response["uid"].as_string().starts_with("<copied")) response.set("uid", "u");
    answer.set("response", std::move(response));
  } else if (std::string_view word = told.as_string(); word != "no-response-field") {
    error = word;  // no endpoint, or no answer: the caller reports it
  }
  Decision d = error.empty() ? authz::wire::settled_by(answer, open, "u", Dialect::kTree)
                             : authz::failed(open, error);
  Check check;
  check.same("decision", name_of(d), c["expected_decision"].as_string());
  check.that("error", d.error.empty() != c["expected"]["has_error"].as_bool());
  return check;
}

}  // namespace cardea::conformance
