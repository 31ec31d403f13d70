#include "rest/policy/reviews.h"

#include <set>

#include "authz/access_review.h"
#include "authz/eligibility.h"
#include "authz/namespace_policy/documents.h"
#include "authz/namespace_policy/policy_authorizer.h"
#include "authz/refusal.h"
#include "base/strings.h"
#include "rest/asking.h"
#include "rest/policy/settled.h"
#include "rest/reviews/admit_review.h"
#include "rest/verbs/body.h"
#include "rest/verbs/request_match.h"
#include "rest/write/write.h"

namespace cardea::rest::policy {

namespace documents = authz::namespace_policy;
using json::Value;

namespace {

constexpr std::size_t kMostSettled = 10000;  // subjects of one answer that are asked about one by
                                             // one

Error invalid(const Call& call, const Value& review, const json::FieldErrors& errors) {
  return json::invalid_object(call.resource->group, call.resource->kind,
                              review["metadata"]["name"].as_string(), errors);
}

// The subjects that are allowed; one list for users, one for groups, both in order.
struct WhoCan {
  std::set<std::string> users, groups;
  std::string error;
};

Task<WhoCan> who_can(Call& call, ReviewQuestion question) {
  authz::User nobody;
  std::shared_ptr<const authz::Chain> chain = call.services.authorizer.get()->frozen();
  authz::AllowedSubjects allowed = chain->allowed(question.attributes(nobody));
  WhoCan out;
  std::size_t asked = 0;
  for (const authz::AllowedSubject& s : allowed.subjects) {
    bool is_group = s.kind == "Group";
    std::string name = s.kind == "ServiceAccount"
                           ? cat("system:serviceaccount:", s.namespace_name, ":", s.name)
                           : s.name;
    std::set<std::string>& list = is_group ? out.groups : out.users;
    if (list.contains(name)) continue;
    // When the object is known, a subject that is allowed under conditions is either allowed or
    // not.
    if (!question.content.is_null() && ++asked <= kMostSettled) {
      authz::User user{.groups = {std::string(authz::kAuthenticatedGroup)}};
      if (is_group)
        user.groups = {name};
      else
        user.name = name;
      Settled answer = co_await settle_question(call, chain, question, std::move(user));
      if (!answer.decision.allowed()) continue;
    }
    list.insert(name);
  }
  // Conditions that were settled for every subject are no longer worth a remark.
  if (!question.content.is_null() && asked <= kMostSettled)
    std::erase_if(allowed.remarks,
                  [](const std::string& r) { return r.starts_with("conditional: "); });
  out.error = authz::aggregated(allowed.remarks);
  co_return out;
}

Value list_of(const std::set<std::string>& names) {
  Value out = Value::array();
  for (const std::string& name : names) out.push_back(name);
  return out;
}

std::string reason_of(const Settled& answer) {
  if (!answer.open.empty()) return cat("conditional: ", answer.open);
  std::string text = answer.decision.reason.text();
  return text.empty() && !answer.decision.allowed() ? "denied by default" : text;
}

// The rule by which the policy would have allowed without the denial: the design asks for both in
// the answer.
std::string overruled(const Call& call, const ReviewQuestion& question, const authz::User& user) {
  for (const auto& authorizer : call.services.authorizer.get()->authorizers())
    if (const auto* policy = dynamic_cast<const documents::PolicyAuthorizer*>(authorizer.get()))
      return policy->explain(question.attributes(user)).allowed_by;
  return "";
}

// The body's version as it was sent: the seed's paths speak of `v1beta3` alone.
Value answered(const Call& call, Value review, Value status) {
  if (call.info.path.starts_with("/api/")) review.set("apiVersion", documents::kVersion);
  review.set("status", std::move(status));
  return review;
}

Task<Result<Answer>> review_subject(Call& call) {
  Result<Value> review = co_await admit_review(call);
  if (!review) co_return fail(review.error());
  const Value& spec = (*review)["spec"];
  json::FieldErrors errors;
  ReviewQuestion question = read_question(spec, call.info.namespace_name, *call.catalog, errors);
  std::string_view user_name = spec["userName"].as_string(),
                   group_name = spec["groupName"].as_string();
  if (!user_name.empty() && !group_name.empty())
    errors.push_back(
        json::invalid("spec.groupName", group_name, "may not be set together with userName"));
  if (!errors.empty()) co_return fail(invalid(call, *review, errors));
  authz::User user = call.user;
  if (!user_name.empty()) user = {.name = std::string(user_name)};
  if (!group_name.empty()) user = {.groups = {std::string(group_name)}};
  Settled answer = co_await settle_question(call, call.services.authorizer.get()->frozen(),
                                            question, user);
  Value status = Value::object({{"allowed", answer.decision.allowed()}});
  if (answer.decision.kind == authz::Decision::Kind::kDeny)
    if (std::string allowed_by = overruled(call, question, user); !allowed_by.empty())
      status.set("allowReason", allowed_by);
  if (std::string reason = reason_of(answer); !reason.empty())
    status.set(answer.decision.allowed() ? "allowReason" : "denyReason", reason);
  if (!answer.decision.error.empty()) status.set("evaluationError", answer.decision.error);
  co_return Answer::of(answered(call, std::move(*review), std::move(status)), 201);
}

Task<Result<Answer>> review_resource(Call& call) {
  Result<Value> review = co_await admit_review(call);
  if (!review) co_return fail(review.error());
  json::FieldErrors errors;
  ReviewQuestion question = read_question((*review)["spec"], call.info.namespace_name,
                                          *call.catalog, errors);
  if (!errors.empty()) co_return fail(invalid(call, *review, errors));
  WhoCan who = co_await who_can(call, std::move(question));
  Value status = Value::object(
      {{"userNames", list_of(who.users)}, {"groupNames", list_of(who.groups)}});
  if (!who.error.empty()) status.set("evaluationError", who.error);
  co_return Answer::of(answered(call, std::move(*review), std::move(status)), 201);
}

// The flat shapes.

bool is_local(const Call& call) {
  return call.resource->namespaced;
}

bool names_nobody(const Value& who) {
  return who["user"].as_string().empty() && who["groups"].empty();
}

authz::User named_user(const Value& who) {
  authz::User out{.name = std::string(who["user"].as_string())};
  for (const Value& g : who["groups"].items()) out.groups.emplace_back(g.as_string());
  return out;
}

// A caller that asks about a namespace from outside must have the permission to ask inside it;
// about themselves, the permission for self reviews.
Task<Result<void>> may_ask_there(Call& call, bool about_oneself, std::string_view namespace_name) {
  std::string local = cat("local", call.resource->name);
  authz::Attributes a(call.user);
  a.is_resource_request = true;
  a.verb = "create";
  a.api_group = about_oneself ? "authorization.k8s.io" : std::string_view(call.resource->group);
  a.api_version = call.resource->version;
  a.resource = about_oneself ? "selfsubjectaccessreviews" : std::string_view(local);
  a.namespace_name = namespace_name;
  authz::Chain::Verdict verdict = co_await ask_chain(call, call.services.authorizer.get(), a);
  if (verdict.decision.allowed()) co_return Result<void>();
  co_return fail(authz::forbidden(a, verdict.decision.reason.text()));
}

Task<Result<ReviewQuestion>> flat_question(Call& call, const Value& review) {
  json::FieldErrors errors;
  ReviewQuestion question = read_flat_question(review, *call.catalog, errors);
  if (is_local(call)) {
    if (!question.namespace_name.empty() && question.namespace_name != call.info.namespace_name)
      errors.push_back(json::invalid("namespace", question.namespace_name,
                                     cat("must be ", quoted(call.info.namespace_name))));
    question.namespace_name = call.info.namespace_name;
  }
  if (!review["scopes"].empty())
    errors.push_back(json::forbidden("scopes", "tokens have no scopes here"));
  if (!errors.empty()) co_return fail(invalid(call, review, errors));
  if (!is_local(call)) {
    bool about_oneself = call.resource->kind == "SubjectAccessReview" && names_nobody(review);
    Result<void> may = co_await may_ask_there(call, about_oneself, question.namespace_name);
    if (!may) co_return fail(may.error());
  }
  co_return question;
}

Value flat_answer(const Call& call, std::string_view kind, const std::string& namespace_name) {
  Value out = Value::object({{"kind", kind}, {"apiVersion", call.resource->api_version()}});
  if (!namespace_name.empty()) out.set("namespace", namespace_name);
  return out;
}

Task<Result<Answer>> review_subject_flat(Call& call) {
  Result<Value> review = co_await admit_review(call);
  if (!review) co_return fail(review.error());
  Result<ReviewQuestion> question = co_await flat_question(call, *review);
  if (!question) co_return fail(question.error());
  authz::User user = names_nobody(*review) ? call.user : named_user(*review);
  std::string namespace_name = question->namespace_name;
  Settled answer = co_await settle_question(call, call.services.authorizer.get()->frozen(),
                                            std::move(*question), std::move(user));
  Value out = flat_answer(call, "SubjectAccessReviewResponse", namespace_name);
  out.set("allowed", answer.decision.allowed());
  if (std::string reason = reason_of(answer); !reason.empty()) out.set("reason", reason);
  if (!answer.decision.error.empty()) out.set("evaluationError", answer.decision.error);
  co_return Answer::of(std::move(out), 201);
}

Task<Result<Answer>> review_resource_flat(Call& call) {
  Result<Value> review = co_await admit_review(call);
  if (!review) co_return fail(review.error());
  Result<ReviewQuestion> question = co_await flat_question(call, *review);
  if (!question) co_return fail(question.error());
  std::string namespace_name = question->namespace_name;
  WhoCan who = co_await who_can(call, std::move(*question));
  Value out = flat_answer(call, "ResourceAccessReviewResponse", namespace_name);
  out.set("users", list_of(who.users));
  out.set("groups", list_of(who.groups));
  out.set("evalutionError", who.error);  // spelled so by every client
  co_return Answer::of(std::move(out), 201);
}

Value flat_rule(const std::vector<std::string>& verbs) {
  Value out = Value::object({{"verbs", Value::array()},
                             {"attributeRestrictions", Value()},
                             {"resources", Value::array()}});
  for (const std::string& v : verbs) out.member("verbs").push_back(v);
  return out;
}
void set_list(Value& rule, const char* key, const std::vector<std::string>& texts) {
  Value list = Value::array();
  for (const std::string& t : texts) list.push_back(t);
  if (!texts.empty()) rule.set(key, std::move(list));
}

// The permissions of a user in a namespace, as far as they can be listed.
Task<Result<Answer>> review_rules_flat(Call& call) {
  Result<Value> review = co_await admit_review(call);
  if (!review) co_return fail(review.error());
  const Value& spec = (*review)["spec"];
  bool is_self = call.resource->kind == "SelfSubjectRulesReview";
  json::FieldErrors errors;
  if (!spec["scopes"].empty())
    errors.push_back(json::forbidden("spec.scopes", "tokens have no scopes here"));
  if (!is_self && names_nobody(spec))
    errors.push_back(
        json::required("spec.user", "at least one of user and groups must be specified"));
  if (!errors.empty()) co_return fail(invalid(call, *review, errors));
  authz::User user = is_self ? call.user : named_user(spec);
  authz::Rules found = call.services.authorizer.rules_for(user, call.info.namespace_name);
  Value rules = Value::array();
  for (const authz::ResourceRule& r : found.resource_rules) {
    Value rule = flat_rule(r.verbs);
    set_list(rule, "apiGroups", r.api_groups);
    set_list(rule, "resources", r.resources);
    set_list(rule, "resourceNames", r.resource_names);
    rules.push_back(std::move(rule));
  }
  for (const authz::NonResourceRule& r : found.non_resource_rules) {
    Value rule = flat_rule(r.verbs);
    set_list(rule, "nonResourceURLs", r.urls);
    rules.push_back(std::move(rule));
  }
  Value status = Value::object({{"rules", std::move(rules)}});
  if (found.incomplete)
    found.errors.emplace_back(
        "the list is not complete: denials, exceptions and restrictions are not shown in it");
  if (std::string error = authz::aggregated(found.errors); !error.empty())
    status.set("evaluationError", error);
  review->set("status", std::move(status));
  co_return Answer::of(std::move(*review), 201);
}

}  // namespace

bool serves_review(const catalog::Resource& r) {
  return r.group == documents::kGroup && r.storage_prefix.empty();
}

Task<Result<Answer>> serve_review(Call& call) {
  if (call.resource->kind.ends_with("RulesReview")) {
    Result<Answer> rules = co_await review_rules_flat(call);
    co_return rules;
  }
  bool is_flat = call.resource->version != documents::kVersion;
  bool is_subject = call.resource->kind.ends_with("SubjectAccessReview");
  auto serve = is_subject ? (is_flat ? review_subject_flat : review_subject)
                          : (is_flat ? review_resource_flat : review_resource);
  Result<Answer> answer = co_await serve(call);
  co_return answer;
}

}  // namespace cardea::rest::policy
