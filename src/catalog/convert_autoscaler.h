#pragma once
#include "json/value.h"

namespace cardea::catalog {

// Converts a HorizontalPodAutoscaler between its two versions, in place. The caller sets
// apiVersion. Version 1 has one target only (CPU utilization): it keeps other metrics, behavior,
// conditions and measured values in annotations, in Kubernetes' form.
void autoscaler_to_v1(json::Value& object);
void autoscaler_to_v2(json::Value& object);

}  // namespace cardea::catalog
