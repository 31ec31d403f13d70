#include "app/cel_command.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <deque>
#include <string>
#include <vector>

#include "base/strings.h"
#include "cel/conform/conform.h"
#include "cel/environments.h"
#include "cel/partial/partial.h"
#include "cel/syntax/print.h"
#include "json/parse.h"

namespace cardea::app {
namespace {

constexpr char kUsage
    [] = "Usage:\n"
         "  cardea cel eval EXPRESSION [--var name=JSON]... [--unknown PATTERN]... [--type] "
         "[--cost] [--cost-limit N]\n"
         "      prints its value, or what is left of it while what is unknown has no value: whole "
         "variables (object), or parts\n"
         "      of them (object.spec, object.labels[\"a/b\"], object.items[*].name). --type also "
         "its type, --cost also what\n"
         "      evaluating it cost, --cost-limit what it may cost (1000000). After -- an "
         "expression may begin with two dashes.\n"
         "      Exits with 1 for an error of evaluation, 2 when it does not compile\n"
         "  cardea cel conform [--errors] PATH...\n"
         "      runs files of cases, one JSON document per line, and folders of such files;\n"
         "      --errors also lists the errors that read otherwise than the case says. They count "
         "as passed\n";

struct Options {
  std::string expression;
  std::vector<std::pair<std::string, json::Value>> variables;
  std::vector<std::string> unknown;
  bool type = false;
  bool cost = false;
  std::uint64_t cost_limit = 1'000'000;  // what Kubernetes allows one expression
};

int misuse(const std::string& message) {
  std::fprintf(stderr, "cardea cel: %s\n%s", message.c_str(), kUsage);
  return 2;
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

// Reads the arguments of `eval`; empty when they are fine, else what is wrong.
std::string read_options(int argc, char** argv, Options& out) {
  bool flags = true;
  bool given = false;
  for (int i = 2; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool has_value = flags && (arg == "--var" || arg == "--unknown" || arg == "--cost-limit");
    if (has_value && i + 1 == argc) return cat("`", arg, "` needs a value");
    if (flags && arg == "--")
      flags = false;
    else if (flags && arg == "--type")
      out.type = true;
    else if (flags && arg == "--cost")
      out.cost = true;
    else if (flags && arg == "--unknown")
      out.unknown.emplace_back(argv[++i]);
    else if (flags && arg == "--cost-limit") {
      const std::string_view text = argv[++i];
      const auto read = std::from_chars(text.data(), text.data() + text.size(), out.cost_limit);
      if (read.ec != std::errc() || read.ptr != text.data() + text.size())
        return cat("`", text, "` is no cost");
    } else if (flags && arg == "--var") {
      if (std::string problem = read_variable(argv[++i], out); !problem.empty()) return problem;
    } else if (flags && arg.starts_with("--"))
      return cat("unknown flag `", arg, "`");
    else if (given)
      return "one expression at a time";
    else {
      out.expression = arg;
      given = true;
    }
  }
  return given ? "" : "an expression is missing";
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

int eval(const Options& options) {
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
      return misuse(problem);
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

int cel_command(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i)
    if (std::string_view(argv[i]) == "--help") return std::fputs(kUsage, stdout), 0;
  if (verb == "eval") {
    Options options;
    const std::string problem = read_options(argc, argv, options);
    return problem.empty() ? eval(options) : misuse(problem);
  }
  if (verb != "conform")
    return misuse(verb.empty() ? "a command is missing: `eval` or `conform`"
                               : "unknown command `" + verb + "`");
  cel::conform::Counts counts;
  cel::conform::ErrorTexts texts;
  std::vector<std::string> paths;
  for (int i = 2; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--errors")
      texts.list = true;
    else if (arg.starts_with("--"))
      return misuse(cat("unknown flag `", arg, "`"));
    else
      paths.push_back(arg);
  }
  if (paths.empty()) return misuse("which cases?");
  for (const std::string& path : paths) {
    auto of_path = cel::conform::run(path, texts);
    if (!of_path) {
      std::fprintf(stderr, "cardea cel: %s\n", of_path.error().message.c_str());
      return 2;
    }
    counts += *of_path;
  }
  if (texts.list)
    std::printf("%d errors read as the cases say, %d otherwise\n", texts.same, texts.other);
  std::printf("%d passed, %d failed, %d skipped\n", counts.passed, counts.failed, counts.skipped);
  return counts.failed == 0 ? 0 : 1;
}

}  // namespace cardea::app
