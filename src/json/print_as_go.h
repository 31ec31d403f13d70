#pragma once
#include <string>
#include <string_view>

#include "json/value.h"

namespace cardea::json {

// As `print`, with the texts as Go's encoder writes them: `<`, `>`, `&` and the line ends U+2028
// and U+2029 are escaped. For what clients read: some compare it with JSON of their own.
// `print_object` (json/print.h) does the same.
std::string print_as_go(const Value& value);
void print_as_go_to(std::string& out, const Value& value);
void print_string_as_go_to(std::string& out, std::string_view text);

}  // namespace cardea::json
