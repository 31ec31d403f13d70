#pragma once
#include <string>
#include <string_view>

#include "json/value.h"

namespace cardea::json {

// Compact JSON with sorted keys: equal values print alike. Numbers as Go prints them.
std::string print(const Value& value);
void print_to(std::string& out, const Value& value);
void print_string_to(std::string& out, std::string_view text);

// The same with `kind`, `apiVersion` and `metadata` first, as people expect to read an object.
std::string print_object(const Value& object);

// The type of a value as the messages of Go's JSON decoder name it: bool, number, string, array,
// object or null.
std::string_view go_kind(const Value& value);

}  // namespace cardea::json
