#pragma once
#include <string_view>

#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::catalog {

// The object as `to` writes it, from how `from` does. Both are faces of one resource: autoscaling
// v1 and v2, the two groups of events, versions of a custom resource (strategy None). What the
// target cannot say is kept in annotations as Kubernetes keeps it, so that going there and back
// loses nothing.
//
// Fields without a value may be left out; writing them where the target's type always has them is
// the caller's business, as after any decoding.
json::Value convert(const json::Value& object, const Resource& from, const Resource& to);

}  // namespace cardea::catalog
