#include "conformance/cel.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "json/parse.h"

namespace cardea::conformance {

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

std::vector<json::Value> read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  std::vector<json::Value> out;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    auto parsed = json::parse(line);
    if (!parsed) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), parsed.error().message.c_str());
      std::exit(2);
    }
    out.push_back(std::move(*parsed));
  }
  return out;
}

Counts run_cel_path(const std::string& path) {
  ErrorTexts texts;
  return run_cel_files(path, texts);
}

Counts run_cel_files(const std::string& path, ErrorTexts& texts) {
  namespace fs = std::filesystem;
  if (fs::is_directory(path)) {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.path().extension() == ".jsonl") files.push_back(entry.path().string());
    std::ranges::sort(files);
    Counts counts;
    for (const std::string& file : files) counts += run_cel_files(file, texts);
    return counts;
  }
  const std::vector<json::Value> lines = read_lines(path);
  if (lines.empty()) return {};
  const json::Value& first = lines[0];
  if (first.has("expected_residual")) return run_cel_partial(path);
  if (first.has("known")) return run_cel_unknowns(path);
  if (first.has("pattern")) return run_cel_patterns(path);
  if (first.has("in") && first.has("out")) return run_cel_printing(path);
  if (first.has("lib") && first.has("expr")) return run_cel_library(path);
  if (!first.has("expr")) return {};
  return run_cel_cases(path, texts);
}

}  // namespace cardea::conformance
