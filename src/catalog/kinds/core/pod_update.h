#pragma once
#include "catalog/strategy.h"
#include "json/field_error.h"
#include "json/value.h"

namespace cardea::catalog {

// The allowed changes of a pod, through the pod itself and through its subresources. Each function
// appends the errors that only an update can have; other functions check the rules of any pod.
void validate_pod_changes(const json::Value& pod, const json::Value& old, json::FieldErrors& out);
void validate_pod_annotation_changes(const json::Value& pod, const json::Value& old,
                                     json::FieldErrors& out);

// pods/ephemeralcontainers: everything except spec.ephemeralContainers stays. An ephemeral
// container cannot be removed or changed.
void keep_all_but_ephemeral_containers(json::Value& pod, const json::Value& old);
json::FieldErrors validate_ephemeral_container_changes(const json::Value& pod,
                                                       const json::Value& old);

// pods/resize: cpu and memory of containers, and nothing else.
void keep_all_but_resources(json::Value& pod, const json::Value& old);
json::FieldErrors validate_resize(const json::Value& pod, const json::Value& old);

// pods/status.
json::FieldErrors validate_pod_status(const json::Value& pod, const json::Value& old,
                                      const StrategyContext& context);

// Sets a condition of a pod's status; it replaces a condition of the same type. `now` becomes its
// lastTransitionTime unless its status does not change.
void set_pod_condition(json::Value& pod, json::Value condition, std::string_view now);

}  // namespace cardea::catalog
