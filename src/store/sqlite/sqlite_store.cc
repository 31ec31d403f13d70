#include "store/sqlite/sqlite_store.h"

#include "store/sqlite/sqlite_journal.h"

namespace cardea::store {

Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options) {
  static const SystemClock system_clock;
  auto journal = SqliteJournal::open(options.directory, options.vfs);
  if (!journal) return fail(std::move(journal.error()));
  return LocalStore::open(std::move(*journal), options.history,
                          options.clock ? *options.clock : system_clock);
}

}  // namespace cardea::store
