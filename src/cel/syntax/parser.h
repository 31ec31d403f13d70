#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "cel/syntax/ast.h"

namespace cardea::cel {

// The macros that are known. If a set is off, its names are ordinary functions.
enum MacroSet : std::uint32_t {
  kStandardMacros = 1,
  kOptionalMacros = 2,  // optMap, optFlatMap, and the syntax a.?b
  kTwoVariableMacros = 4,
  kBindingMacros = 8,  // cel.bind
  kMathMacros = 16,    // math.greatest, math.least
  kListMacros = 32,    // sortBy
  kBlockMacros = 64,   // cel.block, cel.index, cel.iterVar, cel.accuVar
};

struct ParseOptions {
  std::uint32_t macros = kStandardMacros;
  std::uint32_t max_depth = 250;
  std::uint32_t max_code_points = 100'000;
  bool quoted_fields = true;
};

struct Parsed {
  std::shared_ptr<const Ast> ast;  // null when there are issues
  std::vector<Issue> issues;
  std::shared_ptr<const Source> source;
};

// Parses one expression. Any text gives either an Ast or at least one issue.
Parsed parse(std::string_view text, const ParseOptions& options);

class Parser;
// The expression that a macro makes from a call; null if the call is an ordinary one. Reports
// misuse as an issue.
struct MacroCall {
  std::string_view name;
  std::uint32_t position;
  Expr* target;
  std::vector<Expr*>& args;
};
Expr* expand_macro(Parser& parser, std::uint32_t sets, const MacroCall& call);

// The functions of the parser that macros may call.
class Parser {
 public:
  virtual ~Parser() = default;
  virtual Expr* make(Expr::Kind kind, std::uint32_t position) = 0;
  virtual void report(std::uint32_t position, std::string message) = 0;
  virtual std::span<Expr*> keep(const std::vector<Expr*>& args) = 0;
  virtual std::string_view keep(std::string_view text) = 0;
};

}  // namespace cardea::cel
