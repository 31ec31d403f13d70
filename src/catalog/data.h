#pragma once
#include <string_view>

namespace cardea::catalog {

// The files that generate.py wrote, as they stand in the binary, and after them, in the same form,
// what is our own: own_types.jsonl and own_resources.jsonl. Their form is described in generate.py.
std::string_view types_data();
std::string_view resources_data();

}  // namespace cardea::catalog
