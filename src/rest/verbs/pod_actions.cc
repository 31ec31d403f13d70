// pods/binding and pods/eviction: writes of a pod in the form of separate objects.
#include "base/strings.h"
#include "catalog/kinds/core/pod_placement.h"
#include "json/print.h"
#include "rest/audit_trail.h"
#include "rest/present/status.h"
#include "rest/verbs/body.h"
#include "rest/verbs/request_match.h"
#include "rest/verbs/subresources.h"
#include "rest/verbs/verbs.h"
#include "rest/write/stored_object.h"
#include "rest/write/write.h"

namespace cardea::rest {

using json::Value;

namespace {

Value created_status() {
  return Value::object({{"kind", "Status"},
                        {"apiVersion", "v1"},
                        {"metadata", Value::object()},
                        {"status", "Success"},
                        {"code", 201}});
}

// The pod after the binding, for conditions on the pod. Null objects: they are not needed, or
// the pod does not exist.
struct Judged {
  const catalog::Resource* pods;
  Value old = {}, now = {};

  // Of the pod that was looked at; empty: none was.
  std::string version() const {
    return std::string(old["metadata"]["resourceVersion"].as_string());
  }
};

Judged judge_binding(const Call& call, const Value& binding) {
  Judged out{.pods = call.catalog->find("", "v1", "pods")};
  if (!call.open.has_conditions()) return out;
  store::RecordPtr record = call.services.store.get(
      object_key(*out.pods, call.info.namespace_name, call.info.name));
  if (!record) return out;
  Value pod = parse_stored(*record);
  Result<Value> now = catalog::bound_pod(pod, binding, call.info.name, call.started.text());
  if (!now) return out;
  out.old = std::move(pod);
  out.now = std::move(*now);
  return out;
}

// The budgets that cover a pod.
Result<std::vector<store::RecordPtr>> budgets_of(Call& call, const Value& pod) {
  std::vector<store::RecordPtr> found;
  const catalog::Resource* r = call.catalog->find("policy", "v1", "poddisruptionbudgets");
  auto range = call.services.store.range(
      {.keys = store::keys_with_prefix(collection_prefix(*r, call.info.namespace_name))});
  if (!range) return fail(range.error());  // budgets that cannot be read allow no eviction
  for (store::RecordPtr& record : range->records)
    if (catalog::budget_covers(parse_stored(*record), pod)) found.push_back(std::move(record));
  return found;
}

}  // namespace

Task<Result<Answer>> bind_pod(Call& call) {
  auto options = write_options(call.info.query, "CreateOptions");
  if (!options) co_return fail(options.error());
  Expected expected = call.subresource ? Expected::body_of(call) : Expected::object_of(call);
  auto binding = read_object(call, expected, options->field_validation);
  if (!binding) co_return fail(binding.error());
  std::string name((*binding)["metadata"]["name"].as_string());
  if (call.info.name.empty()) call.info.name = name;
  if (name != call.info.name)
    co_return fail(bad_request("name in URL does not match name in Binding object"));
  if (auto ok = check_namespace(call, *binding); !ok) co_return fail(ok.error());
  if (auto ok = catalog::check_binding(*binding); !ok) co_return fail(ok.error());
  // Admission sees the request as it was made: of pods/binding, or of the older bindings.
  admission::Review review = review_of(call, admission::Operation::kCreate, options->dry_run,
                                       options->document);
  review.object = *binding;
  Result<void> mutated = co_await call.services.admission.mutate(review);
  if (!mutated) co_return fail(mutated.error());
  const Judged judged = judge_binding(call, review.object);
  if (!judged.old.is_null())
    call.open.show_whole({.resource = judged.pods,
                          .object = &judged.now,
                          .old_object = &judged.old,
                          .name = call.info.name});
  Result<void> admitted = co_await call.services.admission.validate(review);
  call.open.show_whole({});
  for (std::string& w : review.warnings) call.warnings.push_back(std::move(w));
  if (!admitted) co_return fail(admitted.error());
  call.open.close();
  call.resource = judged.pods;
  // Whichever it was, one permission on the pod's fields is enough for both.
  call.info.resource = "pods";
  call.info.subresource = "binding";
  Change change;
  change.kind = WriteKind::kFollowUp;
  change.options = *options;
  change.options.is_apply = true;  // a scheduler does not become an owner of the pod's fields
  change.checks_uid = true;
  change.is_unconditional = true;
  change.apply = [&call, binding = review.object,
                  seen = judged.version()](const Value& pod) -> Result<Value> {
    if (!seen.empty() && seen != pod["metadata"]["resourceVersion"].as_string())
      return fail(modified_conflict(*call.resource, call.info.name));
    return catalog::bound_pod(pod, binding, call.info.name, call.started.text());
  };
  Result<Written> written = co_await write_change(call, std::move(change));
  if (!written) co_return fail(written.error());
  Answer answer = Answer::of(created_status(), 201);
  answer.transforms = false;
  co_return answer;
}

Task<Result<Answer>> evict_pod(Call& call) {
  auto options = write_options(call.info.query, "CreateOptions");
  if (!options) co_return fail(options.error());
  auto document = read_document(call, call.subresource->schema);
  if (!document) co_return fail(document.error());
  const Value& eviction = document->value;
  for (const Value* part : {&eviction, &eviction["metadata"]})
    if (!part->is_null() && !part->is_object())
      co_return fail(bad_request(
          cat("json: cannot unmarshal ", json::go_kind(*part), " into Go value of type Eviction")));
  std::string_view version = eviction["apiVersion"].as_string(),
                   kind = eviction["kind"].as_string();
  if ((!version.empty() && version != "policy/v1" && version != "policy/v1beta1") ||
      (!kind.empty() && kind != "Eviction"))
    co_return fail(bad_request(cat(kind, " of ", version, " cannot be handled as an Eviction")));
  if (call.trail) {
    Value sent = eviction;
    sent.set("kind", "Eviction");
    if (version.empty()) sent.set("apiVersion", "policy/v1");
    call.trail->sent_object(sent, call.request().body.size());
  }
  admission::Review review = review_of(call, admission::Operation::kCreate, options->dry_run,
                                       options->document);
  review.object = eviction.is_null() ? Value::object() : eviction;
  if (Value& meta = review.object.member("metadata"); meta["namespace"].as_string().empty())
    meta.set("namespace", call.info.namespace_name);
  Result<void> mutated = co_await call.services.admission.mutate(review);
  if (!mutated) co_return fail(mutated.error());
  std::string_view name = review.object["metadata"]["name"].as_string();
  if (!name.empty() && name != call.info.name)
    co_return fail(bad_request("name in URL does not match name in Eviction object"));
  auto pod = read_current(call);
  if (!pod) co_return fail(pod.error());
  call.open.sight.has_read = true;
  call.open.show_whole({.operation = admission::Operation::kDelete,
                        .resource = call.resource,
                        .old_object = &*pod,
                        .name = call.info.name});
  Result<void> admitted = co_await call.services.admission.validate(review);
  call.open.show_whole({});
  for (std::string& w : review.warnings) call.warnings.push_back(std::move(w));
  if (!admitted) co_return fail(admitted.error());
  auto deletion = delete_options(
      review.object["deleteOptions"].is_null() ? Value::object() : review.object["deleteOptions"],
      call.info.query);
  if (!deletion) co_return fail(deletion.error());
  deletion->dry_run = deletion->dry_run || options->dry_run;
  // What was judged is what goes.
  if (call.open.has_conditions() && !deletion->resource_version)
    deletion->resource_version = (*pod)["metadata"]["resourceVersion"].as_string();
  call.open.close();

  if (!catalog::leaves_without_budget(*pod)) {
    Result<std::vector<store::RecordPtr>> found = budgets_of(call, *pod);
    if (!found) co_return fail(found.error());
    const std::vector<store::RecordPtr>& budgets = *found;
    if (budgets.size() > 1)
      co_return fail(
          internal_error("This pod has more than one PodDisruptionBudget, which the eviction "
                         "subresource does not support."));
    if (!budgets.empty()) {
      auto spent = catalog::spend_budget(parse_stored(*budgets[0]), call.info.name,
                                         call.started.text());
      if (!spent) co_return fail(spent.error());
      if (!deletion->dry_run) {
        std::string key(budgets[0]->key());
        store::Txn txn{{{key, budgets[0]->mod_revision}}, {store::Put{key, stored_bytes(*spent)}}};
        Result<Settled> proof = call.open.proof();
        if (!proof) co_return fail(proof.error());
        Result<store::Commit> done = co_await commit(call, *proof, std::move(txn));
        if (!done) co_return fail(done.error());
        if (!done->succeeded)
          co_return fail(
              catalog::eviction_refused("The disruption budget is changing; try again.", 10));
      }
    }
  }
  Result<Answer> removed = co_await remove_with(call, std::move(*deletion), WriteKind::kEviction);
  if (!removed) co_return removed;
  Answer answer = Answer::of(created_status(), 201);
  answer.transforms = false;
  co_return answer;
}

}  // namespace cardea::rest
