#pragma once
#include "base/result.h"
#include "base/task.h"
#include "rest/call.h"

namespace cardea::rest {

// A request for a part of an object: status, scale, binding, eviction, approval... call.subresource is set.
Task<Result<Answer>> serve_subresource(Call& call);

}  // namespace cardea::rest
