#pragma once
#include <string>

#include "store/sqlite/database.h"

namespace cardea::store {

// Makes the tables of a store in an empty database; docs/STORE.md describes them. Otherwise checks
// that the database is Cardea's and of a format that this version reads. `path` is for messages.
Result<void> prepare_tables(Database& database, const std::string& path);

}  // namespace cardea::store
