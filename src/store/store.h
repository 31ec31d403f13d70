#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "store/record.h"

namespace cardea::store {

// Keys from `start` (included) to `end` (excluded); an empty `end` means to the last key.
struct KeyRange {
  std::string start;
  std::string end;
};

KeyRange keys_with_prefix(std::string_view prefix);

struct RangeQuery {
  KeyRange keys;
  std::size_t limit = 0;  // 0: all
  Revision at = 0;        // 0: now; otherwise the state right after that revision
};

struct RangeResult {
  std::vector<RecordPtr> records;  // in the order of their keys
  Revision revision = 0;           // the state they show
  bool more = false;               // the limit cut the answer off
  std::int64_t remaining = 0;      // how many keys follow the last one, in the same state
};

// Holds when `key` is at `mod_revision`; 0 means that the key must not exist.
struct Compare {
  std::string key;
  Revision mod_revision = 0;
};

struct Put {
  std::string key;
  std::string value;
};

struct Delete {
  std::string key;
};

using Op = std::variant<Put, Delete>;

// When every compare holds, all ops happen at one new revision; otherwise none does. A key may
// occur in one op only. Deleting a missing key does nothing, and a transaction that changes
// nothing makes no revision.
struct Txn {
  std::vector<Compare> compares;
  std::vector<Op> ops;
};

struct Commit {
  bool succeeded = false;
  Revision revision = 0;           // of the ops; the current one when nothing was written
  std::vector<RecordPtr> records;  // succeeded: the new record of each op (a tombstone for Delete);
                                   // otherwise: the present record of each compare, or null
};

enum class EventType : std::uint8_t { kPut, kDelete };

// One change of one key. Made once, shared by all watchers.
struct Event {
  EventType type = EventType::kPut;
  Revision revision = 0;
  RecordPtr record;    // never null; a tombstone for kDelete
  RecordPtr previous;  // null when the key was created
};
using EventPtr = std::shared_ptr<const Event>;

// A subscription. Destroying it ends it, from any thread: when the destructor returns, the sink is
// not running and will not run again. It may be destroyed from inside its own sink. Whoever
// destroys it must not hold a lock that the sink takes.
class Watch {
 public:
  virtual ~Watch() = default;
};

struct StoreStats {
  std::uint64_t keys = 0;
  std::uint64_t live_bytes = 0;     // keys and values
  std::uint64_t history_bytes = 0;  // superseded records that are still kept
  std::uint64_t events = 0;         // changes that a watch can still replay
  std::uint64_t file_bytes = 0;     // on disk; 0 for an engine without files
  std::string trouble;              // the last background failure; empty when all is well
};

// Revisions, transactions and watches over string keys such as `/registry/configmaps/ns/name`.
// Values are bytes; the store knows nothing about their meaning.
//
// All functions may be called from any thread. Reads and watches come from memory, show the last
// write that was acknowledged here, and never wait for a disk. Where several servers share what is
// stored, `refresh` makes them show what was acknowledged anywhere.
class Store {
 public:
  using Done = std::move_only_function<void(Result<Commit>)>;
  using Compacted = std::move_only_function<void(Result<void>)>;
  using Refreshed = std::move_only_function<void(Result<void>)>;

  // Receives events in the order of their revisions. All events of one revision come in one call.
  // Must not block, and must not throw.
  using Sink = std::function<void(std::span<const EventPtr>)>;

  virtual ~Store() = default;

  virtual RecordPtr get(std::string_view key) const = 0;  // null when there is none

  // Errors: kExpired when `at` is older than compacted_revision(); kTimeout with the cause
  // `ResourceVersionTooLarge` when it lies in the future.
  virtual Result<RangeResult> range(const RangeQuery& query) const = 0;

  virtual std::int64_t count(const KeyRange& keys) const = 0;  // does not scan

  virtual Revision current_revision() const = 0;

  // The oldest revision whose state can still be read, and after which a watch can start.
  virtual Revision compacted_revision() const = 0;

  // `done` runs once, on a thread of the store, after the write is durable and visible to get,
  // range and watches. It must not block. A compare that does not hold is an answer, not an error.
  // Errors: kServiceUnavailable when nothing was written and nothing will be, kInternalError when
  // the outcome is not known yet (reads will tell), kBadRequest for a malformed transaction.
  virtual void commit(Txn txn, Done done) = 0;

  // Delivers every change of a key with this prefix whose revision is greater than `from`, without
  // gap or duplicate. What lies in the past is delivered on the calling thread before this returns,
  // the rest on the thread that publishes. A revision in the future waits for it. Error: kExpired.
  virtual Result<std::unique_ptr<Watch>> watch(std::string prefix, Revision from, Sink sink) = 0;

  // Forgets history before `revision`. `done` runs on a thread of the store when disk space has
  // been given back too. The store also does this by itself as its options say.
  virtual void compact(Revision revision, Compacted done) = 0;

  virtual StoreStats stats() const = 0;

  // --- Several servers may share what is stored. Not so where this says that reads are always
  // fresh; then the rest answers at once.
  virtual bool is_always_fresh() const { return true; }

  // `done` runs once, on a thread of the store or on the caller's, when reads show every write that
  // was acknowledged anywhere before this call. Error: kServiceUnavailable when that cannot be
  // known.
  virtual void refresh(Refreshed done) { done({}); }

  // When reads last were known to be fresh: they show all that was acknowledged anywhere before.
  virtual std::chrono::steady_clock::time_point fresh_as_of() const {
    return std::chrono::steady_clock::now();
  }

  // A revision up to which every sink has seen all changes of the keys that the engine was told to
  // mark (EtcdOptions::marked); it moves with each of them. A transaction that compares kMarkKey
  // with it is refused when one of them was changed since by a server of ours, or one of
  // EtcdOptions::guarded was created or changed by whomever.
  virtual Revision marked_revision() const { return 0; }

  // Whether a record should be written again though nothing of it changes: it lies encrypted with a
  // key that is not the one of today.
  virtual bool is_stale(const Record&) const { return false; }

  // `done` runs when current_revision() has come to `revision`. Error: kTimeout with the cause
  // `ResourceVersionTooLarge` when it does not in time.
  virtual void reach(Revision revision, Refreshed done);
};

inline constexpr std::string_view kMarkKey = "/cardea/mark";

// The error for a revision that is not there yet.
Error revision_too_large(Revision asked, Revision now);

// For tests and tools: wait for the answer. Not from inside a callback or a sink.
Result<Commit> commit_sync(Store& store, Txn txn);
Result<void> compact_sync(Store& store, Revision revision);
Result<void> refresh_sync(Store& store);

}  // namespace cardea::store
