#pragma once
#include <memory>
#include <vector>

#include "cel/environment.h"
#include "cel/syntax/ast.h"

namespace cardea::cel {

// The results of the checker for one expression.
struct Meaning {
  enum Kind : std::uint8_t { kPlain, kVariable, kLocal, kTypeName, kUnresolved };
  Kind kind = kPlain;
  bool namespaced = false;  // a call whose target is only a prefix of the function's name
  std::uint32_t index = 0;  // slot of a variable, number of a local, first local of a macro
  const Type* type = nullptr;
  const Function* function = nullptr;
  std::vector<const Overload*> overloads;  // those that the types of the arguments leave possible
  std::string name;                        // of the variable, type or struct, resolved
};

struct Checked {
  std::vector<Meaning> meanings;  // by expression id
  std::vector<Issue> issues;
  const Type* type = nullptr;  // of the whole
  std::uint32_t locals = 0;    // how many exist at the same time
  std::shared_ptr<TypePool> types;
};

// Resolves names, and also types if `typed`. Without types every value is dyn, and only a name that
// no evaluation can resolve stays unresolved; it is reported when it is evaluated.
Checked check(const Ast& ast, const Environment& environment, bool typed);

// The places where literals of lists and maps have values of different types, except in arguments
// of format(). For homogeneous environments; called for expressions that are otherwise well typed.
std::vector<Issue> mixed_literals(const Ast& ast, const Checked& checked);

}  // namespace cardea::cel
