// rooms: cel
// Evaluates any text within its limits of cost and memory, checked or not.
#include <cstdint>
#include <cstdlib>

#include "cel/environments.h"
#include "cel/eval/evaluate.h"
#include "json/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cardea;
  using namespace cardea::cel;
  static const auto env = [] {
    Environment made = kubernetes_environment();
    made.library(Library::kBindings).library(Library::kMath).library(Library::kEncoders);
    made.variable("object", "dyn").variable("request", "dyn");
    return std::move(made).share();
  }();
  static const json::Value object = *json::parse(
      R"({"spec":{"n":3,"names":["a","b"],"ok":true},"metadata":{"labels":{"app":"x"}}})");
  static const json::Value request = *json::parse(R"({"verb":"create","groups":["a","b"]})");
  CompileOptions options;
  options.check = size % 2 == 0;
  const auto program = compile({reinterpret_cast<const char*>(data), size}, env, options);
  if (!program.has_value()) return 0;
  Limits limits;
  limits.cost = 100'000;
  const Value all[] = {Value::of_json(object), Value::of_json(request)};
  Evaluation evaluation(limits);
  const Value v = evaluation.run(**program, all);
  if (evaluation.cost() > limits.cost && !evaluation.limit_exceeded()) std::abort();
  if (evaluation.limit_exceeded() && !v.is_error()) std::abort();
  // Twice the limit leaves room for what the last step made before it was noticed.
  if (evaluation.arena().used() > 2 * limits.memory) std::abort();
  return 0;
}
