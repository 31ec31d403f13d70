#include "base/quantity.h"

#include <gtest/gtest.h>

namespace cardea {
namespace {

std::string printed(std::string_view text) {
  auto q = Quantity::parse(text);
  return q ? q->print() : q.error().message;
}

Quantity of(std::string_view text) {
  return Quantity::parse(text).value();
}

TEST(Quantity, PrintsTheCanonicalFormThatKubernetesPrints) {
  constexpr std::pair<const char*, const char*> kCases[] = {
      {"0", "0"},          {"0Mi", "0"},
      {"-0", "0"},         {"1000m", "1"},
      {"0.5", "500m"},     {"1.5", "1500m"},
      {"1.5Gi", "1536Mi"}, {"0.5Mi", "512Ki"},
      {"8Mi", "8Mi"},      {"1024Mi", "1Gi"},
      {"1000", "1k"},      {"1000k", "1M"},
      {"12e6", "12e6"},    {"1e20", "100e18"},
      {"1e-3", "1e-3"},    {"1023", "1023"},
      {"1024Ki", "1Mi"},   {"1.1Ki", "1126400m"},
      {"-5", "-5"},        {".5", "500m"},
      {"100E", "100E"},    {"4611686018427387904", "4611686018427387904"},
  };
  for (auto [text, expected] : kCases) EXPECT_EQ(printed(text), expected) << text;
}

TEST(Quantity, KeepsTextThatKubernetesDoesNotRecompute) {
  for (const char* text : {"+5", "007", "1.500", "1025Mi", "100m", "1E3"})
    EXPECT_EQ(printed(text), text);
}

TEST(Quantity, RoundsWhatIsFinerThanNanoAwayFromZero) {
  EXPECT_EQ(printed("1.5e-10"), "1e-9");
  EXPECT_EQ(printed("0.0000000001"), "1n");
  EXPECT_EQ(printed("-0.0000000011"), "-2n");
}

TEST(Quantity, CapsBinaryAmountsAt63Bits) {
  EXPECT_EQ(printed("16Ei"), "9223372036854775807");
  EXPECT_EQ(printed("-16Ei"), "-9223372036854775807");
}

TEST(Quantity, RefusesWhatIsNoQuantity) {
  const std::string format =
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  for (const char* text : {"", "abc", "1.2.3", "1x", " 1", "+", "1e3x"})
    EXPECT_EQ(printed(text), format) << text;
  for (const char* text : {"1K", "1e", "1mm", "1e99999999999"})
    EXPECT_EQ(printed(text), "unable to parse quantity's suffix") << text;
}

TEST(Quantity, ComparesAmountsNotText) {
  EXPECT_EQ(of("1000m"), of("1"));
  EXPECT_EQ(of("1Ki"), of("1024"));
  EXPECT_LT(of("999m"), of("1"));
  EXPECT_LT(of("-2"), of("-1"));
  EXPECT_LT(of("-1"), of("0"));
  EXPECT_GT(of("1e30"), of("8Ei"));
}

TEST(Quantity, AddsAndSubtractsExactly) {
  EXPECT_EQ((of("1") + of("500m")).print(), "1500m");
  EXPECT_EQ((of("1Gi") + of("1Gi")).print(), "2Gi");
  EXPECT_EQ((of("0") + of("1Gi")).print(), "1Gi");
  EXPECT_EQ((of("1") - of("1")).print(), "0");
  EXPECT_EQ((of("1") - of("3")).print(), "-2");
  EXPECT_EQ((of("0.1") + of("0.2")), of("0.3"));
  EXPECT_EQ((of("100k") - of("1n")).print(), "99999999999999n");
}

TEST(Quantity, GivesIntegersRoundedAwayFromZero) {
  EXPECT_EQ(of("1500m").value(), 2);
  EXPECT_EQ(of("-1500m").value(), -2);
  EXPECT_EQ(of("0").value(), 0);
  EXPECT_EQ(of("1u").milli_value(), 1);
  EXPECT_EQ(of("2").milli_value(), 2000);
  EXPECT_EQ(of("1e30").value(), INT64_MAX);
  EXPECT_EQ(of("0").as_int64(), 0);
  EXPECT_EQ(of("10Ki").as_int64(), 10240);
  EXPECT_FALSE(of("1500m").as_int64());
  EXPECT_DOUBLE_EQ(of("1500m").as_double(), 1.5);
  EXPECT_EQ(Quantity(2048, Quantity::Format::kBinarySi).print(), "2Ki");
}

}  // namespace
}  // namespace cardea
