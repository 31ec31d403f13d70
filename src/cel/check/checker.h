#pragma once
#include <memory>
#include <vector>

#include "cel/environment.h"
#include "cel/syntax/ast.h"

namespace cardea::cel {

// What the checker learned about one expression.
struct Meaning {
  enum Kind : std::uint8_t { kPlain, kVariable, kLocal, kTypeName, kUnresolved };
  Kind kind = kPlain;
  bool namespaced = false;  // a call whose target is only a prefix of the function's name
  std::uint32_t index = 0;  // slot of a variable, number of a local, first local of a macro
  const Type* type = nullptr;
  const Function* function = nullptr;
  std::vector<const Overload*> overloads;  // those the argument types leave possible
  std::string name;                        // of the variable, type or struct, resolved
};

struct Checked {
  std::vector<Meaning> meanings;  // by expression id
  std::vector<Issue> issues;
  const Type* type = nullptr;  // of the whole
  std::uint32_t locals = 0;    // how many run at once
  std::shared_ptr<TypePool> types;
};

// Resolves names, and types when `typed`. Without types every value is dyn and only names that no
// evaluation could resolve stay unresolved; that is reported when they are evaluated.
Checked check(const Ast& ast, const Environment& environment, bool typed);

// Where literals of lists and maps hold values of different types, but for what format() prints.
// For environments that are homogeneous; asked of expressions that are well typed otherwise.
std::vector<Issue> mixed_literals(const Ast& ast, const Checked& checked);

}  // namespace cardea::cel
