#pragma once
#include <atomic>
#include <mutex>
#include <set>

#include "store/event_log.h"
#include "store/record_index.h"
#include "store/rw_lock.h"

namespace cardea::store {

// A record that is no longer current, and the revision that replaced or deleted it.
struct Superseded {
  RecordPtr record;
  Revision until = 0;
  bool deleted = false;  // `until` deleted the key, otherwise it changed it
};

// What an engine remembers between two runs.
struct Remembered {
  std::vector<RecordPtr> current;   // in any order
  std::vector<Superseded> history;  // with `until` > compacted, in any order
  Revision revision = 1;
  Revision compacted = 0;
};

// The state of a store in memory: the current records, the superseded ones back to the compacted
// revision, and the log of changes.
//
// One thread writes (`restore`, `apply`, `compact`, `current`); any thread reads. Readers share a
// lock that the writer takes only to publish, never while it waits for a disk, and long reads let
// go of it every few thousand records.
class Timeline {
 public:
  RecordPtr get(std::string_view key) const;
  Result<RangeResult> range(const RangeQuery& query) const;
  std::int64_t count(const KeyRange& keys) const;
  Result<EventLog::Slice> events_after(Revision revision) const;
  Revision revision() const { return revision_.load(std::memory_order_acquire); }
  Revision compacted() const { return compacted_.load(std::memory_order_acquire); }
  void describe(StoreStats& stats) const;

  void restore(Remembered remembered);
  const RecordPtr* current(std::string_view key) const { return current_.find(key); }

  // Publishes events of one or more revisions; the last of them is the new current revision.
  void apply(std::span<const EventPtr> events);

  // Nothing happened up to `revision`, which becomes the current one.
  void advance(Revision revision);

  // Publishes the difference to the state at `revision` when what lies between is not known: older
  // states can be read no more.
  void leap(std::span<const EventPtr> difference, Revision revision);

  // Moves compacted() to `target`, or as near as running reads of older states allow, and
  // frees at most `steps` of the events before it. True when none of those is left.
  bool compact(Revision target, std::size_t steps);

  // For the writing thread.
  std::uint64_t past_bytes() const { return past_bytes_; }
  Revision revision_of_event(std::size_t n) const { return log_.revision_of(n); }

 private:
  class Pin;

  RangeResult range_now(const RangeQuery& query, std::size_t stop) const;
  RangeResult range_at(const RangeQuery& query, Revision at, std::size_t stop) const;
  std::int64_t count_at(const KeyRange& keys, Revision at) const;
  std::int64_t count_now(const KeyRange& keys) const;
  void publish(std::span<const EventPtr> events);
  void add_past(RecordPtr record);
  void drop_past(const Record& record);

  mutable RwLock lock_;
  RecordIndex current_;
  RecordIndex past_;  // superseded records and tombstones
  EventLog log_;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t past_bytes_ = 0;
  std::atomic<Revision> revision_{1};
  std::atomic<Revision> compacted_{0};

  mutable std::mutex pins_lock_;
  mutable std::multiset<Revision> pins_;  // states that a long read is still walking through
};

}  // namespace cardea::store
