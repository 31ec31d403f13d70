#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cel/eval/node.h"

namespace cardea::cel {

// A value as a CEL text that makes it again: 1u, "a", b"\141", [1, 2], timestamp("..."),
// double("NaN").
std::string print_value(const Value& v);
void print_value_to(std::string& out, const Value& v);
// As Go's strconv.Quote writes text.
std::string go_quote(std::string_view text);
std::string print_double(double d);   // as a literal: 1.0, 1e+06
std::string format_double(double d);  // as string(double) gives it: 1, 1e+06, NaN, +Inf

// An expression in canonical CEL. It is one line unless `wrap_column` is given: then a line that
// has this length ends at the next operator among `wrap_on` (by function name).
struct PrintOptions {
  std::size_t wrap_column = 0;
  bool wrap_after = true;  // the operator stays at the end of the line
  std::vector<std::string_view> wrap_on;
};
std::string print(const Node& node, const PrintOptions& options = {});

}  // namespace cardea::cel
