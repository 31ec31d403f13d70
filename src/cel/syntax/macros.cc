#include <algorithm>

#include "base/strings.h"
#include "cel/syntax/parser.h"

namespace cardea::cel {
namespace {

using Expander = Expr* (*)(Parser&, const MacroCall&);

std::string_view variable_name(Parser& p, const Expr* arg) {
  if (arg->kind == Expr::Kind::kIdent && !arg->absolute) {
    if (arg->name == "@result" || arg->name == "__result__") {
      p.report(arg->position, "iteration variable overwrites accumulator variable");
      return {};
    }
    return arg->name;
  }
  p.report(arg->position, "argument is not an identifier");
  return {};
}

Expr* loop(Parser& p, const MacroCall& c, Macro macro, int variables) {
  Expr* e = p.make(Expr::Kind::kMacro, c.position);
  e->macro = macro;
  e->name = c.name;
  e->target = c.target;
  e->var1 = variable_name(p, c.args[0]);
  if (variables == 2) {
    e->var2 = variable_name(p, c.args[1]);
    if (!e->var1.empty() && e->var1 == e->var2)
      p.report(c.args[1]->position, cat("duplicate variable name: ", e->var1));
  }
  e->args = p.keep(std::vector<Expr*>(c.args.begin() + variables, c.args.end()));
  return e;
}

template <Macro kMacro, int kVariables>
Expr* expand_loop(Parser& p, const MacroCall& c) {
  return loop(p, c, kMacro, kVariables);
}

Expr* expand_has(Parser& p, const MacroCall& c) {
  Expr* arg = c.args[0];
  if (arg->kind == Expr::Kind::kSelect && !arg->has && !arg->optional) {
    Expr* e = p.make(Expr::Kind::kSelect, c.position);
    e->target = arg->target;
    e->name = arg->name;
    e->has = true;
    return e;
  }
  p.report(arg->position, "invalid argument to has() macro");
  return arg;
}

bool is_namespace(const MacroCall& c, std::string_view name) {
  return c.target != nullptr && c.target->kind == Expr::Kind::kIdent && c.target->name == name;
}

Expr* expand_bind(Parser& p, const MacroCall& c) {
  if (!is_namespace(c, "cel")) return nullptr;
  if (c.args[0]->kind != Expr::Kind::kIdent) {
    p.report(c.args[0]->position, "cel.bind() variable names must be simple identifiers");
    return c.args[0];
  }
  Expr* e = p.make(Expr::Kind::kMacro, c.position);
  e->macro = Macro::kBind;
  e->name = c.name;
  e->var1 = c.args[0]->name;
  e->target = c.args[1];
  e->args = p.keep({c.args[2]});
  return e;
}

Expr* expand_optional(Parser& p, const MacroCall& c) {
  if (c.args[0]->kind != Expr::Kind::kIdent) {
    p.report(c.args[0]->position, cat(c.name, "() variable name must be a simple identifier"));
    return c.args[0];
  }
  return loop(p, c, c.name == "optMap" ? Macro::kOptMap : Macro::kOptFlatMap, 1);
}

bool is_numeric_argument(const Expr* e) {
  if (e->kind == Expr::Kind::kLiteral) return is_number(e->literal);
  return e->kind != Expr::Kind::kList && e->kind != Expr::Kind::kMap &&
         e->kind != Expr::Kind::kStruct;
}

Expr* expand_extremum(Parser& p, const MacroCall& c) {
  if (!is_namespace(c, "math")) return nullptr;
  const bool greatest = c.name == "greatest";
  if (c.args.empty()) {
    p.report(c.position, cat("math.", c.name, "() requires at least one argument"));
    return c.target;
  }
  Expr* e = p.make(Expr::Kind::kCall, c.position);
  e->name = greatest ? "math.@max" : "math.@min";
  if (c.args.size() == 1 && c.args[0]->kind == Expr::Kind::kList) {
    const bool numbers = !c.args[0]->args.empty() &&
                         std::ranges::all_of(c.args[0]->args, is_numeric_argument);
    if (!numbers)
      p.report(c.args[0]->position, cat("math.", c.name, "() invalid single argument value"));
    e->args = p.keep(c.args);
    return e;
  }
  for (const Expr* arg : c.args)
    if (!is_numeric_argument(arg)) {
      p.report(arg->position,
               c.args.size() == 1
                   ? cat("math.", c.name, "() invalid single argument value")
                   : cat("math.", c.name, "() simple literal arguments must be numeric"));
      break;
    }
  if (c.args.size() <= 2) {
    e->args = p.keep(c.args);
    return e;
  }
  Expr* list = p.make(Expr::Kind::kList, c.position);
  list->args = p.keep(c.args);
  e->args = p.keep({list});
  return e;
}

Expr* expand_sort_by(Parser& p, const MacroCall& c) {
  using K = Expr::Kind;
  const K kind = c.target->kind;
  if (kind != K::kList && kind != K::kSelect && kind != K::kIdent && kind != K::kMacro &&
      kind != K::kCall) {
    p.report(c.target->position,
             "sortBy can only be applied to a list, identifier, comprehension, call or select "
             "expression");
    return c.target;
  }
  return loop(p, c, Macro::kSortBy, 1);
}

Expr* expand_block(Parser& p, const MacroCall& c) {
  if (!is_namespace(c, "cel")) return nullptr;
  if (c.args[0]->kind != Expr::Kind::kList) {
    p.report(c.args[0]->position, "cel.block requires the first argument to be a list literal");
    return c.args[0];
  }
  Expr* e = p.make(Expr::Kind::kMacro, c.position);
  e->macro = Macro::kBlock;
  e->name = c.name;
  e->target = c.args[0];
  e->args = p.keep({c.args[1]});
  return e;
}

// cel.index(1) names the second expression of the enclosing cel.block; cel.iterVar and cel.accuVar
// name variables.
Expr* expand_block_name(Parser& p, const MacroCall& c) {
  if (!is_namespace(c, "cel")) return nullptr;
  std::string name = c.name == "index" ? "@index" : c.name == "iterVar" ? "@it" : "@ac";
  for (const Expr* arg : c.args) {
    if (arg->kind != Expr::Kind::kLiteral || arg->literal.kind != Kind::kInt ||
        arg->literal.integer < 0) {
      p.report(arg->position,
               cat("cel.", c.name, " requires a single non-negative int constant arg"));
      return c.target;
    }
    name += cat(c.name == "index" ? "" : ":", arg->literal.integer);
  }
  Expr* e = p.make(Expr::Kind::kIdent, c.position);
  e->name = p.keep(name);
  return e;
}

struct Row {
  std::string_view name;
  bool receiver;
  int arguments;  // -1: any number
  std::uint32_t set;
  Expander expand;
};

constexpr Row kMacros[] = {
    {"has", false, 1, kStandardMacros, expand_has},
    {"all", true, 2, kStandardMacros, expand_loop<Macro::kAll, 1>},
    {"exists", true, 2, kStandardMacros, expand_loop<Macro::kExists, 1>},
    {"exists_one", true, 2, kStandardMacros, expand_loop<Macro::kExistsOne, 1>},
    {"existsOne", true, 2, kStandardMacros, expand_loop<Macro::kExistsOne, 1>},
    {"map", true, 2, kStandardMacros, expand_loop<Macro::kMap, 1>},
    {"map", true, 3, kStandardMacros, expand_loop<Macro::kMap, 1>},
    {"filter", true, 2, kStandardMacros, expand_loop<Macro::kFilter, 1>},
    {"all", true, 3, kTwoVariableMacros, expand_loop<Macro::kAll, 2>},
    {"exists", true, 3, kTwoVariableMacros, expand_loop<Macro::kExists, 2>},
    {"exists_one", true, 3, kTwoVariableMacros, expand_loop<Macro::kExistsOne, 2>},
    {"existsOne", true, 3, kTwoVariableMacros, expand_loop<Macro::kExistsOne, 2>},
    {"transformList", true, 3, kTwoVariableMacros, expand_loop<Macro::kTransformList, 2>},
    {"transformList", true, 4, kTwoVariableMacros, expand_loop<Macro::kTransformList, 2>},
    {"transformMap", true, 3, kTwoVariableMacros, expand_loop<Macro::kTransformMap, 2>},
    {"transformMap", true, 4, kTwoVariableMacros, expand_loop<Macro::kTransformMap, 2>},
    {"transformMapEntry", true, 3, kTwoVariableMacros, expand_loop<Macro::kTransformMapEntry, 2>},
    {"transformMapEntry", true, 4, kTwoVariableMacros, expand_loop<Macro::kTransformMapEntry, 2>},
    {"optMap", true, 2, kOptionalMacros, expand_optional},
    {"optFlatMap", true, 2, kOptionalMacros, expand_optional},
    {"bind", true, 3, kBindingMacros, expand_bind},
    {"greatest", true, -1, kMathMacros, expand_extremum},
    {"least", true, -1, kMathMacros, expand_extremum},
    {"sortBy", true, 2, kListMacros, expand_sort_by},
    {"block", true, 2, kBlockMacros, expand_block},
    {"index", true, 1, kBlockMacros, expand_block_name},
    {"iterVar", true, 2, kBlockMacros, expand_block_name},
    {"accuVar", true, 2, kBlockMacros, expand_block_name},
};

}  // namespace

Expr* expand_macro(Parser& parser, std::uint32_t sets, const MacroCall& call) {
  for (const Row& row : kMacros) {
    if (row.name != call.name || row.receiver != (call.target != nullptr) || (sets & row.set) == 0)
      continue;
    if (row.arguments >= 0 && row.arguments != static_cast<int>(call.args.size())) continue;
    if (Expr* made = row.expand(parser, call)) return made;
  }
  return nullptr;
}

}  // namespace cardea::cel
