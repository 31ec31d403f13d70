#include "cel/partial/pattern.h"

#include <algorithm>

#include "base/strings.h"
#include "json/parse.h"

namespace cardea::cel {
namespace {

bool is_name(std::string_view name) {
  auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !is_letter(name[0])) return false;
  return std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

// Reads one step, which begins at `at` with a dot or a bracket, and moves `at` behind it.
bool read_step(std::string_view text, std::size_t& at, std::deque<std::string>& keys,
               Qualifier& out) {
  if (text[at] == '.') {
    const std::size_t end = std::min(text.find_first_of(".[", at + 1), text.size());
    const std::string_view field = text.substr(at + 1, end - at - 1);
    out.wildcard = field == "*";
    if (!out.wildcard && !is_name(field)) return false;
    out.key = Value::of_text(keys.emplace_back(field));
    at = end;
    return true;
  }
  if (text[at] != '[') return false;
  // A key in quotes may contain a bracket.
  const bool is_text = text.substr(at + 1).starts_with("\"");
  std::size_t end = is_text ? text.find("\"]", at + 2) : text.find(']', at);
  if (end == std::string_view::npos) return false;
  if (is_text) ++end;
  const std::string_view inside = text.substr(at + 1, end - at - 1);
  at = end + 1;
  out.wildcard = inside == "*";
  if (out.wildcard) return true;
  const auto key = json::parse(inside);
  if (!key || !(key->is_string() || key->is_bool() || key->is_int())) return false;
  out.key = key->is_string() ? Value::of_text(keys.emplace_back(key->as_string()))
            : key->is_bool() ? Value::of(key->as_bool())
                             : Value::of_int(key->as_int());
  return true;
}

}  // namespace

bool is_variable_name(std::string_view name) {
  return std::ranges::all_of(split(name, '.'), is_name);
}

Result<UnknownPattern> read_pattern(std::string_view text, const Environment& environment,
                                    std::deque<std::string>& keys) {
  // A variable may have a dotted name.
  if (environment.find_variable(text)) return UnknownPattern{std::string(text), {}};
  auto bad = [&] {
    return fail(bad_request(cat(quoted(text), " is neither a variable nor a part of one")));
  };
  std::size_t at = std::min(text.find_first_of(".["), text.size());
  UnknownPattern out{std::string(text.substr(0, at)), {}};
  if (!environment.find_variable(out.variable)) return bad();
  while (at < text.size()) {
    Qualifier step;
    if (!read_step(text, at, keys, step)) return bad();
    out.qualifiers.push_back(step);
  }
  return out;
}

}  // namespace cardea::cel
