#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "rest/write/write.h"

namespace cardea::rest {

// One object on its way to the store. The steps of a write pass it on.
struct Write {
  Call& call;
  const WriteKind kind;
  const WriteOptions& options;
  const json::Value* made = nullptr;  // of a create: the object to store
  const Change* change = nullptr;     // of kUpdate, kPart and kFollowUp
  const Removal* removal = nullptr;   // of kDelete and kEviction
  std::string key = {};               // of a create: known when the object has its name
  int tries = 1;

  // Of the attempt that is under way.
  store::RecordPtr record = {};  // null for a create
  json::Value old = {};
  json::Value stored = {};  // `old` in the stored version, where a webhook converts and it is
                            // another
  json::Value stored_next = {}, stored_next_of = {};  // what the webhook made of an object to store
  json::Value old_part = {};                          // of kPart: how the old object is shown
  json::Value object = {};  // until there is a review: from then on it is in there
  json::Value sent = {};    // the object without its owners, where they may have to be taken back
  json::Value requested = {};  // the object before mutation, if it is compared later
  std::optional<admission::Review> review = {};
  std::optional<Error> invalid = {};  // validation refused it, and conditions have the first word
  std::vector<Reservation> reserved = {};
  bool watches_fields = false;     // the changed fields are needed
  bool compares_mutation = false;  // and at those that admission changes
  bool may_turn_granular = false;  // conditions may leave the caller to permissions on fields
  bool keeps_identity = false;     // an update that was sent with the identity of `old`
  bool is_name_generated = false;  // of a create
  std::string given_name = {}, new_name = {};  // of a create: before mutation, and in the end
  std::optional<json::Value> held = {};  // of a deletion: what stays while something holds the
                                         // object

  json::Value result = {};  // what the client is shown

  Write(Call& c, WriteKind k, const WriteOptions& o) : call(c), kind(k), options(o) {}
  bool is_create() const { return kind == WriteKind::kCreate; }
  const json::Value* old_or_null() const { return is_create() ? nullptr : &old; }
};

// Where a step leads.
enum class Next : std::uint8_t {
  kStep,     // to the next step
  kDone,     // the write is over; the result is there
  kAgain,    // another writer was faster: everything is done again
  kMissing,  // the object is not there
};

// One step. Either `now`, or `later` for what may have to wait. `applies` may be empty: always.
struct Step {
  std::string_view name;
  std::string_view kinds;  // one letter for each kind of write that takes it, in the order of
                           // WriteKind
  bool (*applies)(const Write& write);
  Result<Next> (*now)(Write& write);
  Task<Result<Next>> (*later)(Write& write);

  bool is_of(WriteKind kind) const { return kinds[static_cast<std::size_t>(kind)] != ' '; }
};

// All steps, in the order that they are taken.
std::span<const Step> steps();

// One attempt.
Task<Result<Next>> attempt(Write& write);

// The object of the review as it will be stored, where a webhook converts it. The webhook is asked
// once for an object: what was judged is what is stored.
Task<Result<json::Value>> stored_by_webhook(Write& write);
// Shows the objects as they are stored to the conditions of the call. The versions of a webhook may
// name their fields differently, so conditions always have to allow both forms.
Task<Result<void>> show_stored_by_webhook(Write& write);

// Adds what allocators store beside the object. `now` is the object as it will be; null: it is
// deleted.
Result<void> add_claims(store::Txn& txn, const Write& write, const json::Value* now);

// Whether the object is of the uid that the request says, if it says one.
Result<void> check_uid(const Write& write, const json::Value& object);

// Steps of a deletion (rest/write/removal.cc).
Result<Next> check_removal(Write& write);
Task<Result<Next>> guard_removal(Write& write);
Task<Result<Next>> mutate_removal(Write& write);
Task<Result<Next>> settle_removal(Write& write);
Task<Result<Next>> hold(Write& write);
Task<Result<Next>> commit_removal(Write& write);

}  // namespace cardea::rest
