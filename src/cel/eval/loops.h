#pragma once
#include "cel/eval/evaluate.h"

namespace cardea::cel {

// all, exists, exists_one, map, filter, the transforms and sortBy.
Value run_loop(const Node& node, Frame& frame);

}  // namespace cardea::cel
