#include "store/sqlite/sqlite_journal.h"

#include <sqlite3.h>

#include <algorithm>

#include "base/strings.h"
#include "store/sqlite/tables.h"

namespace cardea::store {
namespace {

std::uint32_t row_size(const Record& record) {
  return static_cast<std::uint32_t>(record.key().size() + record.value().size() + 24);
}

}  // namespace

Result<std::unique_ptr<SqliteJournal>> SqliteJournal::open(const std::string& directory,
                                                           const std::string& vfs) {
  auto lock = DirectoryLock::take(directory);
  if (!lock) return fail(std::move(lock.error()));
  std::string path = directory + "/cardea.db";
  if (vfs.empty()) {
    if (auto made = lock->make_private_file(path); !made) return fail(std::move(made.error()));
  }
  std::unique_ptr<SqliteJournal> journal(new SqliteJournal(std::move(*lock), std::move(path), vfs));
  if (auto connected = journal->connect(); !connected) return fail(std::move(connected.error()));
  if (vfs.empty()) journal->reserve_ = SpaceReserve(directory + "/reserve");
  journal->reserve_.take();
  return journal;
}

SqliteJournal::~SqliteJournal() {
  // What is not certain stays as it lies on disk; the next start reads it.
  if (reconnect_first_ && database_) database_->leave_log_on_close();
}

Result<void> SqliteJournal::connect() {
  auto database = Database::open(path_, vfs_);
  if (!database) return fail(std::move(database.error()));
  database_ = std::move(*database);
  if (auto done = database_->run("PRAGMA locking_mode=EXCLUSIVE; PRAGMA page_size=8192"); !done)
    return done;
  // Setting it writes, even where it is set: a server must start on a full disk.
  constexpr std::int64_t kIncremental = 2;
  auto vacuum = database_->query("PRAGMA auto_vacuum");
  if (!vacuum) return fail(std::move(vacuum.error()));
  if (*vacuum != kIncremental)
    if (auto done = database_->run("PRAGMA auto_vacuum=INCREMENTAL"); !done) return done;
  // One connection that never lets go: no shared memory file, no locking calls per transaction.
  // Debian's SQLite zeroes what it deletes unless told otherwise; that doubles what a deletion
  // writes.
  auto ready = database_->run(
      "PRAGMA journal_mode=WAL;"
      "PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-8192;"
      "PRAGMA secure_delete=OFF; PRAGMA temp_store=MEMORY");
  if (!ready) return ready;
  if (auto made = prepare_tables(*database_, path_); !made) return made;
  sqlite3_wal_hook(
      database_->raw(),
      [](void* self, sqlite3*, const char*, int frames) {
        auto& journal = *static_cast<SqliteJournal*>(self);
        journal.log_frames_ = frames;
        journal.log_peak_ = std::max(journal.log_peak_, frames);
        return SQLITE_OK;
      },
      this);

  sql_.emplace();
  const std::pair<Statement*, const char*> all[] = {
      {&sql_->begin, "BEGIN IMMEDIATE"},
      {&sql_->commit, "COMMIT"},
      {&sql_->rollback, "ROLLBACK"},
      {&sql_->create, "INSERT INTO live VALUES(?,?,?,?,?,?)"},
      {&sql_->update, "REPLACE INTO live VALUES(?,?,?,?,?,?)"},
      {&sql_->remove, "DELETE FROM live WHERE id=?"},
      {&sql_->supersede, "INSERT INTO history VALUES(?,?,?,?,?,?,?,?)"},
      {&sql_->forget,
       "DELETE FROM history WHERE id IN (SELECT id FROM history ORDER BY id LIMIT ?) AND until<=?"},
      {&sql_->set_compacted, "REPLACE INTO meta VALUES('compacted',?)"},
      {&sql_->mark, "REPLACE INTO marks VALUES(?,?)"},
      {&sql_->forget_marks, "DELETE FROM marks WHERE revision<?"},
      {&sql_->move, "UPDATE live SET id=? WHERE id=?"},
      {&sql_->list_places, "SELECT id,key FROM live WHERE id<? ORDER BY id LIMIT ?"},
      {&sql_->check_live, "SELECT mod_revision FROM live WHERE id=?"},
      {&sql_->check_history, "SELECT until FROM history ORDER BY id DESC LIMIT 1"},
      {&sql_->vacuum, "PRAGMA incremental_vacuum(64)"},
      {&sql_->page_count, "PRAGMA page_count"},
      {&sql_->free_count, "PRAGMA freelist_count"},
  };
  for (auto& [statement, text] : all) {
    auto prepared = database_->prepare(text);
    if (!prepared) return fail(std::move(prepared.error()));
    *statement = std::move(*prepared);
  }
  return {};
}

Result<Remembered> SqliteJournal::load(Find find) {
  find_ = std::move(find);
  Remembered remembered;
  auto compacted = database_->query("SELECT value FROM meta WHERE name='compacted'");
  if (!compacted) return fail(std::move(compacted.error()));
  compacted_ = remembered.compacted = *compacted;
  remembered.revision = std::max<Revision>(remembered.revision, *compacted);
  measure();  // for those who wait
  if (auto loaded = load_live(remembered); !loaded) return fail(std::move(loaded.error()));
  if (auto loaded = load_history(remembered); !loaded) return fail(std::move(loaded.error()));

  auto statement = database_->prepare("SELECT revision,seconds FROM marks ORDER BY revision");
  if (!statement) return fail(std::move(statement.error()));
  int code;
  while ((code = statement->step()) == SQLITE_ROW) {
    marks_.push_back({statement->integer(0), statement->integer(1)});
  }
  if (code != SQLITE_DONE) return fail(database_->error("the database cannot be read"));
  measure();
  progress_ = nullptr;
  return remembered;
}

// A count of all rows would read the file once more.
void SqliteJournal::tell_progress(std::size_t rows) const {
  constexpr std::size_t kRowsBetween = 4096;
  if (progress_ && rows % kRowsBetween == 0)
    progress_(live_payload_ + history_payload_, file_bytes_.load(std::memory_order_relaxed));
}

Result<void> SqliteJournal::load_live(Remembered& into) {
  auto statement = database_->prepare(
      "SELECT id,key,create_revision,mod_revision,version,value FROM live");
  if (!statement) return fail(std::move(statement.error()));
  live_payload_ = 0;
  // Mapped, the scan copies each row once instead of twice. Not for longer: it would count as
  // memory.
  (void)database_->exec("PRAGMA mmap_size=4294967296");
  int code;
  while ((code = statement->step()) == SQLITE_ROW) {
    RecordPtr record = Record::make(statement->bytes(1), statement->bytes(5), statement->integer(2),
                                    statement->integer(3), statement->integer(4));
    record->place = statement->integer(0);
    next_place_ = std::max(next_place_, record->place + 1);
    live_payload_ += row_size(*record);
    into.revision = std::max(into.revision, record->mod_revision);
    into.current.push_back(std::move(record));
    tell_progress(into.current.size());
  }
  if (code != SQLITE_DONE) return fail(database_->error("the database cannot be read"));
  statement->reset();
  (void)database_->exec("PRAGMA mmap_size=0");
  return {};
}

Result<void> SqliteJournal::load_history(Remembered& into) {
  auto statement = database_->prepare(
      "SELECT id,until,deleted,key,create_revision,mod_revision,version,value FROM history ORDER "
      "BY id");
  if (!statement) return fail(std::move(statement.error()));
  history_sizes_.clear();
  history_payload_ = 0;
  int code;
  while ((code = statement->step()) == SQLITE_ROW) {
    RecordPtr record = Record::make(statement->bytes(3), statement->bytes(7), statement->integer(4),
                                    statement->integer(5), statement->integer(6));
    next_history_ = std::max(next_history_, statement->integer(0) + 1);
    history_sizes_.push_back(row_size(*record));
    history_payload_ += history_sizes_.back();
    Revision until = statement->integer(1);
    into.revision = std::max(into.revision, until);
    if (until > into.compacted)
      into.history.push_back({std::move(record), until, statement->integer(2) != 0});
    tell_progress(history_sizes_.size());
  }
  if (code != SQLITE_DONE) return fail(database_->error("the database cannot be read"));
  return {};
}

int SqliteJournal::write_row(const Event& event) {
  if (event.previous) {
    const Record& old = *event.previous;
    Statement& supersede = sql_->supersede;
    supersede.bind(1, next_history_++);
    supersede.bind(2, event.revision);
    supersede.bind(3, event.type == EventType::kDelete);
    supersede.bind_text(4, old.key());
    supersede.bind(5, old.create_revision);
    supersede.bind(6, old.mod_revision);
    supersede.bind(7, old.version);
    supersede.bind_blob(8, old.value());
    if (int code = supersede.run(); code != SQLITE_OK) return code;
  }
  if (event.type == EventType::kDelete) {
    sql_->remove.bind(1, event.previous->place);
    return sql_->remove.run();
  }
  const Record& record = *event.record;
  record.place = event.previous ? event.previous->place : next_place_++;
  Statement& put = event.previous ? sql_->update : sql_->create;
  put.bind(1, record.place);
  put.bind_text(2, record.key());
  put.bind(3, record.create_revision);
  put.bind(4, record.mod_revision);
  put.bind(5, record.version);
  put.bind_blob(6, record.value());
  return put.run();
}

int SqliteJournal::write_marks() {
  for (const Mark& mark : new_marks_) {
    sql_->mark.bind(1, mark.revision);
    sql_->mark.bind(2, mark.seconds);
    if (int code = sql_->mark.run(); code != SQLITE_OK) return code;
  }
  return SQLITE_OK;
}

// On a full disk deletions get the space that was kept for them: they make room, once history is
// forgotten.
Written SqliteJournal::write(std::span<const EventPtr> events) {
  Written written = write_once(events);
  const bool only_deletes = std::ranges::all_of(
      events, [](const EventPtr& e) { return e->type == EventType::kDelete; });
  if (!is_full_ || !only_deletes || written.outcome != Written::Outcome::kRejected) return written;
  const bool had_reserve = reserve_.give_up();
  // The log is folded in, so that its own space serves again.
  if (!checkpoint(true) && !had_reserve) return written;
  return write_once(events);
}

Written SqliteJournal::write_once(std::span<const EventPtr> events) {
  wrote_ = true;
  is_full_ = false;
  if (reconnect_first_) {
    if (auto connected = reconnect(); !connected) {
      return {Written::Outcome::kRejected, connected.error().message};
    }
  }
  int code = sql_->begin.run();
  for (auto event = events.begin(); code == SQLITE_OK && event != events.end(); ++event) {
    code = write_row(**event);
  }
  if (code == SQLITE_OK) code = write_marks();
  if (code != SQLITE_OK) return give_up(code, false);
  if (code = sql_->commit.run(); code != SQLITE_OK) return give_up(code, true);
  new_marks_.clear();
  for (const EventPtr& event : events) account(*event);
  return {Written::Outcome::kDurable, ""};
}

void SqliteJournal::account(const Event& event) {
  if (event.type == EventType::kPut) live_payload_ += row_size(*event.record);
  if (!event.previous) return;
  std::uint32_t size = row_size(*event.previous);
  live_payload_ -= size;
  history_payload_ += size;
  history_sizes_.push_back(size);
}

Written SqliteJournal::give_up(int code, bool at_commit) {
  std::string trouble = database_->trouble();
  is_full_ = (code & 0xff) == SQLITE_FULL;
  if (database_->in_transaction() && sql_->rollback.run() != SQLITE_OK) reconnect_first_ = true;
  // A full disk fails before the frame that commits is complete. After any other failure of a
  // commit that frame may be in the log, and only reading the log again tells.
  bool clear = !at_commit || (code & 0xff) == SQLITE_FULL || (code & 0xff) == SQLITE_BUSY;
  if (!clear) reconnect_first_ = true;
  return {clear ? Written::Outcome::kRejected : Written::Outcome::kUnknown, std::move(trouble)};
}

Written SqliteJournal::resolve(std::span<const EventPtr> events) {
  if (auto connected = reconnect(); !connected) {
    return {Written::Outcome::kUnknown, connected.error().message};
  }
  // The batch is there as a whole or not at all, so its last event speaks for it.
  const Event& last = *events.back();
  bool put = last.type == EventType::kPut;
  Statement& check = put ? sql_->check_live : sql_->check_history;
  if (put) check.bind(1, last.record->place);
  int code = check.step();
  bool there = code == SQLITE_ROW && check.integer(0) == last.revision;
  std::string trouble = code == SQLITE_ROW || code == SQLITE_DONE ? "" : database_->trouble();
  check.reset();
  if (!trouble.empty()) {
    reconnect_first_ = true;
    return {Written::Outcome::kUnknown, std::move(trouble)};
  }
  if (!there) return {Written::Outcome::kRejected, ""};
  // reconnect() counted what history holds.
  for (const EventPtr& event : events) {
    if (event->type == EventType::kPut) live_payload_ += row_size(*event->record);
    if (event->previous) live_payload_ -= row_size(*event->previous);
  }
  new_marks_.clear();
  return {Written::Outcome::kDurable, ""};
}

// A fresh look at what the disk holds. It counts only once it is durable itself: a commit that a
// failed sync left in the log must not be believed and then lost.
Result<void> SqliteJournal::reconnect() {
  reconnect_first_ = true;
  sql_.reset();
  if (database_) database_->leave_log_on_close();
  database_.reset();
  if (auto connected = connect(); !connected) {
    sql_.reset();
    return connected;
  }
  log_frames_ = log_peak_ = 0;
  if (!checkpoint(true)) return fail(internal_error(trouble_));
  auto compacted = database_->query("SELECT value FROM meta WHERE name='compacted'");
  if (!compacted) return fail(std::move(compacted.error()));
  compacted_ = *compacted;
  forgetting_ = true;

  auto sizes = database_->prepare(
      "SELECT length(CAST(key AS BLOB))+length(value)+24 FROM history ORDER BY id");
  if (!sizes) return fail(std::move(sizes.error()));
  history_sizes_.clear();
  history_payload_ = 0;
  int code;
  while ((code = sizes->step()) == SQLITE_ROW) {
    history_sizes_.push_back(static_cast<std::uint32_t>(sizes->integer(0)));
    history_payload_ += history_sizes_.back();
  }
  if (code != SQLITE_DONE) return fail(database_->error("the database cannot be read"));
  if (rebind_first_) {
    if (auto bound = rebind(); !bound) return bound;
  }
  reconnect_first_ = false;
  return {};
}

Result<void> SqliteJournal::rebind() {
  auto places = database_->prepare("SELECT id,key FROM live");
  if (!places) return fail(std::move(places.error()));
  int code;
  while ((code = places->step()) == SQLITE_ROW) {
    const RecordPtr* record = find_(places->bytes(1));
    CARDEA_CHECK(record != nullptr);
    (*record)->place = places->integer(0);
    next_place_ = std::max(next_place_, (*record)->place + 1);
  }
  if (code != SQLITE_DONE) return fail(database_->error("the database cannot be read"));
  rebind_first_ = false;
  return {};
}

}  // namespace cardea::store
