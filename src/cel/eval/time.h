#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cel/eval/value.h"

namespace cardea::cel {

// Timestamps are seconds since 1970 and nanoseconds, from the year 1 to the year 9999. Durations
// are 64-bit nanoseconds, as in Kubernetes.
constexpr std::int64_t kFirstSecond = -62135596800;
constexpr std::int64_t kLastSecond = 253402300799;

struct Civil {
  std::int64_t year;
  int month, day, hour, minute, second;  // month and day count from 1
  int day_of_week;                       // 0 is Sunday
  int day_of_year;                       // counts from 0
};

std::optional<Value> parse_timestamp(std::string_view text);        // RFC 3339
std::optional<std::int64_t> parse_duration(std::string_view text);  // Go's: 1h30m, -1.5s, 100ms
std::string print_timestamp(const Value& timestamp);                // in UTC
// A timestamp that remembers the offset in its text; and its text with that offset. What is
// computed from it is in UTC.
Value with_offset(Value timestamp, std::string_view text);
std::string print_with_offset(const Value& timestamp);
std::string print_duration(std::int64_t nanos);     // in seconds: 5400s, 1.5s
std::string print_go_duration(std::int64_t nanos);  // 1h30m0s
bool in_range(std::int64_t seconds);

// `zone` is "" for UTC, an IANA name, or an offset such as +05:30 or 02:00. nullopt when there is
// no such zone.
std::optional<Civil> civil_in(const Value& timestamp, std::string_view zone);
std::int64_t days_from_civil(std::int64_t year, int month, int day);

}  // namespace cardea::cel
