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
#include "cel/partial/partial.h"
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

bool is_name(std::string_view name) {
  auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !is_letter(name[0])) return false;
  return std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}
bool is_dotted_name(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return is_name(name);
  return is_name(name.substr(0, dot)) && is_dotted_name(name.substr(dot + 1));
}

std::string read_variable(const std::string& binding, Options& out) {
  const std::size_t equals = binding.find('=');
  if (equals == std::string::npos) return cat("`", binding, "` is not name=JSON");
  const std::string name = binding.substr(0, equals);
  if (!is_dotted_name(name)) return cat("`", name, "` is no name of a variable");
  if (std::ranges::any_of(out.variables, [&](const auto& v) { return v.first == name; }))
    return cat("`", name, "` has two values");
  auto value = json::parse(std::string_view(binding).substr(equals + 1));
  if (!value) return cat("`", binding, "`: ", value.error().message);
  out.variables.emplace_back(name, std::move(*value));
  return {};
}

// Reads `object.spec`, `object.items[*].name` or `object.labels["a/b"]`. The keys it makes live in
// `keys`.
std::string read_pattern(const std::string& text, const Options& options,
                         std::deque<std::string>& keys, cel::UnknownPattern& out) {
  const auto bad = [&] { return cat("`", text, "` is neither a variable nor a part of one"); };
  // A variable may have a dotted name.
  if (std::ranges::any_of(options.variables, [&](const auto& v) { return v.first == text; }))
    return out.variable = text, "";
  const std::size_t first = std::min(text.find_first_of(".["), text.size());
  out.variable = text.substr(0, first);
  if (!is_name(out.variable)) return bad();
  for (std::size_t at = first; at < text.size();) {
    cel::Qualifier q;
    std::size_t end = text.size();
    if (text[at] == '.') {
      end = std::min(text.find_first_of(".[", at + 1), text.size());
      const std::string field = text.substr(at + 1, end - at - 1);
      q.wildcard = field == "*";
      if (!q.wildcard && !is_name(field)) return bad();
      q.key = cel::Value::of_text(keys.emplace_back(field));
    } else if (text[at] == '[') {
      // A key in quotes may hold a bracket.
      const bool text_key = text.substr(at + 1).starts_with("\"");
      end = text_key ? text.find("\"]", at + 2) : text.find(']', at);
      if (end == std::string::npos) return bad();
      end += text_key ? 1 : 0;
      const std::string inside = text.substr(at + 1, end - at - 1);
      q.wildcard = inside == "*";
      if (!q.wildcard) {
        const auto key = json::parse(inside);
        if (!key || !(key->is_string() || key->is_bool() || key->is_int())) return bad();
        if (key->is_string())
          q.key = cel::Value::of_text(keys.emplace_back(key->as_string()));
        else
          q.key = key->is_bool() ? cel::Value::of(key->as_bool())
                                 : cel::Value::of_int(key->as_int());
      }
      ++end;
    } else {
      return bad();
    }
    out.qualifiers.push_back(q);
    at = end;
  }
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
    if (std::string problem = read_pattern(text, options, keys, unknown.emplace_back());
        !problem.empty())
      return line.misuse(problem);
    const std::string& name = unknown.back().variable;
    if (env.find_variable(name) == nullptr) env.variable(name, "dyn");
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
