#pragma once
#include "base/result.h"
#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::catalog {

// The `scale` subresource: an autoscaling/v1 Scale as a view of a workload or custom resource.

// The view; nothing of the object but its identity and replicas is in it. A custom resource without
// a value at its replicas path is an error.
Result<json::Value> scale_of(const json::Value& object, const Resource& resource);

// The same view for who is about to write it: replicas that were never set are none yet, so that
// scaling can set them.
json::Value scale_to_change(const json::Value& object, const Resource& resource);

// The object with the replicas that the Scale asks for. The Scale's resourceVersion, where it has
// one, becomes the object's, so that a stale one is noticed.
Result<json::Value> with_scale(const json::Value& object, const json::Value& scale,
                               const Resource& resource);

}  // namespace cardea::catalog
