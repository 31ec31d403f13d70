#pragma once
#include <cstdint>
#include <string>

#include "cel/eval/value.h"

namespace cardea::cel {

// Random expressions over the variables a, b, c, d, and random values for them: mostly sensible,
// often ill-typed. The same seed gives the same expressions. For tests that compare ways of
// evaluation.
class RandomExpressions {
 public:
  explicit RandomExpressions(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  std::string expression(int depth);
  Value value(Arena& arena, int depth);
  std::uint32_t below(std::uint32_t n);

 private:
  std::string atom();
  std::string variable();
  int locals_ = 0;
  std::uint64_t state_;
};

}  // namespace cardea::cel
