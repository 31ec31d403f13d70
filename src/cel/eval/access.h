#pragma once
#include <string_view>

#include "cel/eval/frame.h"

// Selection and indexing on any value.
namespace cardea::cel {

// The entry of a map under a constant or computed name, or kAbsent. Knows the escapes of claims.
Value member_of(const Value& map, std::string_view key);

Value select_field(Frame& f, const Value& target, std::string_view field);
Value index_value(Frame& f, const Value& target, const Value& key);
// The value and whether it is there. Looks inside optionals; an error when the target cannot have
// fields (unless the environment is lenient).
Value find_field(Frame& f, const Value& target, std::string_view field, bool& present);
Value find_index(Frame& f, const Value& target, const Value& key, bool& present);

}  // namespace cardea::cel
