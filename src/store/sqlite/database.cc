#include "store/sqlite/database.h"

#include <sqlite3.h>

#include <cstring>

#include "base/strings.h"

namespace cardea::store {

Statement::~Statement() {
  sqlite3_finalize(raw_);
}

void Statement::bind(int index, std::int64_t value) {
  sqlite3_bind_int64(raw_, index, value);
}

void Statement::bind_text(int index, std::string_view text) {
  sqlite3_bind_text(raw_, index, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

void Statement::bind_blob(int index, std::string_view bytes) {
  // A null pointer would bind NULL, and an empty value is not NULL.
  const char* data = bytes.empty() ? "" : bytes.data();
  sqlite3_bind_blob(raw_, index, data, static_cast<int>(bytes.size()), SQLITE_STATIC);
}

int Statement::step() {
  return sqlite3_step(raw_);
}

int Statement::run() {
  int code;
  do {
    code = sqlite3_step(raw_);
  } while (code == SQLITE_ROW);
  int reset_code = sqlite3_reset(raw_);
  return code == SQLITE_DONE ? SQLITE_OK : (reset_code != SQLITE_OK ? reset_code : code);
}

void Statement::reset() {
  sqlite3_reset(raw_);
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(raw_, column);
}

std::string_view Statement::bytes(int column) const {
  auto data = static_cast<const char*>(sqlite3_column_blob(raw_, column));
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(raw_, column))};
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, const std::string& vfs) {
  sqlite3* raw = nullptr;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  int code = sqlite3_open_v2(path.c_str(), &raw, flags, vfs.empty() ? nullptr : vfs.c_str());
  std::unique_ptr<Database> database(new Database(raw));
  if (code != SQLITE_OK) return fail(database->error(cat("cannot open `", path, "`")));
  sqlite3_extended_result_codes(raw, 1);
  return database;
}

Database::~Database() {
  sqlite3_close_v2(raw_);
}

int Database::exec(const char* sql) {
  return sqlite3_exec(raw_, sql, nullptr, nullptr, nullptr);
}

Result<void> Database::run(const char* sql) {
  if (exec(sql) != SQLITE_OK) return fail(error("the database cannot be set up"));
  return {};
}

Result<Statement> Database::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(raw_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
      SQLITE_OK) {
    return fail(error("the database cannot be used"));
  }
  return Statement(statement);
}

Result<std::int64_t> Database::query(const char* sql) {
  auto statement = prepare(sql);
  if (!statement) return fail(std::move(statement.error()));
  int code = statement->step();
  if (code == SQLITE_ROW) return statement->integer(0);
  if (code == SQLITE_DONE) return 0;
  return fail(error("the database cannot be read"));
}

bool Database::in_transaction() const {
  return sqlite3_get_autocommit(raw_) == 0;
}

void Database::leave_log_on_close() {
  sqlite3_db_config(raw_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

std::string Database::trouble() const {
  if (raw_ == nullptr) return "out of memory";
  std::string text = sqlite3_errmsg(raw_);
  int code = sqlite3_errcode(raw_) & 0xff;
  int system = sqlite3_system_errno(raw_);
  if ((code == SQLITE_IOERR || code == SQLITE_FULL || code == SQLITE_CANTOPEN) && system != 0) {
    text += cat(" (", std::strerror(system), ")");
  }
  return text;
}

Error Database::error(std::string_view what) const {
  return internal_error(cat(what, ": ", trouble()));
}

}  // namespace cardea::store
