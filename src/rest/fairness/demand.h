#pragma once
#include "rest/fairness/work.h"

namespace cardea::rest::fairness {

// How many seats a level could use, integrated over time.
class Demand {
 public:
  struct Figures {
    double highest = 0, average = 0, deviation = 0;
    double smoothed = 0;  // follows a rise at once and a fall with a half-life of five minutes
  };

  explicit Demand(Time now) : since_(now) {}

  void set(double seats, Time now);
  void at_least(double seats) { highest_ = std::max(highest_, seats); }
  // What it was since the last call.
  Figures take(Time now);
  const Figures& last() const { return last_; }

 private:
  void integrate(Time now);

  Time since_;
  double seats_ = 0, highest_ = 0;
  double seconds_ = 0, sum_ = 0, squares_ = 0;
  Figures last_;
};

}  // namespace cardea::rest::fairness
