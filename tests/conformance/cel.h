#pragma once
#include <string>
#include <vector>

#include "conformance/conformance.h"

// Case files of the expression language, as JSON lines. Each prints its differences.
namespace cardea::conformance {

Counts run_cel_cases(const std::string& path);     // cel-conformance, cel-random (also partial.jsonl)
Counts run_cel_library(const std::string& path);   // k8s-cel-libs
Counts run_cel_partial(const std::string& path);   // cel-partial.jsonl
Counts run_cel_unknowns(const std::string& path);  // cel-partial-unknowns.jsonl
Counts run_cel_patterns(const std::string& path);  // cel-attribute-patterns.jsonl
Counts run_cel_printing(const std::string& path);  // cel-unparse.jsonl
// Any of the above by what its lines hold; a folder runs every .jsonl file in it.
Counts run_cel_path(const std::string& path);

std::vector<json::Value> read_lines(const std::string& path);

}  // namespace cardea::conformance
