// AccessExplanationReview: what each authorizer says about a question, in order, and what would
// have helped. Answered and not stored.
#include "authz/access_review.h"
#include "authz/refusal.h"
#include "authz/traced_question.h"
#include "authz/user_info.h"
#include "authz/wire/decision_json.h"
#include "base/strings.h"
#include "rest/asking.h"
#include "rest/reviews/admit_review.h"
#include "rest/reviews/conditional_answer.h"
#include "rest/verbs/subresources.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {

using authz::Decision;
using json::Value;

namespace {

constexpr std::size_t kMostHints = 16;

std::string_view answer_word(Decision::Kind kind) {
  constexpr std::string_view kWords[] = {"Deny", "Allow", "NoOpinion", "Conditional"};
  return kWords[static_cast<std::size_t>(kind)];
}

Result<void> check_explanation(const Call& call, const Value& review) {
  const Value& spec = review["spec"];
  json::FieldErrors errors = errors_about_user(spec);
  if (errors.empty()) return {};
  return fail(json::invalid_object(call.resource->group, call.resource->kind, "", errors));
}

void set_text(Value& object, std::string_view key, const std::string& text) {
  if (!text.empty()) object.set(key, text);
}

Value shown_answer(const Decision& d) {
  Value out = Value::object({{"answer", answer_word(d.kind)}});
  set_text(out, "reason", d.reason.text());
  set_text(out, "evaluationError", d.error);
  if (d.kind != Decision::Kind::kConditional) return out;
  const Value entries = authz::wire::as_list(d);
  for (const Value& entry : entries.items())
    for (const Value& condition : entry["conditions"].items())
      out.member("conditions").push_back(condition);
  return out;
}

std::string_view operation_of_verb(std::string_view verb) {
  if (verb == "create") return "CREATE";
  if (verb == "update" || verb == "patch") return "UPDATE";
  if (verb == "delete" || verb == "deletecollection") return "DELETE";
  return "CONNECT";
}

// The objects of the question, with which conditions can be settled. Keeps what the data borrows.
struct ExplainedMatter {
  Value object, old_object, space;
  authz::ConditionData data;

  bool is_known() const { return data.object || data.old_object; }
};

void fill_explained(Call& call, const Value& spec, const authz::Attributes& a,
                    const authz::User& user, ExplainedMatter& m) {
  m.object = spec["object"];
  m.old_object = spec["oldObject"];
  if (!a.namespace_name.empty())
    if (store::RecordPtr record = call.services.store.get(object_key(
            *call.catalog->find("", "v1", "namespaces"), "", std::string(a.namespace_name))))
      m.space = parse_stored(*record);
  const catalog::Resource* r = call.catalog->find(a.api_group, a.api_version, a.resource);
  auto there = [](const Value& v) { return v.is_null() ? nullptr : &v; };
  m.data = {.operation = operation_of_verb(a.verb),
            .object = there(m.object),
            .old_object = there(m.old_object),
            .namespace_object = there(m.space),
            .group = a.api_group,
            .version = a.api_version,
            .kind = r ? std::string_view(r->kind) : std::string_view(),
            .resource = a.resource,
            .subresource = a.subresource,
            .namespace_name = a.namespace_name,
            .name = a.name,
            .user = &user};
}

// What each authorizer says, up to the one that decides.
Task<Value> answers_of_all(Call& call, std::shared_ptr<const authz::Chain> chain,
                           authz::Attributes attributes, const ExplainedMatter& matter) {
  Value out = Value::array();
  bool is_over = false;
  for (const auto& authorizer : chain->authorizers()) {
    Value entry = Value::object({{"name", authorizer->name()}, {"type", authorizer->type()}});
    if (is_over) {
      entry.set("answer", "NotAsked");
      out.push_back(std::move(entry));
      continue;
    }
    std::optional<Decision> answer = authorizer->authorize(attributes);
    if (!answer) {
      authz::TracedQuestion::give(nullptr);
      Decision waited = co_await authorizer->authorize_waiting(attributes);
      answer = std::move(waited);
    }
    if (!attributes.takes_conditions) answer = authz::folded(std::move(*answer));
    is_over = answer->kind == Decision::Kind::kAllow || answer->kind == Decision::Kind::kDeny ||
              authz::has_an_end(*answer);
    Value shown = shown_answer(*answer);
    for (const json::Member& m : shown.members()) entry.set(m.key(), m.value);
    if (answer->kind == Decision::Kind::kConditional && matter.is_known()) {
      authz::ConditionData data = matter.data;
      data.authorizer = chain.get();
      Decision settled = co_await authorizer->evaluate(answer->conditions, data);
      entry.set("settled", answer_word(settled.kind));
      set_text(entry, "settledReason",
               settled.error.empty() ? settled.reason.text() : settled.error);
    }
    out.push_back(std::move(entry));
  }
  bool back = co_await back_on_loop(call);
  (void)back;
  co_return out;
}

Value shown_hints(const authz::Chain& chain, const authz::Attributes& asked,
                  const authz::User& reader) {
  Value out = Value::array();
  for (const authz::Hint& hint : authz::readable_hints(chain, asked, reader)) {
    if (out.size() == kMostHints) break;
    Value one = Value::object({{"text", hint.text}, {"role", hint.role}});
    set_text(one, "field", hint.field);
    set_text(one, "namespace", hint.role_namespace);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

Task<Result<Answer>> review_explanation(Call& call) {
  Result<Value> review = co_await admit_review(call, {.check = check_explanation});
  if (!review) co_return fail(review.error());
  const Value spec = (*review)["spec"];
  std::shared_ptr<const authz::Chain> chain = call.services.authorizer.get()->frozen();
  const authz::User user = authz::read_subject(spec);
  authz::Question question(spec);
  authz::Attributes attributes = question.attributes(user);
  authz::wire::Wish wish;
  if (call.services.conditional_authorization) wish.dialect = authz::wire::Dialect::kList;
  const authz::Asking asking = asking_for(wish, attributes);
  attributes.takes_conditions = asking != authz::Asking::kFolded;
  ExplainedMatter matter;
  fill_explained(call, spec, attributes, user, matter);

  Value each = co_await answers_of_all(call, chain, attributes, matter);
  authz::Chain::Verdict verdict = co_await ask_chain(call, chain, attributes, asking);
  Decision decision = std::move(verdict.decision);
  if (decision.kind == Decision::Kind::kConditional && matter.is_known()) {
    Decision settled = co_await settle_decision(call, chain, std::move(decision), matter.data);
    decision = std::move(settled);
  }
  Value status = Value::object(
      {{"allowed", decision.allowed()}, {"answer", answer_word(decision.kind)}});
  set_text(status, "reason", decision.reason.text());
  set_text(status, "evaluationError", authz::evaluation_error(decision.error, question.remarks()));
  status.set("authorizers", std::move(each));
  if (decision.kind == Decision::Kind::kNoOpinion)
    if (Value hints = shown_hints(*chain, attributes, call.user); !hints.empty())
      status.set("hints", std::move(hints));
  review->set("status", std::move(status));
  co_return Answer::of(std::move(*review), 201);
}

}  // namespace cardea::rest
