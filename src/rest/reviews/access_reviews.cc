// Access reviews: whether a user may do something. Answered by the chain that authorizes
// requests, and not stored.
#include <string>
#include <unordered_map>

#include "authz/access_review.h"
#include "authz/user_info.h"
#include "authz/wire/decision_json.h"
#include "rest/asking.h"
#include "rest/bridge/bridge.h"
#include "rest/reviews/admit_review.h"
#include "rest/reviews/conditional_answer.h"
#include "rest/verbs/body.h"
#include "rest/verbs/request_match.h"
#include "rest/verbs/subresources.h"
#include "rest/write/ownership.h"
#include "rest/write/write.h"

namespace cardea::rest {

using authz::ReviewKind;
using json::Value;

namespace {

// The names of all members, in one text. They determine the owners of the fields of a new review,
// because all its lists have one owner.
void add_shape(std::string& out, const Value& value) {
  if (!value.is_object()) return;
  out += '{';
  for (const json::Member& m : value.members()) {
    out += std::to_string(m.key().size());  // keys of `extra` are the client's: none must look like
                                            // two
    out += ':';
    out += m.key();
    add_shape(out, m.value);
  }
  out += '}';
}

// The review with its owner recorded. There are thousands of reviews of the same shape, and
// computing the owners costs more than the answer: each thread remembers the result for the shapes
// that it has seen.
Value owned(Call& call, Value object, const WriteOptions& options) {
  constexpr std::size_t kMostShapes = 256, kLongestShape = 512;
  thread_local std::unordered_map<std::string, Value> seen;
  thread_local std::string shape;
  if (!object["metadata"].empty()) return tracked(call, nullptr, std::move(object), options);
  shape = call.resource->name;
  add_shape(shape, object);
  auto found = seen.find(shape);
  if (found == seen.end()) {
    Value complete = tracked(call, nullptr, std::move(object), options);
    const Value& owners = complete["metadata"]["managedFields"];
    if (seen.size() >= kMostShapes) seen.clear();
    if (shape.size() <= kLongestShape && owners.size() == 1)
      seen.emplace(shape, owners[0]["fieldsV1"]);
    return complete;
  }
  object.member("metadata")
      .set("managedFields",
           Value::array({Value::object({{"apiVersion", call.resource->api_version()},
                                        {"fieldsType", "FieldsV1"},
                                        {"fieldsV1", found->second},
                                        {"manager", field_manager(call, options)},
                                        {"operation", "Update"},
                                        {"time", call.started.text()}})}));
  return object;
}

Value prepare(Call& call, Value object, const WriteOptions& options) {
  if (!call.resource->namespaced) object.member("metadata").erase("namespace");
  return owned(call, std::move(object), options);
}

template <ReviewKind kKind>
Result<void> check_review(const Call& call, const Value& review) {
  json::FieldErrors errors = authz::validate_review(kKind, review);
  // Kubernetes loses the kind on the way to this error.
  if (!errors.empty()) return fail(json::invalid_object(call.resource->group, "", "", errors));
  return {};
}

Result<void> check_rules_review(const Call&, const Value& review) {
  if (review["spec"]["namespace"].as_string().empty())
    return fail(bad_request("no namespace on request"));
  return {};
}

Task<authz::Decision> decided(Call& call, authz::Attributes attributes,
                              authz::Asking asking = authz::Asking::kFolded) {
  if (auto at_once = call.services.authorizer.decide(attributes, asking))
    co_return std::move(at_once->decision);
  authz::Chain::Verdict waited = co_await ask_chain(call, call.services.authorizer.get(),
                                                    attributes, asking);
  co_return std::move(waited.decision);
}

// Without the feature, as if its fields did not exist.
void forget_wish(Value& review) {
  Value& spec = review.member("spec");
  spec.erase("authorizationOptions");
  spec.erase("conditionalAuthorization");
}

// The answer for an authorizer that takes no conditions, in the form of its cluster.
Task<authz::Decision> decided_plainly(Call& call, authz::Attributes attributes) {
  const bridge::Bridge* bridge = call.services.bridge;
  if (bridge)
    if (auto probe = bridge->answer_to_probe(call.user, attributes)) co_return std::move(*probe);
  if (!bridge || !bridge->bridges(call.user, attributes)) {
    authz::Decision decision = co_await decided(call, attributes);
    co_return decision;
  }
  authz::Decision decision = co_await decided(call, attributes,
                                              authz::Asking::kConditionsAwareAtOnce);
  co_return bridge->answer(attributes, std::move(decision));
}

Task<Result<Answer>> answer_review(Call& call, Value review, authz::User user,
                                   ReviewKind kind = ReviewKind::kSelfSubject) {
  authz::Question question(review["spec"]);
  json::FieldErrors errors;
  authz::wire::Wish wish;
  if (call.services.conditional_authorization)
    wish = authz::wire::read_wish(review["spec"], errors);
  else
    forget_wish(review);
  if (!errors.empty()) co_return fail(json::invalid_object(call.resource->group, "", "", errors));
  authz::Attributes attributes = question.attributes(user);
  attributes.via = call.info.via;
  authz::Decision decision;
  if (kind == ReviewKind::kSubject && wish.dialect == authz::wire::Dialect::kNone)
    decision = co_await decided_plainly(call, attributes);
  else
    decision = co_await decided(call, attributes, asking_for(wish, attributes));
  review.set("status", answer_status(call, attributes, decision, wish, question.remarks()));
  co_return Answer::of(std::move(review), 201);
}

Value list_of(const std::vector<std::string>& texts) {
  Value out = Value::array();
  for (const std::string& t : texts) out.push_back(t);
  return out;
}

void set_unless_empty(Value& object, std::string_view key, const std::vector<std::string>& texts) {
  if (!texts.empty()) object.set(key, list_of(texts));
}

Value rules_status(const authz::Rules& rules) {
  Value resources = Value::array(), paths = Value::array();
  for (const authz::ResourceRule& r : rules.resource_rules) {
    Value rule = Value::object({{"verbs", list_of(r.verbs)}});
    set_unless_empty(rule, "apiGroups", r.api_groups);
    set_unless_empty(rule, "resources", r.resources);
    set_unless_empty(rule, "resourceNames", r.resource_names);
    resources.push_back(std::move(rule));
  }
  for (const authz::NonResourceRule& r : rules.non_resource_rules) {
    Value rule = Value::object({{"verbs", list_of(r.verbs)}});
    set_unless_empty(rule, "nonResourceURLs", r.urls);
    paths.push_back(std::move(rule));
  }
  Value status = Value::object({{"resourceRules", resources},
                                {"nonResourceRules", paths},
                                {"incomplete", rules.incomplete}});
  if (std::string error = authz::aggregated(rules.errors); !error.empty())
    status.set("evaluationError", error);
  return status;
}

}  // namespace

Task<Result<Answer>> review_access(Call& call) {
  Result<Value> review = co_await admit_review(call, {prepare, check_review<ReviewKind::kSubject>});
  if (!review) co_return fail(review.error());
  authz::User user = authz::read_subject((*review)["spec"]);
  Result<Answer> answer = co_await answer_review(call, std::move(*review), std::move(user),
                                                 ReviewKind::kSubject);
  co_return answer;
}

Task<Result<Answer>> review_local_access(Call& call) {
  Result<Value> review = co_await admit_review(call,
                                               {prepare, check_review<ReviewKind::kLocalSubject>});
  if (!review) co_return fail(review.error());
  authz::User user = authz::read_subject((*review)["spec"]);
  Result<Answer> answer = co_await answer_review(call, std::move(*review), std::move(user));
  co_return answer;
}

Task<Result<Answer>> review_own_access(Call& call) {
  Result<Value> review = co_await admit_review(call,
                                               {prepare, check_review<ReviewKind::kSelfSubject>});
  if (!review) co_return fail(review.error());
  Result<Answer> answer = co_await answer_review(call, std::move(*review), call.user);
  co_return answer;
}

Task<Result<Answer>> review_own_rules(Call& call) {
  Result<Value> review = co_await admit_review(call, {prepare, check_rules_review});
  if (!review) co_return fail(review.error());
  authz::Rules rules = call.services.authorizer.rules_for(
      call.user, (*review)["spec"]["namespace"].as_string());
  // Kubernetes answers with a new object that repeats nothing of the question.
  co_return Answer::of(Value::object({{"kind", (*review)["kind"]},
                                      {"apiVersion", (*review)["apiVersion"]},
                                      {"metadata", Value::object()},
                                      {"spec", Value::object()},
                                      {"status", rules_status(rules)}}),
                       201);
}

}  // namespace cardea::rest
