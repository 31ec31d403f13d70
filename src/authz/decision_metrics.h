#pragma once
#include <vector>

#include "base/metrics.h"

namespace cardea::authz {

// The families that count decisions by verb: those about requests, and those about impersonation.
inline const MetricFamily kDecisionsByVerb = {
    "apiserver_authorization_decisions_total_by_verb",
    "Decisions of the whole chain, by the verb that was asked about."};
inline const MetricFamily kDecisionDurations = {
    "apiserver_authorization_decisions_duration_seconds",
    "How long decisions of the whole chain took, by the verb that was asked about."};
inline std::vector<double> decision_duration_bounds() {
  return exponential_bounds(0.000001, 4, 12);
}

}  // namespace cardea::authz
