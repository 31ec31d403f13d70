#include "store/local_store.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace cardea::store {
namespace {

// A batch is limited so that one fsync does not wait for minutes of queued work.
constexpr std::size_t kBatchTransactions = 1024;
constexpr std::size_t kBatchBytes = 8 << 20;
constexpr std::size_t kCompactionStep = 1024;
constexpr std::chrono::seconds kTick{1};
std::size_t size_of(const Txn& txn) {
  std::size_t bytes = 0;
  for (const Op& op : txn.ops) {
    if (const Put* put = std::get_if<Put>(&op)) bytes += put->value.size();
  }
  return bytes;
}

}  // namespace

// Decides transactions one after the other, each on top of those before it.
class LocalStore::Batch {
 public:
  Batch(const Timeline& timeline, std::size_t size)
      : timeline_(timeline), revision_(timeline.revision()) {
    answers_.reserve(size);
    events_.reserve(size);
  }

  void add(Pending pending) {
    Commit commit = decide(pending.txn);
    answers_.push_back({std::move(pending.done), std::move(commit)});
  }

  const std::vector<EventPtr>& events() const { return events_; }
  std::vector<EventPtr> take_events() { return std::move(events_); }

  void answer() {
    for (Answer& answer : answers_) answer.done(std::move(answer.commit));
  }
  void refuse(const Error& error) {
    for (Answer& answer : answers_) answer.done(fail(error));
  }

 private:
  struct Answer {
    Done done;
    Commit commit;
  };

  RecordPtr present(std::string_view key) const {
    if (auto changed = changed_.find(key); changed != changed_.end()) {
      return changed->second->deleted() ? nullptr : changed->second;
    }
    const RecordPtr* current = timeline_.current(key);
    return current ? *current : nullptr;
  }

  Commit decide(const Txn& txn) {
    Commit commit;
    commit.succeeded = std::all_of(
        txn.compares.begin(), txn.compares.end(), [&](const Compare& compare) {
          RecordPtr record = present(compare.key);
          return (record ? record->mod_revision : 0) == compare.mod_revision;
        });
    if (!commit.succeeded) {
      for (const Compare& compare : txn.compares) commit.records.push_back(present(compare.key));
      commit.revision = revision_;
      return commit;
    }
    std::size_t before = events_.size();
    for (const Op& op : txn.ops) {
      const Put* put = std::get_if<Put>(&op);
      commit.records.push_back(put ? apply(*put) : apply(std::get<Delete>(op)));
    }
    if (events_.size() != before) ++revision_;
    commit.revision = revision_;
    return commit;
  }

  RecordPtr apply(const Put& put) {
    RecordPtr previous = present(put.key);
    Revision revision = revision_ + 1;
    RecordPtr record = Record::make(put.key, put.value,
                                    previous ? previous->create_revision : revision, revision,
                                    previous ? previous->version + 1 : 1);
    return add(EventType::kPut, std::move(record), std::move(previous));
  }

  RecordPtr apply(const Delete& remove) {
    RecordPtr previous = present(remove.key);
    if (!previous) return nullptr;
    return add(EventType::kDelete, Record::make(remove.key, {}, 0, revision_ + 1, 0),
               std::move(previous));
  }

  RecordPtr add(EventType type, RecordPtr record, RecordPtr previous) {
    changed_.insert_or_assign(record->key(), record);
    events_.push_back(std::make_shared<const Event>(
        Event{type, record->mod_revision, record, std::move(previous)}));
    return record;
  }

  const Timeline& timeline_;
  Revision revision_;
  std::vector<Answer> answers_;
  std::vector<EventPtr> events_;
  std::unordered_map<std::string_view, RecordPtr> changed_;  // keys point into records of events_
};

LocalStore::LocalStore(std::unique_ptr<Journal> journal, HistoryOptions history, const Clock& clock)
    : journal_(std::move(journal)), history_(history), clock_(clock), times_(history.keep) {}

Result<std::unique_ptr<Store>> LocalStore::open(std::unique_ptr<Journal> journal,
                                                HistoryOptions history, const Clock& clock) {
  std::unique_ptr<LocalStore> store(new LocalStore(std::move(journal), history, clock));
  const Timeline& timeline = store->timeline_;
  auto remembered = store->journal_->load(
      [&timeline](std::string_view key) { return timeline.current(key); });
  if (!remembered) return fail(std::move(remembered.error()));
  store->timeline_.restore(std::move(*remembered));
  for (const Journal::Mark& mark : store->journal_->marks()) store->times_.remember(mark);
  store->writer_ = std::thread([raw = store.get()] { raw->run(); });
  return store;
}

LocalStore::~LocalStore() {
  {
    std::lock_guard guard(queue_lock_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (writer_.joinable()) writer_.join();
}

void LocalStore::commit(Txn txn, Done done) {
  if (auto ok = check(txn); !ok) return done(fail(std::move(ok.error())));
  bool first;
  {
    std::lock_guard guard(queue_lock_);
    first = queue_.empty();
    queue_.push_back({std::move(txn), std::move(done)});
  }
  if (first) wake_.notify_one();
}

Result<std::unique_ptr<Watch>> LocalStore::watch(std::string prefix, Revision from, Sink sink) {
  return subscriptions_.add(std::move(prefix), from, std::move(sink));
}

void LocalStore::compact(Revision revision, Compacted done) {
  {
    std::lock_guard guard(queue_lock_);
    compactions_.push_back({revision, std::move(done)});
  }
  wake_.notify_one();
}

StoreStats LocalStore::stats() const {
  StoreStats stats;
  timeline_.describe(stats);
  stats.file_bytes = journal_->file_bytes();
  std::lock_guard guard(queue_lock_);
  stats.trouble = trouble_;
  return stats;
}

void LocalStore::note_trouble(std::string trouble) {
  std::lock_guard guard(queue_lock_);
  trouble_ = std::move(trouble);
}

void LocalStore::run() {
  bool chores = true;
  for (;;) {
    std::vector<Pending> pending;
    std::vector<Compaction> compactions;
    bool busy;
    {
      std::unique_lock guard(queue_lock_);
      auto work = [&] { return stopping_ || !queue_.empty() || !compactions_.empty(); };
      if (!chores) wake_.wait_for(guard, kTick, work);
      if (stopping_ && queue_.empty()) break;
      std::size_t bytes = 0;
      std::size_t count = 0;
      while (count < std::min(queue_.size(), kBatchTransactions) && bytes < kBatchBytes) {
        bytes += size_of(queue_[count++].txn);
      }
      if (count == queue_.size()) {
        pending.swap(queue_);
      } else {
        auto cut = queue_.begin() + static_cast<std::ptrdiff_t>(count);
        pending.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(cut));
        queue_.erase(queue_.begin(), cut);
      }
      compactions.swap(compactions_);
      busy = !queue_.empty();
    }
    if (!pending.empty()) write(std::move(pending));
    accept(std::move(compactions));
    chores = do_chores(busy);
  }
  {
    std::lock_guard guard(queue_lock_);
    for (Compaction& compaction : compactions_) compacting_.push_back(std::move(compaction));
  }
  finish_compactions(fail(Error::of(Reason::kServiceUnavailable, "the store is closing")));
}

void LocalStore::write(std::vector<Pending> pending) {
  bool writable = settle_doubt();
  Batch batch(timeline_, pending.size());
  for (Pending& one : pending) batch.add(std::move(one));
  if (!writable) {
    batch.refuse(
        Error::of(Reason::kServiceUnavailable,
                  cat("nothing was stored: an earlier write has to be settled first: ", doubt_)));
    return;
  }
  if (batch.events().empty()) return batch.answer();

  Written written = journal_->write(batch.events());
  bool was_unknown = written.outcome == Written::Outcome::kUnknown;
  if (was_unknown) {
    std::string trouble = written.trouble;
    written = journal_->resolve(batch.events());
    written.trouble = trouble;
  }
  switch (written.outcome) {
    case Written::Outcome::kDurable:
      refusal_.clear();
      publish(batch.events());
      batch.answer();
      break;
    case Written::Outcome::kRejected:
      refusal_ = written.trouble;
      batch.refuse(
          Error::of(Reason::kServiceUnavailable, cat("nothing was stored: ", written.trouble)));
      break;
    case Written::Outcome::kUnknown:
      doubt_ = written.trouble;
      batch.refuse(
          internal_error(cat("whether this was stored is not known yet: ", written.trouble)));
      in_doubt_ = batch.take_events();
      break;
  }
}

bool LocalStore::settle_doubt() {
  if (in_doubt_.empty()) return true;
  Written written = journal_->resolve(in_doubt_);
  if (written.outcome == Written::Outcome::kUnknown) return false;
  if (written.outcome == Written::Outcome::kDurable) publish(in_doubt_);
  in_doubt_.clear();
  return true;
}

void LocalStore::publish(std::span<const EventPtr> events) {
  timeline_.apply(events);
  subscriptions_.publish(events);
}

// The state of the last change would stay readable for as long as nothing else happens, and what is
// promised to expire would not. One write when things have become quiet gives that state an end,
// like any other.
void LocalStore::close_the_last_state(std::int64_t now) {
  if (!times_.is_quiet(timeline_.revision(), now)) return;
  const RecordPtr* quiet = timeline_.current(kQuietKey);
  if (quiet && (*quiet)->mod_revision == timeline_.revision()) return;
  std::vector<Pending> pending;
  pending.push_back({{{}, {Put{std::string(kQuietKey), ""}}}, [](const Result<Commit>&) {}});
  write(std::move(pending));
}

Revision LocalStore::oldest_to_keep() {
  const std::int64_t now = unix_seconds(clock_);
  close_the_last_state(now);
  if (times_.note(timeline_.revision(), now))
    journal_->mark(times_.last().revision, times_.last().seconds);
  Revision oldest = times_.expired(now);
  if (timeline_.past_bytes() > history_.max_bytes) {
    oldest = std::max(oldest, timeline_.revision_of_event(kCompactionStep));
  }
  return oldest;
}

void LocalStore::accept(std::vector<Compaction> compactions) {
  for (Compaction& compaction : compactions) {
    if (compaction.revision > timeline_.revision()) {
      compaction.done(fail(
          bad_request(cat("cannot compact to revision ", compaction.revision,
                          ", which is in the future; the current one is ", timeline_.revision()))));
      continue;
    }
    compact_to_ = std::max(compact_to_, compaction.revision);
    compacting_.push_back(std::move(compaction));
  }
}

bool LocalStore::do_chores(bool busy) {
  if (!settle_doubt()) {
    finish_compactions(
        fail(Error::of(Reason::kServiceUnavailable, cat("not compacted: ", doubt_))));
    note_trouble(doubt_);
    return false;
  }
  compact_to_ = std::max(compact_to_, oldest_to_keep());
  bool more = !timeline_.compact(compact_to_, kCompactionStep);
  Journal::Tidied tidied = journal_->tidy(timeline_.compacted(), busy);
  bool failed = tidied == Journal::Tidied::kFailed;
  std::string trouble = failed ? journal_->trouble() : refusal_;
  if (failed) finish_compactions(fail(Error::of(Reason::kServiceUnavailable, trouble)));
  note_trouble(std::move(trouble));
  if (failed) return false;  // the next tick tries again
  if (more || tidied == Journal::Tidied::kMore || timeline_.past_bytes() > history_.max_bytes)
    return true;
  // A long read of an older state may hold compaction back for a moment.
  if (timeline_.compacted() >= compact_to_) finish_compactions({});
  return false;
}

void LocalStore::finish_compactions(const Result<void>& answer) {
  for (Compaction& compaction : std::exchange(compacting_, {})) compaction.done(answer);
}

}  // namespace cardea::store
