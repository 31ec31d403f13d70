// rooms: cel
// Checks and evaluates any text within its limits, and compares evaluating at once with reducing first.
#include <cstdint>
#include <cstdlib>

#include "cel/environments.h"
#include "cel/partial.h"
#include "json/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cardea;
  using namespace cardea::cel;
  static const auto env = [] {
    Environment made = kubernetes_environment();
    made.library(Library::kBindings).library(Library::kMath);
    made.variable("object", "dyn").variable("request", "dyn");
    return std::move(made).share();
  }();
  static const json::Value object = *json::parse(R"({"spec":{"n":3,"names":["a","b"],"ok":true},"metadata":{"labels":{"app":"x"}}})");
  static const json::Value request = *json::parse(R"({"verb":"create","groups":["a","b"]})");
  CompileOptions options;
  options.check = size % 2 == 0;
  const auto program = compile({reinterpret_cast<const char*>(data), size}, env, options);
  if (!program.has_value()) return 0;
  Limits limits;
  limits.cost = 100'000;
  const Value all[] = {Value::of_json(object), Value::of_json(request)};
  const Value known[] = {Value(), all[1]};
  const Value unknown[] = {all[0], Value()};
  Evaluation at_once(limits), later(limits);
  const Value whole = at_once.run(**program, all);
  if (at_once.cost() > limits.cost && !at_once.limit_exceeded()) std::abort();
  const Residual residual = reduce(*program, known, Unknowns::variables(*env, {"object"}), limits);
  const Value rest = residual.run(later, unknown);
  if (at_once.limit_exceeded() || later.limit_exceeded() || (residual.is_value() && rest.is_error() && rest.error->fatal)) return 0;
  if (whole.is_error() != rest.is_error()) std::abort();
  if (whole.kind == Kind::kBool && (rest.kind != Kind::kBool || whole.boolean != rest.boolean)) std::abort();
  return 0;
}
