#pragma once
#include "base/result.h"
#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::catalog {

// The `scale` subresource: an autoscaling/v1 Scale as a view of a workload or custom resource.

// The view. It contains only the identity and the replicas of the object. A custom resource without
// a value at its path of replicas is an error.
Result<json::Value> scale_of(const json::Value& object, const Resource& resource);

// The same view for a caller that will write it: replicas that were never set are absent, so that
// scaling can set them.
json::Value scale_to_change(const json::Value& object, const Resource& resource);

// The object with the replicas of the Scale. A resourceVersion of the Scale becomes that of the
// object, so that a stale Scale is refused.
Result<json::Value> with_scale(const json::Value& object, const json::Value& scale,
                               const Resource& resource);

}  // namespace cardea::catalog
