#include "authz/condition_line.h"

#include <gtest/gtest.h>

#include "authz/conditions.h"

namespace cardea::authz {
namespace {

using Effect = Condition::Effect;

Condition in_cel(Effect effect, std::string text, std::string description = "") {
  return {.effect = effect,
          .id = "example.com/c",
          .type = std::string(kCelType),
          .text = std::move(text),
          .description = std::move(description)};
}

Decision on(std::vector<Condition> conditions) {
  return conditional_on({.conditions = std::move(conditions)}, Author::kOwnChecked);
}

TEST(ConditionLine, SaysWhatWouldHappenInTheOrderOfTheEvaluation) {
  Condition second = in_cel(Effect::kAllow, "object.b");
  second.id = "example.com/d";
  Condition denial = in_cel(Effect::kDeny, "object.c", "never c");
  denial.id = "example.com/e";
  EXPECT_EQ(condition_line(on({in_cel(Effect::kAllow, "object.a", "only a"), second, denial})),
            "denied if object.c (never c); allowed if object.a (only a), or if object.b");
  EXPECT_EQ(condition_line(on({in_cel(Effect::kAllow, "object.a", "only a")}), false),
            "allowed if object.a");
  EXPECT_EQ(condition_line(fold({{"one", on({in_cel(Effect::kDeny, "object.a")})},
                                 {"two", Decision::allow("why")}})),
            "denied if object.a; otherwise allowed");
}

TEST(ConditionLine, IsOneLineOfBoundedLength) {
  EXPECT_EQ(condition_line(on({in_cel(Effect::kAllow, "a &&\n\tb", "x\r\ny")})),
            "allowed if a &&  b (x  y)");
  const std::string long_text = "object.a == '" + std::string(3000, 'x') + "'";
  EXPECT_EQ(condition_line(on({in_cel(Effect::kAllow, long_text, "short")})),
            "allowed if condition \"example.com/c\" holds (short)");
  const std::string cut = condition_line(on({in_cel(Effect::kAllow, long_text)}));
  EXPECT_EQ(cut.size(), kLongestLine + 4);
  EXPECT_TRUE(cut.ends_with("xxx ..."));
  // No half of a character.
  std::string wide = "'";
  while (wide.size() < 2 * kLongestLine) wide += "\xc3\xa9";
  EXPECT_TRUE(condition_line(on({in_cel(Effect::kAllow, wide)})).ends_with("\xc3\xa9 ..."));
}

TEST(ConditionLine, DoesNotShowWhatOnlyItsAuthorCanRead) {
  Condition opaque{.effect = Effect::kAllow, .id = "x.com/c", .type = "x.com/own", .text = "bytes"};
  EXPECT_EQ(condition_line(on({opaque})), "allowed if condition \"x.com/c\" holds");
  EXPECT_EQ(condition_line(Decision::allow("x")), "");
  EXPECT_EQ(condition_line(Decision::no_opinion("x")), "");
}

}  // namespace
}  // namespace cardea::authz
