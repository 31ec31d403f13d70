#include "catalog/tables/duration.h"

#include "base/strings.h"

namespace cardea::catalog {

namespace {

// `7m`, or `7m5s` if there is a remainder.
std::string two_units(std::int64_t large, char large_unit, std::int64_t small, char small_unit) {
  return small == 0 ? cat(large, large_unit) : cat(large, large_unit, small, small_unit);
}

// Takes a number of exactly `digits` digits and the character after it.
bool take(std::string_view& text, std::size_t digits, int& out, std::string_view then) {
  if (text.size() < digits) return false;
  out = 0;
  for (char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return false;
    out = out * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  if (then.empty()) return true;
  if (text.empty() || then.find(text[0]) == then.npos) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string human_duration(std::chrono::system_clock::duration span) {
  using namespace std::chrono;
  std::int64_t seconds = duration_cast<std::chrono::seconds>(span).count();
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  std::int64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
  if (seconds < 120) return cat(seconds, "s");
  if (minutes < 10) return two_units(minutes, 'm', seconds % 60, 's');
  if (hours < 3) return cat(minutes, "m");
  if (hours < 8) return two_units(hours, 'h', minutes % 60, 'm');
  if (days < 2) return cat(hours, "h");
  if (days < 8) return two_units(days, 'd', hours % 24, 'h');
  if (days < 2 * 365) return cat(days, "d");
  if (days < 8 * 365) return two_units(days / 365, 'y', days % 365, 'd');
  return cat(days / 365, "y");
}

std::optional<std::chrono::system_clock::time_point> parse_time(std::string_view text) {
  using namespace std::chrono;
  int year, month, day, hour, minute, second;
  if (!take(text, 4, year, "-") || !take(text, 2, month, "-") || !take(text, 2, day, "Tt") ||
      !take(text, 2, hour, ":") || !take(text, 2, minute, ":") || !take(text, 2, second, ""))
    return std::nullopt;
  year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                      std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  std::int64_t nanoseconds = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    std::int64_t scale = 100'000'000;
    if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
    for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1), scale /= 10)
      nanoseconds += (text[0] - '0') * scale;
  }
  int offset = 0;
  if (text == "Z" || text == "z") {
    text = {};
  } else if (text.starts_with('+') || text.starts_with('-')) {
    int sign = text[0] == '-' ? -1 : 1, hours = 0, minutes = 0;
    text.remove_prefix(1);
    if (!take(text, 2, hours, ":") || !take(text, 2, minutes, "")) return std::nullopt;
    offset = sign * (hours * 60 + minutes);
  } else {
    return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  auto at = sys_days(date) + hours(hour) + minutes(minute - offset) + seconds(second);
  return time_point_cast<system_clock::duration>(at + std::chrono::nanoseconds(nanoseconds));
}

}  // namespace cardea::catalog
