#pragma once
#include <string>

#include "store/local_store.h"

namespace cardea::store {

struct SqliteOptions {
  std::string directory;  // created when missing (its parent must exist)
  HistoryOptions history;
  std::string vfs;               // an SQLite VFS for the database files; empty for the usual one
  const Clock* clock = nullptr;  // must outlive the store; null for the system's
};

// Opens the store in `directory`, or makes a new one there, and loads it. One process at a time:
// while another has it, this is an error that says so. docs/STORE.md describes the file.
Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options);

}  // namespace cardea::store
