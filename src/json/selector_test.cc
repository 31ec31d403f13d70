#include "json/selector.h"

#include <gtest/gtest.h>

#include "json/label_matcher.h"

namespace cardea::json {
namespace {

bool matches(std::string_view selector, const Value& labels) {
  auto s = LabelSelector::parse(selector);
  EXPECT_TRUE(s) << s.error().message;
  return s && s->matches(labels);
}

std::string label_error(std::string_view text) {
  auto s = LabelSelector::parse(text);
  return s ? "no error" : s.error().message;
}

TEST(LabelSelector, MatchesEveryOperator) {
  Value labels = Value::object({{"env", "prod"}, {"n", "5"}, {"empty", ""}});
  for (auto yes :
       {"", "env=prod", "env==prod", "env!=test", "env in (prod,test)", "env notin (a)", "env",
        "!gone", "n>4", "n<6", "gone!=x", "gone notin (x)", "empty=", "env = prod , n"})
    EXPECT_TRUE(matches(yes, labels)) << yes;
  for (auto no : {"env=test", "env!=prod", "env in ()", "env notin (prod)", "gone", "!env", "n>5",
                  "n<5", "gone=", "env>1"})
    EXPECT_FALSE(matches(no, labels)) << no;
}

TEST(LabelSelector, SaysWhatItDoesNotUnderstand) {
  EXPECT_EQ(label_error("env in prod"), "unable to parse requirement: found 'prod' expected: '('");
  EXPECT_EQ(label_error("env=a=b"), "found '=', expected: ',' or 'end of string'");
  EXPECT_EQ(label_error("env in (a"),
            "unable to parse requirement: found '', expected: ',' or ')'");
  EXPECT_EQ(label_error("a=b c"), "found 'c', expected: ',' or 'end of string'");
  EXPECT_EQ(label_error("a,"), "found '', expected: identifier after ','");
  EXPECT_NE(label_error("-bad=x").find("Invalid value: \"-bad\": name part must consist"),
            std::string::npos);
}

TEST(FieldSelector, ReadsEqualityAndItsNegation) {
  auto s = FieldSelector::parse("metadata.name=a,spec.x!=b,y==c\\,d");
  ASSERT_TRUE(s);
  ASSERT_EQ(s->terms().size(), 3u);
  EXPECT_EQ(s->exact("metadata.name"), "a");
  EXPECT_FALSE(s->terms()[1].equal);
  EXPECT_EQ(s->terms()[2].value, "c,d");
}

TEST(FieldSelector, RefusesOtherOperators) {
  auto s = FieldSelector::parse("spec.nodeName>1");
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().message,
            "invalid selector: 'spec.nodeName>1'; can't understand 'spec.nodeName>1'");
}

TEST(LabelSelector, TakesAllRequirementsOnOneKeyTogether) {
  Value labels = Value::object({{"env", "prod"}, {"n", "5"}});
  for (auto yes : {"env in (a,prod),env in (prod,b)", "env!=a,env!=b,env notin (c,d)",
                   "n>1,n>4,n<9", "env,env=prod,!x,!y,!z,x!=1,y notin (2)"})
    EXPECT_TRUE(matches(yes, labels)) << yes;
  for (auto no : {"env in (a,prod),env in (a,b)", "env=prod,env=test", "env!=a,env!=prod",
                  "env,!env", "n>1,n>5", "n<9,n<5", "!x,!y,!z,w"})
    EXPECT_FALSE(matches(no, labels)) << no;
}

// 40,000 requirements on each of 40,000 objects: one by one this would take minutes.
TEST(LabelMatcher, CostsTheSmallerOfLabelsAndRequirements) {
  std::string text = "env=prod";
  for (int i = 0; i < 20'000; ++i) {
    text += ",!k" + std::to_string(i);
    text += ",env!=v" + std::to_string(i);
  }
  auto selector = LabelSelector::parse(text);
  ASSERT_TRUE(selector);
  const LabelMatcher matcher(*selector);
  const Value labels = Value::object({{"env", "prod"}, {"tier", "front"}});
  for (int i = 0; i < 40'000; ++i) ASSERT_TRUE(matcher.matches(labels));
  EXPECT_FALSE(matcher.matches(Value::object({{"env", "prod"}, {"k19999", ""}})));
  EXPECT_FALSE(matcher.matches(Value()));
}

}  // namespace
}  // namespace cardea::json
