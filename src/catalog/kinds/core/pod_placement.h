#pragma once
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/result.h"
#include "json/value.h"

namespace cardea::catalog {

// The effect of pods/binding, the older bindings and pods/eviction on objects: the node of a pod,
// and whether a pod may be evicted. Pure functions.

// The errors of the Binding itself.
Result<void> check_binding(const json::Value& binding);

// The pod on its node, or the conflict that prevents it. The uid of the Binding becomes the pod's,
// so that the write is refused if the uid belongs to another pod.
Result<json::Value> bound_pod(const json::Value& pod, const json::Value& binding,
                              std::string_view pod_name, std::string_view now);

// Whether a pod has ended, has not started or is being deleted: no budget counts it.
bool leaves_without_budget(const json::Value& pod);

// Whether a PodDisruptionBudget applies to this pod.
bool budget_covers(const json::Value& budget, const json::Value& pod);

// The budget after one more disruption, or the reason why it allows none.
Result<json::Value> spend_budget(const json::Value& budget, std::string_view pod_name,
                                 std::string_view now);

// 429, with the reason from a budget.
Error eviction_refused(std::string why, int retry_after_seconds);

}  // namespace cardea::catalog
