#pragma once
#include <string>
#include <string_view>

namespace cardea::catalog {

// JSON text with one member or item per line, indented by one space, as Kubernetes prints values it
// compares.
std::string indent_json(std::string_view compact);

// The lines in which two texts differ, with three lines around them: `@@ -6,7 +6,7 @@`, then lines
// that begin with a space, - or +. Empty when they are equal.
std::string unified_diff(std::string_view before, std::string_view after);

}  // namespace cardea::catalog
