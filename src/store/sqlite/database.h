#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace cardea::store {

// A prepared statement. Its user resets it after use. It is finalized before its connection closes.
class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* raw) : raw_(raw) {}
  ~Statement();
  Statement(Statement&& other) noexcept : raw_(other.raw_) { other.raw_ = nullptr; }
  Statement& operator=(Statement&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }

  // Bound text and blobs are not copied: they must live until the next reset().
  void bind(int index, std::int64_t value);
  void bind_text(int index, std::string_view text);
  void bind_blob(int index, std::string_view bytes);

  int step();  // an SQLite result code
  int run();   // steps to the end and resets; SQLITE_OK or an error code
  void reset();

  std::int64_t integer(int column) const;
  std::string_view bytes(int column) const;  // until the next step or reset

 private:
  sqlite3_stmt* raw_ = nullptr;
};

// One connection, used by one thread at a time.
class Database {
 public:
  // `vfs` may be empty for SQLite's own.
  static Result<std::unique_ptr<Database>> open(const std::string& path, const std::string& vfs);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  int exec(const char* sql);  // an SQLite result code
  Result<void> run(const char* sql);
  Result<Statement> prepare(const char* sql);
  Result<std::int64_t> query(const char* sql);  // one integer; 0 when there is no row

  bool in_transaction() const;

  // Closes without folding the write-ahead log into the file, so that the next connection reads it
  // as it lies on disk.
  void leave_log_on_close();

  std::string trouble() const;  // the last failure, for a person: `disk I/O error (No space left on
                                // device)`
  Error error(std::string_view what) const;
  sqlite3* raw() { return raw_; }

 private:
  explicit Database(sqlite3* raw) : raw_(raw) {}
  sqlite3* raw_;
};

}  // namespace cardea::store
