#pragma once
#include <string>

#include "authz/conditions.h"
#include "base/metrics.h"

namespace cardea::authz {

// Metrics for evaluating the conditions of one authorizer: duration and failures. Looked up
// once; the registry must outlive it.
class ConditionMeter {
 public:
  ConditionMeter(MetricRegistry& registry, const std::string& name);

  void took(bool in_process, std::chrono::nanoseconds duration) {
    seconds_[in_process ? 0 : 1]->observe(duration);
  }
  void failed(Condition::Effect effect) { errors_[static_cast<std::size_t>(effect)]->add(); }

 private:
  Histogram* seconds_[2];
  Counter* errors_[3];
};

}  // namespace cardea::authz
