#pragma once
#include <string_view>

namespace cardea::catalog::openapi {

// One sentence about a field that every object has; "" for other fields. `owner` is the type of the
// object with the field.
std::string_view describe_field(std::string_view owner, std::string_view field);
// One sentence about a built-in kind; "" if the name explains it.
std::string_view describe_kind(std::string_view group, std::string_view kind);

}  // namespace cardea::catalog::openapi
