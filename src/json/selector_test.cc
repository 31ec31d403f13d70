#include "json/selector.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace cardea::json
