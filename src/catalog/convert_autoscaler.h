#pragma once
#include "json/value.h"

namespace cardea::catalog {

// A HorizontalPodAutoscaler between its two versions, in place; apiVersion is the caller's. Version
// 1 knows one target (CPU utilization): other metrics, behavior, conditions and measured values
// live in annotations there, written as Kubernetes writes them.
void autoscaler_to_v1(json::Value& object);
void autoscaler_to_v2(json::Value& object);

}  // namespace cardea::catalog
