// A program that runs case files given as arguments, for use while working on the engine.
#include <cstdio>

#include "conformance/cel.h"

int main(int argc, char** argv) {
  cardea::conformance::Counts counts;
  for (int i = 1; i < argc; ++i) counts += cardea::conformance::run_cel_path(argv[i]);
  std::printf("%d passed, %d failed, %d skipped\n", counts.passed, counts.failed, counts.skipped);
  return counts.failed == 0 ? 0 : 1;
}
