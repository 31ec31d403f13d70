#include "store/sqlite/sqlite_restore.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/strings.h"
#include "store/sqlite/directory_lock.h"
#include "store/sqlite/tables.h"

namespace cardea::store {
namespace {

Result<void> sync(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC);
  const bool ok = file >= 0 && ::fsync(file) == 0;
  const int why = errno;
  if (file >= 0) ::close(file);
  if (ok) return {};
  return fail(internal_error(cat("cannot store `", path, "`: ", std::strerror(why))));
}

// Writes the rows of a new database, in one transaction.
class Builder {
 public:
  Result<void> open(const std::string& path) {
    auto database = Database::open(path, "");
    if (!database) return fail(database.error());
    database_ = std::move(*database);
    // Nobody needs what a crash leaves half-made: the file is synced as a whole.
    if (auto ok = database_->run(
            "PRAGMA locking_mode=EXCLUSIVE; PRAGMA page_size=8192; PRAGMA "
            "auto_vacuum=INCREMENTAL; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF");
        !ok)
      return ok;
    if (auto ok = prepare_tables(*database_, path); !ok) return ok;
    auto insert = database_->prepare("INSERT INTO live VALUES(?,?,?,?,?,?)");
    if (!insert) return fail(insert.error());
    insert_ = std::move(*insert);
    return database_->run("BEGIN IMMEDIATE");
  }

  Result<void> add(const BackupRecord& record) {
    insert_.bind(1, ++place_);
    insert_.bind_text(2, record.key);
    insert_.bind(3, record.create_revision);
    insert_.bind(4, record.mod_revision);
    insert_.bind(5, record.version);
    insert_.bind_blob(6, record.value);
    if (insert_.run() != SQLITE_OK) return fail(database_->error("the database cannot be written"));
    return {};
  }

  Result<void> close(Revision revision) {
    const std::string end = cat("REPLACE INTO meta VALUES('compacted',", revision, "); COMMIT");
    if (auto ok = database_->run(end.c_str()); !ok) return ok;
    insert_ = Statement();
    database_.reset();
    return {};
  }

 private:
  std::unique_ptr<Database> database_;
  Statement insert_;  // finalized before the database closes
  std::int64_t place_ = 0;
};

// The newest revision of the database that is about to be replaced; 0 where it cannot be read,
// which may be the reason for the restore. Its log becomes part of the file.
Revision fold_in(const std::string& path) {
  auto database = Database::open(path, "");
  if (!database) return 0;
  (void)(*database)->run("PRAGMA locking_mode=EXCLUSIVE");
  auto revision = (*database)->query(
      "SELECT max(r) FROM (SELECT max(mod_revision) AS r FROM live UNION ALL SELECT max(until) "
      "FROM history UNION ALL SELECT value FROM meta WHERE name='compacted')");
  return revision ? std::max<Revision>(*revision, 0) : 0;
}

Result<BackupFacts> build(const std::string& path, const std::function<Result<std::string>()>& read,
                          const std::function<Revision(const BackupFacts&)>& revision_of) {
  Builder builder;
  if (auto ok = builder.open(path); !ok) return fail(ok.error());
  BackupDecoder decoder([&](const BackupRecord& record) { return builder.add(record); });
  for (;;) {
    auto part = read();
    if (!part) return fail(part.error());
    if (part->empty()) break;
    if (auto ok = decoder.add(*part); !ok) return fail(ok.error());
  }
  auto facts = decoder.finish();
  if (!facts) return fail(facts.error());
  if (auto ok = builder.close(revision_of(*facts)); !ok) return fail(ok.error());
  if (auto ok = sync(path, O_RDWR); !ok) return fail(ok.error());
  return facts;
}

}  // namespace

Result<Restored> restore_sqlite_store(const std::string& directory, bool replace,
                                      const std::function<Result<std::string>()>& read) {
  auto lock = DirectoryLock::take(directory);
  if (!lock) return fail(lock.error());
  const std::string path = directory + "/cardea.db", fresh = directory + "/restoring.db";
  std::error_code error;
  const bool is_there = std::filesystem::exists(path, error) &&
                        !std::filesystem::is_empty(path, error);
  if (is_there && !replace)
    return fail(Error::of(Reason::kConflict, cat("there is a database already: `", path, "`")));
  std::filesystem::remove(fresh, error);  // of a restore that was interrupted
  if (auto ok = lock->make_private_file(fresh); !ok) return fail(ok.error());
  Restored out;
  auto facts = build(fresh, read, [&](const BackupFacts& backup) {
    const Revision replaced = is_there ? fold_in(path) : 0;
    return out.revision = std::max(backup.revision, replaced) + kRestoreJump;
  });
  if (!facts) {
    std::filesystem::remove(fresh, error);
    return fail(facts.error());
  }
  out.backup = std::move(*facts);
  // INVARIANT: the log of the old database never lies beside the new one.
  for (const char* log : {"-wal", "-shm", "-journal"}) std::filesystem::remove(path + log, error);
  if (auto ok = sync(directory, O_RDONLY | O_DIRECTORY); !ok) return fail(ok.error());
  if (::rename(fresh.c_str(), path.c_str()) != 0)
    return fail(internal_error(cat("cannot make `", path, "`: ", std::strerror(errno))));
  if (auto ok = sync(directory, O_RDONLY | O_DIRECTORY); !ok) return fail(ok.error());
  return out;
}

}  // namespace cardea::store
