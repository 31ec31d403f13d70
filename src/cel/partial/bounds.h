#pragma once
#include <string>
#include <vector>

#include "cel/eval/node.h"

// Facts about an expression that are found without running it. They are sound, but not complete.
namespace cardea::cel {

struct Bounds {
  bool can_be_true = true;
  bool can_be_false = true;
  bool can_fail = true;
};
Bounds bounds_of(const Node& node);

// Whether the expression gives a bool or fails, but never gives another value.
bool surely_bool(const Node& node);

// The attributes it reads: variables with their constant fields and indexes.
std::vector<std::string> attributes_of(const Node& node);

// A condition that must hold for the expression to be true: `attribute` is one of `values`.
struct Implied {
  std::string attribute;  // request.resource
  std::vector<Value> values;
};
std::vector<Implied> implied_by(const Node& node);

}  // namespace cardea::cel
