#include "cel/eval/time.h"

#include <absl/time/time.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace cardea::cel {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

bool digits(std::string_view text, std::size_t at, std::size_t count, int& out) {
  if (at + count > text.size()) return false;
  out = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    out = out * 10 + (text[i] - '0');
  }
  return true;
}

bool is_leap(std::int64_t y) {
  return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
}

int days_in_month(std::int64_t year, int month) {
  static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[month - 1];
}

std::string fraction(std::uint32_t nanos) {
  if (nanos == 0) return "";
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, ".%09u", nanos);
  std::string out = buffer;
  while (out.back() == '0') out.pop_back();
  return out;
}

// Hours and minutes with any number of digits; the sign may be missing.
std::optional<std::int64_t> loose_offset(std::string_view zone) {
  const std::size_t colon = zone.find(':');
  auto number = [](std::string_view text) -> std::optional<std::int64_t> {
    if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
    std::int64_t out = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (problem != std::errc() || end != text.data() + text.size() || out > 1'000'000 ||
        out < -1'000'000)
      return std::nullopt;
    return out;
  };
  const auto hours = number(zone.substr(0, colon));
  const auto minutes = number(zone.substr(colon + 1));
  if (!hours || !minutes || *minutes < 0 || *minutes > 59) return std::nullopt;
  return (*hours * 60 + (zone[0] == '-' ? -*minutes : *minutes)) * 60;
}

// [+-]hh:mm.
std::optional<int> parse_offset(std::string_view zone) {
  const int sign = zone.starts_with('-') ? -1 : 1;
  zone.remove_prefix(1);
  int hours = 0;
  int minutes = 0;
  if (zone.size() != 5 || zone[2] != ':' || !digits(zone, 0, 2, hours) ||
      !digits(zone, 3, 2, minutes))
    return std::nullopt;
  if (hours > 24 || minutes > 60) return std::nullopt;  // Go's limits: 24:00 is accepted
  return sign * (hours * 3600 + minutes * 60);
}

Civil civil_of(std::int64_t seconds) {
  std::int64_t days = seconds / 86400;
  std::int64_t rest = seconds % 86400;
  if (rest < 0) {
    rest += 86400;
    --days;
  }
  // Computes in periods of 400 years that begin on 1 March.
  const std::int64_t z = days + 719468;
  const std::int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  const std::int64_t doe = z - era * 146097;
  const std::int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  const std::int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const std::int64_t mp = (5 * doy + 2) / 153;
  Civil c;
  c.day = static_cast<int>(doy - (153 * mp + 2) / 5 + 1);
  c.month = static_cast<int>(mp < 10 ? mp + 3 : mp - 9);
  c.year = yoe + era * 400 + (c.month <= 2 ? 1 : 0);
  c.hour = static_cast<int>(rest / 3600);
  c.minute = static_cast<int>(rest / 60 % 60);
  c.second = static_cast<int>(rest % 60);
  c.day_of_week = static_cast<int>(((days + 4) % 7 + 7) % 7);
  c.day_of_year = static_cast<int>(days - days_from_civil(c.year, 1, 1));
  return c;
}

}  // namespace

bool in_range(std::int64_t seconds) {
  return seconds >= kFirstSecond && seconds <= kLastSecond;
}

std::int64_t days_from_civil(std::int64_t y, int m, int d) {
  y -= m <= 2;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t yoe = y - era * 400;
  const std::int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  const std::int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return era * 146097 + doe - 719468;
}

std::optional<Value> parse_timestamp(std::string_view t) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (t.size() < 20 || !digits(t, 0, 4, year) || t[4] != '-' || !digits(t, 5, 2, month) ||
      t[7] != '-' || !digits(t, 8, 2, day) || t[10] != 'T' || !digits(t, 11, 2, hour) ||
      t[13] != ':' || !digits(t, 14, 2, minute) || t[16] != ':' || !digits(t, 17, 2, second))
    return std::nullopt;
  if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) || hour > 23 ||
      minute > 59 || second > 59)
    return std::nullopt;
  std::size_t at = 19;
  std::uint32_t nanos = 0;
  if (t[at] == '.' || t[at] == ',') {
    std::uint32_t scale = 100'000'000;
    const std::size_t start = ++at;
    for (; at < t.size() && t[at] >= '0' && t[at] <= '9'; ++at) {
      nanos += static_cast<std::uint32_t>(t[at] - '0') * scale;
      scale /= 10;
    }
    if (at == start) return std::nullopt;
  }
  const std::string_view zone = t.substr(at);
  int offset = 0;
  if (zone != "Z") {
    if (zone.empty() || (zone[0] != '+' && zone[0] != '-')) return std::nullopt;
    const auto parsed = parse_offset(zone);
    if (!parsed) return std::nullopt;
    offset = *parsed;
  }
  const std::int64_t seconds = days_from_civil(year, month, day) * 86400 + hour * 3600 +
                               minute * 60 + second - offset;
  if (!in_range(seconds)) return std::nullopt;
  return Value::of_timestamp(seconds, nanos);
}

std::optional<std::int64_t> parse_duration(std::string_view t) {
  bool negative = false;
  if (!t.empty() && (t[0] == '-' || t[0] == '+')) {
    negative = t[0] == '-';
    t.remove_prefix(1);
  }
  if (t == "0") return 0;
  if (t.empty()) return std::nullopt;
  unsigned __int128 total = 0;
  constexpr unsigned __int128 kMost = static_cast<unsigned __int128>(1) << 63;
  while (!t.empty()) {
    unsigned __int128 whole = 0;
    unsigned __int128 part = 0;
    unsigned __int128 scale = 1;
    std::size_t seen = 0;
    while (!t.empty() && t[0] >= '0' && t[0] <= '9') {
      if (whole > kMost) return std::nullopt;
      whole = whole * 10 + static_cast<unsigned>(t[0] - '0');
      t.remove_prefix(1);
      ++seen;
    }
    if (!t.empty() && t[0] == '.') {
      t.remove_prefix(1);
      while (!t.empty() && t[0] >= '0' && t[0] <= '9') {
        if (scale < static_cast<unsigned __int128>(1'000'000'000'000'000'000)) {
          part = part * 10 + static_cast<unsigned>(t[0] - '0');
          scale *= 10;
        }
        t.remove_prefix(1);
        ++seen;
      }
    }
    if (seen == 0) return std::nullopt;
    struct Unit {
      std::string_view name;
      std::uint64_t nanos;
    };
    // Longest names first, so that "ms" is not read as minutes.
    static constexpr Unit kUnits[] = {
        {"ns", 1},         {"us", 1000},         {"\xC2\xB5s", 1000},   {"\xCE\xBCs", 1000},
        {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3600'000'000'000}};
    const Unit* unit = nullptr;
    for (const Unit& u : kUnits)
      if (t.starts_with(u.name)) {
        unit = &u;
        break;
      }
    if (unit == nullptr) return std::nullopt;
    t.remove_prefix(unit->name.size());
    if (!t.empty() && (t[0] < '0' || t[0] > '9') && t[0] != '.') return std::nullopt;
    if (whole > kMost / unit->nanos) return std::nullopt;
    total += whole * unit->nanos + part * unit->nanos / scale;
    if (total > kMost) return std::nullopt;
  }
  if (!negative && total >= kMost) return std::nullopt;
  const auto magnitude = static_cast<std::uint64_t>(total);
  return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
}

std::string print_timestamp(const Value& timestamp) {
  const Civil c = civil_of(timestamp.integer);
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%04d-%02d-%02dT%02d:%02d:%02d", static_cast<int>(c.year),
                c.month, c.day, c.hour, c.minute, c.second);
  return buffer + fraction(timestamp.size) + "Z";
}

Value with_offset(Value timestamp, std::string_view text) {
  const std::size_t sign = text.find_last_of("+-");
  if (!text.ends_with('Z') && sign != text.npos && sign > 10)
    if (const auto offset = parse_offset(text.substr(sign)))
      timestamp.list_type = static_cast<std::uint16_t>(*offset / 60);
  return timestamp;
}

std::string print_with_offset(const Value& timestamp) {
  const int minutes = static_cast<std::int16_t>(timestamp.list_type);
  if (minutes == 0) return print_timestamp(timestamp);
  std::string text = print_timestamp(
      Value::of_timestamp(timestamp.integer + minutes * 60, timestamp.size));
  char zone[16];
  std::snprintf(zone, sizeof zone, "%c%02d:%02d", minutes < 0 ? '-' : '+', std::abs(minutes) / 60,
                std::abs(minutes) % 60);
  text.pop_back();
  return text + zone;
}

std::string print_duration(std::int64_t nanos) {
  const bool negative = nanos < 0;
  const std::uint64_t magnitude = negative ? 0 - static_cast<std::uint64_t>(nanos)
                                           : static_cast<std::uint64_t>(nanos);
  return (negative ? "-" : "") + std::to_string(magnitude / kSecond) +
         fraction(static_cast<std::uint32_t>(magnitude % kSecond)) + "s";
}

std::string print_go_duration(std::int64_t nanos) {
  const bool negative = nanos < 0;
  const std::uint64_t magnitude = negative ? 0 - static_cast<std::uint64_t>(nanos)
                                           : static_cast<std::uint64_t>(nanos);
  if (magnitude == 0) return "0s";
  const std::string sign = negative ? "-" : "";
  auto small = [&](std::uint64_t unit, const char* name) {
    char buffer[16];
    std::snprintf(buffer, sizeof buffer, "%09llu",
                  static_cast<unsigned long long>(magnitude % unit));
    std::string part(buffer + (9 - (unit == 1 ? 0 : unit == 1000 ? 3 : 6)));
    if (unit == 1) part.clear();
    while (!part.empty() && part.back() == '0') part.pop_back();
    return sign + std::to_string(magnitude / unit) + (part.empty() ? "" : "." + part) + name;
  };
  if (magnitude < 1000) return small(1, "ns");
  if (magnitude < 1'000'000) return small(1000, "\xC2\xB5s");
  if (magnitude < static_cast<std::uint64_t>(kSecond)) return small(1'000'000, "ms");
  const std::uint64_t seconds = magnitude / kSecond;
  std::string out = sign;
  if (seconds >= 3600) out += std::to_string(seconds / 3600) + "h";
  if (seconds >= 60) out += std::to_string(seconds / 60 % 60) + "m";
  return out + std::to_string(seconds % 60) +
         fraction(static_cast<std::uint32_t>(magnitude % kSecond)) + "s";
}

std::optional<Civil> civil_in(const Value& timestamp, std::string_view zone) {
  if (zone.empty() || zone == "UTC" || zone == "Local") return civil_of(timestamp.integer);
  if (zone.find(':') != std::string_view::npos) {
    const auto offset = loose_offset(zone);
    if (!offset) return std::nullopt;
    return civil_of(timestamp.integer + *offset);
  }
  absl::TimeZone loaded;
  if (zone.size() > 64 || !absl::LoadTimeZone(std::string(zone), &loaded)) return std::nullopt;
  return civil_of(timestamp.integer + loaded.At(absl::FromUnixSeconds(timestamp.integer)).offset);
}

}  // namespace cardea::cel
