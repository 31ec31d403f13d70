#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

// Runs case files of the expression language, one JSON document per line, and prints what differs.
// `cardea cel conform` and the tests run them.
namespace cardea::cel::conform {

// What was seen. Differences are printed as they are found.
struct Counts {
  int passed = 0;
  int failed = 0;
  int skipped = 0;

  Counts& operator+=(const Counts& o) {
    passed += o.passed;
    failed += o.failed;
    skipped += o.skipped;
    return *this;
  }
  void check(bool ok) { ok ? ++passed : ++failed; }
};

// How the texts of expected errors compare. A case passes when there is an error in the right
// phase: the texts of the suite are those of several engines, and some of ours differ on purpose.
struct ErrorTexts {
  bool list = false;  // print each that reads otherwise
  int same = 0;
  int other = 0;
};

// A file of cases, which are told apart by what their lines hold; or a folder: every .jsonl file in
// it. An error says which file cannot be read.
Result<Counts> run(const std::string& path, ErrorTexts& texts);

// The kinds of cases that there are.
using Cases = std::vector<json::Value>;
Counts run_cases(const Cases& cases, ErrorTexts& texts);  // cel-conformance, cel-random
                                                          // (also partial.jsonl)
Counts run_library_cases(const Cases& cases);             // k8s-cel-libs
Counts run_partial_cases(const Cases& cases);             // cel-partial.jsonl
Counts run_unknowns_cases(const Cases& cases);            // cel-partial-unknowns.jsonl
Counts run_patterns_cases(const Cases& cases);            // cel-attribute-patterns.jsonl
Counts run_printing_cases(const Cases& cases);            // cel-unparse.jsonl

// Line ends as \n: a failure is one line.
std::string one_line(std::string_view text);

}  // namespace cardea::cel::conform
