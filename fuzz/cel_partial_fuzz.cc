// rooms: cel
// Reducing first and filling in the rest gives what evaluating at once gives, also when what is
// left was printed and read.
#include <cstdint>
#include <cstdlib>

#include "cel/environments.h"
#include "cel/partial/partial.h"
#include "json/parse.h"

using namespace cardea;
using namespace cardea::cel;

// Both fail, or both are the same bool; other values are compared by the property test.
static void expect_same(const Value& whole, const Value& rest) {
  if (whole.is_error() != rest.is_error()) std::abort();
  if (whole.kind == Kind::kBool && (rest.kind != Kind::kBool || whole.boolean != rest.boolean))
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto env = [] {
    Environment made = kubernetes_environment();
    made.library(Library::kBindings).library(Library::kMath);
    made.homogeneous = made.validate_literals = false;
    made.variable("object", "dyn").variable("request", "dyn");
    return std::move(made).share();
  }();
  static const json::Value object = *json::parse(
      R"({"spec":{"n":3,"names":["a","b"],"ok":true},"metadata":{"labels":{"app":"x"}}})");
  static const json::Value request = *json::parse(R"({"verb":"create","groups":["a","b"]})");
  CompileOptions options;
  options.check = false;
  const auto program = compile({reinterpret_cast<const char*>(data), size}, env, options);
  if (!program.has_value()) return 0;
  Limits limits;
  limits.cost = 100'000;
  const Value all[] = {Value::of_json(object), Value::of_json(request)};
  const Value known[] = {Value(), all[1]};
  const Value unknown[] = {all[0], Value()};
  Evaluation at_once(limits), later(limits), reread(limits);
  const Value whole = at_once.run(**program, all);
  const Residual residual = reduce(*program, known, Unknowns::variables(*env, {"object"}), limits);
  const bool stopped = residual.is_value() && residual.value().is_error() &&
                       residual.value().error->fatal;
  if (at_once.limit_exceeded() || stopped) return 0;
  const Value rest = residual.run(later, unknown);
  if (later.limit_exceeded()) return 0;
  expect_same(whole, rest);
  const auto again = compile(residual.print(), env, options);
  if (!again.has_value()) {
    // What is written out may nest deeper, or be longer, than the limits of reading allow.
    if (again.error().text.find("limit") == std::string::npos &&
        again.error().text.find("size") == std::string::npos)
      std::abort();
    return 0;
  }
  const Value read = reread.run(**again, unknown);
  if (!reread.limit_exceeded()) expect_same(whole, read);
  return 0;
}
