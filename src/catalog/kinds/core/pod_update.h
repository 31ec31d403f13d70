#pragma once
#include "catalog/strategy.h"
#include "json/field_error.h"
#include "json/value.h"

namespace cardea::catalog {

// What may change about a pod, through the pod itself and through its subresources. Each appends
// what only an update can do wrong; the rules of any pod are checked beside.
void validate_pod_changes(const json::Value& pod, const json::Value& old, json::FieldErrors& out);
void validate_pod_annotation_changes(const json::Value& pod, const json::Value& old,
                                     json::FieldErrors& out);

// pods/ephemeralcontainers: everything but spec.ephemeralContainers stays; none may go or change.
void keep_all_but_ephemeral_containers(json::Value& pod, const json::Value& old);
json::FieldErrors validate_ephemeral_container_changes(const json::Value& pod,
                                                       const json::Value& old);

// pods/resize: cpu and memory of containers, nothing else.
void keep_all_but_resources(json::Value& pod, const json::Value& old);
json::FieldErrors validate_resize(const json::Value& pod, const json::Value& old);

// pods/status.
json::FieldErrors validate_pod_status(const json::Value& pod, const json::Value& old,
                                      const StrategyContext& context);

// Sets a condition of a pod's status, replacing one of the same type; `now` becomes its
// lastTransitionTime unless its status stays what it was.
void set_pod_condition(json::Value& pod, json::Value condition, std::string_view now);

}  // namespace cardea::catalog
