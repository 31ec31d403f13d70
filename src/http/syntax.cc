#include "http/syntax.h"

#include <cstring>

#include "base/strings.h"

namespace cardea::http {

std::size_t end_of_head(std::string_view text, std::size_t from) {
  while (from < text.size()) {
    const auto* lf = static_cast<const char*>(
        std::memchr(text.data() + from, '\n', text.size() - from));
    if (!lf) break;
    const auto at = static_cast<std::size_t>(lf - text.data());
    if (at + 1 < text.size() && text[at + 1] == '\n') return at + 2;
    if (at + 2 < text.size() && text[at + 1] == '\r' && text[at + 2] == '\n') return at + 3;
    from = at + 1;
  }
  return std::string_view::npos;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t lf = text.find('\n');
  std::string_view line = text.substr(0, lf);
  text.remove_prefix(lf + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view trim_spaces(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool lists(std::string_view value, std::string_view word) {
  for (std::string_view part : split(value, ','))
    if (equals_ignoring_case(trim_spaces(part), word)) return true;
  return false;
}

std::optional<std::uint64_t> parse_length(std::string_view value) {
  constexpr std::size_t kMaxDigits = 18;
  std::uint64_t length = 0;
  if (value.empty() || value.size() > kMaxDigits) return std::nullopt;
  for (const char c : value) {
    if (c < '0' || c > '9') return std::nullopt;
    length = length * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return length;
}

}  // namespace cardea::http
