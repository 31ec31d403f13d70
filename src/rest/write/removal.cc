// The steps of a deletion: preconditions, guards, grace, finalizers, propagation.
#include <algorithm>
#include <chrono>

#include "base/strings.h"
#include "base/time_parse.h"
#include "rest/conversion/versions.h"
#include "rest/guards/write_guard.h"
#include "rest/present/status.h"
#include "rest/write/blind_caller.h"
#include "rest/write/object_rules.h"
#include "rest/write/steps.h"
#include "rest/write/stored_object.h"
#include "rest/write/stored_version.h"

namespace cardea::rest {

using catalog::Resource;
using json::Value;

namespace {

constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";
constexpr int kRetries = 50;

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
  // Objects that cannot be watched are invisible to the garbage collector: their finalizer would
  // never be removed.
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

std::string_view name_of(const Write& w) {
  return std::string_view(w.key).substr(w.key.rfind('/') + 1);
}

// What the client is shown when the object is gone, or about to go.
Value shown_after(const Write& w, const Value& shown) {
  const Resource& r = *w.call.resource;
  if (!w.held && !r.strategy->returns_deleted_object && !w.removal->is_item)
    return success_document(r, name_of(w), w.old["metadata"]["uid"].as_string());
  Value out = shown;
  if (w.held || !r.strategy->grace_period || w.removal->is_item) return out;
  Value& meta = out.member("metadata");
  meta.set("deletionTimestamp", time_after(w.call, 0));
  meta.set("deletionGracePeriodSeconds", 0);
  if (!w.old["metadata"].has("deletionTimestamp") && meta.has("generation"))
    meta.set("generation", meta["generation"].as_int() + 1);
  return out;
}

bool is_status(const Value& document) {
  return document["kind"].as_string() == "Status";
}

}  // namespace

Result<Next> check_removal(Write& w) {
  if (auto ok = check_preconditions(*w.call.resource, w.removal->options, w.old); !ok)
    return fail(ok.error());
  return Next::kStep;
}

Task<Result<Next>> guard_removal(Write& w) {
  for (const WriteGuard* guard : w.call.services.guards) {
    if (!guard->applies(*w.call.resource)) continue;
    Result<void> passed = co_await guard->check_deletion(w.call, w.old);
    if (!passed) co_return fail(passed.error());
  }
  co_return Next::kStep;
}

Task<Result<Next>> mutate_removal(Write& w) {
  Call& call = w.call;
  w.review.emplace(
      review_of(call, admission::Operation::kDelete, w.options.dry_run, w.options.document));
  w.review->old_object = &w.old;
  w.review->name = w.removal->is_item ? std::string_view() : name_of(w);
  if (w.review->authorization && call.resource->is_converted_by_webhook) {
    Result<void> shown = co_await show_stored_by_webhook(w);
    if (!shown) co_return fail(shown.error());
  } else if (w.review->authorization) {
    show_what_is_hidden(call, *w.record, Value());
  }
  Result<void> admitted = co_await call.services.admission.mutate(*w.review);
  call.open.sight.is_refusal_plain = w.review->is_refusal_plain;
  take_warnings(call, *w.review);
  if (!admitted) co_return fail(admitted.error());
  co_return Next::kStep;
}

Task<Result<Next>> settle_removal(Write& w) {
  Result<void> valid = co_await w.call.services.admission.validate(*w.review);
  w.call.open.sight.is_refusal_plain = w.review->is_refusal_plain;
  take_warnings(w.call, *w.review);
  if (!valid) co_return fail(valid.error());
  co_return Next::kStep;
}

// Whether the object goes at once or stays for a while. That is worked out on the object as it is
// stored: the version of the request may not show all of it.
Task<Result<Next>> hold(Write& w) {
  Call& call = w.call;
  const Resource& r = *call.resource;
  const Resource& storage = *call.catalog->storage_of(r);
  const bool is_other = &storage != &r;
  const Value stored = !is_other                   ? w.old
                       : r.is_converted_by_webhook ? w.stored
                                                   : parse_stored(*w.record);
  w.held = held_back(call, w.removal->options, stored);
  Value shown = w.old;
  if (w.held && is_other && r.is_converted_by_webhook) {
    Result<Value> form = co_await convert_one(call, *w.held, storage, r);
    if (!form) co_return fail(form.error());
    shown = std::move(*form);
  } else if (w.held) {
    shown = converted(*w.held, storage, r);
  }
  w.result = shown_after(w, shown);
  if (!is_status(w.result)) {
    // Asked while the object is there: an authorizer may look at what it belongs to.
    bool known = co_await is_blind(call);
    (void)known;
  }
  const bool is_unchanged = w.held && shown == w.old;
  co_return w.options.dry_run || is_unchanged ? Next::kDone : Next::kStep;
}

Task<Result<Next>> commit_removal(Write& w) {
  Result<Settled> proof = w.call.open.proof();
  if (!proof) co_return fail(proof.error());
  store::Txn txn{{{w.key, w.record->mod_revision}}, {}};
  if (w.held)
    txn.ops.push_back(store::Put{w.key, stored_bytes(*w.held)});
  else
    txn.ops.push_back(store::Delete{w.key});
  if (auto ok = add_claims(txn, w, w.held ? &w.old : nullptr); !ok) co_return fail(ok.error());
  Result<store::Commit> done = co_await commit(w.call, *proof, std::move(txn));
  if (!done) co_return fail(done.error());
  if (!done->succeeded) {
    if (w.tries >= kRetries) co_return fail(modified_conflict(*w.call.resource, name_of(w)));
    co_return Next::kAgain;
  }
  if (!is_status(w.result))
    w.result.member("metadata").set("resourceVersion", std::to_string(done->revision));
  co_return Next::kDone;
}

}  // namespace cardea::rest
