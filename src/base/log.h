#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace cardea {

// kRequest: single requests, which are many.
enum class LogLevel : std::uint8_t { kError, kWarning, kInfo, kDebug, kRequest };
enum class LogFormat : std::uint8_t { kText, kJson };

// What the program tells the people who run it: one line per event, with the time, a level, a
// message and named values.
//
//   2026-01-31T12:00:00.000000Z info ready on https://127.0.0.1:6443
//   {"time":"2026-01-31T12:00:00.000000Z","level":"info","message":"ready on https://..."}
//
// What others sent may be in messages and values: line ends and other control characters are
// escaped, so that nobody else writes lines. Secrets do not belong here: callers hand over neither
// bodies nor headers nor query parameters.
//
// Each line is one write(2), so lines of several threads do not mix. Shared between threads.
class Log {
 public:
  struct Field {
    std::string_view key;
    std::string value;
  };
  using Fields = std::vector<Field>;

  // Writes to the file descriptor `to` what is of `most` or more important. The clock outlives it.
  Log(const Clock& clock, LogFormat format, LogLevel most, int to)
      : clock_(clock), format_(format), most_(most), to_(to) {}

  // Whether events of this level are written: ask before making what only the log needs.
  bool has(LogLevel level) const { return level <= most_; }
  void write(LogLevel level, std::string_view message, const Fields& fields = {}) const;

  // For parts that only know lines. Null where the level is not written.
  std::function<void(const std::string&)> lines(LogLevel level) const;

 private:
  const Clock& clock_;
  const LogFormat format_;
  const LogLevel most_;
  const int to_;
};

}  // namespace cardea
