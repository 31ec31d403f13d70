#include "cel/eval/regex.h"

#include <re2/re2.h>

#include <optional>

#include "base/strings.h"

namespace cardea::cel {
namespace {

re2::StringPiece piece(std::string_view s) {
  return {s.data(), s.size()};
}

Value find(Frame&, const re2::RE2& pattern, const Value& text) {
  re2::StringPiece found;
  const re2::StringPiece input = piece(text.string());
  if (!pattern.Match(input, 0, input.size(), RE2::UNANCHORED, &found, 1)) return Value::of_text("");
  return Value::of_text({found.data(), found.size()});
}

// Matches do not overlap. An empty match directly after another match is skipped, as in Go.
Value find_all(Frame& f, const re2::RE2& pattern, const Value& text, std::int64_t limit) {
  ListBuilder out(f.arena);
  const re2::StringPiece input = piece(text.string());
  std::size_t at = 0;
  std::optional<std::size_t> last_end;
  while (at <= input.size() && (limit < 0 || static_cast<std::int64_t>(out.size()) < limit)) {
    re2::StringPiece found;
    if (!pattern.Match(input, at, input.size(), RE2::UNANCHORED, &found, 1)) break;
    const std::size_t begin = static_cast<std::size_t>(found.data() - input.data());
    bool accept = true;
    if (found.empty()) {
      accept = begin != last_end;
      at = begin + 1;
      while (at < input.size() && (static_cast<unsigned char>(input[at]) & 0xC0) == 0x80) ++at;
    } else {
      at = begin + found.size();
    }
    last_end = begin + found.size();
    if (accept) out.add(Value::of_text({found.data(), found.size()}));
    f.spend(8);  // a short pattern costs nothing, but may match everywhere
    if (f.work == 0) return f.over_cost();
    if (!f.room_for(0)) return f.over_memory();
  }
  return out.build();
}

}  // namespace

Value run_pattern(Frame& f, const Node& node, const Value* args) {
  if (node.name == "find") return find(f, *node.pattern, args[0]);
  if (node.name == "findAll")
    return find_all(f, *node.pattern, args[0],
                    node.count > 2 && args[2].kind == Kind::kInt ? args[2].integer : -1);
  return Value::of(RE2::PartialMatch(piece(args[0].string()), *node.pattern));
}

Value regex_matches(Frame& f, const Value* args, std::size_t) {
  std::string why;
  const re2::RE2* pattern = f.pattern(args[1].string(), why);
  if (pattern == nullptr) return f.error(why);
  return Value::of(RE2::PartialMatch(piece(args[0].string()), *pattern));
}

Value regex_find(Frame& f, const Value* args, std::size_t) {
  std::string why;
  const re2::RE2* pattern = f.pattern(args[1].string(), why);
  return pattern == nullptr ? f.error(cat("Illegal regex: ", why)) : find(f, *pattern, args[0]);
}

Value regex_find_all(Frame& f, const Value* args, std::size_t count) {
  std::string why;
  const re2::RE2* pattern = f.pattern(args[1].string(), why);
  if (pattern == nullptr) return f.error(cat("Illegal regex: ", why));
  return find_all(f, *pattern, args[0], count > 2 ? args[2].integer : -1);
}

}  // namespace cardea::cel
