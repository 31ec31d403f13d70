// The expressions and data of the cel-go measurements: evaluation with cost counted, residuals,
// compilation.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "cel/environments.h"
#include "cel/partial/partial.h"
#include "json/parse.h"

// Counts what the heap is asked for; the counter `allocations` is per evaluation.
static std::uint64_t allocations = 0;
void* operator new(std::size_t size) {
  ++allocations;
  if (void* made = std::malloc(size)) return made;
  throw std::bad_alloc();
}
void operator delete(void* made) noexcept {
  std::free(made);
}
void operator delete(void* made, std::size_t) noexcept {
  std::free(made);
}

namespace {

using namespace cardea;

constexpr std::string_view kKep =
    "request.apiGroup == \"\" && request.resource == \"persistentvolumeclaims\" && request.verb == "
    "\"create\" && request.userInfo.username == \"alice\" && "
    "object.spec.storageClassName == \"dev\"";
constexpr std::string_view kGroups =
    "\"dev\" in request.userInfo.groups && request.verb in [\"create\", \"update\"] && "
    "object.metadata.labels.exists(k, k == \"owner\" && "
    "object.metadata.labels[k] == request.userInfo.username)";
constexpr std::string_view kThousand = "object.items.all(i, i > 0)";

json::Value request(std::string_view resource) {
  return *json::parse("{\"apiGroup\":\"\",\"resource\":\"" + std::string(resource) +
                      "\",\"verb\":\"create\",\"userInfo\":{\"username\":\"alice\",\"groups\":["
                      "\"system:authenticated\",\"qa\",\"dev\"]}}");
}
json::Value object() {
  json::Value v = *json::parse(
      "{\"spec\":{\"storageClassName\":\"dev\"},\"metadata\":{\"labels\":{\"app\":\"x\",\"tier\":"
      "\"y\",\"owner\":\"alice\"}}}");
  std::vector<json::Value> items;
  for (int i = 1; i <= 1000; ++i) items.emplace_back(i);
  v.set("items", json::Value::array(std::move(items)));
  return v;
}
std::shared_ptr<const cel::Environment> environment() {
  cel::Environment env;
  env.library(cel::Library::kStandard).variable("request", "dyn").variable("object", "dyn");
  return std::move(env).share();
}

void evaluate(benchmark::State& state, std::string_view text) {
  const auto program = *cel::compile(text, environment());
  const json::Value r = request("persistentvolumeclaims");
  const json::Value o = object();
  const cel::Value slots[] = {cel::Value::of_json(r), cel::Value::of_json(o)};
  cel::Limits limits;
  limits.cost = 10'000'000;
  cel::Evaluation evaluation(limits);
  const std::uint64_t before = allocations;
  for (auto _ : state) {
    const cel::Value v = evaluation.run(*program, slots);
    if (!v.is_true()) state.SkipWithError("not true");
  }
  state.counters["allocations"] = benchmark::Counter(static_cast<double>(allocations - before),
                                                     benchmark::Counter::kAvgIterations);
}
void reduce(benchmark::State& state, std::string_view text, bool applies, bool print) {
  const auto program = *cel::compile(text, environment());
  const json::Value r = request(applies ? "persistentvolumeclaims" : "pods");
  const cel::Value slots[] = {cel::Value::of_json(r), cel::Value()};
  const cel::Unknowns unknowns = cel::Unknowns::variables(program->environment(), {"object"});
  for (auto _ : state) {
    const cel::Residual residual = cel::reduce(program, slots, unknowns);
    benchmark::DoNotOptimize(residual.is_value());
    if (print) benchmark::DoNotOptimize(residual.print());
  }
}
void compile(benchmark::State& state, std::string_view text) {
  const auto env = environment();
  for (auto _ : state) benchmark::DoNotOptimize(cel::compile(text, env));
}

}  // namespace

BENCHMARK_CAPTURE(evaluate, kep, kKep);
BENCHMARK_CAPTURE(evaluate, groups, kGroups);
BENCHMARK_CAPTURE(evaluate, thousand, kThousand);
BENCHMARK_CAPTURE(reduce, kep_printed, kKep, true, true);
BENCHMARK_CAPTURE(reduce, kep, kKep, true, false);
BENCHMARK_CAPTURE(reduce, kep_not_applicable, kKep, false, false);
BENCHMARK_CAPTURE(reduce, groups_printed, kGroups, true, true);
BENCHMARK_CAPTURE(compile, kep, kKep);
BENCHMARK_CAPTURE(compile, groups, kGroups);
BENCHMARK_MAIN();
