#pragma once
#include "cel/eval/frame.h"

namespace cardea::cel {

// `list` in the order of `keys`, which must be of one comparable kind. Stable; NaN sorts first.
Value sort_with_keys(Frame& frame, const Value& list, const Value& keys);

}  // namespace cardea::cel
