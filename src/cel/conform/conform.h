#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

// Runs case files of the expression language, one JSON document per line, and prints the
// differences. Used by `cardea cel conform` and by the tests.
namespace cardea::cel::conform {

// The results. Differences are printed when they are found.
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

// How the texts of expected errors are compared. A case passes if there is an error in the right
// phase: the texts of the suite come from several engines, and some texts of Cardea differ on
// purpose.
struct ErrorTexts {
  bool list = false;  // print each that differs
  int same = 0;
  int other = 0;
};

// A file of cases, whose kind follows from the content of its lines; or a folder: every .jsonl file
// in it. An error names the file that cannot be read.
Result<Counts> run(const std::string& path, ErrorTexts& texts);

// The kinds of cases.
using Cases = std::vector<json::Value>;
Counts run_cases(const Cases& cases, ErrorTexts& texts);  // cel-conformance, cel-random
                                                          // (also partial.jsonl)
Counts run_library_cases(const Cases& cases);             // k8s-cel-libs
Counts run_partial_cases(const Cases& cases);             // cel-partial.jsonl
Counts run_unknowns_cases(const Cases& cases);            // cel-partial-unknowns.jsonl
Counts run_patterns_cases(const Cases& cases);            // cel-attribute-patterns.jsonl
Counts run_printing_cases(const Cases& cases);            // cel-unparse.jsonl

// Line ends become \n: a failure is one line.
std::string one_line(std::string_view text);

}  // namespace cardea::cel::conform
