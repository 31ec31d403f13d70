#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "cel/eval/opaque.h"

namespace cardea::cel {

// A URL as Go reads an absolute request URI; `why` in Go's words. Views point into `text` or
// `arena`.
std::optional<Url> parse_url(Arena& arena, std::string_view text, std::string& why);

}  // namespace cardea::cel
