#include "authn/jwt/freshness.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/strings.h"

namespace cardea::authn {
namespace {

using std::chrono::seconds;

constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t out = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || out < 0) return std::nullopt;
  return out;
}

// `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that servers may send today.
std::optional<std::chrono::sys_seconds> http_date(std::string_view text) {
  if (text.size() != 29 || !text.ends_with(" GMT")) return std::nullopt;
  auto month = std::ranges::find(kMonths, text.substr(8, 3));
  auto day = number(text.substr(5, 2)), year = number(text.substr(12, 4));
  auto hour = number(text.substr(17, 2)), minute = number(text.substr(20, 2)),
       second = number(text.substr(23, 2));
  if (month == std::end(kMonths) || !day || !year || !hour || !minute || !second)
    return std::nullopt;
  std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                   std::chrono::month(static_cast<unsigned>(month - kMonths + 1)),
                                   std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         seconds(*second);
}

// A number beyond what fits means a long time.
seconds delta(std::string_view text) {
  return seconds(std::min<std::int64_t>(number(text).value_or(0), 1 << 30));
}

}  // namespace

std::optional<seconds> lifetime_of(const http::Headers& headers) {
  std::optional<seconds> max_age, shared;
  for (std::string_view value : headers.get_all("cache-control"))
    for (std::string_view part : split(value, ',')) {
      const std::string directive = lower(trim(part));
      std::string_view d = directive;
      if (d == "no-store" || d == "no-cache") return seconds(0);
      if (d.starts_with("max-age=")) max_age = delta(d.substr(8));
      if (d.starts_with("s-maxage=")) shared = delta(d.substr(9));
    }
  if (shared) return shared;
  if (max_age) return max_age;
  if (!headers.has("expires")) return std::nullopt;
  auto expires = http_date(headers.get("expires")), date = http_date(headers.get("date"));
  if (!expires) return seconds(0);  // "0" and the like: already expired
  if (!date) return std::nullopt;
  return std::max(seconds(0), seconds(*expires - *date));
}

}  // namespace cardea::authn
