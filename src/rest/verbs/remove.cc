// delete and deletecollection: preconditions, grace, finalizers, propagation.
#include <algorithm>
#include <chrono>

#include "base/strings.h"
#include "base/time_parse.h"
#include "json/print.h"
#include "rest/audit_trail.h"
#include "rest/guards/write_guard.h"
#include "rest/present/status.h"
#include "rest/verbs/body.h"
#include "rest/verbs/options.h"
#include "rest/verbs/verbs.h"
#include "rest/write/blind_caller.h"
#include "rest/write/object_rules.h"
#include "rest/write/stored_object.h"
#include "rest/write/write.h"

namespace cardea::rest {

using catalog::Resource;
using json::Value;

namespace {

constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";
constexpr int kRetries = 50;

Result<DeleteOptions> read_delete_options(Call& call) {
  auto document = read_document(
      call, call.catalog->type("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"));
  if (!document) return fail(document.error());
  const Value& body = document->value;
  if (!body.is_null() && !body.is_object())
    return fail(bad_request("DeleteOptions must be an object"));
  if (std::string_view kind = body["kind"].as_string(); !kind.empty() && kind != "DeleteOptions")
    return fail(
        bad_request(cat("decoded object cannot be converted to DeleteOptions: it is a ", kind)));
  if (call.trail && !body.is_null()) {
    Value sent = body;
    sent.set("kind", "DeleteOptions");
    if (!sent.has("apiVersion")) sent.set("apiVersion", "v1");
    call.trail->sent_patch(sent, call.request().body.size());
  }
  auto options = delete_options(body, call.info.query);
  if (options && call.resource->strategy->default_propagation == "Orphan" &&
      !options->propagation_policy && !options->orphan_dependents)
    call.warnings.push_back(
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set "
        "propagationPolicy=Orphan to suppress this warning");
  return options;
}

Result<void> check_preconditions(const Resource& r, const DeleteOptions& o, const Value& object) {
  std::string_view name = object["metadata"]["name"].as_string();
  auto refuse = [&](std::string why) {
    return fail(Error::of(Reason::kConflict,
                          cat("Operation cannot be fulfilled on ", r.kind,
                              r.group.empty() ? "" : ".", r.group, " ", quoted(name), ": ", why))
                    .with({.name = std::string(name), .group = r.group, .kind = r.kind}));
  };
  std::string_view uid = object["metadata"]["uid"].as_string();
  std::string_view version = object["metadata"]["resourceVersion"].as_string();
  if (o.uid && *o.uid != uid)
    return refuse(cat("the UID in the precondition (", *o.uid,
                      ") does not match the UID in record (", uid,
                      "). The object might have been deleted and then recreated"));
  if (o.resource_version && *o.resource_version != version)
    return refuse(cat("the ResourceVersion in the precondition (", *o.resource_version,
                      ") does not match the ResourceVersion in record (", version,
                      "). The object might have been modified"));
  return {};
}

void set_finalizer(Value& meta, std::string_view name, bool wanted) {
  std::vector<Value> kept;
  bool found = false;
  for (const Value& f : meta["finalizers"].items()) {
    if (f.as_string() == name) {
      found = true;
      if (!wanted) continue;
    }
    kept.push_back(f);
  }
  if (wanted && !found) kept.push_back(name);
  if (kept.empty())
    meta.erase("finalizers");
  else
    meta.set("finalizers", Value::array(std::move(kept)));
}

// Which of the two dependents' finalizers this delete asks for.
void set_propagation(const Resource& r, const DeleteOptions& o, Value& object) {
  // What cannot be watched no collector sees: nobody would ever take the finalizer off.
  if (!r.has_verb("watch")) return;
  Value& meta = object.member("metadata");
  std::string_view policy;
  if (o.propagation_policy)
    policy = *o.propagation_policy;
  else if (o.orphan_dependents)
    policy = *o.orphan_dependents ? "Orphan" : "Background";
  else {
    // A finalizer that is already there expresses an earlier wish.
    for (const Value& f : meta["finalizers"].items())
      if (f.as_string() == kOrphan || f.as_string() == kForeground) return;
    policy = r.strategy->default_propagation;
  }
  set_finalizer(meta, kOrphan, policy == "Orphan");
  set_finalizer(meta, kForeground, policy == "Foreground");
}

std::string time_after(const Call& call, std::int64_t seconds) {
  return rfc3339(call.services.clock.now() + std::chrono::seconds(seconds));
}

// The object as it lives on while something still holds it; nullopt when it can go at once.
std::optional<Value> held_back(Call& call, const DeleteOptions& o, const Value& old) {
  const Resource& r = *call.resource;
  Value object = old;
  bool was_deleting = old["metadata"].has("deletionTimestamp");
  if (r.strategy->prepare_for_delete)
    r.strategy->prepare_for_delete(object, strategy_context(call));
  set_propagation(r, o, object);
  Value& meta = object.member("metadata");
  std::int64_t grace = 0;
  if (r.strategy->grace_period) {
    grace = r.strategy->grace_period(object);
    if (o.grace_period_seconds && grace > 0)
      grace = *o.grace_period_seconds < 0 ? 1 : *o.grace_period_seconds;
    // Grace can be shortened, not extended.
    if (was_deleting) grace = std::min(grace, meta["deletionGracePeriodSeconds"].as_int());
  }
  bool held = !meta["finalizers"].empty() || !object["spec"]["finalizers"].empty() || grace > 0;
  bool shortened = was_deleting && grace < meta["deletionGracePeriodSeconds"].as_int();
  // A kind's own hook may have marked the object already.
  if ((!was_deleting && !meta.has("deletionTimestamp")) || shortened) {
    meta.set("deletionTimestamp", time_after(call, grace));
    meta.set("deletionGracePeriodSeconds", grace);
    if (!was_deleting && meta.has("generation"))
      meta.set("generation", meta["generation"].as_int() + 1);
  }
  if (!held) return std::nullopt;
  return object;
}

Task<Result<void>> ask_guards(Call& call, const Value& old) {
  for (const WriteGuard* guard : call.services.guards) {
    if (!guard->applies(*call.resource)) continue;
    Result<void> passed = co_await guard->check_deletion(call, old);
    if (!passed) co_return passed;
  }
  co_return Result<void>();
}

// Deletes one object and gives what the client is shown.
Task<Result<Value>> remove_one(Call& call, const std::string& key, const DeleteOptions& options,
                               bool as_item) {
  const Resource& r = *call.resource;
  const Resource& storage = *call.catalog->storage_of(r);
  for (int tries = 1;; ++tries) {
    store::RecordPtr record = call.services.store.get(key);
    std::string name = key.substr(key.rfind('/') + 1);
    if (!record) co_return fail(not_found(r, name));
    call.sight.has_read = true;
    Value old = converted(parse_stored(*record), storage, r);
    if (auto ok = check_preconditions(r, options, old); !ok) co_return fail(ok.error());
    Result<void> guarded = co_await ask_guards(call, old);
    if (!guarded) co_return fail(guarded.error());
    admission::Review review = review_of(call, admission::Operation::kDelete, options.dry_run,
                                         options.document);
    review.old_object = &old;
    // Of a collection nobody named the objects; refusals do not name them either.
    review.name = as_item ? std::string_view() : name;
    if (review.authorization) show_what_is_hidden(call, *record, Value());
    Result<void> admitted;
    if (!options.is_admitted) admitted = co_await admit(call, review);
    call.sight.is_refusal_plain = review.is_refusal_plain;
    if (!admitted) co_return fail(admitted.error());

    // What stays is worked out on the object as it is stored: the version of the request may not
    // show all of it.
    std::optional<Value> held = held_back(call, options,
                                          &storage == &r ? old : parse_stored(*record));
    Value shown = held ? converted(*held, storage, r) : old;
    bool unchanged = held && shown == old;
    Value answer = held || r.strategy->returns_deleted_object || as_item
                       ? shown
                       : success_document(r, name, old["metadata"]["uid"].as_string());
    if (!held && r.strategy->grace_period && !as_item) {
      Value& meta = answer.member("metadata");
      meta.set("deletionTimestamp", time_after(call, 0));
      meta.set("deletionGracePeriodSeconds", 0);
      if (!old["metadata"].has("deletionTimestamp") && meta.has("generation"))
        meta.set("generation", meta["generation"].as_int() + 1);
    }
    if (answer["kind"].as_string() != "Status") {
      // Asked while the object is there: an authorizer may look at what it belongs to.
      bool known = co_await is_blind(call);
      (void)known;
    }
    if (options.dry_run || unchanged) co_return answer;
    store::Txn txn{{{key, record->mod_revision}}, {}};
    if (held)
      txn.ops.push_back(store::Put{key, stored_bytes(*held)});
    else
      txn.ops.push_back(store::Delete{key});
    Result<store::Commit> done = co_await commit(call, std::move(txn));
    if (!done) co_return fail(done.error());
    if (done->succeeded) {
      if (answer["kind"].as_string() != "Status")
        answer.member("metadata").set("resourceVersion", std::to_string(done->revision));
      co_return answer;
    }
    if (tries == kRetries) co_return fail(modified_conflict(r, name));
  }
}

}  // namespace

Task<Result<Answer>> remove(Call& call) {
  auto options = read_delete_options(call);
  if (!options) co_return fail(options.error());
  Result<Answer> answer = co_await remove_with(call, std::move(*options));
  co_return answer;
}

Task<Result<Answer>> remove_with(Call& call, DeleteOptions options) {
  std::string key = object_key(*call.resource, call.info.namespace_name, call.info.name);
  Result<Value> removed = co_await remove_one(call, key, options, false);
  if (!removed) co_return fail(removed.error());
  Answer answer = Answer::of(std::move(*removed));
  answer.transforms = answer.document["kind"].as_string() != "Status";
  co_return answer;
}

// Whether the request picks objects by what they hold. Their names are no secret to somebody who
// may delete them.
bool selects_by_content(const authz::RequestInfo& info) {
  if (!info.selectors) return false;
  const authz::Selectors& s = *info.selectors;
  if (!s.labels.empty() || !s.field_error.empty() || !s.label_error.empty()) return true;
  return std::ranges::any_of(s.fields.terms(), [](const auto& term) {
    return term.field != "metadata.name" && term.field != "metadata.namespace";
  });
}

// What a list of the same collection shows is what goes.
Task<Result<Answer>> remove_collection(Call& call) {
  auto options = read_delete_options(call);
  if (!options) co_return fail(options.error());
  // A condition, a precondition or admission may refuse a deletion: that tells what a selector
  // found.
  if (selects_by_content(call.info)) {
    bool blind = co_await is_blind(call);
    if (blind)
      co_return fail(authz::forbidden(
          authz::Attributes{call.user, call.info},
          "selecting some of the objects reads them, which takes the verb \"list\""));
  }
  const Resource& r = *call.resource;
  View wanted = std::exchange(call.view, View{.pretty = true});  // the objects themselves, not
                                                                 // their bytes
  Result<Answer> listed = co_await list(call);
  call.view = wanted;
  if (!listed) co_return listed;
  for (const Value& object : listed->document["items"].items()) {
    const Value& meta = object["metadata"];
    std::string key = object_key(r, meta["namespace"].as_string(), meta["name"].as_string());
    Result<Value> removed = co_await remove_one(call, key, *options, true);
    if (!removed && removed.error().reason != Reason::kNotFound) co_return fail(removed.error());
  }
  co_return listed;
}

}  // namespace cardea::rest
