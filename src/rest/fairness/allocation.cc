#include "rest/fairness/allocation.h"

#include <algorithm>
#include <cmath>

namespace cardea::rest::fairness {
namespace {

constexpr double kSmallestTarget = 0.001;
constexpr double kTolerance = 1e-7;

double target_of(const Claim& c) {
  return std::max(c.target, kSmallestTarget);
}

// What all get together if each gets `fraction` of its target.
double sum_at(double fraction, const std::vector<Claim>& claims) {
  double sum = 0;
  for (const Claim& c : claims) sum += std::clamp(fraction * target_of(c), c.low, c.high);
  return sum;
}

}  // namespace

std::optional<Allocation> allocate(double whole, const std::vector<Claim>& claims) {
  double low = 0, high = 0;
  std::vector<double> bends;  // the fractions at which a bound begins or ceases to hold
  for (const Claim& c : claims) {
    if (c.low < 0 || c.high < c.low || c.target < c.low) return std::nullopt;
    low += c.low;
    high += c.high;
    bends.push_back(c.low / target_of(c));
    bends.push_back(c.high / target_of(c));
  }
  if (whole < low - kTolerance || whole > high + kTolerance) return std::nullopt;
  std::ranges::sort(bends);
  // Between two bends the sum is a straight line.
  double before = 0, sum_before = low, fraction = bends.empty() ? 0 : bends.back();
  for (double bend : bends) {
    const double sum = sum_at(bend, claims);
    if (sum >= whole) {
      fraction = sum > sum_before
                     ? before + (bend - before) * (whole - sum_before) / (sum - sum_before)
                     : bend;
      break;
    }
    before = bend;
    sum_before = sum;
  }
  Allocation out{.fair_fraction = fraction};
  for (const Claim& c : claims)
    out.parts.push_back(std::clamp(fraction * target_of(c), c.low, c.high));
  return out;
}

}  // namespace cardea::rest::fairness
