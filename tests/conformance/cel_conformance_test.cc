#include <gtest/gtest.h>

#include "conformance/conformance.h"

namespace cardea::conformance {
namespace {

void expect_no_failures(const std::string& part) {
  const std::string path = path_of(part);
  if (path.empty())
    GTEST_SKIP() << part
                 << " is not beside the repository and $CARDEA_CONFORMANCE names no folder with it";
  const Counts counts = run_cel(path);
  std::printf("%s: %d passed, %d failed, %d skipped (protobuf messages)\n", part.c_str(),
              counts.passed, counts.failed, counts.skipped);
  EXPECT_EQ(counts.failed, 0);
}

TEST(CelConformance, TheSuiteOfTheLanguagePasses) {
  expect_no_failures("cel-conformance");
}
TEST(CelConformance, KubernetesLibrariesPass) {
  expect_no_failures("k8s-cel-libs");
}
TEST(CelConformance, RandomExpressionsAgreeWithCelGoInValueAndCost) {
  expect_no_failures("cel-random");
}
TEST(CelConformance, ResidualsAreThoseOfCelGoOrBetter) {
  expect_no_failures("cel-partial.jsonl");
}
TEST(CelConformance, UnknownsAreFoundWhereCelGoFindsThem) {
  expect_no_failures("cel-partial-unknowns.jsonl");
}
TEST(CelConformance, AttributePatternsTouchWhatTheyShould) {
  expect_no_failures("cel-attribute-patterns.jsonl");
}
TEST(CelConformance, PrintingIsCanonical) {
  expect_no_failures("cel-unparse.jsonl");
}

}  // namespace
}  // namespace cardea::conformance
