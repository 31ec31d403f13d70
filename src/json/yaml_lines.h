#pragma once
#include <cstddef>
#include <string_view>

namespace cardea::json {

// The line, counted from 1, of the field that `path` names in a YAML or JSON text:
// "jwt[0].issuer.url". Where the field is absent, the line of the nearest one above it that is
// there. 0 when the text cannot be read.
std::size_t yaml_line_of(std::string_view text, std::string_view path);

}  // namespace cardea::json
