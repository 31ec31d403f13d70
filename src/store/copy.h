#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "store/store.h"

namespace cardea::store {

struct CopyOptions {
  std::vector<std::string> left_out;  // prefixes of keys that belong to an engine or to a server
  std::function<void(std::uint64_t done, std::uint64_t all)> progress;  // may be empty
};

struct Copied {
  std::uint64_t records = 0;
  std::uint64_t written = 0;  // the others were there already: an earlier copy was interrupted
  std::string hash;           // of all keys and values, SHA-256; the same in both stores
};

// Copies every live record to another store, whichever engines they are, and then reads both and
// compares. Revisions are the target's own; history is not copied.
//
// The target must be empty, or hold a part of the same copy, which is then continued: until it is
// whole and compared, a key of its own says so (`is_half_copied`). Nobody else writes to either.
Result<Copied> copy_store(Store& from, Store& to, const CopyOptions& options);

// Whether a copy into this store was begun and not finished. A server must not use it.
bool is_half_copied(const Store& store);

}  // namespace cardea::store
