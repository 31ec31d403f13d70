#include "http/syntax.h"

#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "http/message.h"

namespace cardea::http {
namespace {

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool escapes_are_well_formed(std::string_view path) {
  for (std::size_t at = 0; (at = path.find('%', at)) != std::string_view::npos; at += 3)
    if (at + 2 >= path.size() || !is_hex(path[at + 1]) || !is_hex(path[at + 2])) return false;
  return true;
}

// The absolute form, which proxies are sent: cuts off everything before the path.
bool skip_authority(std::string_view& text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return false;
  const std::string_view name = text.substr(0, scheme);
  if (!equals_ignoring_case(name, "http") && !equals_ignoring_case(name, "https")) return false;
  text.remove_prefix(scheme + 3);
  const std::size_t path = std::min(text.find_first_of("/?"), text.size());
  if (path == 0 || !is_host(text.substr(0, path))) return false;
  text.remove_prefix(path);
  return true;
}

}  // namespace

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

bool is_host(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || std::strchr("/\\@#?<>\"{}|^`", c)) return false;
  }
  return true;
}

bool read_target(std::string_view text, Request& request) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f) return false;
  }
  request.target.assign(text);
  request.path.clear();
  request.query.clear();
  if (request.method == "CONNECT" && !text.starts_with('/')) return is_host(text);
  if (text == "*") {
    request.path = "*";
    return request.method == "OPTIONS";
  }
  if (!text.starts_with('/') && !skip_authority(text)) return false;
  const std::size_t mark = std::min(text.find('?'), text.size());
  request.path.assign(text.substr(0, mark));
  if (request.path.empty()) request.path = "/";
  if (mark < text.size()) request.query.assign(text.substr(mark + 1));
  return escapes_are_well_formed(request.path);
}

bool may_have_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

}  // namespace cardea::http
