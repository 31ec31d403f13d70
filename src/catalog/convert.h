#pragma once
#include <string_view>

#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::catalog {

// Converts the object from the version `from` to the version `to`. Both are versions of one
// resource: autoscaling v1 and v2, the two groups of events, versions of a custom resource
// (strategy None; for strategy Webhook see catalog/conversion.h). Values that the target has no
// field for are kept in annotations, in Kubernetes' form, so that a conversion there and back loses
// nothing.
//
// Fields without a value may be left out. If the target's type always has them, the caller writes
// them, as after any decoding.
json::Value convert(const json::Value& object, const Resource& from, const Resource& to);

}  // namespace cardea::catalog
