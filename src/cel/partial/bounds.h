#pragma once
#include <string>
#include <vector>

#include "cel/eval/node.h"

// What can be said of an expression without running it. Sound, never complete.
namespace cardea::cel {

struct Bounds {
  bool can_be_true = true;
  bool can_be_false = true;
  bool can_fail = true;
};
Bounds bounds_of(const Node& node);

// Whether it gives a bool or fails, and never another value.
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
