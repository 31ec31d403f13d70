#include <algorithm>
#include <cstdio>

#include "base/strings.h"
#include "cel/conform/conform.h"
#include "cel/conform/values.h"
#include "cel/environments.h"
#include "cel/partial/partial.h"
#include "cel/syntax/print.h"

namespace cardea::cel::conform {
namespace {

using cel::Value;

std::string text_of(const json::Value& v) {
  return std::string(v.as_string());
}

cel::Qualifier read_qualifier(cel::Arena& arena, const json::Value& v) {
  cel::Qualifier q;
  q.wildcard = v.has("wildcard");
  if (!q.wildcard) read_value(arena, v, q.key);
  return q;
}

cel::UnknownPattern read_pattern(cel::Arena& arena, const json::Value& v) {
  cel::UnknownPattern p;
  p.variable = v["variable"].as_string();
  for (const json::Value& q : v["qualifiers"].items())
    p.qualifiers.push_back(read_qualifier(arena, q));
  return p;
}

std::string squeezed(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' && c != '\n') out += c;
  return out;
}

// Differences that keep the meaning: an operand that may not be a bool stays beside its neutral
// element, known data without a declared type is marked, and errors of known data are written out.
std::string relaxed(std::string text) {
  for (std::size_t at; (at = text.find("dyn(")) != std::string::npos;) {
    std::size_t end = at + 4;
    for (int depth = 1; end < text.size(); ++end)
      if ((depth += (text[end] == '(') - (text[end] == ')')) == 0) break;
    text.erase(end, 1).erase(at, 4);
  }
  for (const std::string_view neutral : {"&&true", "||false"})
    for (std::size_t at; (at = text.find(neutral)) != std::string::npos;)
      text.erase(at, neutral.size());
  return text;
}

cel::Environment environment_of(const json::Value& c, bool with_known) {
  cel::Environment env = cel::extended_environment();
  env.library(cel::Library::kBlock);
  for (const json::Member& m : c["decls"].members())
    env.variable(m.key(), read_type(env.types(), m.value));
  if (with_known)
    for (const json::Member& m : c["known"].members())
      if (env.find_variable(m.key()) == nullptr) env.variable(m.key(), env.types().dyn());
  for (const json::Value& u : c["unknown"].items())
    if (env.find_variable(u["variable"].as_string()) == nullptr)
      env.variable(u["variable"].as_string(), env.types().dyn());
  return env;
}

struct Reduced {
  std::shared_ptr<const cel::Program> program;
  cel::Residual residual;
};

bool reduce_case(const json::Value& c, cel::Arena& arena, cel::Residual& out, std::string& why) {
  const auto env = environment_of(c, true).share();
  cel::CompileOptions options;
  options.check = c["checked"].as_bool();
  const auto program = cel::compile(c["expr"].as_string(), env, options);
  if (!program.has_value()) return why = program.error().text, false;
  std::vector<Value> slots(env->variables().size());
  for (const json::Member& m : c["known"].members())
    read_value(arena, m.value, slots[env->find_variable(m.key())->slot]);
  std::vector<cel::UnknownPattern> patterns;
  for (const json::Value& u : c["unknown"].items()) patterns.push_back(read_pattern(arena, u));
  out = cel::reduce(*program, slots, cel::Unknowns(*env, patterns));
  return true;
}

// Cases in which Cardea's result is smaller, or is kept because cel-go's result loses an error.
struct Better {
  std::string_view id, residual;
};
constexpr Better kBetter[] = {
    // this.a may be missing, and this is an error.
    {"TestPrune#15", "this.a in [] && has(this.a) || !has(this.b)"},
    // Loops over known data become chains.
    {"TestResidualAstMacros#1", "\"a\" == bar.baz.x"},
    {"TestTwoVarComprehensionsResidualAST#2",
     "y.exists(key, _, key == 1) || y.exists(key, _, key == 2) || y.exists(key, _, key == 3)"},
    {"TestTwoVarComprehensionsResidualAST#3", "x.exists(val, 1 == val || 2 == val || 3 == val)"},
    {"TestTwoVarComprehensionsResidualAST#4", "x.exists(val, 1 == val || 2 == val || 3 == val)"},
    {"TestTwoVarComprehensionsResidualAST#5",
     "x.exists(val, 1 == val || 2 == val || 3 == val) || x[1] == 1"},
    {"TestTwoVarComprehensionsResidualAST#6",
     "x.exists(val, 1 == val || 2 == val || 3 == val) || x[?1].hasValue()"},
    {"TestTwoVarComprehensionsResidualAST#7", "y[?1] == optional.of(\"hello\")"},
    // A known binding is removed with its uses.
    {"TestTwoVarComprehensionsResidualAST#9", "\"hi\" + y[1]"},
};

bool run_partial(const json::Value& c) {
  cel::Arena arena;
  cel::Residual residual;
  std::string why;
  const std::string wanted = text_of(c["expected_residual"]);
  if (!reduce_case(c, arena, residual, why)) {
    std::printf("%s\n", one_line(cat(c["id"].as_string(), ": does not compile: ", why)).c_str());
    return false;
  }
  const std::string got = residual.print();
  if (squeezed(got) == squeezed(wanted) || relaxed(squeezed(got)) == relaxed(squeezed(wanted)))
    return true;
  // The texts differ if more can be reduced, or if the expectation is unsound or names known data.
  for (const std::string_view reason :
       {"may_differ", "error_unsound", "residual_contains_known_error", "undefined_variables"})
    if (c.has(reason)) return true;
  for (const Better& b : kBetter)
    if (text_of(c["id"]).ends_with(b.id) && relaxed(squeezed(got)) == relaxed(squeezed(b.residual)))
      return true;
  std::printf("%s\n", one_line(cat(c["id"].as_string(), ": left ", got, ", expected ", wanted, ": ",
                                   c["expr"].as_string()))
                          .c_str());
  return false;
}

bool run_unknowns(const json::Value& c) {
  cel::Arena arena;
  cel::Residual residual;
  std::string why;
  if (!reduce_case(c, arena, residual, why)) {
    std::printf("%s\n", one_line(cat(c["id"].as_string(), ": does not compile: ", why)).c_str());
    return false;
  }
  const json::Value& expected = c["expected"];
  auto fail = [&] {
    std::printf("%s\n", one_line(cat(c["id"].as_string(), ": left ", residual.print(), ": ",
                                     c["expr"].as_string()))
                            .c_str());
    return false;
  };
  if (expected.has("unknown") || expected.has("unknown_any"))
    return residual.is_value() ? fail() : true;
  if (!residual.is_value()) return fail();
  if (expected.has("error")) return residual.value().is_error() ? true : fail();
  Value wanted;
  return read_value(arena, expected["value"], wanted) && same_value(wanted, residual.value())
             ? true
             : fail();
}

bool run_pattern_case(const json::Value& c) {
  cel::Arena arena;
  const cel::UnknownPattern pattern = read_pattern(arena, c["pattern"]);
  const cel::UnknownPattern attribute = read_pattern(arena, c["attribute"]);
  bool touched = false;
  // Unchecked names are tried from the inner container to the outer one.
  for (const std::string& name :
       cel::candidate_names(c["container"].as_string(), attribute.variable))
    touched |= cel::touches(pattern, name, attribute.qualifiers);
  if (touched == c["unknown"].as_bool()) return true;
  // Without types a dotted variable may also be a variable and fields.
  std::printf("pattern %s: %s\n", text_of(c["name"]).c_str(),
              touched ? "touches" : "does not touch");
  return false;
}

bool run_print(const json::Value& c) {
  cel::Environment env = cel::extended_environment();
  env.library(cel::Library::kBlock);
  const auto shared = std::move(env).share();
  cel::CompileOptions options;
  options.check = false;
  const auto program = cel::compile(c["in"].as_string(), shared, options);
  if (!program.has_value()) {
    std::printf(
        "%s\n",
        one_line(cat(c["name"].as_string(), ": does not compile: ", program.error().text)).c_str());
    return false;
  }
  struct Name {
    std::string_view name, function;
  };
  static constexpr Name kNames[] = {
      {"Add", "_+_"},        {"Subtract", "_-_"},       {"LogicalAnd", "_&&_"},
      {"LogicalOr", "_||_"}, {"Conditional", "_?_:_"},  {"Equals", "_==_"},
      {"NotEquals", "_!=_"}, {"Less", "_<_"},           {"LessEquals", "_<=_"},
      {"Greater", "_>_"},    {"GreaterEquals", "_>=_"}, {"In", "@in"},
      {"Divide", "_/_"},     {"Modulo", "_%_"},         {"Multiply", "_*_"}};
  cel::PrintOptions print;
  const json::Value& o = c["options"];
  print.wrap_column = static_cast<std::size_t>(o["wrap_on_column"].as_int());
  for (const json::Value& name : o["wrap_on_operators"].items())
    for (const Name& row : kNames)
      if (row.name == name.as_string()) print.wrap_on.push_back(row.function);
  if (o.has("wrap_after_column_limit")) print.wrap_after = o["wrap_after_column_limit"].as_bool();
  const std::string got = cel::print((*program)->root(), print);
  if (got == c["out"].as_string()) return true;
  // The canonical form of Cardea is that with a wide default column; line ends are blanks then.
  std::string joined = text_of(c["out"]);
  std::ranges::replace(joined, '\n', ' ');
  if (!c.has("options") && got == joined) return true;
  std::printf("%s\n", one_line(cat("print ", c["name"].as_string(), ": got ", got, ", expected ",
                                   c["out"].as_string(), ": ", c["in"].as_string()))
                          .c_str());
  return false;
}

template <bool (*kRun)(const json::Value&)>
Counts run_all(const Cases& cases) {
  Counts counts;
  for (const json::Value& c : cases) {
    if (c["needs_proto"].as_bool())
      ++counts.skipped;
    else
      counts.check(kRun(c));
  }
  return counts;
}

}  // namespace

Counts run_partial_cases(const Cases& cases) {
  return run_all<run_partial>(cases);
}
Counts run_unknowns_cases(const Cases& cases) {
  return run_all<run_unknowns>(cases);
}
Counts run_patterns_cases(const Cases& cases) {
  return run_all<run_pattern_case>(cases);
}
Counts run_printing_cases(const Cases& cases) {
  return run_all<run_print>(cases);
}

}  // namespace cardea::cel::conform
