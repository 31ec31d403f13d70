#pragma once
#include <functional>
#include <optional>

#include "base/task.h"
#include "rest/call.h"
#include "rest/verbs/options.h"

namespace cardea::rest {

// The only way to write objects: create, update, patch, apply, status, scale and delete run the
// steps that rest/write/steps.h lists, and run them again if another writer was faster. Objects are
// in the version of call.resource, and so is the answer.

// What kind of write it is decides which steps it takes.
enum class WriteKind : std::uint8_t {
  kCreate,
  kUpdate,    // of the object, or of a part that is of the same kind: PUT, patch and apply
  kPart,      // through a smaller view of the object, which admission sees: a Scale
  kFollowUp,  // the server's own consequence of something that was admitted already: a Binding
  kDelete,
  kEviction,  // a deletion that was admitted already
};

struct Written {
  json::Value object;  // with its resourceVersion
  bool created = false;
};

// Stores `object`, which must not exist yet.
Task<Result<Written>> write_new(Call& call, json::Value object, const WriteOptions& options);

struct Change {
  WriteKind kind = WriteKind::kUpdate;
  // Makes the new object from the current one. Called again after a conflict.
  std::function<Result<json::Value>(const json::Value& current)> apply;
  // Makes an object where there is none; empty: the object must exist.
  std::function<Result<json::Value>()> make;
  // For a part of an object: how it is shown, and how the changed part is put back.
  std::function<Result<json::Value>(const json::Value& object)> shows;
  std::function<Result<json::Value>(const json::Value& object, const json::Value& shown)> takes;
  WriteOptions options;
  bool checks_uid = false;  // another uid is a conflict (PUT), else a change of an immutable field
  bool is_unconditional = false;  // the caller has no resourceVersion to insist on: conflicts are
                                  // retried
};

Task<Result<Written>> write_change(Call& call, Change change);

struct Removal {
  WriteKind kind = WriteKind::kDelete;
  std::string key;       // of the object
  bool is_item = false;  // it is deleted with its collection: the client did not name it, and
                         // refusals do not name it either
  DeleteOptions options;
};

// Deletes one object and gives what the client is shown.
Task<Result<json::Value>> write_removal(Call& call, Removal removal);

// The outcome of applying `config` to the live object, typed and defaulted; without `live` a new
// object.
Result<json::Value> apply_to(Call& call, const json::Value* live, const json::Value& config,
                             const WriteOptions& options);

// The strategy's view of this call.
catalog::StrategyContext strategy_context(const Call& call, std::string_view subresource = "");

// Everything of a Review but the objects.
admission::Review review_of(Call& call, admission::Operation operation, bool dry_run,
                            const json::Value& options);

// Both phases of admission for a request that does not write the object itself (a review, a token
// request). Warnings go to the call; the object may have been changed.
Task<Result<void>> admit(Call& call, admission::Review& review);
// Settles the conditions of a request on what was sent, where that is not what will be written.
Task<Result<void>> settle_on(Call& call, json::Value sent, WriteOptions options);
// Hands the warnings of a review on to the client.
void take_warnings(Call& call, const admission::Review& review);

// How a request is to be authorized.
authz::Asking asking(const Services& services, const authz::Attributes& attributes);

}  // namespace cardea::rest
