#include "rest/write/steps.h"

#include <algorithm>
#include <iterator>

#include "base/strings.h"
#include "catalog/conversion.h"
#include "rest/conversion/versions.h"
#include "rest/freshness.h"
#include "rest/guards/write_guard.h"
#include "rest/present/status.h"
#include "rest/unreadable_records.h"
#include "rest/write/blind_caller.h"
#include "rest/write/field_permissions.h"
#include "rest/write/object_rules.h"
#include "rest/write/ownership.h"
#include "rest/write/stored_object.h"
#include "rest/write/stored_version.h"
#include "rest/write/system_fields.h"

namespace cardea::rest {

using catalog::Resource;
using json::Value;

namespace {

constexpr int kConflictRetries = 20;
constexpr int kReliedRetries = 1000;  // many may write under one quota: each round one gets through
constexpr int kNameTries = 8;

Error invalid(const Resource& r, const Value& object, const json::FieldErrors& errors) {
  // For validation, the Events of both groups are one kind.
  return json::invalid_object(r.storage_group, r.kind, object["metadata"]["name"].as_string(),
                              errors);
}

Error another_namespace() {
  return bad_request(
      "the namespace of the provided object does not match the namespace sent on the request");
}

catalog::StrategyContext context_of(const Write& w) {
  return strategy_context(w.call, w.is_create() ? "" : std::string_view(w.call.info.subresource));
}

// --- read
// -----------------------------------------------------------------------------------------

bool by_webhook(const Write& w) {
  return w.call.resource->is_converted_by_webhook;
}

bool without_webhook(const Write& w) {
  return !by_webhook(w);
}

bool find_record(Write& w) {
  w.record = w.call.services.store.get(w.key);
  if (!w.record) return false;
  w.call.open.start_over();
  w.call.open.sight.has_read = true;
  return true;
}

bool is_unreadable(const Write& w) {
  const UnreadableRecords* unreadable = w.call.services.unreadable;
  return unreadable && unreadable->has(*w.record);
}

Result<Next> read(Write& w) {
  Call& call = w.call;
  if (!find_record(w)) return Next::kMissing;
  if (is_unreadable(w)) return fail(unreadable(w.key));
  w.old = converted(parse_stored(*w.record), *call.catalog->storage_of(*call.resource),
                    *call.resource);
  return Next::kStep;
}

Task<Result<Next>> read_by_webhook(Write& w) {
  Call& call = w.call;
  const Resource& r = *call.resource;
  const Resource& storage = *call.catalog->storage_of(r);
  if (!find_record(w)) co_return Next::kMissing;
  if (is_unreadable(w)) co_return fail(unreadable(w.key));
  w.stored = w.stored_next = w.stored_next_of = Value();
  Result<Value> old = co_await read_as(call, w.record, r);
  if (!old) co_return fail(old.error());
  w.old = std::move(*old);
  if (&storage == &r) co_return Next::kStep;
  Result<Value> stored = co_await read_as(call, w.record, storage);
  if (!stored) co_return fail(stored.error());
  w.stored = std::move(*stored);
  co_return Next::kStep;
}

// --- change
// ---------------------------------------------------------------------------------------

Result<Next> take_new(Write& w) {
  w.object = *w.made;
  return Next::kStep;
}

Result<Next> change(Write& w) {
  Result<Value> changed = w.change->apply(w.old);
  if (!changed) return fail(changed.error());
  if (w.change->checks_uid)
    if (auto ok = check_uid(w, *changed); !ok) return fail(ok.error());
  w.object = std::move(*changed);
  return Next::kStep;
}

// Ownership is recorded in several versions. What `step` needs to know of the object in another
// one is fetched, and then it is taken again from its beginning.
constexpr int kMostRounds = 32;

bool is_waiting(const Write& w) {
  return w.call.conversions && w.call.conversions->is_waiting();
}

Task<Result<void>> fetch_conversions(Write& w) {
  if (!w.call.services.conversion)
    co_return fail(internal_error("this server calls no conversion webhooks"));
  Result<void> fetched = co_await w.call.conversions->fetch(*w.call.services.conversion,
                                                            *w.call.catalog);
  co_return fetched;
}

Task<Result<Next>> in_rounds(Write& w, Result<Next> (*step)(Write&)) {
  const Value object = w.object, sent = w.sent;
  const std::size_t said_before = w.call.warnings.size();
  for (int round = 0; round < kMostRounds; ++round) {
    Result<Next> next = step(w);
    if (!is_waiting(w)) co_return next;
    Result<void> fetched = co_await fetch_conversions(w);
    if (!fetched) co_return fail(fetched.error());
    w.object = object;
    w.sent = sent;
    w.call.warnings.resize(said_before);
  }
  co_return fail(internal_error("the conversion webhook never gives the same object twice"));
}

Task<Result<Next>> change_by_webhook(Write& w) {
  Result<Next> next = co_await in_rounds(w, change);
  co_return next;
}

// --- judge: the fields that the caller changes
// ------------------------------------------------------

Task<Result<Next>> judge_new(Write& w) {
  Call& call = w.call;
  const Resource& r = *call.resource;
  Result<void> covered = co_await authorize_change(call, nullptr, w.object, Value());
  const Resource* storage = other_storage(*call.catalog, r);
  // What a webhook makes of it is judged when it is known (judge storage).
  if (covered && storage && !r.is_converted_by_webhook) {
    const SentObject* sent = sent_object(call);
    const bool as_sent = sent && sent->is_there();
    Value becomes = converted(as_sent ? sent->get() : w.object, r, *storage);
    covered = co_await authorize_storage(call, *storage, Value(), std::move(becomes));
  }
  if (!covered) co_return fail(covered.error());
  co_return Next::kStep;
}

Task<Result<Next>> judge(Write& w) {
  Value stored = by_webhook(w)                                      ? w.stored
                 : other_storage(*w.call.catalog, *w.call.resource) ? parse_stored(*w.record)
                                                                    : Value();
  Result<void> covered = co_await authorize_change(w.call, &w.old, w.object, std::move(stored));
  if (!covered) co_return fail(covered.error());
  if (w.options.is_apply) {
    Value kept = co_await with_owners_of_others(w.call, w.old, std::move(w.object));
    w.object = std::move(kept);
  }
  co_return Next::kStep;
}

bool watches(const Write& w) {
  return watches_fields(w.call);
}

// --- own
// ------------------------------------------------------------------------------------------

Result<Next> own(Write& w) {
  Call& call = w.call;
  w.watches_fields = watches_fields(call);
  if (w.is_create()) {
    clear_system_fields(call, w.object);
  } else {
    w.keeps_identity = keeps_identity(w.object, w.old);
    keep_system_fields(w.object, w.old);
  }
  w.may_turn_granular = call.open.has_conditions() && !call.open.is_granular();
  w.sent = w.may_turn_granular && !w.options.is_apply ? w.object : Value();
  if (!w.options.is_apply)
    w.object = tracked(call, w.old_or_null(), std::move(w.object), w.options);
  return Next::kStep;
}

Task<Result<Next>> own_by_webhook(Write& w) {
  Result<Next> next = co_await in_rounds(w, own);
  co_return next;
}

// --- review: what admission is shown
// ----------------------------------------------------------------

Result<Next> show_to_admission(Write& w) {
  Call& call = w.call;
  using admission::Operation;
  w.review.emplace(review_of(call, w.is_create() ? Operation::kCreate : Operation::kUpdate,
                             w.options.dry_run, w.options.document));
  w.review->object = std::move(w.object);
  if (!w.is_create())
    w.review->old_object = &w.old;
  else if (call.info.name.empty())
    w.review->name = w.given_name = w.review->object["metadata"]["name"].as_string();
  // Kept only if it is compared later: shared parts are copied when admission changes them.
  const bool is_stored_otherwise = w.is_create() && other_storage(*call.catalog, *call.resource);
  w.compares_mutation = w.watches_fields && (is_stored_otherwise || watches_admission(call));
  w.requested = w.compares_mutation ? w.review->object : Value();
  return Next::kStep;
}

// --- mutate
// ---------------------------------------------------------------------------------------

Task<Result<Next>> mutate(Write& w) {
  Call& call = w.call;
  admission::Review& review = *w.review;
  const Value owners = review.object["metadata"]["managedFields"];
  Result<void> admitted = co_await call.services.admission.mutate(review);
  if (admitted) keep_owners(call, review.object, owners);
  take_warnings(call, review);
  if (!admitted) co_return fail(admitted.error());
  if (w.is_create()) co_return Next::kStep;
  review.object.member("metadata").set("creationTimestamp", w.old["metadata"]["creationTimestamp"]);
  std::string_view space = review.object["metadata"]["namespace"].as_string();
  if (call.resource->namespaced && !space.empty() && space != call.info.namespace_name)
    co_return fail(another_namespace());
  co_return Next::kStep;
}

// Admission sees the part. What it makes of the part is put back into the object.
Task<Result<Next>> mutate_part(Write& w) {
  admission::Review& review = *w.review;
  Result<Value> was = w.change->shows(w.old), is = w.change->shows(review.object);
  if (!was || !is) co_return fail(was ? is.error() : was.error());
  w.old_part = std::move(*was);
  review.old_object = &w.old_part;
  Value whole = std::exchange(review.object, *is);
  Result<void> admitted = co_await w.call.services.admission.mutate(review);
  take_warnings(w.call, review);
  if (!admitted) co_return fail(admitted.error());
  if (review.object != *is) {
    Result<Value> taken = w.change->takes(whole, review.object);
    if (!taken) co_return fail(taken.error());
    whole = std::move(*taken);
  }
  review.object = std::move(whole);
  co_return Next::kStep;
}

// --- judge what admission changed
// -------------------------------------------------------------------

bool compares_mutation(const Write& w) {
  return w.compares_mutation;
}

Task<Result<Next>> judge_mutation(Write& w) {
  Call& call = w.call;
  const Resource& r = *call.resource;
  const bool is_judged_here = w.is_create() && !by_webhook(w);
  const Resource* storage = is_judged_here ? other_storage(*call.catalog, r) : nullptr;
  if (storage && !w.requested.same(w.review->object)) {
    Result<void> covered = co_await authorize_storage(call, *storage,
                                                      converted(w.requested, r, *storage),
                                                      converted(w.review->object, r, *storage));
    if (!covered) co_return fail(covered.error());
  }
  Result<void> covered = co_await authorize_mutation(call, std::move(w.requested),
                                                     w.review->object);
  if (!covered) co_return fail(covered.error());
  co_return Next::kStep;
}

// --- name
// -----------------------------------------------------------------------------------------

// Names are made up after mutation, which may have given one.
Result<Next> name(Write& w) {
  Value& object = w.review->object;
  if (auto ok = set_system_fields(w.call, object); !ok) return fail(ok.error());
  w.is_name_generated = object["metadata"]["name"].as_string().empty();
  if (w.is_name_generated) generate_name(w.call, object);
  w.new_name = object["metadata"]["name"].as_string();
  w.key = object_key(*w.call.resource, w.call.info.namespace_name, w.new_name);
  if (w.review->name.empty()) w.review->name = w.new_name;
  return Next::kStep;
}

// --- guard
// ----------------------------------------------------------------------------------------

bool is_guarded(const Write& w) {
  return std::ranges::any_of(w.call.services.guards, [&](const WriteGuard* guard) {
    return guard->applies(*w.call.resource);
  });
}

Task<Result<Next>> guard(Write& w) {
  std::string_view shown_name = w.is_create() ? std::string_view(w.new_name)
                                              : std::string_view(w.call.info.name);
  const WriteAttempt attempt{.object = w.review->object,
                             .old = w.old_or_null(),
                             .name = w.is_name_generated ? std::string_view() : shown_name,
                             .keeps_identity = w.keeps_identity};
  for (const WriteGuard* guard : w.call.services.guards) {
    if (!guard->applies(*w.call.resource)) continue;
    Result<void> passed = co_await guard->check(w.call, attempt);
    if (!passed) co_return fail(passed.error());
  }
  co_return Next::kStep;
}

// --- allocate
// -------------------------------------------------------------------------------------

Result<Next> allocate(Write& w) {
  w.reserved.clear();
  if (w.call.info.subresource == "status") return Next::kStep;  // the rest of the object stays
  for (Allocator* a : w.call.services.allocators) {
    if (!a->applies(*w.call.resource)) continue;
    auto reservation = a->allocate(w.review->object, w.old_or_null(), w.options.dry_run);
    if (!reservation) return fail(reservation.error());
    w.reserved.push_back(std::move(*reservation));
  }
  return Next::kStep;
}

// --- prepare
// --------------------------------------------------------------------------------------

Result<Next> prepare(Write& w) {
  const catalog::StrategyContext context = context_of(w);
  if (w.is_create())
    prepare_for_create(w.review->object, *w.call.resource, context);
  else
    prepare_for_update(w.review->object, w.old, *w.call.resource, context);
  return Next::kStep;
}

// --- judge what is stored
// ---------------------------------------------------------------------------

// A new object is judged before that, as it was sent; but a webhook may answer anything, so what it
// made is judged as it will be stored.
bool is_stored_otherwise(const Write& w) {
  return w.watches_fields && other_storage(*w.call.catalog, *w.call.resource) &&
         (!w.is_create() || by_webhook(w));
}

Task<Result<Next>> judge_storage(Write& w) {
  Value was = by_webhook(w) ? w.stored : parse_stored(*w.record);
  Result<Value> becomes = Value();
  if (by_webhook(w))
    becomes = co_await stored_by_webhook(w);
  else
    becomes = stored_form(w.call, was, w.review->object);
  if (!becomes) co_return fail(becomes.error());
  if (by_webhook(w)) {
    Result<void> judged = co_await authorize_stored(w.call, was, *becomes);
    if (!judged) co_return fail(judged.error());
  }
  Result<void> covered = co_await authorize_storage(
      w.call, *other_storage(*w.call.catalog, *w.call.resource), std::move(was),
      std::move(*becomes));
  if (!covered) co_return fail(covered.error());
  co_return Next::kStep;
}

// --- generation
// -----------------------------------------------------------------------------------

Result<Next> count_generation(Write& w) {
  const Resource& r = *w.call.resource;
  const bool counts = (r.strategy->has_generation || r.is_custom) &&
                      w.call.info.subresource != "status";
  if (counts && differs_in_generation(r, w.review->object, w.old))
    w.review->object.member("metadata")
        .set("generation", w.old["metadata"]["generation"].as_int() + 1);
  return Next::kStep;
}

// --- validate
// -------------------------------------------------------------------------------------

Result<Next> validate(Write& w) {
  Call& call = w.call;
  const Resource& r = *call.resource;
  const Value& object = w.review->object;
  const catalog::StrategyContext context = context_of(w);
  const json::FieldErrors errors = w.is_create() ? validate_create(object, *call.catalog, r,
                                                                   context, call.warnings)
                                                 : validate_update(object, w.old, *call.catalog, r,
                                                                   context, call.warnings);
  if (errors.empty()) return Next::kStep;
  if (w.kind == WriteKind::kPart || !w.review->authorization || !call.open.has_conditions())
    return fail(invalid(r, object, errors));
  w.invalid = invalid(r, object, errors);
  return Next::kStep;
}

bool is_invalid(const Write& w) {
  return w.invalid.has_value();
}

Task<Result<void>> show_all_of_it(Write& w) {
  if (w.review->authorization && by_webhook(w)) co_return co_await show_stored_by_webhook(w);
  if (w.review->authorization && w.record) show_what_is_hidden(w.call, *w.record, w.review->object);
  co_return Result<void>();
}

// A caller whom conditions refuse hears that, and nothing about the object from validation.
Task<Result<Next>> refuse_invalid(Write& w) {
  Result<void> shown = co_await show_all_of_it(w);
  if (!shown) co_return fail(shown.error());
  Result<void> settled = co_await w.review->authorization->settle(*w.review);
  co_return fail(settled ? *w.invalid : settled.error());
}

bool has_warnings(const Write& w) {
  return w.call.resource->strategy->warnings != nullptr;
}

Result<Next> warn(Write& w) {
  const catalog::StrategyContext context = context_of(w);
  for (std::string& text :
       w.call.resource->strategy->warnings(w.review->object, w.old_or_null(), context))
    w.call.warnings.push_back(std::move(text));
  return Next::kStep;
}

// --- settle: the validating half of admission, which decides conditions first
// -----------------------

Task<Result<Next>> settle(Write& w) {
  Result<void> shown = co_await show_all_of_it(w);
  if (!shown) co_return fail(shown.error());
  Result<void> valid = co_await w.call.services.admission.validate(*w.review);
  take_warnings(w.call, *w.review);
  if (!valid) co_return fail(valid.error());
  co_return Next::kStep;
}

Task<Result<Next>> settle_part(Write& w) {
  Call& call = w.call;
  admission::Review& review = *w.review;
  Result<Value> is = w.change->shows(review.object);
  if (!is) co_return fail(is.error());
  if (review.authorization && by_webhook(w)) {
    Result<void> shown = co_await show_stored_by_webhook(w);
    if (!shown) co_return fail(shown.error());
  }
  const Value whole = std::exchange(review.object, std::move(*is));
  call.open.show_whole(
      {.resource = call.resource, .object = &whole, .old_object = &w.old, .name = call.info.name});
  Result<void> valid = co_await call.services.admission.validate(review);
  call.open.show_whole({});
  review.object = whole;
  take_warnings(call, review);
  if (!valid) co_return fail(valid.error());
  co_return Next::kStep;
}

// --- own again
// ------------------------------------------------------------------------------------

bool turned_granular(const Write& w) {
  return w.may_turn_granular && w.call.open.is_granular();
}

Task<Result<Next>> own_as_granular(Write& w) {
  if (w.options.is_apply) {
    // Nobody else owned anything of a new object.
    if (w.is_create()) co_return Next::kStep;
    Value kept = co_await with_owners_of_others(w.call, w.old, std::move(w.review->object));
    w.review->object = std::move(kept);
    co_return Next::kStep;
  }
  const Value object = w.review->object;
  for (int round = 0; round < kMostRounds; ++round) {
    w.review->object = object;
    track_as_granular(w.call, w.old_or_null(), w.review->object, w.sent, w.options);
    if (!is_waiting(w)) co_return Next::kStep;
    Result<void> fetched = co_await fetch_conversions(w);
    if (!fetched) co_return fail(fetched.error());
  }
  co_return fail(internal_error("the conversion webhook never gives the same object twice"));
}

// --- commit
// ---------------------------------------------------------------------------------------

// Makes the write depend on the objects that admission has read, and adds the writes of admission
// itself.
void add_reliance(store::Txn& txn, admission::Review& review) {
  for (store::Compare& c : review.relies_on) txn.compares.push_back(std::move(c));
  for (store::Put& p : review.also_writes) txn.ops.push_back(std::move(p));
}

void keep_reserved(Write& w) {
  for (Reservation& reservation : w.reserved) reservation.keep();
}

Error exists_already(const Write& w, const store::Record& present) {
  Error exists = already_exists(*w.call.resource, w.new_name);
  // Callers whose permission does not include reading do not learn that the object is being
  // deleted.
  const bool may_tell = !w.call.open.is_granular() && !w.call.open.has_conditions();
  if (may_tell && parse_stored(present)["metadata"].has("deletionTimestamp"))
    exists.message = cat("object is being deleted: ", exists.message);
  return exists;
}

// What is stored, and the same object as it will be read back.
struct Ready {
  std::string bytes;
  Value shown;
};

// Twice what a body may have.
constexpr std::size_t kLargestConverted = 6u << 20;

// Both conversions come before the commit: a webhook that fails leaves nothing half done.
Task<Result<Ready>> ready_by_webhook(Write& w) {
  const Resource& r = *w.call.resource;
  Result<Value> form = co_await stored_by_webhook(w);
  if (!form) co_return fail(form.error());
  Result<Value> shown = co_await convert_one(w.call, *form, *w.call.catalog->storage_of(r), r);
  if (!shown) co_return fail(shown.error());
  Ready ready{stored_bytes(*form), std::move(*shown)};
  if (ready.bytes.size() > kLargestConverted)
    co_return fail(Error::of(Reason::kRequestEntityTooLarge,
                             cat("the stored version of this object would have ",
                                 ready.bytes.size(), " bytes, more than ", kLargestConverted)));
  co_return ready;
}

Task<Result<Next>> commit_new(Write& w) {
  Call& call = w.call;
  admission::Review& review = *w.review;
  if (w.options.brings_revision)
    co_return fail(bad_request("resourceVersion should not be set on objects to be created"));
  store::RecordPtr present = call.services.store.get(w.key);
  if (present && call.services.shared) {
    // Another server may have deleted it just now.
    Result<void> fresh = co_await show_everything(call);
    if (!fresh) co_return fail(fresh.error());
    present = call.services.store.get(w.key);
  }
  if (!present && w.options.dry_run) {
    w.result = std::move(review.object);
    co_return Next::kDone;
  }
  if (!present) {
    Result<Settled> proof = call.open.proof();
    if (!proof) co_return fail(proof.error());
    Result<Ready> ready = Ready();
    if (by_webhook(w))
      ready = co_await ready_by_webhook(w);
    else
      ready->bytes = bytes_for_store(call, nullptr, review.object);
    if (!ready) co_return fail(ready.error());
    store::Txn txn{{{w.key, 0}}, {store::Put{w.key, std::move(ready->bytes)}}};
    const bool relies = !review.relies_on.empty();
    add_reliance(txn, review);
    if (auto ok = add_claims(txn, w, &review.object); !ok) co_return fail(ok.error());
    Result<store::Commit> done = co_await commit(call, *proof, std::move(txn));
    if (!done) co_return fail(done.error());
    if (done->succeeded) {
      keep_reserved(w);
      Value shown = by_webhook(w) ? std::move(ready->shown)
                                  : round_trip(call, std::move(review.object));
      w.result = with_revision(std::move(shown), done->revision);
      co_return Next::kDone;
    }
    present = done->records[0];
    if (!present && w.tries < (relies ? kReliedRetries : kConflictRetries)) co_return Next::kAgain;
    if (!present) co_return fail(modified_conflict(*call.resource, w.new_name));
  }
  if (w.is_name_generated && w.tries < kNameTries) co_return Next::kAgain;
  co_return fail(exists_already(w, *present));
}

Task<Result<Next>> commit_change(Write& w) {
  Call& call = w.call;
  admission::Review& review = *w.review;
  review.object = schema::keep_times_when_unchanged(w.old, std::move(review.object));
  w.result = with_revision(review.object, w.record->mod_revision);
  if (w.options.dry_run) co_return Next::kDone;
  const bool gone = is_gone_after(review.object);
  Result<Ready> ready = Ready();
  if (by_webhook(w))
    ready = co_await ready_by_webhook(w);
  else
    ready->bytes = bytes_for_store(call, w.record.get(), review.object);
  if (!ready) co_return fail(ready.error());
  const bool is_same = !gone && ready->bytes == w.record->value();
  // What is encrypted with an old key is written anew, as kube-apiserver does.
  if (is_same && !is_known_blind(call) && !call.services.store.is_stale(*w.record))
    co_return Next::kDone;
  Result<Settled> proof = call.open.proof();
  if (!proof) co_return fail(proof.error());
  store::Txn txn{{{w.key, w.record->mod_revision}}, {}};
  if (gone)
    txn.ops.push_back(store::Delete{w.key});
  else
    txn.ops.push_back(store::Put{w.key, std::move(ready->bytes)});
  add_reliance(txn, review);
  if (auto ok = add_claims(txn, w, gone ? nullptr : &review.object); !ok)
    co_return fail(ok.error());
  Result<store::Commit> done = co_await commit(call, *proof, std::move(txn));
  if (!done) co_return fail(done.error());
  if (done->succeeded) {
    keep_reserved(w);
    // An object that goes away with this write is shown as it last was.
    Value shown = by_webhook(w) ? std::move(ready->shown)
                                : round_trip(call, std::move(review.object));
    w.result = with_revision(std::move(shown), gone ? w.record->mod_revision : done->revision);
    co_return Next::kDone;
  }
  // Where the object itself is as it was, something else that the admission relied on has moved.
  const bool is_untouched = done->records[0] &&
                            done->records[0]->mod_revision == w.record->mod_revision;
  const bool gives_up = is_untouched ? w.tries >= kReliedRetries
                                     : !w.change->is_unconditional || w.tries >= kConflictRetries;
  if (gives_up) co_return fail(modified_conflict(*call.resource, call.info.name));
  co_return Next::kAgain;
}

// --- the list
// -------------------------------------------------------------------------------------

// clang-format off
// Kinds: c create, u update, p part (a Scale), f follow-up (a Binding), d delete, e eviction.
constexpr Step kSteps[] = {
    {"read",             " upfde", without_webhook,     read,              nullptr},
    {"read (webhook)",   " upfde", by_webhook,          nullptr,           read_by_webhook},
    {"check",            "    de", nullptr,             check_removal,     nullptr},
    {"guard deletion",   "    de", is_guarded,          nullptr,           guard_removal},
    {"take",             "c     ", nullptr,             take_new,          nullptr},
    {"change",           " upf  ", without_webhook,     change,            nullptr},
    {"change (webhook)", " upf  ", by_webhook,          nullptr,           change_by_webhook},
    {"judge new",        "c     ", watches,             nullptr,           judge_new},
    {"judge",            " upf  ", watches,             nullptr,           judge},
    {"own",              "cupf  ", without_webhook,     own,               nullptr},
    {"own (webhook)",    "cupf  ", by_webhook,          nullptr,           own_by_webhook},
    {"review",           "cupf  ", nullptr,             show_to_admission, nullptr},
    {"mutate",           "cu    ", nullptr,             nullptr,           mutate},
    {"mutate part",      "  p   ", nullptr,             nullptr,           mutate_part},
    {"mutate deletion",  "    d ", nullptr,             nullptr,           mutate_removal},
    {"judge mutation",   "cup   ", compares_mutation,   nullptr,           judge_mutation},
    {"name",             "c     ", nullptr,             name,              nullptr},
    {"guard",            "cup   ", is_guarded,          nullptr,           guard},
    {"allocate",         "cupf  ", nullptr,             allocate,          nullptr},
    {"prepare",          "cup   ", nullptr,             prepare,           nullptr},
    {"judge storage",    "cupf  ", is_stored_otherwise, nullptr,           judge_storage},
    {"count generation", " up   ", nullptr,             count_generation,  nullptr},
    {"validate",         "cup   ", nullptr,             validate,          nullptr},
    {"refuse",           "cu    ", is_invalid,          nullptr,           refuse_invalid},
    {"warn",             "cupf  ", has_warnings,        warn,              nullptr},
    {"settle",           "cu    ", nullptr,             nullptr,           settle},
    {"settle part",      "  p   ", nullptr,             nullptr,           settle_part},
    {"settle deletion",  "    d ", nullptr,             nullptr,           settle_removal},
    {"own again",        "cup   ", turned_granular,     nullptr,           own_as_granular},
    {"hold",             "    de", nullptr,             nullptr,           hold},
    {"commit new",       "c     ", nullptr,             nullptr,           commit_new},
    {"commit",           " upf  ", nullptr,             nullptr,           commit_change},
    {"commit deletion",  "    de", nullptr,             nullptr,           commit_removal},
};
// clang-format on

}  // namespace

Result<void> add_claims(store::Txn& txn, const Write& w, const Value* now) {
  for (Allocator* a : w.call.services.allocators) {
    if (!a->applies(*w.call.resource)) continue;
    Result<Claims> claims = a->claims(w.old_or_null(), now);
    if (!claims) return fail(claims.error());
    std::ranges::move(claims->compares, std::back_inserter(txn.compares));
    std::ranges::move(claims->ops, std::back_inserter(txn.ops));
  }
  return {};
}

Result<void> check_uid(const Write& w, const Value& object) {
  std::string_view uid = object["metadata"]["uid"].as_string(),
                   stored = w.old["metadata"]["uid"].as_string();
  if (uid.empty() || uid == stored) return {};
  return fail(conflict(
      *w.call.resource, w.call.info.name,
      cat("StorageError: invalid object, Code: 4, Key: ", w.key,
          ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ",
          uid, ", UID in object meta: ", stored)));
}

namespace {

// The server writes these late. No webhook can change them.
constexpr std::string_view kLateFields[] = {"generation", "managedFields"};

Value without_late_fields(Value object) {
  for (std::string_view key : kLateFields) object.member("metadata").erase(key);
  return object;
}

Value with_late_fields_of(const Value& object, Value stored) {
  Value& meta = stored.member("metadata");
  for (std::string_view key : kLateFields)
    if (const Value* v = object["metadata"].find(key))
      meta.set(key, *v);
    else
      meta.erase(key);
  return stored;
}

}  // namespace

Task<Result<Value>> stored_by_webhook(Write& w) {
  const Value object = w.review->object, asked = without_late_fields(object);
  if (w.stored_next.is_null() || w.stored_next_of != asked) {
    Result<Value> form = co_await stored_form_by_webhook(w.call, w.stored, w.old, object);
    if (!form) co_return fail(form.error());
    w.stored_next_of = asked;
    w.stored_next = std::move(*form);
  }
  co_return with_late_fields_of(object, w.stored_next);
}

Task<Result<void>> show_stored_by_webhook(Write& w) {
  Call& call = w.call;
  call.open.show_stored(Value(), Value());
  if (!call.open.has_conditions() || !other_storage(*call.catalog, *call.resource))
    co_return Result<void>();
  Value becomes;
  if (w.removal == nullptr) {
    Result<Value> form = co_await stored_by_webhook(w);
    if (!form) co_return fail(form.error());
    becomes = std::move(*form);
  }
  call.open.show_stored(std::move(becomes), w.stored);
  co_return Result<void>();
}

std::span<const Step> steps() {
  return kSteps;
}

Task<Result<Next>> attempt(Write& w) {
  for (const Step& step : kSteps) {
    if (!step.is_of(w.kind) || (step.applies && !step.applies(w))) continue;
    Result<Next> next = Next::kStep;
    if (step.now) {
      next = step.now(w);
    } else {
      TraceSpan span(w.call.trace.get(), step.name);
      next = co_await step.later(w);
    }
    if (!next || *next != Next::kStep) co_return next;
  }
  co_return fail(internal_error("a write came to no end"));
}

}  // namespace cardea::rest
