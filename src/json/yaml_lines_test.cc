#include "json/yaml_lines.h"

#include <gtest/gtest.h>

namespace cardea::json {
namespace {

constexpr std::string_view kText = R"(# a comment
apiVersion: v1
jwt:
- issuer:
    url: https://a
  rules:
  - {claim: x}
- issuer: {url: https://b}
)";

TEST(YamlLines, AreThoseOfTheField) {
  EXPECT_EQ(yaml_line_of(kText, "apiVersion"), 2u);
  EXPECT_EQ(yaml_line_of(kText, "jwt"), 3u);
  EXPECT_EQ(yaml_line_of(kText, "jwt[0].issuer.url"), 5u);
  EXPECT_EQ(yaml_line_of(kText, "jwt[0].rules[0].claim"), 7u);
  EXPECT_EQ(yaml_line_of(kText, "jwt[1].issuer.url"), 8u);
  EXPECT_EQ(yaml_line_of("{\"a\":\n {\"b\": 1}}", "a.b"), 2u);
}

TEST(YamlLines, AreThoseOfTheFieldAboveOneThatIsAbsent) {
  EXPECT_EQ(yaml_line_of(kText, "jwt[0].issuer.audiences"), 4u);
  EXPECT_EQ(yaml_line_of(kText, "jwt[7].issuer"), 3u);
  EXPECT_EQ(yaml_line_of(kText, "jwt[x]"), 3u);
}

TEST(YamlLines, AreUnknownInATextThatCannotBeRead) {
  EXPECT_EQ(yaml_line_of("a: [", "a"), 0u);
  EXPECT_EQ(yaml_line_of("", "a"), 0u);
  EXPECT_EQ(yaml_line_of(kText, ""), 0u);
}

}  // namespace
}  // namespace cardea::json
