#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/etcd/encoding.h"
#include "store/store.h"

// The messages of etcd's API version 3 that a store needs, by their field numbers. Requests are
// made as bytes; of answers only what is used is read. Keys are etcd's: see KeySpace.
namespace cardea::store::etcd {

// How the keys of a store lie in etcd: what begins with `/registry/` lies below the prefix as
// kube-apiserver has it, other keys below `PREFIX/_cardea/`, which no resource can be called.
// `encoding`, which outlives this, may say otherwise, and says how values lie there.
class KeySpace {
 public:
  // "/registry"; slashes around it do not matter.
  explicit KeySpace(std::string_view prefix, const EtcdEncoding* encoding = nullptr);

  std::string to_etcd(std::string_view key) const;
  std::string from_etcd(std::string_view key) const;  // "" for a key that is not ours
  Result<std::string> value_to_etcd(std::string_view key, std::string_view value) const;
  const EtcdEncoding* encoding() const { return encoding_; }
  const std::string& first() const { return first_; }
  const std::string& end() const { return end_; }  // of the range of all keys

 private:
  bool is_shared(std::string_view key) const;
  bool is_own(std::string_view key) const;

  std::string first_;  // "/registry/"
  std::string end_;
  std::string own_;  // "/registry/_cardea/"
  const EtcdEncoding* encoding_;
};

std::string range_request(std::string_view from, std::string_view end, std::int64_t limit,
                          Revision at);
// The current revision, confirmed by a majority: a read of a key that need not be there.
std::string revision_request(std::string_view key);
struct TxnExtras {
  std::string_view mark;  // a key that is written too, unless it is empty
  // A compare of kMarkKey holds when it and all keys with these prefixes are not newer.
  std::span<const std::string> guarded = {};
  std::int64_t lease = 0;  // that all puts hang on; 0: they stay
  // Of the ops, as they lie in etcd; empty: as they are.
  std::span<const std::string> values = {};
};
std::string txn_request(const Txn& txn, const KeySpace& keys, const TxnExtras& extras = {});
std::string lease_request(std::chrono::seconds ttl);
// The turn to compact, as kube-apiserver takes it: whoever moves the key from the version that it
// has seen writes there up to which revision it compacts.
std::string compaction_turn_request(std::int64_t version, Revision revision);
std::string compact_request(Revision revision);
std::string watch_request(std::string_view from, std::string_view end, Revision start);
std::string progress_request();

struct RangeAnswer {
  Revision revision = 0;
  std::vector<RecordPtr> records;  // with the store's keys; those of others are left out
  std::string last_key;            // etcd's
  bool more = false;
};
Result<RangeAnswer> read_range(std::string_view message, const KeySpace& keys);

Result<Revision> read_revision(std::string_view message);  // of any answer's header

struct TxnAnswer {
  Revision revision = 0;
  bool succeeded = false;
  // succeeded: for each op whether it changed something. Otherwise empty.
  std::vector<bool> changed;
  std::vector<RecordPtr> present;  // not succeeded: the record of each compare, or null
  Revision guarded = 0;            // not succeeded: the newest of the guarded keys
};
// Of a transaction with so many compares.
Result<TxnAnswer> read_txn(std::string_view message, const KeySpace& keys, std::size_t compares);

struct Change {
  bool is_delete = false;
  RecordPtr record;  // a tombstone for a deletion
};
struct WatchAnswer {
  Revision revision = 0;  // of the header
  bool created = false;
  bool canceled = false;
  Revision compacted = 0;  // canceled because history up to here is gone
  std::string cancel_reason;
  bool fragment = false;        // the rest of the changes is in the next message
  std::vector<Change> changes;  // those of others are left out
  Revision changed = 0;         // of the last change, also of others; 0: none
};
Result<WatchAnswer> read_watch(std::string_view message, const KeySpace& keys);

struct CompactionTurn {
  Revision revision = 0;     // of etcd
  bool is_ours = false;      // otherwise somebody else had it since
  std::int64_t version = 0;  // of the key now
};
// Of a request with this version.
Result<CompactionTurn> read_compaction_turn(std::string_view message, std::int64_t version);

struct LeaseAnswer {
  std::int64_t id = 0;
  std::chrono::seconds ttl{0};
};
Result<LeaseAnswer> read_lease(std::string_view message);

struct StatusAnswer {
  std::string version;  // "3.6.1"
  Revision revision = 0;
  std::int64_t database_bytes = 0;
  std::uint64_t leader = 0;  // 0: the member knows none
};
Result<StatusAnswer> read_status(std::string_view message);

// Whether a watch of this version tells the truth about its progress: since 3.4.31 and 3.5.13.
bool has_true_progress(std::string_view version);

}  // namespace cardea::store::etcd
