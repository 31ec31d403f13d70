#include "cel/conform/conform.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "json/parse.h"

namespace cardea::cel::conform {
namespace {

Result<Cases> read_cases(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail(bad_request(cat("cannot read ", path)));
  Cases out;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    auto parsed = json::parse(line);
    if (!parsed) return fail(bad_request(cat(path, ": ", parsed.error().message)));
    out.push_back(std::move(*parsed));
  }
  return out;
}

Result<Counts> run_folder(const std::string& path, ErrorTexts& texts) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path().string());
  std::ranges::sort(files);
  Counts counts;
  for (const std::string& file : files) {
    auto of_file = run(file, texts);
    if (!of_file) return of_file;
    counts += *of_file;
  }
  return counts;
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

Result<Counts> run(const std::string& path, ErrorTexts& texts) {
  if (std::filesystem::is_directory(path)) return run_folder(path, texts);
  const auto cases = read_cases(path);
  if (!cases) return fail(cases.error());
  if (cases->empty()) return Counts{};
  const json::Value& first = cases->front();
  if (first.has("expected_residual")) return run_partial_cases(*cases);
  if (first.has("known")) return run_unknowns_cases(*cases);
  if (first.has("pattern")) return run_patterns_cases(*cases);
  if (first.has("in") && first.has("out")) return run_printing_cases(*cases);
  if (first.has("lib") && first.has("expr")) return run_library_cases(*cases);
  if (!first.has("expr")) return Counts{};
  return run_cases(*cases, texts);
}

}  // namespace cardea::cel::conform
