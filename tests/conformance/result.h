#pragma once
#include <string>

namespace cardea::conformance {

// How a data-driven run went. Differences are printed to standard output as they are found.
struct ConformanceResult {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
};

}  // namespace cardea::conformance
