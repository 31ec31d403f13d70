#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "store/local_store.h"

namespace cardea::store {

struct SqliteOptions {
  std::string directory;  // created when missing (its parent must exist)
  HistoryOptions history;
  std::string vfs;               // an SQLite VFS for the database files; empty for the usual one
  const Clock* clock = nullptr;  // must outlive the store; null for the system's
  // Told now and then how many bytes of about how many are loaded; may be empty.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress = {};
};

// Opens the store in `directory`, or makes a new one there, and loads it. One process at a time:
// while another has it, this is an error that says so. docs/STORE.md describes the file.
Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options);

struct Damage {
  std::string key;  // empty: of the file itself
  std::string what;
};
struct Checked {
  std::size_t records = 0;
  std::vector<Damage> damages;
};

// Reads everything in `directory` and changes nothing. `flaw_of` says what is wrong with a value;
// empty: nothing. An error when there is no database, or another process has it.
Result<Checked> verify_sqlite_store(const std::string& directory,
                                    const std::function<std::string(std::string_view)>& flaw_of);

}  // namespace cardea::store
