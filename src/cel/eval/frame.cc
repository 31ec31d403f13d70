#include "cel/eval/frame.h"

#include <re2/re2.h>

#include <algorithm>

#include "base/strings.h"

namespace cardea::cel {

Frame::Frame(Arena& a) : arena(a) {}
Frame::~Frame() = default;

void Frame::allow_work() {
  constexpr std::uint64_t kLeast = 4096;
  work = limits.cost >= kMostWork / kWorkPerUnit ? kMostWork : limits.cost * kWorkPerUnit + kLeast;
}

Value Frame::no_such_overload() {
  return error("no such overload");
}

Value Frame::stop(std::string_view message) {
  fatal = true;
  return Value::of_error(arena.make<ErrorNode>(ErrorNode{arena.copy(message), position, true}));
}

std::string pattern_problem(const re2::RE2& pattern) {
  std::string text = pattern.error();
  const std::string argument = pattern.error_arg();
  if (text.ends_with(": " + argument)) text = text.substr(0, text.size() - argument.size() - 2);
  return cat("error parsing regexp: ", text, ": `", argument, "`");
}

const re2::RE2* Frame::pattern(std::string_view text, std::string& why) {
  const re2::StringPiece piece(text.data(), text.size());
  for (const auto& p : patterns)
    if (p->pattern() == piece.as_string()) return p.get();
  // What is longer does not fit into the memory of a pattern.
  constexpr std::size_t kLongest = 100'000;
  spend(kWorkPerUnit * text.size());
  if (work == 0 || text.size() > kLongest) {
    why = "error parsing regexp: expression too large";
    return nullptr;
  }
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  auto compiled = std::make_unique<RE2>(piece, options);
  spend(kWorkPerUnit * static_cast<std::uint64_t>(std::max(compiled->ProgramSize(), 0)));
  if (!compiled->ok()) {
    why = pattern_problem(*compiled);
    return nullptr;
  }
  // A hostile loop could compile a new pattern in each turn, so the oldest patterns are dropped.
  if (patterns.size() >= 64) patterns.erase(patterns.begin());
  return patterns.emplace_back(std::move(compiled)).get();
}

}  // namespace cardea::cel
