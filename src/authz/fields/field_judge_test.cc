#include "authz/fields/field_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace cardea::authz::fields {
namespace {

using ::testing::ElementsAre;

TEST(FieldJudge, NeverAsksForMoreThanAHundredVerbs) {
  schema::Demands demands;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    demands.verbs.push_back(cat("granular:label(", i, ")"));
    demands.fields.push_back({.field = {"f:metadata", "f:labels", cat("f:", i)}, .chain = {i}});
  }
  Answers answers;
  FieldJudge judge(demands, Marker::kGranular, answers);
  std::size_t asked = 0;
  while (judge.next()) {
    judge.answer(true);
    ++asked;
  }
  EXPECT_EQ(asked, kMostVerbs);
  ASSERT_TRUE(judge.refusal());
  EXPECT_EQ(judge.refusal()->why, FieldRefusal::Why::kTooMany);
  EXPECT_EQ(judge.refusal()->field, "metadata.labels.100");
}

TEST(FieldJudge, AsksNothingTwiceWhenAWriteIsTriedAgain) {
  schema::Demands demands{{"granular:metadata", "granular:labels"},
                          {{.field = {"f:metadata", "f:labels"}, .chain = {0, 1}}}};
  Answers answers;
  for (int tries = 0; tries < 2; ++tries) {
    FieldJudge judge(demands, Marker::kGranular, answers);
    int asked = 0;
    while (const std::string* verb = judge.next()) {
      judge.answer(*verb == "granular:labels");
      ++asked;
    }
    EXPECT_EQ(asked, tries == 0 ? 2 : 0);
    EXPECT_FALSE(judge.refusal());
  }
}

TEST(FieldJudge, WhatConditionsSaidOfOtherObjectsDoesNotCount) {
  Answers answers;
  answers.add("granular:label(app)", true, Answers::Holds::kForTheseObjects);
  answers.add("granular:label(tier)", true);
  answers.forget_objects();
  EXPECT_EQ(answers.find("granular:label(app)"), std::nullopt);
  EXPECT_EQ(answers.find("granular:label(tier)"), true);
  answers.add("granular:label(app)", false, Answers::Holds::kForTheseObjects);
  EXPECT_EQ(answers.find("granular:label(app)"), false);
}

TEST(FieldJudge, WhatIsExcludedInsideAnAtomDoesNotCoverTheRestOfIt) {
  schema::Demands demands{{"granular:specification", "granular:secret"},
                          {{.field = {"f:spec"}, .chain = {0}, .inside = {1}}}};
  for (bool has_specification : {false, true}) {
    Answers answers;
    FieldJudge judge(demands, Marker::kGranular, answers);
    while (const std::string* verb = judge.next())
      judge.answer(*verb == "granular:secret" || has_specification);
    EXPECT_EQ(!judge.refusal(), has_specification);
  }
}

TEST(FieldJudge, NobodyHasAPermissionOfWhichNoVerbCanBeMade) {
  schema::Demands demands{{"granular:metadata"},
                          {{.field = {"f:a"}, .chain = {0}, .unnamed = "granular:label(<key>)"}}};
  for (Marker marker : {Marker::kRegular, Marker::kGranular}) {
    Answers answers;
    FieldJudge judge(demands, marker, answers);
    while (judge.next()) judge.answer(true);
    ASSERT_TRUE(judge.refusal());
    EXPECT_EQ(judge.refusal()->why, FieldRefusal::Why::kUnnamed);
  }
}

TEST(FieldJudge, AFieldThatNothingGuardsIsForHoldersOfTheVerbAlone) {
  schema::Demands demands{{}, {{.field = {"f:data", "f:k"}}}};
  Answers answers;
  FieldJudge regular(demands, Marker::kRegular, answers),
      granular(demands, Marker::kGranular, answers);
  EXPECT_EQ(regular.next(), nullptr);
  EXPECT_FALSE(regular.refusal());
  EXPECT_EQ(granular.next(), nullptr);
  ASSERT_TRUE(granular.refusal());
  EXPECT_EQ(granular.refusal()->field, "data.k");
  EXPECT_EQ(granular.refusal()->verb, "");
}

}  // namespace
}  // namespace cardea::authz::fields
