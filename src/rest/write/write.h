#pragma once
#include <functional>
#include <optional>

#include "base/task.h"
#include "rest/call.h"
#include "rest/verbs/options.h"
#include "schema/ownership/field_set.h"
#include "schema/ownership/managed_fields.h"

namespace cardea::rest {

// The one way objects are written: admission, preparation, validation, the store, and again when
// somebody else was faster. Objects are in the version of call.resource; the answer is too.

struct Written {
  json::Value object;  // with its resourceVersion
  bool created = false;
};

// Stores `object`, which must not exist yet.
Task<Result<Written>> write_new(Call& call, json::Value object, const WriteOptions& options);

struct Change {
  // Makes the new object from the current one. Called again after a conflict.
  std::function<Result<json::Value>(const json::Value& current)> apply;
  // Makes an object where there is none; empty: the object must exist.
  std::function<Result<json::Value>()> make;
  // Where admission reviews something smaller than the object (a Scale): how it is shown there, and
  // how what became of it is put back. Both or none.
  std::function<Result<json::Value>(const json::Value& object)> shows;
  std::function<Result<json::Value>(const json::Value& object, const json::Value& shown)> takes;
  WriteOptions options;
  bool is_trusted = false;   // made by the server itself: prepared and valid already
  bool is_admitted = false;  // admission has seen the request in another shape
  bool checks_uid = false;   // another uid is a conflict (PUT), else a change of an immutable field
  bool is_unconditional = false;  // the caller has no resourceVersion to insist on: conflicts are
                                  // retried
};

Task<Result<Written>> write_change(Call& call, Change change);

// The outcome of applying `config` to the live object, typed and defaulted; without `live` a new
// object.
Result<json::Value> apply_to(Call& call, const json::Value* live, const json::Value& config,
                             const WriteOptions& options);

// The object with its owners recorded: what this write changed belongs to its field manager. Before
// admission: what the server itself changes belongs to nobody. Owners that the body brings are
// taken, unless its sender goes on with the verb `granular`.
json::Value tracked(Call& call, const json::Value* old, json::Value object,
                    const WriteOptions& options);

// `object` as it will be stored over `stored`. Versions of a custom resource may lack each other's
// fields, and writing through one that lacks a field takes the field away, as in Kubernetes. What
// the request cannot write stays as it is stored: everything that a subresource does not change,
// and the status where that is a subresource.
json::Value stored_form(const Call& call, const json::Value& stored, const json::Value& object);

// Lets the conditions of this call see the stored object, and what `object` makes of it, where the
// version of the request does not show all of it.
void show_what_is_hidden(Call& call, const store::Record& record, const json::Value& object);

// The strategy's view of this call.
catalog::StrategyContext strategy_context(const Call& call, std::string_view subresource = "");

// Everything of a Review but the objects.
admission::Review review_of(Call& call, admission::Operation operation, bool dry_run,
                            const json::Value& options);

// Both phases of admission for a request that is no write of the object itself (a binding, an
// eviction, a token request). Warnings go to the call; the object may have been changed.
Task<Result<void>> admit(Call& call, admission::Review& review);
// Settles the conditions of a request on what was sent, where that is not what will be written: a
// Binding, an Eviction.
Task<Result<void>> settle_on(Call& call, json::Value sent, WriteOptions options);

// How a request is to be authorized.
authz::Asking asking(const Services& services, const authz::Attributes& attributes);

// The field manager of a write: what the URL says, else the first word of the User-Agent.
std::string field_manager(Call& call, const WriteOptions& options);

// The shapes of a custom resource's versions, for ownership recorded under another one.
schema::VersionSchemas version_schemas(const Call& call);

// What this write cannot change whatever it says, to ownership; and what really stays as it was.
schema::FieldSet reset_fields(const Call& call);
schema::FieldSet kept_fields(const Call& call);

}  // namespace cardea::rest
