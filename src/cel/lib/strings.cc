#include "base/strings.h"

#include <algorithm>

#include "cel/cost/cost.h"
#include "cel/eval/frame.h"
#include "cel/lib/format_text.h"
#include "cel/lib/libraries.h"
#include "cel/syntax/unicode.h"

namespace cardea::cel {
namespace {

using Args = const Value*;
constexpr std::size_t kNone = std::string_view::npos;

std::int64_t length(const Value& v) {
  return static_cast<std::int64_t>(code_points(v.string()));
}

Value char_at(Frame& f, Args a, std::size_t) {
  const std::string_view s = a[0].string();
  const std::int64_t at = a[1].integer;
  f.spend(s.size() / 8);  // one unit of cost, but the whole text is read
  if (at < 0 || at > length(a[0])) return f.error(cat("index out of range: ", at));
  const std::size_t begin = offset_of(s, static_cast<std::uint64_t>(at));
  if (begin >= s.size()) return Value::of_text("");
  std::size_t end = begin;
  next_code_point(s, end);
  return Value::of_text(s.substr(begin, end - begin));
}

Value index_of(Frame& f, Args a, std::size_t n) {
  const std::string_view s = a[0].string();
  const std::string_view sub = a[1].string();
  const std::int64_t from = n > 2 ? a[2].integer : 0;
  const std::int64_t size = length(a[0]);
  if (from < 0) return f.error(cat("index out of range: ", from));
  if (sub.empty()) return Value::of_int(std::min(from, size));
  if (from >= size) return Value::of_int(-1);
  const std::size_t at = s.find(sub, offset_of(s, static_cast<std::uint64_t>(from)));
  return Value::of_int(at == kNone ? -1 : static_cast<std::int64_t>(code_points(s.substr(0, at))));
}

Value last_index_of(Frame& f, Args a, std::size_t n) {
  const std::string_view s = a[0].string();
  const std::string_view sub = a[1].string();
  const std::int64_t size = length(a[0]);
  const std::int64_t from = n > 2 ? a[2].integer : size;
  if (from < 0) return f.error(cat("index out of range: ", from));
  if (sub.empty()) return Value::of_int(std::min(from, size));
  if (n > 2 && from >= size) return Value::of_int(-1);
  const std::size_t at = s.rfind(sub, offset_of(s, static_cast<std::uint64_t>(from)));
  return Value::of_int(at == kNone ? -1 : static_cast<std::int64_t>(code_points(s.substr(0, at))));
}

template <char kFirst, char kLast, int kShift>
Value change_case(Frame& f, Args a, std::size_t) {
  if (!f.room_for(a[0].size)) return f.over_memory();
  char* out = f.arena.text(a[0].size);
  std::ranges::transform(a[0].string(), out, [](char c) {
    return c >= kFirst && c <= kLast ? static_cast<char>(c + kShift) : c;
  });
  return Value::of_text({out, a[0].size});
}

Value replace(Frame& f, Args a, std::size_t n) {
  const std::string_view s = a[0].string();
  const std::string_view from = a[1].string();
  const std::string_view to = a[2].string();
  std::int64_t left = n > 3 ? a[3].integer : -1;
  std::string out;
  std::size_t at = 0;
  while (left != 0) {
    if (!f.room_for(out.size() + to.size())) return f.over_memory();
    if (from.empty()) {  // before each code point and at the end
      out += to;
      --left;
      if (at >= s.size()) break;
      const std::size_t begin = at;
      next_code_point(s, at);
      out += s.substr(begin, at - begin);
      continue;
    }
    const std::size_t found = s.find(from, at);
    if (found == kNone) break;
    out += s.substr(at, found - at);
    out += to;
    at = found + from.size();
    --left;
  }
  out += s.substr(std::min(at, s.size()));
  return f.text(out);
}

Value split_text(Frame& f, Args a, std::size_t n) {
  const std::string_view s = a[0].string();
  const std::string_view separator = a[1].string();
  const std::int64_t limit = n > 2 ? a[2].integer : -1;
  ListBuilder out(f.arena);
  if (limit == 0) return out.build();
  if (limit == 1) {
    out.add(a[0]);
    return out.build();
  }
  std::size_t at = 0;
  if (separator.empty()) {
    while (at < s.size() && (limit < 0 || static_cast<std::int64_t>(out.size()) < limit - 1)) {
      const std::size_t begin = at;
      next_code_point(s, at);
      out.add(Value::of_text(s.substr(begin, at - begin)));
      if (!f.room_for(0)) return f.over_memory();
    }
    if (at < s.size()) out.add(Value::of_text(s.substr(at)));
    return out.build();
  }
  while (limit < 0 || static_cast<std::int64_t>(out.size()) < limit - 1) {
    const std::size_t found = s.find(separator, at);
    if (found == kNone) break;
    out.add(Value::of_text(s.substr(at, found - at)));
    if (!f.room_for(0)) return f.over_memory();
    at = found + separator.size();
  }
  out.add(Value::of_text(s.substr(at)));
  return out.build();
}

Value substring(Frame& f, Args a, std::size_t n) {
  const std::int64_t size = length(a[0]);
  const std::int64_t begin = a[1].integer;
  const std::int64_t end = n > 2 ? a[2].integer : size;
  if (n > 2 && begin > end)
    return f.error(cat("invalid substring range. start: ", begin, ", end: ", end));
  if (begin < 0 || begin > size) return f.error(cat("index out of range: ", begin));
  if (end < 0 || end > size) return f.error(cat("index out of range: ", end));
  const std::string_view s = a[0].string();
  const std::size_t first = offset_of(s, static_cast<std::uint64_t>(begin));
  const std::size_t last = offset_of(s, static_cast<std::uint64_t>(end));
  return Value::of_text(s.substr(first, last - first));
}

Value trim_text(Frame&, Args a, std::size_t) {
  const std::string_view s = a[0].string();
  std::size_t begin = s.size();
  std::size_t end = 0;
  for (std::size_t at = 0; at < s.size();) {
    const std::size_t start = at;
    if (is_space(next_code_point(s, at))) continue;
    begin = std::min(begin, start);
    end = at;
  }
  return Value::of_text(begin >= end ? std::string_view() : s.substr(begin, end - begin));
}

Value quote(Frame& f, Args a, std::size_t) {
  static constexpr std::string_view kFrom = "\a\b\f\n\r\t\v\\\"";
  static constexpr std::string_view kTo = "abfnrtv\\\"";
  std::string out = "\"";
  const std::string_view s = a[0].string();
  for (std::size_t at = 0; at < s.size();) {
    const std::uint32_t c = next_code_point(s, at);
    const std::size_t escape = c < 0x80 ? kFrom.find(static_cast<char>(c)) : kNone;
    if (escape != kNone) {
      out += '\\';
      out += kTo[escape];
    } else {
      append_code_point(out, c);
    }
  }
  return f.text(out + '"');
}

Value join_list(Frame& f, Args a, std::size_t n) {
  const std::string_view separator = n > 1 ? a[1].string() : std::string_view();
  std::string out;
  for (std::uint32_t i = 0; i < a[0].size; ++i) {
    const Value v = list_at(a[0], i);
    if (!v.is_string()) return f.error(cat("join: invalid input: ", type_name(v)));
    if (i > 0) out += separator;
    out += v.string();
    if (!f.room_for(out.size())) return f.over_memory();
  }
  return f.text(out);
}

Value reverse_text(Frame& f, Args a, std::size_t) {
  if (!f.room_for(a[0].size)) return f.over_memory();
  const std::string_view s = a[0].string();
  char* out = f.arena.text(s.size());
  std::size_t left = s.size();
  for (std::size_t at = 0; at < s.size();) {
    const std::size_t begin = at;
    next_code_point(s, at);
    left -= at - begin;
    std::memcpy(out + left, s.data() + begin, at - begin);
  }
  return Value::of_text({out, s.size()});
}

constexpr OverloadRow kRows[] = {
    {"charAt", "string_char_at_int", "string.(int) string", char_at, rule::one_character},
    {"indexOf", "string_index_of_string", "string.(string) int", index_of, rule::search},
    {"indexOf", "string_index_of_string_int", "string.(string, int) int", index_of, rule::search},
    {"lastIndexOf", "string_last_index_of_string", "string.(string) int", last_index_of,
     rule::search},
    {"lastIndexOf", "string_last_index_of_string_int", "string.(string, int) int", last_index_of,
     rule::search},
    {"lowerAscii", "string_lower_ascii", "string.() string", change_case<'A', 'Z', 32>,
     rule::made_text},
    {"upperAscii", "string_upper_ascii", "string.() string", change_case<'a', 'z', -32>,
     rule::made_text},
    {"replace", "string_replace_string_string", "string.(string, string) string", replace,
     rule::replace},
    {"replace", "string_replace_string_string_int", "string.(string, string, int) string", replace,
     rule::replace},
    {"split", "string_split_string", "string.(string) list(string)", split_text, rule::split},
    {"split", "string_split_string_int", "string.(string, int) list(string)", split_text,
     rule::split},
    {"substring", "string_substring_int", "string.(int) string", substring, rule::made_text},
    {"substring", "string_substring_int_int", "string.(int, int) string", substring,
     rule::made_text},
    {"trim", "string_trim", "string.() string", trim_text, rule::made_text},
    {"format", "string_format", "string.(list(dyn)) string", format_text_localized,
     rule::first_tenth, 1},
    {"format", "string_format", "string.(list(dyn)) string", format_text, rule::first_tenth, 4},
    {"strings.quote", "strings_quote", "(string) string", quote, rule::first_tenth, 1},
    {"join", "list_join", "list(string).() string", join_list, rule::join, 2},
    {"join", "list_join_string", "list(string).(string) string", join_list, rule::join, 2},
    {"reverse", "string_reverse", "string.() string", reverse_text, rule::made_text, 3},
};

}  // namespace

std::span<const OverloadRow> strings_overloads() {
  return kRows;
}

}  // namespace cardea::cel
