#include "rest/policy/settled.h"

#include "authz/eligibility.h"
#include "base/strings.h"
#include "rest/asking.h"
#include "rest/conversion/versions.h"
#include "rest/verbs/body.h"
#include "rest/write/object_rules.h"
#include "rest/write/stored_object.h"
#include "rest/write/write.h"

namespace cardea::rest::policy {

using authz::Decision;
using catalog::Resource;
using json::Value;

namespace {

void add_descriptions(const Decision& decision, std::vector<std::string>& out) {
  if (!decision.conditions) return;
  if (const auto* set = decision.conditions->set())
    for (const authz::Condition& c : set->conditions) {
      std::string_view what = c.description.empty() ? std::string_view(c.id) : c.description;
      out.push_back(cat(lower(authz::effect_name(c.effect)), " if ", what));
    }
  if (const auto* chain = decision.conditions->chain())
    for (const authz::NamedDecision& n : *chain) add_descriptions(n.decision, out);
}

// The objects of the second phase, as a write would have them.
struct Matter {
  std::string_view operation;
  Value object, old_object, space;
};

// Null when there is none.
Task<Result<Value>> stored(const Call& call, const Resource& r, std::string_view namespace_name,
                           std::string_view name) {
  store::RecordPtr record = call.services.store.get(
      object_key(r, r.namespaced ? namespace_name : "", name));
  if (!record) co_return Value();
  Result<Value> object = co_await read_as(call, std::move(record), r);
  co_return object;
}

// What a write leaves as it was, whatever is sent.
void keep_from_old(const Call& call, const Resource& r, Value& object, const Value& old) {
  Value& meta = object.member("metadata");
  for (auto key : {"uid", "creationTimestamp", "resourceVersion", "generation", "managedFields",
                   "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    if (const Value* v = old["metadata"].find(key))
      meta.set(key, *v);
    else
      meta.erase(key);
  }
  catalog::StrategyContext context{.group = r.group,
                                   .version = r.version,
                                   .resource = r.name,
                                   .subresource = "",
                                   .namespace_name = meta["namespace"].as_string(),
                                   .now = call.started.text()};
  prepare_for_update(object, old, r, context);
}

// A deletion needs no content if its object is named: the stored object is the one.
bool is_about_stored(const ReviewQuestion& q) {
  return q.content.is_null() && q.verb == "delete" && !q.resource_name.empty() &&
         q.resource.subresource.empty();
}

// Whether the sender of the review may read the object that the content would replace. The outcome
// of a condition can reveal the content of the object.
Task<bool> may_compare(Call& call, const ReviewQuestion& q) {
  if (q.verb != "update" && q.verb != "patch" && !is_about_stored(q)) co_return true;
  authz::Attributes attributes = q.attributes(call.user);
  attributes.verb = "get";
  attributes.subresource = {};
  if (!q.resource.resource->namespaced) attributes.namespace_name = {};
  std::string name = q.resource_name.empty()
                         ? std::string(q.content["metadata"]["name"].as_string())
                         : q.resource_name;
  attributes.name = name;
  authz::Chain::Verdict verdict = co_await ask_chain(call, call.services.authorizer.get(),
                                                     attributes);
  co_return verdict.decision.allowed();
}

Task<Result<Matter>> matter_of(Call& call, const ReviewQuestion& q) {
  const Resource& r = *q.resource.resource;
  Matter m;
  bool is_change = q.verb == "update" || q.verb == "patch";
  m.operation = q.verb == "create" ? "CREATE" : is_change ? "UPDATE" : "DELETE";
  const Resource* namespaces = call.catalog->find("", "v1", "namespaces");
  if (!q.namespace_name.empty()) {
    Result<Value> space = co_await stored(call, *namespaces, "", q.namespace_name);
    if (!space) co_return fail(space.error());
    m.space = std::move(*space);
  }
  if (authz::is_connection(q.attributes(call.user))) {
    m.operation = "CONNECT";
    m.object = q.content;  // its options
    co_return m;
  }
  if (is_about_stored(q)) {
    Result<Value> old = co_await stored(call, r, q.namespace_name, q.resource_name);
    if (!old) co_return fail(old.error());
    if (old->is_null())
      co_return fail(
          bad_request(cat("there is no ", r.qualified_name(), " ", quoted(q.resource_name))));
    m.old_object = std::move(*old);
    co_return m;
  }
  Expected expected{call.catalog.get(), &r, r.group, r.version, r.kind, r.schema};
  std::vector<std::string> ignored;
  auto content = check_object(expected, q.content, FieldValidation::kIgnore, ignored);
  if (!content) co_return fail(bad_request(cat("content: ", content.error().message)));
  Value& meta = content->member("metadata");
  if (meta.is_null()) meta = Value::object();
  if (r.namespaced) meta.set("namespace", q.namespace_name);
  std::string name = q.resource_name.empty() ? std::string(meta["name"].as_string())
                                             : q.resource_name;
  if (!name.empty()) meta.set("name", name);
  if (m.operation == "DELETE") {
    m.old_object = std::move(*content);
    co_return m;
  }
  if (is_change) {
    Result<Value> old = co_await stored(call, r, q.namespace_name, name);
    if (!old) co_return fail(old.error());
    m.old_object = std::move(*old);
    if (m.old_object.is_null())
      co_return fail(bad_request(cat("there is no ", r.qualified_name(), " ", quoted(name),
                                     " that the content could be compared with")));
    keep_from_old(call, r, *content, m.old_object);
  }
  m.object = std::move(*content);
  co_return m;
}

const Value* there(const Value& v) {
  return v.is_null() ? nullptr : &v;
}

Decision unsettled(const Decision& decision, std::string error) {
  Decision out = authz::folded(decision);
  if (!error.empty())
    out.error = out.error.empty() ? std::move(error) : cat(out.error, "; ", error);
  return out;
}

}  // namespace

Task<Settled> settle_question(Call& call, std::shared_ptr<const authz::Chain> chain,
                              ReviewQuestion question, authz::User user) {
  authz::Attributes attributes = question.attributes(user);
  bool takes_conditions = call.services.conditional_authorization && question.resource.resource &&
                          authz::may_be_conditional(attributes);
  authz::Asking asking = takes_conditions ? authz::Asking::kConditionsAwareAtOnce
                                          : authz::Asking::kFolded;
  std::optional<authz::Chain::Verdict> verdict = chain->decide(attributes, asking);
  if (!verdict) {
    authz::Chain::Verdict waited = co_await ask_chain(call, chain, attributes, asking);
    verdict = std::move(waited);
  }
  Decision& decision = verdict->decision;
  if (decision.kind != Decision::Kind::kConditional) co_return Settled{std::move(decision), ""};
  std::vector<std::string> open;
  add_descriptions(decision, open);
  if (question.content.is_null() && !is_about_stored(question))
    co_return Settled{unsettled(decision, ""), join(open, "; ")};
  bool may = co_await may_compare(call, question);
  if (!may)
    co_return Settled{unsettled(decision,
                                "the answer depends on the stored object: the question needs the "
                                "verb \"get\" on it"),
                      join(open, "; ")};
  Result<Matter> matter = co_await matter_of(call, question);
  if (!matter) co_return Settled{unsettled(decision, matter.error().message), join(open, "; ")};
  const Resource& r = *question.resource.resource;
  authz::ConditionData data{.operation = matter->operation,
                            .object = there(matter->object),
                            .old_object = there(matter->old_object),
                            .namespace_object = there(matter->space),
                            .group = r.group,
                            .version = r.version,
                            .kind = r.kind,
                            .resource = r.name,
                            .subresource = question.resource.subresource,
                            .namespace_name = question.namespace_name,
                            .name = question.resource_name,
                            .user = &user};
  Decision settled = co_await settle_decision(call, chain, std::move(decision), data);
  co_return Settled{std::move(settled), ""};
}

}  // namespace cardea::rest::policy
