#pragma once
#include <deque>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cel/partial/partial.h"

namespace cardea::cel {

// Whether a variable may have this name: names joined by dots.
bool is_variable_name(std::string_view name);

// Reads a pattern that says which part of a variable is unknown: `object`, `object.spec`,
// `object.items[*].name`, `object.labels["a/b"]`. The environment has the variable. `keys` owns the
// texts that the pattern points to.
Result<UnknownPattern> read_pattern(std::string_view text, const Environment& environment,
                                    std::deque<std::string>& keys);

}  // namespace cardea::cel
