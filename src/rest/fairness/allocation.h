#pragma once
#include <optional>
#include <vector>

namespace cardea::rest::fairness {

// One who gets a part of a whole: at least `low`, at most `high`, and otherwise in proportion to
// `target`.
struct Claim {
  double low = 0, high = 0, target = 0;  // low <= target, low <= high
};

struct Allocation {
  std::vector<double> parts;  // one for each claim; their sum is the whole
  double fair_fraction = 0;   // each part is this times the target, unless a bound holds it
};

// nullopt: the bounds leave no way.
std::optional<Allocation> allocate(double whole, const std::vector<Claim>& claims);

}  // namespace cardea::rest::fairness
