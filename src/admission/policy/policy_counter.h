#pragma once
#include "admission/outside.h"
#include "base/metrics.h"

namespace cardea::admission {

// The number of policies that were evaluated for requests. Policies about other resources are
// not evaluated.
inline Counter* evaluation_counter(const Outside* outside, const std::string& type) {
  if (!outside) return nullptr;
  return &outside->metrics.counter(
      {"cardea_admission_policy_evaluations_total",
       "Admission policies evaluated, once for each binding and parameter object."},
      {{"type", type}});
}

}  // namespace cardea::admission
