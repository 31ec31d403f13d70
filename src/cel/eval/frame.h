#pragma once
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cel/eval/arena.h"
#include "cel/eval/value.h"

namespace re2 {
class RE2;
}

namespace cardea::cel {

class AuthorizerInterface;

// Limits of one evaluation. Passing a limit ends the evaluation with an error that no operator
// absorbs.
struct Limits {
  std::uint64_t cost = std::numeric_limits<std::uint64_t>::max();
  std::size_t memory = 16 << 20;  // bytes of text, lists and maps made
};

// The state of one evaluation, as library functions see it.
struct Frame {
  explicit Frame(Arena& a);
  ~Frame();

  Arena& arena;
  const Value* slots = nullptr;
  Value* locals = nullptr;
  std::uint64_t cost = 0;
  Limits limits;
  bool fatal = false;     // a limit was passed
  bool lenient = false;   // see Environment
  bool free_has = false;  // has() itself costs nothing
  std::uint32_t position = 0;
  const std::atomic<bool>* interrupt = nullptr;
  std::uint32_t steps = 0;
  std::vector<std::unique_ptr<re2::RE2>> patterns;  // compiled while running

  // Work that cost does not count: elements compared inside elements, patterns compiled. Passing
  // its limit counts as passing the cost limit.
  static constexpr std::uint64_t kWorkPerUnit = 16;  // a hundred nanoseconds of comparing
  static constexpr std::uint64_t kMostWork = 10'000'000 * kWorkPerUnit;
  std::uint64_t work = kMostWork;
  void allow_work();  // the work that the limit of cost stands for
  void spend(std::uint64_t units) { work = work > units ? work - units : 0; }
  bool same(const Value& a, const Value& b) { return equal(a, b, work); }

  Value error(std::string_view message) {
    return Value::of_error(arena.make<ErrorNode>(ErrorNode{arena.copy(message), position, false}));
  }
  Value no_such_overload();
  Value stop(std::string_view message);  // a fatal error
  Value over_cost() { return stop("operation cancelled: actual cost limit exceeded"); }
  Value over_memory() { return stop("operation cancelled: memory limit exceeded"); }
  // Whether `bytes` more may be allocated.
  bool room_for(std::size_t bytes) const { return arena.used() + bytes <= limits.memory; }
  bool charge(std::uint64_t units) {
    cost += units;
    return cost <= limits.cost;
  }
  Value text(std::string_view made) {
    return room_for(made.size()) ? Value::of_text(arena.copy(made)) : over_memory();
  }
  Value some(const Value& v) { return Value::some(arena.make<Value>(v)); }
  // A compiled pattern, or null with `why` set.
  const re2::RE2* pattern(std::string_view text, std::string& why);
};

// The error of a pattern, in Go's words.
std::string pattern_problem(const re2::RE2& pattern);

}  // namespace cardea::cel
