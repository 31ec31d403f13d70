#include "store/sqlite/sqlite_store.h"

#include <sqlite3.h>

#include <filesystem>

#include "base/strings.h"
#include "store/sqlite/database.h"
#include "store/sqlite/directory_lock.h"
#include "store/sqlite/sqlite_journal.h"

namespace cardea::store {

Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options) {
  static const SystemClock system_clock;
  auto journal = SqliteJournal::open(options.directory, options.vfs);
  if (!journal) return fail(std::move(journal.error()));
  (*journal)->set_progress(options.progress);
  return LocalStore::open(std::move(*journal), options.history,
                          options.clock ? *options.clock : system_clock);
}

Result<Checked> verify_sqlite_store(const std::string& directory,
                                    const std::function<std::string(std::string_view)>& flaw_of) {
  const std::string path = directory + "/cardea.db";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return fail(internal_error(cat("there is no database `", path, "`")));
  auto lock = DirectoryLock::take(directory);
  if (!lock) return fail(lock.error());
  auto database = Database::open(path, "");
  if (!database) return fail(database.error());
  (*database)->leave_log_on_close();
  Checked out;
  auto integrity = (*database)->prepare("PRAGMA integrity_check(20)");
  if (!integrity) return fail(integrity.error());
  int code;
  while ((code = integrity->step()) == SQLITE_ROW)
    if (integrity->bytes(0) != "ok") out.damages.push_back({"", std::string(integrity->bytes(0))});
  if (code != SQLITE_DONE) out.damages.push_back({"", (*database)->trouble()});
  auto rows = (*database)->prepare("SELECT key,value FROM live ORDER BY key");
  if (!rows) return fail(rows.error());
  while ((code = rows->step()) == SQLITE_ROW) {
    ++out.records;
    if (std::string flaw = flaw_of(rows->bytes(1)); !flaw.empty())
      out.damages.push_back({std::string(rows->bytes(0)), std::move(flaw)});
  }
  if (code != SQLITE_DONE) out.damages.push_back({"", (*database)->trouble()});
  return out;
}

}  // namespace cardea::store
