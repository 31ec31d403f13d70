#pragma once
#include <chrono>
#include <condition_variable>
#include <thread>

#include "base/clock.h"
#include "store/history.h"
#include "store/journal.h"
#include "store/revision_times.h"
#include "store/subscriptions.h"

namespace cardea::store {

// A store that one process owns: a Timeline for reading, a Journal for durability, and one
// writer thread.
//
// Group commit: the thread takes all waiting transactions, checks each against memory and its
// predecessors in the batch, gives everything to the journal at once, publishes, and then
// answers. A failed batch publishes nothing. When the journal does not know whether a batch was
// written, the batch is kept aside and writes are refused until the journal knows: memory and
// disk never disagree.
class LocalStore : public Store {
 public:
  static Result<std::unique_ptr<Store>> open(std::unique_ptr<Journal> journal,
                                             HistoryOptions history, const Clock& clock);
  ~LocalStore() override;  // finishes what was committed before

  RecordPtr get(std::string_view key) const override { return timeline_.get(key); }
  Result<RangeResult> range(const RangeQuery& query) const override {
    return timeline_.range(query);
  }
  std::int64_t count(const KeyRange& keys) const override { return timeline_.count(keys); }
  Revision current_revision() const override { return timeline_.revision(); }
  Revision compacted_revision() const override { return timeline_.compacted(); }
  void commit(Txn txn, Done done) override;
  Result<std::unique_ptr<Watch>> watch(std::string prefix, Revision from, Sink sink) override;
  void compact(Revision revision, Compacted done) override;
  StoreStats stats() const override;

 private:
  struct Pending {
    Txn txn;
    Done done;
  };
  struct Compaction {
    Revision revision;
    Compacted done;
  };
  class Batch;

  LocalStore(std::unique_ptr<Journal> journal, HistoryOptions history, const Clock& clock);
  void run();
  void write(std::vector<Pending> pending);
  bool settle_doubt();
  void publish(std::span<const EventPtr> events);
  void close_the_last_state(std::int64_t now);
  Revision oldest_to_keep();
  void accept(std::vector<Compaction> compactions);
  bool do_chores(bool busy);  // true when more is left to do at once
  void note_trouble(std::string trouble);
  void finish_compactions(const Result<void>& answer);

  const std::unique_ptr<Journal> journal_;
  const HistoryOptions history_;
  const Clock& clock_;
  Timeline timeline_;
  Subscriptions subscriptions_{timeline_};

  // Of the writer thread.
  std::vector<EventPtr> in_doubt_;
  std::string doubt_;
  std::string refusal_;  // why the last write was refused; empty when it was not
  RevisionTimes times_;
  Revision compact_to_ = 0;
  std::vector<Compaction> compacting_;

  mutable std::mutex queue_lock_;
  std::condition_variable wake_;
  std::vector<Pending> queue_;
  std::vector<Compaction> compactions_;
  std::string trouble_;
  bool stopping_ = false;
  std::thread writer_;
};

}  // namespace cardea::store
