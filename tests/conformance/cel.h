#pragma once
#include <string>
#include <vector>

#include "conformance/conformance.h"

// Case files of the expression language, as JSON lines. Each prints its differences.
namespace cardea::conformance {

// How the texts of expected errors compare. A case passes when there is an error in the right
// phase: the texts of the suite are those of several engines, and some of ours differ on purpose.
struct ErrorTexts {
  bool list = false;  // print each that reads otherwise
  int same = 0;
  int other = 0;
};

Counts run_cel_cases(const std::string& path, ErrorTexts& texts);  // cel-conformance, cel-random
                                                                   // (also partial.jsonl)
Counts run_cel_library(const std::string& path);                   // k8s-cel-libs
Counts run_cel_partial(const std::string& path);                   // cel-partial.jsonl
Counts run_cel_unknowns(const std::string& path);                  // cel-partial-unknowns.jsonl
Counts run_cel_patterns(const std::string& path);                  // cel-attribute-patterns.jsonl
Counts run_cel_printing(const std::string& path);                  // cel-unparse.jsonl
// Any of the above by what its lines hold; a folder runs every .jsonl file in it.
Counts run_cel_files(const std::string& path, ErrorTexts& texts);
Counts run_cel_path(const std::string& path);

std::vector<json::Value> read_lines(const std::string& path);
// Line ends as \n: a failure is one line.
std::string one_line(std::string_view text);

}  // namespace cardea::conformance
