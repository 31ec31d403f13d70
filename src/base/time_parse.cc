#include "base/time_parse.h"

#include <cstdio>
#include <optional>

#include "base/strings.h"

namespace cardea {
namespace {

constexpr std::int64_t kYearOne = -62135596800;
constexpr std::string_view kLayout = "2006-01-02T15:04:05Z07:00";
constexpr std::string_view kMicroLayout = "2006-01-02T15:04:05.000000Z07:00";

// Go's time package writes bytes beyond ASCII as escapes, unlike %q.
std::string shown(std::string_view text) {
  std::string out = "\"";
  char buffer[8];
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x80) {
      std::snprintf(buffer, sizeof buffer, "\\x%02x", byte);
      out += buffer;
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

bool is_digit(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

int days_in(int month, std::int64_t year) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : kDays[month - 1];
}

std::int64_t days_from_civil(std::int64_t year, int month, int day) {
  using namespace std::chrono;
  auto date = std::chrono::year(static_cast<int>(year)) / month / day;
  return sys_days(date).time_since_epoch().count();
}

// Reads a time element by element; the first thing wrong is what the message names.
class TimeReader {
 public:
  TimeReader(std::string_view text, bool micro)
      : text_(text), rest_(text), layout_(micro ? kMicroLayout : kLayout), micro_(micro) {}

  Result<Timestamp> run() {
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
    std::int32_t nanoseconds = 0;
    std::int64_t offset = 0;
    read_year(year);
    literal("-");
    number("01", true, month, 1, 12, "month");
    literal("-");
    number("02", true, day, 0, 99, "day");
    literal("T");
    number("15", false, hour, 0, 23, "hour");
    literal(":");
    number("04", true, minute, 0, 59, "minute");
    literal(":");
    number("05", true, second, 0, 59, "second");
    read_fraction(nanoseconds);
    read_zone(offset);
    if (message_.empty() && !rest_.empty()) message_ = cat(": extra text: ", shown(rest_));
    if (message_.empty() && (day < 1 || day > days_in(month, year)))
      message_ = ": day out of range";
    if (!message_.empty()) return fail(bad_request(cat("parsing time ", shown(text_), message_)));
    std::int64_t seconds = days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 +
                           second - offset;
    return Timestamp{seconds, nanoseconds};
  }

 private:
  void cannot(std::string_view element) {
    if (message_.empty())
      message_ = cat(" as ", shown(layout_), ": cannot parse ", shown(rest_), " as ",
                     shown(element));
  }
  void out_of_range(std::string_view what) {
    if (message_.empty()) message_ = cat(": ", what, " out of range");
  }

  void literal(std::string_view expected) {
    if (!message_.empty()) return;
    if (!rest_.starts_with(expected)) return cannot(expected);
    rest_.remove_prefix(expected.size());
  }

  void read_year(int& year) {
    if (rest_.size() < 4) return cannot("2006");
    for (std::size_t i = 0; i < 4; ++i) {
      if (!is_digit(rest_, i)) return cannot("2006");
      year = year * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(4);
  }

  // One or two digits; exactly two when `two`.
  std::optional<int> digits(std::string_view& text, bool two) {
    if (!is_digit(text, 0)) return std::nullopt;
    int value = text[0] - '0';
    if (!is_digit(text, 1)) {
      if (two) return std::nullopt;
      text.remove_prefix(1);
      return value;
    }
    value = value * 10 + (text[1] - '0');
    text.remove_prefix(2);
    return value;
  }

  void number(std::string_view element, bool two, int& out, int low, int high,
              std::string_view what) {
    if (!message_.empty()) return;
    auto value = digits(rest_, two);
    if (!value) return cannot(element);
    out = *value;
    if (out < low || out > high) out_of_range(what);
  }

  void read_fraction(std::int32_t& nanoseconds) {
    if (!message_.empty()) return;
    bool point = !rest_.empty() && (rest_[0] == '.' || rest_[0] == ',');
    std::size_t n = 1;
    while (is_digit(rest_, n) && (!micro_ || n < 7)) ++n;
    if (micro_ && (!point || n != 7)) return cannot(".000000");
    if (!point || n < 2) return;
    for (std::size_t i = 1; i <= 9; ++i)
      nanoseconds = nanoseconds * 10 + (i < n ? rest_[i] - '0' : 0);
    rest_.remove_prefix(n);
  }

  void read_zone(std::int64_t& offset) {
    if (!message_.empty()) return;
    if (!rest_.empty() && rest_[0] == 'Z') {
      rest_.remove_prefix(1);
      return;
    }
    if (rest_.size() < 6 || rest_[3] != ':') return cannot("Z07:00");
    std::string_view zone = rest_.substr(0, 6);
    std::string_view hour_text = zone.substr(1, 2), minute_text = zone.substr(4, 2);
    auto hours = digits(hour_text, true), minutes = digits(minute_text, true);
    if (hours && *hours > 24) return out_of_range("time zone offset hour");
    if (hours && minutes && *minutes > 60) return out_of_range("time zone offset minute");
    if (!hours || !minutes || (zone[0] != '+' && zone[0] != '-')) return cannot("Z07:00");
    rest_.remove_prefix(6);
    offset = *hours * 3600 + *minutes * 60;
    if (zone[0] == '-') offset = -offset;
  }

  std::string_view text_, rest_, layout_;
  bool micro_;
  std::string message_;
};

// Decimal digits, at least `width` of them.
void append_digits(std::string& out, unsigned value, unsigned width) {
  char buffer[10];
  char* at = std::end(buffer);
  for (; value > 0 || width > 0; value /= 10) {
    *--at = static_cast<char>('0' + value % 10);
    if (width > 0) --width;
  }
  out.append(at, std::end(buffer));
}

// Without the zone: `2026-01-31T12:00:00`.
std::string print_seconds(Timestamp at) {
  using namespace std::chrono;
  const sys_seconds moment{seconds(at.seconds)};
  const auto day = floor<days>(moment);
  const year_month_day date(day);
  const hh_mm_ss time(moment - day);
  const int year = static_cast<int>(date.year());
  std::string out;
  out.reserve(sizeof "2026-01-31T12:00:00.000000Z");
  if (year < 0) out += '-';
  append_digits(out, static_cast<unsigned>(std::abs(year)), 4);
  auto append = [&out](char before, auto value) {
    out += before;
    append_digits(out, static_cast<unsigned>(value), 2);
  };
  append('-', static_cast<unsigned>(date.month()));
  append('-', static_cast<unsigned>(date.day()));
  append('T', time.hours().count());
  append(':', time.minutes().count());
  append(':', time.seconds().count());
  return out;
}

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};
constexpr Unit kUnits[] = {
    {"ns", 1},         {"us", 1'000},        {"\u00b5s", 1'000},    {"\u03bcs", 1'000},
    {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000}};

// Writes `value` / 10^decimals without trailing zeros.
std::string fraction(std::uint64_t value, int decimals) {
  std::uint64_t unit = 1;
  for (int i = 0; i < decimals; ++i) unit *= 10;
  std::string out = std::to_string(value / unit);
  if (value % unit == 0) return out;
  std::string rest = std::to_string(value % unit);
  rest.insert(0, static_cast<std::size_t>(decimals) - rest.size(), '0');
  rest.resize(rest.find_last_not_of('0') + 1);
  return cat(out, ".", rest);
}

}  // namespace

bool Timestamp::is_zero() const {
  return seconds == kYearOne && nanoseconds == 0;
}

Result<Timestamp> parse_rfc3339(std::string_view text) {
  return TimeReader(text, false).run();
}
Result<Timestamp> parse_rfc3339_micro(std::string_view text) {
  return TimeReader(text, true).run();
}

std::string print_rfc3339(Timestamp at) {
  return print_seconds(at) + "Z";
}

std::string print_rfc3339_micro(Timestamp at) {
  std::string out = print_seconds(at) + ".";
  append_digits(out, static_cast<unsigned>(at.nanoseconds / 1000), 6);
  return out + "Z";
}

std::chrono::system_clock::time_point to_time_point(Timestamp at) {
  using namespace std::chrono;
  constexpr std::int64_t kLimit = INT64_MAX / 1'000'000'000 - 1;
  if (at.seconds > kLimit) return system_clock::time_point::max();
  if (at.seconds < -kLimit) return system_clock::time_point::min();
  auto since = std::chrono::seconds(at.seconds) + std::chrono::nanoseconds(at.nanoseconds);
  return system_clock::time_point(duration_cast<system_clock::duration>(since));
}

Timestamp to_timestamp(std::chrono::system_clock::time_point at) {
  auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
  std::int64_t seconds = since / 1'000'000'000, rest = since % 1'000'000'000;
  if (rest < 0) {
    rest += 1'000'000'000;
    --seconds;
  }
  return {seconds, static_cast<std::int32_t>(rest)};
}

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  auto wrong = [&](std::string_view what) {
    return fail(bad_request(cat("time: ", what, " duration ", shown(text))));
  };
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;
  std::string_view rest = text;
  bool negative = false;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  if (rest == "0") return std::chrono::nanoseconds(0);
  if (rest.empty()) return wrong("invalid");
  unsigned __int128 total = 0;
  while (!rest.empty()) {
    if (rest[0] != '.' && !is_digit(rest, 0)) return wrong("invalid");
    unsigned __int128 whole = 0;
    bool any = false;
    for (; is_digit(rest, 0); rest.remove_prefix(1), any = true) {
      whole = whole * 10 + static_cast<unsigned>(rest[0] - '0');
      if (whole > kLimit) return wrong("invalid");
    }
    std::uint64_t part = 0;
    double scale = 1;
    if (!rest.empty() && rest[0] == '.') {
      rest.remove_prefix(1);
      for (; is_digit(rest, 0); rest.remove_prefix(1), any = true) {
        if (part > (kLimit - 10) / 10) continue;  // digits beyond what 64 bits hold change nothing
        part = part * 10 + static_cast<unsigned>(rest[0] - '0');
        scale *= 10;
      }
    }
    if (!any) return wrong("invalid");
    std::size_t n = 0;
    while (n < rest.size() && rest[n] != '.' && !is_digit(rest, n)) ++n;
    if (n == 0) return wrong("missing unit in");
    std::string_view name = rest.substr(0, n);
    rest.remove_prefix(n);
    const Unit* unit = nullptr;
    for (const Unit& u : kUnits)
      if (u.name == name) unit = &u;
    if (!unit) return wrong(cat("unknown unit ", shown(name), " in"));
    total += whole * unit->nanoseconds;
    total += static_cast<std::uint64_t>(static_cast<double>(part) *
                                        (static_cast<double>(unit->nanoseconds) / scale));
    if (total > kLimit) return wrong("invalid");
  }
  if (!negative && total >= kLimit) return wrong("invalid");
  auto magnitude = static_cast<std::uint64_t>(total);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude));
}

std::string print_duration(std::chrono::nanoseconds duration) {
  std::int64_t count = duration.count();
  if (count == 0) return "0s";
  std::string sign = count < 0 ? "-" : "";
  std::uint64_t n = count < 0 ? 0 - static_cast<std::uint64_t>(count)
                              : static_cast<std::uint64_t>(count);
  if (n < 1'000) return cat(sign, n, "ns");
  if (n < 1'000'000) return cat(sign, fraction(n, 3), "\u00b5s");
  if (n < 1'000'000'000) return cat(sign, fraction(n, 6), "ms");
  constexpr std::uint64_t kMinute = 60'000'000'000, kHour = 60 * kMinute;
  std::string out = sign;
  if (n >= kHour) out += cat(n / kHour, "h");
  if (n >= kMinute) out += cat(n % kHour / kMinute, "m");
  return cat(out, fraction(n % kMinute, 9), "s");
}

}  // namespace cardea
