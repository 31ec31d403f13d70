#include "store/sqlite/tables.h"

#include "base/strings.h"

namespace cardea::store {
namespace {

constexpr std::int64_t kApplication = 0x43415244;  // "CARD", in the file's header
constexpr std::int64_t kFormat = 1;

}  // namespace

Result<void> prepare_tables(Database& database, const std::string& path) {
  auto application = database.query("PRAGMA application_id");
  if (!application) return fail(std::move(application.error()));
  auto format = database.query("PRAGMA user_version");
  if (!format) return fail(std::move(format.error()));
  auto tables = database.query("SELECT count(*) FROM sqlite_schema");
  if (!tables) return fail(std::move(tables.error()));
  if (*tables == 0) {
    return database.run(
        cat("BEGIN IMMEDIATE;"
            "CREATE TABLE live(id INTEGER PRIMARY KEY, key TEXT NOT NULL,"
            " create_revision INTEGER NOT NULL, mod_revision INTEGER NOT NULL,"
            " version INTEGER NOT NULL, value BLOB NOT NULL);"
            "CREATE TABLE history(id INTEGER PRIMARY KEY, until INTEGER NOT NULL,"
            " deleted INTEGER NOT NULL, key TEXT NOT NULL,"
            " create_revision INTEGER NOT NULL, mod_revision INTEGER NOT NULL,"
            " version INTEGER NOT NULL, value BLOB NOT NULL);"
            "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
            "CREATE TABLE marks(revision INTEGER PRIMARY KEY, seconds INTEGER NOT NULL);"
            "PRAGMA application_id=",
            kApplication, ";PRAGMA user_version=", kFormat, ";COMMIT")
            .c_str());
  }
  if (*application != kApplication)
    return fail(internal_error(cat("`", path, "` is not a database of Cardea")));
  if (*format != kFormat)
    return fail(internal_error(
        cat("`", path, "` has format ", *format, "; this version reads format ", kFormat)));
  return {};
}

}  // namespace cardea::store
