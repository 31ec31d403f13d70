#pragma once
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/result.h"
#include "json/value.h"

namespace cardea::catalog {

// Where a pod runs and whether it may be made to leave: what pods/binding, the older bindings and
// pods/eviction make of objects. Pure functions.

// What is wrong with a Binding itself.
Result<void> check_binding(const json::Value& binding);

// The pod as bound, or the conflict that keeps it from being so. The uid of the Binding becomes the
// pod's, so that the write refuses when it is another pod's.
Result<json::Value> bound_pod(const json::Value& pod, const json::Value& binding,
                              std::string_view pod_name, std::string_view now);

// Whether a pod has ended, has not begun or is going already: no budget counts it.
bool leaves_without_budget(const json::Value& pod);

// Whether a PodDisruptionBudget is about this pod.
bool budget_covers(const json::Value& budget, const json::Value& pod);

// The budget after one more disruption, or why there cannot be one.
Result<json::Value> spend_budget(const json::Value& budget, std::string_view pod_name,
                                 std::string_view now);

// 429, with the reason that a budget gives.
Error eviction_refused(std::string why, int retry_after_seconds);

}  // namespace cardea::catalog
