#pragma once
#include <atomic>
#include <deque>
#include <optional>

#include "store/journal.h"
#include "store/sqlite/database.h"
#include "store/sqlite/directory_lock.h"
#include "store/sqlite/space_reserve.h"

namespace cardea::store {

// Keeps a store in one SQLite file (docs/STORE.md has the tables).
//
// The current version of each key is a row of `live`, rewritten in place; the version it replaces
// is appended to `history` by the same transaction. So loading reads no history, creating only
// appends, and forgetting cuts off the beginning of `history`.
class SqliteJournal : public Journal {
 public:
  static Result<std::unique_ptr<SqliteJournal>> open(const std::string& directory,
                                                     const std::string& vfs);
  ~SqliteJournal() override;

  // Told in load() how many bytes of about how many are read. Before it.
  using Progress = std::function<void(std::uint64_t done, std::uint64_t all)>;
  void set_progress(Progress progress) { progress_ = std::move(progress); }
  Result<Remembered> load(Find find) override;
  Written write(std::span<const EventPtr> events) override;
  Written resolve(std::span<const EventPtr> events) override;
  Tidied tidy(Revision compacted, bool busy) override;
  void mark(Revision revision, std::int64_t seconds) override {
    new_marks_.push_back({revision, seconds});
  }
  std::vector<Mark> marks() const override { return marks_; }
  std::uint64_t file_bytes() const override { return file_bytes_.load(std::memory_order_relaxed); }
  std::string trouble() const override { return trouble_; }

 private:
  struct Statements {
    Statement begin, commit, rollback;
    Statement create, update, remove, supersede;
    Statement forget, set_compacted, mark, forget_marks;
    Statement move, list_places;
    Statement check_live, check_history;
    Statement vacuum, page_count, free_count;
  };

  SqliteJournal(DirectoryLock lock, std::string path, std::string vfs)
      : lock_(std::move(lock)), path_(std::move(path)), vfs_(std::move(vfs)) {}

  Result<void> connect();
  Result<void> load_live(Remembered& into);
  Result<void> load_history(Remembered& into);
  void tell_progress(std::size_t rows) const;

  int write_row(const Event& event);
  int write_marks();
  Written write_once(std::span<const EventPtr> events);
  Written give_up(int code, bool at_commit);
  Result<void> reconnect();
  Result<void> rebind();
  void account(const Event& event);

  // One transaction that need not be durable by itself: the next batch's sync covers it.
  template <typename Work>
  bool in_the_background(Work&& work);
  Tidied failed(std::string_view what);
  Tidied forget_some();
  Tidied sweep_some();
  Tidied vacuum_some();
  bool checkpoint(bool truncate);
  bool measure();
  bool is_fat() const;
  bool has_spare_pages() const;

  const DirectoryLock lock_;
  SpaceReserve reserve_;
  const std::string path_;
  const std::string vfs_;
  std::unique_ptr<Database> database_;
  std::optional<Statements> sql_;  // finalized before database_ closes
  Find find_;
  Progress progress_;
  bool reconnect_first_ = false;  // the connection failed in a way that only a new one gets over
  bool rebind_first_ = false;     // a sweep failed half-way: the places in memory may be wrong

  std::int64_t next_place_ = 1;
  std::int64_t next_history_ = 1;
  std::vector<Mark> marks_;
  std::vector<Mark> new_marks_;

  Revision compacted_ = 0;        // as written in the file
  bool forgetting_ = true;        // rows up to compacted_ may be left
  bool tidy_space_ = true;        // space may have become free
  bool is_full_ = false;          // the last write found no space on the disk
  bool wrote_ = false;            // since the last tidy(): the store is not idle
  std::int64_t sweep_until_ = 0;  // a sweep moves the rows below this place; 0 when none is going
                                  // on
  double swept_ratio_ = 1;        // of file to payload after the last sweep: as good as it gets
  std::deque<std::uint32_t> history_sizes_;  // of the rows of `history`, oldest first
  std::uint64_t live_payload_ = 0;
  std::uint64_t history_payload_ = 0;
  std::uint64_t pages_ = 0;
  std::uint64_t free_pages_ = 0;
  int log_frames_ = 0;     // in the write-ahead log
  int log_peak_ = 0;       // the length of its file
  int checkpoint_at_ = 0;  // frames
  std::atomic<std::uint64_t> file_bytes_{0};
  std::string trouble_;
};

}  // namespace cardea::store
