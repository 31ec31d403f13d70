#include "rest/write/write.h"

#include "authz/eligibility.h"
#include "base/random.h"
#include "base/strings.h"
#include "catalog/kinds/object_meta.h"
#include "rest/guards/write_guard.h"
#include "rest/present/status.h"
#include "rest/write/blind_caller.h"
#include "rest/write/field_permissions.h"
#include "rest/write/object_rules.h"
#include "rest/write/stored_object.h"
#include "schema/ownership/compare.h"
#include "schema/ownership/managed_fields.h"

namespace cardea::rest {

using catalog::Resource;
using json::Value;

namespace {

constexpr int kConflictRetries = 20;
constexpr int kReliedRetries = 1000;  // many may write under one quota: each round one of them gets
                                      // through
constexpr int kNameTries = 8;
constexpr std::size_t kMaxGeneratedPrefix = 58;

Error invalid(const Resource& r, const Value& object, const json::FieldErrors& errors) {
  // Both faces of an Event are one kind to validation.
  return json::invalid_object(r.storage_group, r.kind, object["metadata"]["name"].as_string(),
                              errors);
}

// What only the server may say about a new object: who mutates it does not see it yet.
void clear_system_fields(Call& call, Value& object) {
  Value& meta = object.member("metadata");
  for (auto key :
       {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"})
    meta.erase(key);
  if (call.resource->namespaced)
    meta.set("namespace", call.info.namespace_name);
  else
    meta.erase("namespace");
}

// Whatever mutation made of it.
Result<void> set_system_fields(Call& call, Value& object) {
  const Resource& r = *call.resource;
  Value& meta = object.member("metadata");
  if (std::string_view space = meta["namespace"].as_string();
      r.namespaced && !space.empty() && space != call.info.namespace_name)
    return fail(bad_request(
        "the namespace of the provided object does not match the namespace sent on the request"));
  if (std::string_view name = meta["name"].as_string();
      !call.info.name.empty() && call.info.subresource.empty() && name != call.info.name)
    return fail(bad_request(cat("the name of the object (", name,
                                ") does not match the name on the URL (", call.info.name, ")")));
  clear_system_fields(call, object);
  meta.set("creationTimestamp", call.started);
  meta.set("uid", make_uid(call.services.random));
  if (r.strategy->has_generation || r.is_custom) meta.set("generation", 1);
  return {};
}

void generate_name(Call& call, Value& object) {
  Value& meta = object.member("metadata");
  std::string_view prefix = meta["generateName"].as_string();
  if (prefix.empty()) return;
  meta.set("name", cat(prefix.substr(0, kMaxGeneratedPrefix), name_suffix(call.services.random)));
}

Value with_revision(Value object, store::Revision revision) {
  object.member("metadata").set("resourceVersion", std::to_string(revision));
  return object;
}

// The object as it will be read back: versions of a custom resource may not hold each other's
// fields.
Value round_trip(Call& call, Value object) {
  const Resource& storage = *call.catalog->storage_of(*call.resource);
  if (&storage == call.resource) return object;
  return converted(converted(object, *call.resource, storage), storage, *call.resource);
}

// `next` with what `stored` has and `shown`, the same object in another version, does not; wherever
// the request left things as they were.
Value with_hidden(const Value& stored, const Value& shown, const Value& next) {
  if (schema::same_content(shown, next)) return stored;
  if (!stored.is_object() || !shown.is_object() || !next.is_object()) return next;
  Value out = next;
  for (const json::Member& m : stored.members()) {
    const Value* seen = shown.find(m.key());
    if (!seen)
      out.set(m.key(), m.value);
    else if (const Value* now = next.find(m.key()))
      out.set(m.key(), with_hidden(m.value, *seen, *now));
  }
  return out;
}

// `record` is what it replaces; null: nothing. Read again only where another version is stored.
std::string bytes_for_store(Call& call, const store::Record* record, const Value& object) {
  const Resource& storage = *call.catalog->storage_of(*call.resource);
  const bool is_narrowed = record && call.resource->is_custom && &storage != call.resource;
  if (is_narrowed) return stored_bytes(stored_form(call, parse_stored(*record), object));
  return stored_bytes(converted(object, *call.resource, storage));
}

// Owners that mutation left unreadable are as they were before.
void keep_owners(Call& call, Value& object, const Value& before) {
  const Value& now = object["metadata"]["managedFields"];
  if (now == before) return;
  auto read = schema::ManagedFields::parse(now);
  if (read) return;
  call.warnings.push_back(
      cat(".metadata.managedFields was in an invalid state after admission; this could be caused "
          "by an outdated mutating admission controller; "
          "please fix your requests: ",
          read.error().message));
  if (before.is_null())
    object.member("metadata").erase("managedFields");
  else
    object.member("metadata").set("managedFields", before);
}

// What stays as it was, whatever the client sent.
void keep_system_fields(Value& object, const Value& old) {
  Value& meta = object.member("metadata");
  const Value& was = old["metadata"];
  if (meta["uid"].as_string().empty()) meta.set("uid", was["uid"]);
  if (meta["resourceVersion"].as_string().empty())
    meta.set("resourceVersion", was["resourceVersion"]);
  meta.set("creationTimestamp", was["creationTimestamp"]);
  if (const Value* v = was.find("deletionTimestamp")) meta.set("deletionTimestamp", *v);
  if (const Value* v = was.find("deletionGracePeriodSeconds");
      v && meta["deletionGracePeriodSeconds"].is_null())
    meta.set("deletionGracePeriodSeconds", *v);
  if (const Value* v = was.find("generation"))
    meta.set("generation", *v);
  else
    meta.erase("generation");
  meta.erase("selfLink");
}

// The parts of an object whose change counts as a new generation.
bool differs_in_generation(const Resource& r, const Value& a, const Value& b) {
  if (!r.is_custom) return a["spec"] != b["spec"];
  Value x = a, y = b;
  for (Value* v : {&x, &y}) {
    v->erase("metadata");
    if (r.subresource("status")) v->erase("status");
  }
  return x != y;
}

bool is_gone_after(const Value& object) {
  const Value& meta = object["metadata"];
  return meta.has("deletionTimestamp") && meta["finalizers"].empty() &&
         meta["deletionGracePeriodSeconds"].as_int() == 0 && object["spec"]["finalizers"].empty();
}

Result<std::vector<Reservation>> allocate(Call& call, Value& object, const Value* old,
                                          bool dry_run) {
  std::vector<Reservation> taken;
  for (Allocator* a : call.services.allocators) {
    if (!a->applies(*call.resource)) continue;
    auto reservation = a->allocate(object, old, dry_run);
    if (!reservation) return fail(reservation.error());
    taken.push_back(std::move(*reservation));
  }
  return taken;
}

Task<Result<void>> ask_guards(Call& call, WriteAttempt attempt) {
  for (const WriteGuard* guard : call.services.guards) {
    if (!guard->applies(*call.resource)) continue;
    Result<void> passed = co_await guard->check(call, attempt);
    if (!passed) co_return passed;
  }
  co_return Result<void>();
}

bool keeps_identity(const Value& object, const Value& old) {
  for (auto key : {"uid", "resourceVersion", "creationTimestamp"})
    if (object["metadata"][key] != old["metadata"][key]) return false;
  return true;
}

Result<void> check_preconditions(const Call& call, const Value& object, const Value& old,
                                 const std::string& key) {
  const Resource& r = *call.resource;
  const Value& meta = object["metadata"];
  if (std::string_view uid = meta["uid"].as_string();
      !uid.empty() && uid != old["metadata"]["uid"].as_string())
    return fail(conflict(
        r, call.info.name,
        cat("StorageError: invalid object, Code: 4, Key: ", key,
            ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ",
            uid, ", UID in object meta: ", old["metadata"]["uid"].as_string())));
  return {};
}

// Whether a refusal leaves room for permissions on fields: nobody said no, and nothing went wrong.
bool is_silent(const authz::Decision& decision) {
  return decision.kind == authz::Decision::Kind::kNoOpinion && decision.error.empty();
}

Task<bool> may_create_granularly(Call& call, const authz::Decision& refusal) {
  if (!call.services.field_permissions || !is_silent(refusal)) co_return false;
  authz::Attributes attributes{call.user, call.info};
  attributes.verb = schema::kGranularVerb;
  authz::Chain::Verdict verdict = co_await call.chain->authorize(attributes);
  co_return verdict.decision.allowed();
}

// Finalizing a namespace writes its spec, as a write of the object itself does.
std::string_view written_part(const Call& call) {
  return call.info.subresource == "finalize" ? "" : std::string_view(call.info.subresource);
}

void put_or_erase(Value& meta, std::string_view key, const Value* value) {
  if (value)
    meta.set(key, *value);
  else if (meta.has(key))
    meta.erase(key);
}

// No permission on fields guards these, and a field goes away when its owner applies without it:
// whoever goes on with `granular` leaves them as they are.
void keep_unguarded_fields(Value& object, const Value* old) {
  Value& meta = object.member("metadata");
  put_or_erase(meta, "managedFields", nullptr);
  if (old) put_or_erase(meta, "generateName", (*old)["metadata"].find("generateName"));
}

// The same for whom conditions left to `granular` after the owners were worked out.
void take_owners_back(Call& call, const Value* old, Value& object, Value sent,
                      const WriteOptions& options) {
  Value again = tracked(call, old, std::move(sent), options);
  for (auto key : {"managedFields", "generateName"})
    put_or_erase(object.member("metadata"), key, again["metadata"].find(key));
}

// Makes the write depend on what admission rests on, and brings along what it has to write itself.
// Whether there was anything.
bool add_reliance(store::Txn& txn, admission::Review& review) {
  bool any = !review.relies_on.empty();
  for (store::Compare& c : review.relies_on) txn.compares.push_back(std::move(c));
  for (store::Put& p : review.also_writes) txn.ops.push_back(std::move(p));
  return any;
}

}  // namespace

Value tracked(Call& call, const Value* old, Value object, const WriteOptions& options) {
  if (call.is_granular) keep_unguarded_fields(object, old);
  schema::FieldSet reset = reset_fields(call);
  std::string manager = field_manager(call, options);
  std::string version = call.resource->api_version();
  Value updated = object;
  return schema::track_update(
      old, std::move(updated), *call.resource->schema,
      {.manager = manager,
       .api_version = version,
       .subresource = call.info.subresource,
       // Kubernetes tracks a scale through its parent and loses the time on the way.
       .now = call.info.subresource == "scale" ? std::string_view() : call.started,
       .reset_fields = &reset,
       .clear = schema::clears_managed_fields(object),
       .schema_of = version_schemas(call)});
}

Value stored_form(const Call& call, const Value& stored, const Value& object) {
  const Resource& r = *call.resource;
  const Resource& storage = *call.catalog->storage_of(r);
  Value out = converted(object, r, storage);
  if (!r.is_custom || &storage == &r) return out;
  const Value shown = converted(converted(stored, storage, r), r, storage);
  if (!call.info.subresource.empty()) return with_hidden(stored, shown, out);
  if (r.subresource("status") && schema::same_content(shown["status"], out["status"]))
    put_or_erase(out, "status", stored.find("status"));
  return out;
}

void show_what_is_hidden(Call& call, const store::Record& record, const Value& object) {
  const Resource& r = *call.resource;
  call.authorization.stored_old_object = call.authorization.stored_object = Value();
  // Versions of built-in kinds show all of an object, in other words.
  const Resource* storage = call.has_conditions() && r.is_custom ? other_storage(*call.catalog, r)
                                                                 : nullptr;
  if (!storage) return;
  Value stored = parse_stored(record);
  if (schema::same_content(converted(converted(stored, *storage, r), r, *storage), stored)) return;
  call.authorization.stored_old_object = std::move(stored);
  call.authorization.stored_object = object.is_null()
                                         ? Value()
                                         : stored_form(call, call.authorization.stored_old_object,
                                                       object);
}

catalog::StrategyContext strategy_context(const Call& call, std::string_view subresource) {
  return {.group = call.resource->group,
          .version = call.resource->version,
          .resource = call.resource->name,
          .subresource = subresource,
          .namespace_name = call.info.namespace_name,
          .user = call.user.name,
          .user_info = &call.user_info(),
          .namespace_labels =
              [&call] {
                const Resource* namespaces = call.catalog->find("", "v1", "namespaces");
                store::RecordPtr record = call.services.store.get(
                    object_key(*namespaces, "", call.info.namespace_name));
                return record ? parse_stored(*record)["metadata"]["labels"] : Value();
              },
          .now = call.started,
          .allow_privileged = call.services.allow_privileged};
}

admission::Review review_of(Call& call, admission::Operation operation, bool dry_run,
                            const Value& options) {
  bool is_open = call.has_conditions() && !call.is_settled_for_good;
  if (is_open) {
    admission::Authorization& open = call.authorization;
    open.chain = call.chain.get();
    open.is_settled = false;
    open.permits = {{call.info.verb, &call.permit}};
    if (call.create_permit) open.permits.push_back({"create", &*call.create_permit});
  }
  // Who patches updates or creates, and admission is told so.
  Value told = options;
  if (told["kind"].as_string() == "PatchOptions") {
    told.set("kind",
             operation == admission::Operation::kCreate ? "CreateOptions" : "UpdateOptions");
    told.erase("force");
  }
  return admission::Review{.operation = operation,
                           .catalog = *call.catalog,
                           .resource = *call.resource,
                           .subresource = call.info.subresource,
                           .namespace_name = call.info.namespace_name,
                           .name = call.info.name,
                           .user = call.user,
                           .dry_run = dry_run,
                           .options = std::move(told),
                           .audit = &call.audit_annotations,
                           .refusal = &call.refusal,
                           .authorization = is_open ? &call.authorization : nullptr,
                           .loop = &call.exchange->loop(),
                           .now = call.started};
}

Task<Result<void>> admit(Call& call, admission::Review& review) {
  Result<void> admitted = co_await call.services.admission.mutate(review);
  if (admitted) admitted = co_await call.services.admission.validate(review);
  for (std::string& w : review.warnings) call.warnings.push_back(std::move(w));
  review.warnings.clear();
  co_return admitted;
}

Task<Result<void>> settle_on(Call& call, Value sent, WriteOptions options) {
  if (!call.has_conditions()) co_return Result<void>{};
  admission::Review review = review_of(call, admission::Operation::kCreate, options.dry_run,
                                       options.document);
  review.object = std::move(sent);
  Result<void> admitted = co_await call.services.admission.mutate(review);
  if (!admitted) co_return admitted;
  Result<void> valid = co_await call.services.admission.validate(review);
  for (std::string& w : review.warnings) call.warnings.push_back(std::move(w));
  call.is_settled_for_good = valid.has_value();
  co_return valid;
}

authz::Asking asking(const Services& services, const authz::Attributes& attributes) {
  bool is_open = services.conditional_authorization && authz::may_be_conditional(attributes);
  return is_open ? authz::Asking::kConditionsAware : authz::Asking::kFolded;
}

std::string field_manager(Call& call, const WriteOptions& options) {
  return schema::manager_name(options.field_manager, call.request().headers.get("user-agent"));
}

schema::VersionSchemas version_schemas(const Call& call) {
  if (!call.resource->is_custom) return {};
  return [catalog = call.catalog,
          resource = call.resource](std::string_view api_version) -> const schema::Schema* {
    auto slash = api_version.find('/');
    if (slash == std::string_view::npos || api_version.substr(0, slash) != resource->group)
      return nullptr;
    const catalog::Resource* r = catalog->find(resource->group, api_version.substr(slash + 1),
                                               resource->name);
    return r ? r->schema : nullptr;
  };
}

schema::FieldSet reset_fields(const Call& call) {
  const Resource& r = *call.resource;
  return schema::reset_fields(r.group, r.kind, written_part(call), r.is_custom,
                              r.subresource("status") != nullptr);
}

schema::FieldSet kept_fields(const Call& call) {
  const Resource& r = *call.resource;
  return schema::kept_fields(r.group, r.kind, written_part(call), r.is_custom,
                             r.subresource("status") != nullptr);
}

Task<Result<Written>> write_new(Call& call, Value object, const WriteOptions& options) {
  const Resource& r = *call.resource;
  bool watches = watches_fields(call);
  if (watches) {
    Result<void> covered = co_await authorize_change(call, nullptr, object, Value());
    if (!covered) co_return fail(covered.error());
  }
  const Resource* stored = watches ? other_storage(*call.catalog, r) : nullptr;
  if (stored) {
    const SentObject* sent = sent_object(call);
    Result<void> covered = co_await authorize_storage(
        call, *stored, Value(),
        converted(sent && sent->is_there() ? sent->get() : object, r, *stored));
    if (!covered) co_return fail(covered.error());
  }
  for (int tries = 1;; ++tries) {
    admission::Review review = review_of(call, admission::Operation::kCreate, options.dry_run,
                                         options.document);
    Value attempt = object;
    clear_system_fields(call, attempt);
    const bool may_turn_granular = call.has_conditions() && !call.is_granular && !options.is_apply;
    Value sent = may_turn_granular ? attempt : Value();
    if (!options.is_apply) attempt = tracked(call, nullptr, std::move(attempt), options);
    std::string given_name(attempt["metadata"]["name"].as_string());
    if (call.info.name.empty()) review.name = given_name;
    review.object = std::move(attempt);
    // Held only for who looks at it: what is shared is copied when admission changes it.
    const bool compares = stored || (watches && watches_admission(call));
    Value requested = compares ? review.object : Value();
    Value owners = review.object["metadata"]["managedFields"];
    Result<void> admitted = co_await call.services.admission.mutate(review);
    if (admitted) keep_owners(call, review.object, owners);
    for (std::string& w : review.warnings) call.warnings.push_back(std::move(w));
    review.warnings.clear();
    if (admitted && stored && !requested.same(review.object))
      admitted = co_await authorize_storage(call, *stored, converted(requested, r, *stored),
                                            converted(review.object, r, *stored));
    if (admitted && compares)
      admitted = co_await authorize_mutation(call, std::move(requested), review.object);
    if (!admitted) co_return fail(admitted.error());
    if (auto ok = set_system_fields(call, review.object); !ok) co_return fail(ok.error());
    // Names are made up after mutation, which may have given one.
    bool generated = review.object["metadata"]["name"].as_string().empty();
    if (generated) generate_name(call, review.object);
    std::string name(review.object["metadata"]["name"].as_string());
    if (review.name.empty()) review.name = name;

    WriteAttempt guarded_attempt{
        .object = review.object, .old = nullptr, .name = generated ? std::string_view() : name};
    Result<void> guarded = co_await ask_guards(call, guarded_attempt);
    if (!guarded) co_return fail(guarded.error());
    Result<std::vector<Reservation>> reserved = allocate(call, review.object, nullptr,
                                                         options.dry_run);
    if (!reserved) co_return fail(reserved.error());
    catalog::StrategyContext context = strategy_context(call);
    prepare_for_create(review.object, r, context);
    json::FieldErrors errors = validate_create(review.object, *call.catalog, r, context,
                                               call.warnings);
    if (!errors.empty()) co_return fail(invalid(r, review.object, errors));
    if (r.strategy->warnings)
      for (std::string& w : r.strategy->warnings(review.object, nullptr, context))
        call.warnings.push_back(std::move(w));
    Result<void> valid = co_await call.services.admission.validate(review);
    for (std::string& w : review.warnings) call.warnings.push_back(std::move(w));
    if (!valid) co_return fail(valid.error());
    if (may_turn_granular && call.is_granular)
      take_owners_back(call, nullptr, review.object, std::move(sent), options);

    if (options.brings_revision)
      co_return fail(bad_request("resourceVersion should not be set on objects to be created"));
    std::string key = object_key(r, call.info.namespace_name, name);
    store::RecordPtr present = call.services.store.get(key);
    if (!present && options.dry_run) co_return Written{std::move(review.object), true};
    if (!present) {
      store::Txn txn{{{key, 0}}, {store::Put{key, bytes_for_store(call, nullptr, review.object)}}};
      bool relies = add_reliance(txn, review);
      Result<store::Commit> done = co_await commit(call, std::move(txn));
      if (!done) co_return fail(done.error());
      if (done->succeeded) {
        for (Reservation& reservation : *reserved) reservation.keep();
        co_return Written{with_revision(round_trip(call, std::move(review.object)), done->revision),
                          true};
      }
      present = done->records[0];
      if (!present && tries < (relies ? kReliedRetries : kConflictRetries)) {
        call.warnings.clear();
        continue;
      }
      if (!present) co_return fail(modified_conflict(r, name));
    }
    if (generated && tries < kNameTries) continue;
    Error exists = already_exists(r, name);
    // What becomes of an object is nothing for callers whose permission does not include reading
    // it.
    const bool may_tell = !call.is_granular && !call.has_conditions();
    if (may_tell && present && parse_stored(*present)["metadata"].has("deletionTimestamp"))
      exists.message = cat("object is being deleted: ", exists.message);
    co_return fail(std::move(exists));
  }
}

Task<Result<Written>> write_change(Call& call, Change change) {
  const Resource& r = *call.resource;
  const Resource& storage = *call.catalog->storage_of(r);
  std::string key = object_key(r, call.info.namespace_name, call.info.name);
  catalog::StrategyContext context = strategy_context(call, call.info.subresource);
  const bool was_granular = call.is_granular;
  if (may_be_blind(call)) {
    Result<void> judged = co_await judge_blindly(call);
    if (!judged) co_return fail(judged.error());
  }
  for (int tries = 1;; ++tries) {
    store::RecordPtr record = call.services.store.get(key);
    if (!record) {
      if (!change.make) co_return fail(not_found(r, call.info.name));
      // Whoever creates by writing needs the right to create.
      authz::RequestInfo as_create = call.info;
      as_create.verb = "create";
      authz::Attributes attributes{call.user, as_create};
      authz::Chain::Verdict verdict = co_await call.chain->authorize(
          attributes, asking(call.services, attributes));
      if (!verdict.permit) {
        bool granular = call.is_granular;
        if (!granular) granular = co_await may_create_granularly(call, verdict.decision);
        if (!granular || !is_silent(verdict.decision)) {
          std::string reason = verdict.decision.reason.text();
          note_refusal(call, cat("the object is not there, and creating it is not allowed",
                                 reason.empty() ? "" : ": ", reason));
          co_return fail(authz::forbidden(attributes, reason));
        }
        call.is_granular = true;
      }
      call.create_permit = std::move(verdict.permit);
      Result<Value> made = change.make();
      if (!made) co_return fail(made.error());
      if (change.checks_uid)
        if (auto ok = check_preconditions(call, *made, Value(), key); !ok)
          co_return fail(ok.error());
      Result<Written> written = co_await write_new(call, std::move(*made), change.options);
      if (!written && written.error().reason == Reason::kAlreadyExists && tries < kConflictRetries)
        continue;
      co_return written;
    }
    call.create_permit.reset();
    call.is_granular = was_granular;
    call.fields_settled = false;
    call.sight.has_read = true;
    Value old = converted(parse_stored(*record), storage, r);
    Result<Value> changed = change.apply(old);
    if (!changed) co_return fail(changed.error());
    if (change.checks_uid)
      if (auto ok = check_preconditions(call, *changed, old, key); !ok) co_return fail(ok.error());

    bool watches = watches_fields(call);
    if (watches) {
      Value stored = other_storage(*call.catalog, r) ? parse_stored(*record) : Value();
      Result<void> covered = co_await authorize_change(call, &old, *changed, std::move(stored));
      if (!covered) co_return fail(covered.error());
    }
    admission::Review review = review_of(call, admission::Operation::kUpdate,
                                         change.options.dry_run, change.options.document);
    review.old_object = &old;
    bool keeps = keeps_identity(*changed, old);
    keep_system_fields(*changed, old);
    const bool may_turn_granular = call.has_conditions() && !call.is_granular &&
                                   !change.options.is_apply;
    Value sent = may_turn_granular ? *changed : Value();
    review.object = change.options.is_apply
                        ? std::move(*changed)
                        : tracked(call, &old, std::move(*changed), change.options);
    Result<void> admitted;
    const bool compares = watches && watches_admission(call);
    Value requested = compares ? review.object : Value();
    Value old_shown;
    if (change.shows) {
      Result<Value> was = change.shows(old), is = change.shows(review.object);
      if (!was || !is) co_return fail(was ? is.error() : was.error());
      old_shown = std::move(*was);
      review.old_object = &old_shown;
      Value whole = std::exchange(review.object, *is);
      admitted = co_await call.services.admission.mutate(review);
      if (admitted && review.object != *is) {
        Result<Value> taken = change.takes(whole, review.object);
        if (!taken) co_return fail(taken.error());
        whole = std::move(*taken);
      }
      review.object = std::move(whole);
    } else if (!change.is_admitted) {
      Value owners = review.object["metadata"]["managedFields"];
      admitted = co_await call.services.admission.mutate(review);
      if (admitted) {
        keep_owners(call, review.object, owners);
        review.object.member("metadata")
            .set("creationTimestamp", old["metadata"]["creationTimestamp"]);
        std::string_view space = review.object["metadata"]["namespace"].as_string();
        if (r.namespaced && !space.empty() && space != call.info.namespace_name)
          co_return fail(
              bad_request("the namespace of the provided object does not match the namespace sent "
                          "on the request"));
      }
    }
    for (std::string& w : review.warnings) call.warnings.push_back(std::move(w));
    review.warnings.clear();
    if (admitted && compares && !change.is_admitted)
      admitted = co_await authorize_mutation(call, std::move(requested), review.object);
    if (!admitted) co_return fail(admitted.error());

    if (!change.is_trusted) {
      WriteAttempt attempt{
          .object = review.object, .old = &old, .name = call.info.name, .keeps_identity = keeps};
      Result<void> guarded = co_await ask_guards(call, attempt);
      if (!guarded) co_return fail(guarded.error());
    }
    Result<std::vector<Reservation>> reserved = allocate(call, review.object, &old,
                                                         change.options.dry_run);
    if (!reserved) co_return fail(reserved.error());
    if (!change.is_trusted) prepare_for_update(review.object, old, r, context);
    if (const Resource* stored = watches ? other_storage(*call.catalog, r) : nullptr) {
      Value was = parse_stored(*record);
      Value becomes = stored_form(call, was, review.object);
      Result<void> covered = co_await authorize_storage(call, *stored, std::move(was),
                                                        std::move(becomes));
      if (!covered) co_return fail(covered.error());
    }
    bool counts = (r.strategy->has_generation || r.is_custom) && context.subresource != "status" &&
                  !change.is_trusted;
    if (counts && differs_in_generation(r, review.object, old))
      review.object.member("metadata")
          .set("generation", old["metadata"]["generation"].as_int() + 1);
    if (!change.is_trusted) {
      json::FieldErrors errors = validate_update(review.object, old, *call.catalog, r, context,
                                                 call.warnings);
      if (!errors.empty()) co_return fail(invalid(r, review.object, errors));
    }
    if (r.strategy->warnings)
      for (std::string& w : r.strategy->warnings(review.object, &old, context))
        call.warnings.push_back(std::move(w));
    Result<void> valid;
    if (change.shows) {
      Result<Value> is = change.shows(review.object);
      if (!is) co_return fail(is.error());
      Value whole = std::exchange(review.object, std::move(*is));
      call.authorization.whole = {
          .resource = &r, .object = &whole, .old_object = &old, .name = call.info.name};
      valid = co_await call.services.admission.validate(review);
      call.authorization.whole = {};
      review.object = std::move(whole);
    } else if (!change.is_admitted) {
      if (review.authorization) show_what_is_hidden(call, *record, review.object);
      valid = co_await call.services.admission.validate(review);
    }
    for (std::string& w : review.warnings) call.warnings.push_back(std::move(w));
    if (!valid) co_return fail(valid.error());
    if (may_turn_granular && call.is_granular)
      take_owners_back(call, &old, review.object, std::move(sent), change.options);

    review.object = schema::keep_times_when_unchanged(old, std::move(review.object));
    Value fresh = with_revision(review.object, record->mod_revision);
    if (change.options.dry_run) co_return Written{std::move(fresh), false};
    bool gone = is_gone_after(review.object);
    std::string bytes = bytes_for_store(call, record.get(), review.object);
    if (!gone && bytes == record->value() && !is_known_blind(call))
      co_return Written{std::move(fresh), false};
    store::Txn txn{{{key, record->mod_revision}}, {}};
    if (gone)
      txn.ops.push_back(store::Delete{key});
    else
      txn.ops.push_back(store::Put{key, std::move(bytes)});
    add_reliance(txn, review);
    Result<store::Commit> done = co_await commit(call, std::move(txn));
    if (!done) co_return fail(done.error());
    if (done->succeeded) {
      for (Reservation& reservation : *reserved) reservation.keep();
      // What went away with this write is shown as it last was.
      store::Revision shown = gone ? record->mod_revision : done->revision;
      co_return Written{with_revision(round_trip(call, std::move(review.object)), shown), false};
    }
    // Where the object itself is as it was, something else that the admission relied on has moved.
    bool is_untouched = done->records[0] && done->records[0]->mod_revision == record->mod_revision;
    if (is_untouched ? tries >= kReliedRetries
                     : !change.is_unconditional || tries >= kConflictRetries)
      co_return fail(modified_conflict(r, call.info.name));
    call.warnings.clear();
  }
}

}  // namespace cardea::rest
