#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/strings.h"
#include "cel/conform/conform.h"
#include "cel/conform/values.h"
#include "cel/environments.h"
#include "cel/eval/evaluate.h"
#include "cel/partial/partial.h"
#include "cel/syntax/print.h"
#include "cel/syntax/unicode.h"

namespace cardea::cel::conform {
namespace {

using cel::Value;

// Cases in which cel-go and Kubernetes differ from the suite: -1 for an offset behind the text, all
// milliseconds of a duration.
Value last_index_within(cel::Frame& f, const Value* a, std::size_t) {
  const std::uint64_t size = cel::code_points(a[0].string());
  if (a[2].integer < 0 || static_cast<std::uint64_t>(a[2].integer) > size)
    return f.error(cat("index out of range: ", a[2].integer));
  const std::string_view s = a[0].string();
  const std::size_t at = s.rfind(a[1].string(),
                                 cel::offset_of(s, static_cast<std::uint64_t>(a[2].integer)));
  return Value::of_int(at == s.npos ? -1
                                    : static_cast<std::int64_t>(cel::code_points(s.substr(0, at))));
}
Value milliseconds_part(cel::Frame&, const Value* a, std::size_t) {
  return Value::of_int(a[0].integer / 1'000'000 % 1000);
}

cel::Environment environment_of(const json::Value& c) {
  if (c["env"].as_string() == "k8s") return cel::kubernetes_environment();
  cel::Environment env = cel::extended_environment();
  static constexpr std::string_view kRandom[] = {"eval", "k8s", "object", "partial", "checkerr"};
  if (std::ranges::find(kRandom, c["file"].as_string()) != std::end(kRandom)) {
    env.lenient = true;
    return env;
  }
  env.library(cel::Library::kNetwork).library(cel::Library::kBlock);
  // The suite expects an error behind the end of a text, and the milliseconds within the second.
  env.function("lastIndexOf",
               cel::make_overload(env.types(), {"lastIndexOf", "string_last_index_of_string_int",
                                                "string.(string, int) int", last_index_within}));
  env.function("getMilliseconds",
               cel::make_overload(env.types(), {"getMilliseconds", "duration_to_milliseconds",
                                                "duration.() int", milliseconds_part}));
  return env;
}

void declare(cel::Environment& env, const json::Value& c) {
  env.container = c["container"].as_string();
  for (const json::Value& d : c["type_env"].items()) {
    const std::string_view name = d["name"].as_string();
    if (d.has("ident")) {
      env.variable(name, read_type(env.types(), d["ident"]));
      continue;
    }
    for (const json::Value& o : d["function"].items()) {
      cel::Overload overload;
      overload.id = o["overload_id"].as_string();
      overload.member = o["is_instance"].as_bool();
      for (const json::Value& p : o["params"].items()) {
        overload.params.push_back(read_type(env.types(), p));
        overload.kinds.push_back(cel::kinds_of(overload.params.back()));
      }
      overload.result = read_type(env.types(), o["result"]);
      env.function(name, std::move(overload));
    }
  }
  for (const json::Value& list : {c["bindings"], c["completions"][0]["bindings"]})
    for (const json::Member& m : list.members())
      if (env.find_variable(m.key()) == nullptr) env.variable(m.key(), env.types().dyn());
}

std::vector<Value> bind(const cel::Environment& env, cel::Arena& arena,
                        const json::Value& bindings) {
  std::vector<Value> slots(env.variables().size());
  for (const json::Member& m : bindings.members())
    if (const cel::Variable* v = env.find_variable(m.key()))
      read_value(arena, m.value, slots[v->slot]);
  return slots;
}

struct Reporter {
  const json::Value& c;
  ErrorTexts& texts;
  std::string line(std::string_view what) const {
    return one_line(cat(c["file"].as_string(), "/", c["section"].as_string(), "/",
                        c["name"].as_string(), ": ", what, ": ", c["expr"].as_string()));
  }
  bool fail(std::string_view what) const {
    std::printf("%s\n", line(what).c_str());
    return false;
  }
  // The error must be of the right kind. Its text is only compared for a report.
  void compare(std::string_view wanted, std::string_view got) const {
    got = got.substr(0, got.find('\n'));
    if (got.find(wanted) != std::string_view::npos) {
      ++texts.same;
      return;
    }
    ++texts.other;
    if (texts.list)
      std::printf("%s\n", line(cat("says \"", got, "\", expected \"", wanted, "\"")).c_str());
  }
};

bool matches(const Reporter& report, const json::Value& expected, const Value& result,
             cel::Arena& arena) {
  if (expected.has("error")) {
    if (result.is_error()) {
      report.compare(expected["error"].as_string(), result.error->message);
      return true;
    }
    return report.fail(cat("expected an error, got ", cel::print_value(result)));
  }
  Value wanted;
  const json::Value& text = expected.has("typed_result") ? expected["typed_result"]["result"]
                                                         : expected["value"];
  if (text.is_null()) return true;
  if (!read_value(arena, text, wanted)) return report.fail("cannot read the expected value");
  if (same_value(wanted, result)) return true;
  return report.fail(
      cat("expected ", cel::print_value(wanted), ", got ", cel::print_value(result)));
}

bool check_cost(const Reporter& report, const json::Value& c, std::string_view key,
                std::uint64_t cost) {
  if (!c.has(key)) return true;
  const std::string wanted(c[key].as_string());
  if (wanted == std::to_string(cost)) return true;
  return report.fail(cat(key, " ", cost, ", expected ", wanted));
}

// The residual must give the value of every completion, as it is, and also after printing and
// parsing.
bool check_residual(const Reporter& report, const json::Value& c,
                    std::shared_ptr<const cel::Program> program, cel::Arena& arena) {
  const cel::Environment& env = program->environment();
  std::vector<std::string> names;
  for (const json::Value& name : c["unknown"].items()) names.emplace_back(name.as_string());
  const cel::Residual residual = cel::reduce(program, bind(env, arena, c["bindings"]),
                                             cel::Unknowns::variables(env, names));
  const json::Value& partial = c["partial"];
  // An error of cel-go's partial evaluation may be an error of cel-go; the completions decide.
  if (partial.has("value") && residual.is_value() &&
      !matches(report, partial, residual.value(), arena))
    return false;
  if (partial.has("value") && !residual.is_value())
    return report.fail(cat("left ", residual.print(), ", expected a value"));
  const std::string text = residual.print();
  cel::Environment again = environment_of(c);
  declare(again, c);
  again.validate_literals = false;
  again.homogeneous = false;
  const auto reread = cel::compile(text, std::move(again).share());
  if (!reread.has_value())
    return report.fail(cat("the printed residual does not compile: ", reread.error().text));
  for (const json::Value& completion : c["completions"].items()) {
    const std::vector<Value> slots = bind(env, arena, completion["bindings"]);
    cel::Evaluation evaluation;
    const Value direct = residual.run(evaluation, slots);
    if (!matches(report, completion["expected"], direct, arena))
      return report.fail(cat("  residual ", text));
    if (direct.is_true() && !residual.can_be_true())
      return report.fail(cat("said it cannot be true: ", text));
    if (direct.is_false() && !residual.can_be_false())
      return report.fail(cat("said it cannot be false: ", text));
    if (direct.is_error() && !residual.can_fail())
      return report.fail(cat("said it cannot fail: ", text));
    cel::Evaluation second;
    if (!matches(report, completion["expected"], second.run(**reread, slots), arena))
      return report.fail(cat("  printed residual ", text));
  }
  return true;
}

bool run_case(const json::Value& c, ErrorTexts& texts) {
  const Reporter report{c, texts};
  cel::Environment made = environment_of(c);
  declare(made, c);
  const auto env = std::move(made).share();
  cel::CompileOptions options;
  options.check = !c["disable_check"].as_bool();
  const auto program = cel::compile(c["expr"].as_string(), env, options);
  if (c.has("phase")) {
    if (program.has_value())
      return report.fail(cat("compiles, expected ", c["expected"]["error"].as_string()));
    report.compare(c["expected"]["error"].as_string(), program.error().text);
    return true;
  }
  if (!program.has_value()) return report.fail(cat("does not compile: ", program.error().text));
  const json::Value& expected = c["expected"];
  if (expected["typed_result"].has("deduced_type")) {
    const std::string wanted = cel::print_type(
        read_type(env->types(), expected["typed_result"]["deduced_type"]));
    if (cel::print_type((*program)->type()) != wanted)
      return report.fail(cat("type ", cel::print_type((*program)->type()), ", expected ", wanted));
  }
  if (c["check_only"].as_bool()) return true;
  cel::Arena arena;
  if (c.has("completions")) return check_residual(report, c, *program, arena);
  const std::vector<Value> slots = bind(*env, arena, c["bindings"]);
  cel::Evaluation evaluation;
  const Value result = evaluation.run(**program, slots);
  if (!matches(report, expected, result, arena)) return false;
  if (result.is_error()) return true;
  if (!check_cost(report, c, "cost", evaluation.cost())) return false;
  if (!c.has("cost_k8s")) return true;
  cel::Environment counted = environment_of(c);
  declare(counted, c);
  counted.free_presence_tests();
  const auto same = cel::compile(c["expr"].as_string(), std::move(counted).share(), options);
  cel::Evaluation again;
  again.run(**same, slots);
  return check_cost(report, c, "cost_k8s", again.cost());
}

}  // namespace

Counts run_cases(const Cases& cases, ErrorTexts& texts) {
  Counts counts;
  for (const json::Value& c : cases) {
    if (c["needs_proto"].as_bool()) {
      ++counts.skipped;
      continue;
    }
    counts.check(run_case(c, texts));
  }
  return counts;
}

}  // namespace cardea::cel::conform
