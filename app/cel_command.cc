#include "app/cel_command.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "base/strings.h"
#include "cel/conform/conform.h"
#include "cel/environments.h"
#include "cel/partial/pattern.h"
#include "cel/syntax/print.h"
#include "json/parse.h"

namespace cardea::app {
namespace {

struct Options {
  std::string expression;
  std::vector<std::string> bindings;  // name=JSON
  std::vector<std::pair<std::string, json::Value>> variables;
  std::vector<std::string> unknown;
  bool type = false;
  bool cost = false;
  std::uint64_t cost_limit = 1'000'000;  // what Kubernetes allows one expression
};

About about_eval() {
  return {
      "cel eval",
      "Evaluates an expression and prints its value. While something is unknown, the command "
      "prints what is left of the expression. Exits with 0, with 1 when the evaluation fails, "
      "and with 2 when the expression does not compile. After `--` an expression may begin with "
      "two dashes.",
      {"cel eval EXPRESSION [flags]"}};
}

void declare(CommandLine& line, Options& o) {
  line.word("EXPRESSION", o.expression, "in CEL, with the libraries of Kubernetes");
  line.values("--var", o.bindings, "NAME=JSON", "the value of a variable; may be repeated");
  line.values("--unknown", o.unknown, "PATTERN",
              "what has no value yet: a variable (object), or a part of one (object.spec, "
              "object.labels[\"a/b\"], object.items[*].name); may be repeated");
  line.flag("--type", o.type, "prints the type of the expression too");
  line.flag("--cost", o.cost, "prints what the evaluation cost, too");
  line.number("--cost-limit", o.cost_limit, "N", "what the evaluation may cost (default: 1000000)");
  line.takes_dashed_words();
}

About about_conform() {
  return {"cel conform",
          "Runs files of cases, one JSON document in each line, and folders of such files. Exits "
          "with 0, with 1 when a case fails, and with 2 when a file cannot be read.",
          {"cel conform PATH... [flags]"}};
}

std::string read_variable(const std::string& binding, Options& out) {
  const std::size_t equals = binding.find('=');
  if (equals == std::string::npos) return cat("`", binding, "` is not name=JSON");
  const std::string name = binding.substr(0, equals);
  if (!cel::is_variable_name(name)) return cat("`", name, "` is not the name of a variable");
  if (std::ranges::any_of(out.variables, [&](const auto& v) { return v.first == name; }))
    return cat("`", name, "` has two values");
  auto value = json::parse(std::string_view(binding).substr(equals + 1));
  if (!value) return cat("`", binding, "`: ", value.error().message);
  out.variables.emplace_back(name, std::move(*value));
  return {};
}

int show(const cel::Program& program, const cel::Value& v) {
  if (v.is_error()) {
    std::fprintf(
        stderr, "%s\n",
        program.source().format({v.error->position, std::string(v.error->message)}).c_str());
    return 1;
  }
  std::printf("%s\n", cel::print_value(v).c_str());
  return 0;
}

int eval(const Options& options, const CommandLine& line) {
  cel::Environment env = cel::kubernetes_environment();
  env.library(cel::Library::kBindings)
      .library(cel::Library::kMath)
      .library(cel::Library::kEncoders);
  for (const auto& [name, value] : options.variables) env.variable(name, "dyn");
  std::deque<std::string> keys;
  std::vector<cel::UnknownPattern> unknown;
  for (const std::string& text : options.unknown) {
    // A variable without a value is declared by being unknown.
    const std::string name = text.substr(0, text.find_first_of(".["));
    if (!env.find_variable(text) && !env.find_variable(name) && cel::is_variable_name(name))
      env.variable(name, "dyn");
    auto pattern = cel::read_pattern(text, env, keys);
    if (!pattern) return line.misuse(pattern.error().message);
    unknown.push_back(std::move(*pattern));
  }
  const auto program = cel::compile(options.expression, std::move(env).share());
  if (!program.has_value()) {
    std::fprintf(stderr, "%s\n", program.error().text.c_str());
    return 2;
  }
  if (options.type) std::printf("%s\n", cel::print_type((*program)->type()).c_str());
  const cel::Environment& shared = (*program)->environment();
  std::vector<cel::Value> slots(shared.variables().size());
  for (const auto& [name, value] : options.variables)
    slots[shared.find_variable(name)->slot] = cel::Value::of_json(value);
  cel::Limits limits;
  limits.cost = options.cost_limit;
  if (!unknown.empty()) {
    const cel::Residual residual = cel::reduce(*program, slots, cel::Unknowns(shared, unknown),
                                               limits);
    if (residual.is_value()) return show(**program, residual.value());
    std::printf("%s\n", residual.print().c_str());
    return 0;
  }
  cel::Evaluation evaluation(limits);
  const int code = show(**program, evaluation.run(**program, slots));
  if (options.cost) std::printf("cost %llu\n", static_cast<unsigned long long>(evaluation.cost()));
  return code;
}

}  // namespace

int cel_eval_command(int argc, char** argv) {
  Options options;
  CommandLine line(about_eval());
  declare(line, options);
  if (auto status = line.read(argc, argv)) return *status;
  if (options.expression.empty()) return line.misuse("an expression is missing");
  for (const std::string& binding : options.bindings)
    if (std::string problem = read_variable(binding, options); !problem.empty())
      return line.misuse(problem);
  return eval(options, line);
}

int cel_conform_command(int argc, char** argv) {
  cel::conform::Counts counts;
  cel::conform::ErrorTexts texts;
  std::vector<std::string> paths;
  CommandLine line(about_conform());
  line.words("PATH", paths, "a file of cases, or a folder");
  line.flag("--errors", texts.list,
            "lists also the errors that read otherwise than their case says; they count as passed");
  if (auto status = line.read(argc, argv)) return *status;
  if (paths.empty()) return line.misuse("a file or folder of cases is missing");
  for (const std::string& path : paths) {
    auto of_path = cel::conform::run(path, texts);
    if (!of_path) return line.misuse(of_path.error().message);
    counts += *of_path;
  }
  if (texts.list)
    std::printf("%d errors read as the cases say, %d otherwise\n", texts.same, texts.other);
  std::printf("%d passed, %d failed, %d skipped\n", counts.passed, counts.failed, counts.skipped);
  return counts.failed == 0 ? 0 : 1;
}

}  // namespace cardea::app
