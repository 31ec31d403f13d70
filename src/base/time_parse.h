#pragma once
#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cardea {

// A moment in any year from 0 to 9999, which is more than a system_clock::time_point can hold.
struct Timestamp {
  std::int64_t seconds = 0;      // since 1970, UTC
  std::int32_t nanoseconds = 0;  // 0 to 999,999,999

  friend auto operator<=>(const Timestamp&, const Timestamp&) = default;
  bool is_zero() const;  // 0001-01-01T00:00:00Z, which Kubernetes prints as null
};

// RFC 3339 as Go reads it, and with the same messages: `parsing time "x" as "2006-...": cannot
// parse ...`.
Result<Timestamp> parse_rfc3339(std::string_view text);
// The same with exactly six digits of fraction.
Result<Timestamp> parse_rfc3339_micro(std::string_view text);

std::string print_rfc3339(Timestamp at);        // 2026-01-31T12:00:00Z; the fraction is dropped
std::string print_rfc3339_micro(Timestamp at);  // 2026-01-31T12:00:00.000000Z

std::chrono::system_clock::time_point to_time_point(Timestamp at);  // capped to what it can hold
Timestamp to_timestamp(std::chrono::system_clock::time_point at);

// Go's durations: `1h30m`, `-1.5s`, `300ms`.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);
std::string print_duration(std::chrono::nanoseconds duration);

}  // namespace cardea
