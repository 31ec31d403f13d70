#pragma once
#include <string_view>

#include "cel/eval/frame.h"

// Selection and indexing on any value.
namespace cardea::cel {

// The entry of a map with a constant or computed name, or kAbsent. Resolves the escapes of claims.
Value member_of(const Value& map, std::string_view key);

Value select_field(Frame& f, const Value& target, std::string_view field);
Value index_value(Frame& f, const Value& target, const Value& key);
// The value and whether it is present. Looks inside optionals. An error if the target cannot have
// fields (unless the environment is lenient).
Value find_field(Frame& f, const Value& target, std::string_view field, bool& present);
Value find_index(Frame& f, const Value& target, const Value& key, bool& present);

}  // namespace cardea::cel
