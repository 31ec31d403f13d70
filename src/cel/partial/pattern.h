#pragma once
#include <deque>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cel/partial/partial.h"

namespace cardea::cel {

// Whether a variable may be called so: names joined by dots.
bool is_variable_name(std::string_view name);

// Reads which part of a variable is unknown, as people write it: `object`, `object.spec`,
// `object.items[*].name`, `object.labels["a/b"]`. The environment has the variable. What the
// pattern points to lives in `keys`.
Result<UnknownPattern> read_pattern(std::string_view text, const Environment& environment,
                                    std::deque<std::string>& keys);

}  // namespace cardea::cel
