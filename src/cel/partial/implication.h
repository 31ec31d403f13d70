#pragma once
#include <span>
#include <string>

#include "cel/eval/node.h"

namespace cardea::cel {

// An attribute with a value that is known from elsewhere: `request.verb` is "create".
struct KnownAttribute {
  std::string name;
  Value value;
};

// Whether it is certain that an expression (`then`, or one of several) is true whenever another
// (`if_true`) is true, for all values of the variables. An expression that fails is not true. Both
// are compiled in the same environment, with the same variables.
//
// Sound, not complete: it opens `&&`, `||`, `!` and `?:`, and knows what equality, `in`, order and
// prefixes say about one term (cel/partial/facts.h). Work is bounded: cases beyond a limit count as
// not known.
bool implies(const Node* if_true, const Node* then);
bool implies(const Node* if_true, std::span<const Node* const> any_of,
             std::span<const KnownAttribute> known);

}  // namespace cardea::cel
