// ImpersonationReview: the permissions that one user needs to make a request as another, which of
// them the user has, and the smallest rules that are missing. Answered and not stored.
#include "authz/access_review.h"
#include "authz/condition_line.h"
#include "authz/user_info.h"
#include "base/strings.h"
#include "impersonation/plan.h"
#include "rest/asking.h"
#include "rest/reviews/admit_review.h"
#include "rest/reviews/conditional_answer.h"
#include "rest/verbs/subresources.h"

namespace cardea::rest {

using json::Value;

namespace {

using impersonation::PlannedMode;
using impersonation::PlannedQuestion;

constexpr std::size_t kMostImpersonatedParts = 64;  // groups, and values of extra, of the
                                                    // impersonated user

std::size_t parts_of(const Value& user) {
  std::size_t out = user["groups"].size();
  for (const json::Member& m : user["extra"].members()) out += 1 + m.value.size();
  return out;
}

Result<void> check_impersonation(const Call& call, const Value& review) {
  const Value& spec = review["spec"];
  json::FieldErrors errors = errors_about_user(spec);
  if (spec["impersonate"]["user"].as_string().empty())
    errors.push_back(json::required("spec.impersonate.user"));
  for (const json::Member& m : spec["impersonate"]["extra"].members())
    if (m.value.empty())
      errors.push_back(json::required(cat("spec.impersonate.extra[", m.key(), "]")));
  if (std::size_t parts = parts_of(spec["impersonate"]); parts > kMostImpersonatedParts)
    errors.push_back(
        json::too_many("spec.impersonate", static_cast<int>(parts), kMostImpersonatedParts));
  if (errors.empty()) return {};
  return fail(json::invalid_object(call.resource->group, call.resource->kind, "", errors));
}

authz::RequestInfo request_of(const authz::Attributes& a) {
  authz::RequestInfo out;
  out.is_resource_request = a.is_resource_request;
  out.path = a.path;
  out.verb = a.verb;
  out.api_group = a.api_group;
  out.api_version = a.api_version;
  out.namespace_name = a.namespace_name;
  out.resource = a.resource;
  out.subresource = a.subresource;
  out.name = a.name;
  return out;
}

void set_given(Value& object, std::string_view key, const std::string& text) {
  if (!text.empty()) object.set(key, text);
}

bool is_open(const PlannedQuestion& q) {
  return q.decision.kind == authz::Decision::Kind::kConditional;
}

Value shown_question(const PlannedQuestion& q) {
  Value out = authz::review_status(q.decision, "");
  if (is_open(q)) out.set("reason", authz::condition_line(q.decision));
  Value asked = Value::object({{"verb", q.verb}});
  if (!q.is_resource_request) {
    asked.set("path", q.path);
    out.set("nonResourceAttributes", std::move(asked));
    return out;
  }
  set_given(asked, "group", q.api_group);
  set_given(asked, "resource", q.resource);
  set_given(asked, "subresource", q.subresource);
  set_given(asked, "namespace", q.namespace_name);
  set_given(asked, "name", q.name);
  out.set("resourceAttributes", std::move(asked));
  return out;
}

Value one(std::string text) {
  return Value::array({Value(std::move(text))});
}

// The smallest rule that allows this question and no other.
Value missing_grant(const PlannedQuestion& q) {
  Value rule = Value::object({{"verbs", one(q.verb)}});
  Value out = Value::object({});
  if (!q.is_resource_request) {
    rule.set("nonResourceURLs", one(q.path));
  } else {
    rule.set("apiGroups", one(q.api_group));
    rule.set("resources",
             one(q.subresource.empty() ? q.resource : cat(q.resource, "/", q.subresource)));
    // A name that stands for all of them is no name of an object.
    if (!q.name.empty() && q.name != "*") rule.set("resourceNames", one(q.name));
    set_given(out, "namespace", q.namespace_name);
  }
  out.set("rule", std::move(rule));
  return out;
}

Value shown_mode(const PlannedMode& mode) {
  Value out = Value::object(
      {{"mode", impersonation::mode_name(mode.mode)}, {"allowed", mode.is_allowed()}});
  const bool depends = !mode.is_allowed() && mode.may_be_allowed();
  set_given(out, "reason", depends ? "it depends on the object" : mode.flaw);
  Value missing = Value::array();
  for (const PlannedQuestion& q : mode.questions) {
    out.member("questions").push_back(shown_question(q));
    // No rule helps against a denial.
    const bool is_refused = !q.decision.allowed() && !is_open(q);
    if (q.counts && is_refused && q.decision.kind != authz::Decision::Kind::kDeny)
      missing.push_back(missing_grant(q));
  }
  if (mode.flaw.empty() && !missing.empty()) out.set("missingGrants", std::move(missing));
  return out;
}

}  // namespace

Task<Result<Answer>> review_impersonation(Call& call) {
  Result<Value> review = co_await admit_review(call, {.check = check_impersonation});
  if (!review) co_return fail(review.error());
  const Value spec = (*review)["spec"];
  std::shared_ptr<const authz::Chain> chain = call.services.authorizer.get()->frozen();
  const authz::User sender = authz::read_subject(spec);
  authz::User wanted = authz::read_subject(spec["impersonate"]);
  authz::Question question(spec);
  authz::RequestInfo request = request_of(question.attributes(sender));
  using Rules = impersonation::Attempt::Rules;
  const Rules rules = call.services.constrained_impersonation ? Rules::kConstrained
                                                              : Rules::kLegacyOnly;
  const authz::Asking asking = call.services.conditional_authorization
                                   ? authz::Asking::kConditionsAware
                                   : authz::Asking::kFolded;
  const authz::Attributes asked = question.attributes(sender);
  const bool may_stay_open = asking != authz::Asking::kFolded && asked.verb != "deletecollection" &&
                             may_be_settled(asked);
  std::vector<PlannedMode> modes = co_await impersonation::plan(
      chain, sender, std::move(wanted), std::move(request), rules, asking, may_stay_open);
  bool back = co_await back_on_loop(call);
  (void)back;
  Value status = Value::object({{"allowed", false}});
  for (const PlannedMode& mode : modes) {
    Value shown = shown_mode(mode);
    if (mode.is_allowed() && !status["allowed"].as_bool()) {
      status.set("allowed", true);
      status.set("mode", shown["mode"]);
    }
    status.member("modes").push_back(std::move(shown));
  }
  review->set("status", std::move(status));
  co_return Answer::of(std::move(*review), 201);
}

}  // namespace cardea::rest
