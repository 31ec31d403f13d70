#include "rest/fairness/demand.h"

#include <cmath>
#include <utility>

namespace cardea::rest::fairness {
namespace {

constexpr double kKept = 0.977;  // of the smoothed demand, each time

}  // namespace

void Demand::integrate(Time now) {
  const double seconds = std::chrono::duration<double>(now - since_).count();
  since_ = now;
  if (seconds <= 0) return;
  seconds_ += seconds;
  sum_ += seats_ * seconds;
  squares_ += seats_ * seats_ * seconds;
}

void Demand::set(double seats, Time now) {
  integrate(now);
  seats_ = seats;
  at_least(seats);
}

Demand::Figures Demand::take(Time now) {
  integrate(now);
  last_.highest = std::exchange(highest_, seats_);
  const double seconds = std::exchange(seconds_, 0), sum = std::exchange(sum_, 0),
               squares = std::exchange(squares_, 0);
  if (seconds <= 0) return last_;
  last_.average = sum / seconds;
  last_.deviation = std::sqrt(std::max(0.0, squares / seconds - last_.average * last_.average));
  const double now_needed = last_.average + last_.deviation;
  last_.smoothed = std::max(now_needed, kKept * last_.smoothed + (1 - kKept) * now_needed);
  return last_;
}

}  // namespace cardea::rest::fairness
