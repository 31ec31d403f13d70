#pragma once
#include "json/parse.h"

namespace cardea::json {

// How deep a stored object may be. More than a request can make: a body may be kMaxDepth deep, JSON
// inside Protobuf some levels more, and managedFields repeat the paths of an object below metadata.
inline constexpr int kMaxStoredDepth = 2 * kMaxDepth;

}  // namespace cardea::json
