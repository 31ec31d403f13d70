#pragma once
#include <string_view>

namespace cardea::catalog::openapi {

// What a field that every object has means, in one sentence; "" for others. `owner` is the type it
// is in.
std::string_view describe_field(std::string_view owner, std::string_view field);
// What a built-in kind is, in one sentence; "" where its name says it all.
std::string_view describe_kind(std::string_view group, std::string_view kind);

}  // namespace cardea::catalog::openapi
