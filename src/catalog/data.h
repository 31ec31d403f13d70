#pragma once
#include <string_view>

namespace cardea::catalog {

// The files that generate.py wrote, as they stand in the binary. Their form is described there.
std::string_view types_data();
std::string_view resources_data();

}  // namespace cardea::catalog
