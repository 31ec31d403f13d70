#include "app/cel_command.h"

#include <cstdio>
#include <string>
#include <vector>

#include "cel/environments.h"
#include "cel/partial.h"
#include "cel/print.h"
#include "conformance/cel.h"
#include "json/parse.h"

namespace cardea::app {
namespace {

constexpr char kUsage[] =
    "Usage:\n"
    "  cardea cel eval EXPRESSION [--var name=JSON]... [--unknown name]... [--type] [--cost]\n"
    "      prints its value, or what is left of it while the variables named unknown have no value;\n"
    "      --type also its type, --cost also what evaluating it cost. Exits with 1 for an error of evaluation, 2 when it does not compile\n"
    "  cardea cel conform PATH...\n"
    "      runs files of cases, one JSON document per line, and folders of such files\n";

struct Options {
  std::string expression;
  std::vector<std::pair<std::string, json::Value>> variables;
  std::vector<std::string> unknown;
  bool type = false;
  bool cost = false;
};

int misuse(const std::string& message) {
  std::fprintf(stderr, "cardea cel: %s\n%s", message.c_str(), kUsage);
  return 2;
}

// Reads the arguments of `eval`; empty when they are fine, else what is wrong.
std::string read_options(int argc, char** argv, Options& out) {
  for (int i = 2; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--type") out.type = true;
    else if (arg == "--cost") out.cost = true;
    else if ((arg == "--var" || arg == "--unknown") && i + 1 == argc) return "`" + arg + "` needs a value";
    else if (arg == "--unknown") out.unknown.emplace_back(argv[++i]);
    else if (arg == "--var") {
      const std::string binding = argv[++i];
      const std::size_t equals = binding.find('=');
      if (equals == std::string::npos) return "`" + binding + "` is not name=JSON";
      auto value = json::parse(std::string_view(binding).substr(equals + 1));
      if (!value) return "`" + binding + "`: " + value.error().message;
      out.variables.emplace_back(binding.substr(0, equals), std::move(*value));
    } else if (arg.starts_with("--")) return "unknown flag `" + arg + "`";
    else if (out.expression.empty()) out.expression = arg;
    else return "one expression at a time";
  }
  return out.expression.empty() ? "an expression is missing" : "";
}

int show(const cel::Program& program, const cel::Value& v) {
  if (v.is_error()) {
    std::fprintf(stderr, "%s\n", program.source().format({v.error->position, std::string(v.error->message)}).c_str());
    return 1;
  }
  std::printf("%s\n", cel::print_value(v).c_str());
  return 0;
}

int eval(const Options& options) {
  cel::Environment env = cel::kubernetes_environment();
  env.library(cel::Library::kBindings).library(cel::Library::kMath).library(cel::Library::kEncoders);
  for (const auto& [name, value] : options.variables) env.variable(name, "dyn");
  for (const std::string& name : options.unknown) env.variable(name, "dyn");
  const auto program = cel::compile(options.expression, std::move(env).share());
  if (!program.has_value()) {
    std::fprintf(stderr, "%s\n", program.error().text.c_str());
    return 2;
  }
  if (options.type) std::printf("%s\n", cel::print_type((*program)->type()).c_str());
  const cel::Environment& shared = (*program)->environment();
  std::vector<cel::Value> slots(shared.variables().size());
  for (const auto& [name, value] : options.variables) slots[shared.find_variable(name)->slot] = cel::Value::of_json(value);
  if (!options.unknown.empty()) {
    const cel::Residual residual = cel::reduce(*program, slots, cel::Unknowns::variables(shared, options.unknown));
    if (residual.is_value()) return show(**program, residual.value());
    std::printf("%s\n", residual.print().c_str());
    return 0;
  }
  cel::Evaluation evaluation;
  const int code = show(**program, evaluation.run(**program, slots));
  if (options.cost) std::printf("cost %llu\n", static_cast<unsigned long long>(evaluation.cost()));
  return code;
}

}  // namespace

int cel_command(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--help") return std::fputs(kUsage, stdout), 0;
  if (verb == "eval") {
    Options options;
    const std::string problem = read_options(argc, argv, options);
    return problem.empty() ? eval(options) : misuse(problem);
  }
  if (verb != "conform" || argc < 3) return misuse(verb.empty() ? "what shall it do?" : "unknown command `" + verb + "`");
  conformance::Counts counts;
  for (int i = 2; i < argc; ++i) counts += conformance::run_cel_path(argv[i]);
  std::printf("%d passed, %d failed, %d skipped\n", counts.passed, counts.failed, counts.skipped);
  return counts.failed == 0 ? 0 : 1;
}

}  // namespace cardea::app
