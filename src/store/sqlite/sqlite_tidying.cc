#include <sqlite3.h>

#include <algorithm>

#include "base/strings.h"
#include "store/sqlite/sqlite_journal.h"

// The chores of the SQLite journal: forgetting, giving space back, and folding the write-ahead log
// into the file. Each call does one small step, so that no writer waits long.

namespace cardea::store {
namespace {

constexpr int kForgetRows = 512;
constexpr int kSweepRows = 64;
constexpr int kCheckpointFrames = 512;
constexpr std::uint64_t kBytesOfPage = 8192;

}  // namespace

Journal::Tidied SqliteJournal::tidy(Revision compacted, bool busy) {
  bool idle = !wrote_ && !busy;
  wrote_ = false;
  if (reconnect_first_) {
    if (auto connected = reconnect(); !connected) return failed(connected.error().message);
  }
  if (compacted > compacted_) {
    compacted_ = compacted;
    forgetting_ = true;
  }
  if (log_frames_ >= std::max(checkpoint_at_, kCheckpointFrames)) {
    if (!checkpoint(false)) {
      // Writing goes on in a longer log. Trying again at once would only slow it down.
      checkpoint_at_ = log_frames_ + kCheckpointFrames;
      return failed(trouble_);
    }
    checkpoint_at_ = 0;
  }
  if (forgetting_) return forget_some();
  if (!tidy_space_) {
    if (!idle || log_peak_ == 0) return Tidied::kDone;
    return checkpoint(true) ? Tidied::kDone : failed(trouble_);
  }
  if (!measure()) return failed(database_->trouble());
  if (sweep_until_ != 0 || is_fat()) return sweep_some();
  if (has_spare_pages()) return vacuum_some();
  if (busy) return Tidied::kDone;
  // Pages that were given back leave the file when the log is folded in.
  if (!checkpoint(true) || !measure()) return failed(trouble_);
  tidy_space_ = false;
  return Tidied::kDone;
}

Journal::Tidied SqliteJournal::failed(std::string_view what) {
  trouble_ = cat("the database cannot be tidied up: ", what);
  return Tidied::kFailed;
}

template <typename Work>
bool SqliteJournal::in_the_background(Work&& work) {
  database_->exec("PRAGMA synchronous=NORMAL");
  int code = sql_->begin.run();
  if (code == SQLITE_OK) code = work();
  bool at_commit = code == SQLITE_OK;
  if (code == SQLITE_OK) code = sql_->commit.run();
  if (code != SQLITE_OK) trouble_ = give_up(code, at_commit).trouble;
  // INVARIANT: a batch is never written without this.
  if (database_->exec("PRAGMA synchronous=FULL") != SQLITE_OK) reconnect_first_ = true;
  return code == SQLITE_OK;
}

Journal::Tidied SqliteJournal::forget_some() {
  int forgotten = 0;
  bool ok = in_the_background([&] {
    sql_->set_compacted.bind(1, compacted_);
    if (int code = sql_->set_compacted.run(); code != SQLITE_OK) return code;
    sql_->forget_marks.bind(1, compacted_);
    if (int code = sql_->forget_marks.run(); code != SQLITE_OK) return code;
    sql_->forget.bind(1, kForgetRows);
    sql_->forget.bind(2, compacted_);
    int code = sql_->forget.run();
    forgotten = sqlite3_changes(database_->raw());
    return code;
  });
  if (!ok) return failed(std::string(trouble_));
  for (int i = 0; i < forgotten && !history_sizes_.empty(); ++i) {
    history_payload_ -= history_sizes_.front();
    history_sizes_.pop_front();
  }
  forgetting_ = forgotten == kForgetRows;
  tidy_space_ = true;
  return Tidied::kMore;
}

bool SqliteJournal::measure() {
  auto read = [](Statement& statement, std::uint64_t& into) {
    bool ok = statement.step() == SQLITE_ROW;
    if (ok) into = static_cast<std::uint64_t>(statement.integer(0));
    statement.reset();
    return ok;
  };
  if (!read(sql_->page_count, pages_) || !read(sql_->free_count, free_pages_)) return false;
  file_bytes_.store(
      pages_ * kBytesOfPage + static_cast<std::uint64_t>(log_peak_) * (kBytesOfPage + 24),
      std::memory_order_relaxed);
  return true;
}

bool SqliteJournal::is_fat() const {
  double used = static_cast<double>((pages_ - free_pages_) * kBytesOfPage);
  double ideal = static_cast<double>(live_payload_ + history_payload_);
  return used > ideal * std::max(1.5, swept_ratio_ + 0.05) + 64 * kBytesOfPage;
}

// Pages lose rows one by one and are merged late. A sweep writes all rows once more, tightly,
// behind the others; their old pages become free as a whole.
Journal::Tidied SqliteJournal::sweep_some() {
  if (sweep_until_ == 0) sweep_until_ = next_place_;
  std::vector<std::pair<const RecordPtr*, std::int64_t>> moved;
  bool ok = in_the_background([&] {
    std::vector<std::int64_t> places;
    Statement& list = sql_->list_places;
    list.bind(1, sweep_until_);
    list.bind(2, kSweepRows);
    int code;
    while ((code = list.step()) == SQLITE_ROW) {
      places.push_back(list.integer(0));
      moved.push_back(
          {find_(list.bytes(1)), next_place_ + static_cast<std::int64_t>(moved.size())});
    }
    list.reset();
    if (code != SQLITE_DONE) return code;
    for (std::size_t i = 0; i < places.size(); ++i) {
      sql_->move.bind(1, moved[i].second);
      sql_->move.bind(2, places[i]);
      if (code = sql_->move.run(); code != SQLITE_OK) return code;
    }
    return SQLITE_OK;
  });
  if (!ok) {
    rebind_first_ = reconnect_first_;
    return failed(std::string(trouble_));
  }
  for (auto& [record, place] : moved) {
    CARDEA_CHECK(record != nullptr);
    (*record)->place = place;
  }
  next_place_ += static_cast<std::int64_t>(moved.size());
  if (moved.size() < kSweepRows) {
    sweep_until_ = 0;
    if (!measure()) return failed(database_->trouble());
    double used = static_cast<double>((pages_ - free_pages_) * kBytesOfPage);
    swept_ratio_ = used / std::max(1.0, static_cast<double>(live_payload_ + history_payload_));
  }
  return Tidied::kMore;
}

// A few free pages are worth keeping: the next rows go there without growing the file.
bool SqliteJournal::has_spare_pages() const {
  return free_pages_ > 64 + pages_ / 16;
}

Journal::Tidied SqliteJournal::vacuum_some() {
  bool ok = in_the_background([&] { return sql_->vacuum.run(); });
  return ok ? Tidied::kMore : failed(std::string(trouble_));
}

bool SqliteJournal::checkpoint(bool truncate) {
  int mode = truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
  int in_log = 0;
  int done = 0;
  int code = sqlite3_wal_checkpoint_v2(database_->raw(), nullptr, mode, &in_log, &done);
  if (code != SQLITE_OK) {
    trouble_ = database_->trouble();
    return false;
  }
  log_frames_ = truncate ? 0 : in_log - done;
  if (truncate) log_peak_ = 0;
  if (truncate && !is_full_) reserve_.take();
  return true;
}

}  // namespace cardea::store
