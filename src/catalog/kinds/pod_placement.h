#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/result.h"
#include "json/value.h"

namespace cardea::catalog {

// pods/binding and the older bindings: a scheduler says where a pod runs. Pure functions.

// What is wrong with the Binding itself. Kubernetes answers 500 with these words; we answer 422.
std::optional<Error> check_binding(const json::Value& binding, std::string_view pod_name);

// The pod as bound, or the conflict that keeps it from being so. The uid and resourceVersion of the Binding's
// metadata are preconditions for the caller to check.
Result<json::Value> bind_pod(json::Value pod, const json::Value& binding, std::string_view now);

// pods/eviction: whether a budget lets this pod go.
struct EvictionVerdict {
  std::optional<Error> refusal;
  json::Value budget;  // the PodDisruptionBudget to store before the pod is deleted; null for none
  bool pin_resource_version = false;  // delete only this very version of the pod
};

// `budgets`: the PodDisruptionBudgets (policy/v1) of the pod's namespace.
EvictionVerdict judge_eviction(const json::Value& pod, std::span<const json::Value> budgets,
                               std::string_view now);

// The pod with the condition that tells why it goes, to store before it is deleted.
json::Value mark_evicted(json::Value pod, std::string_view now);

}  // namespace cardea::catalog
