#pragma once
#include <string_view>

namespace cardea::catalog {

// The files that generate.py wrote, as the binary contains them, and, in the same form, Cardea's
// own types (after the others) and resources: own_types.jsonl and own_resources.jsonl. generate.py
// describes the form.
std::string_view types_data();
std::string_view resources_data();
std::string_view own_resources_data();

}  // namespace cardea::catalog
