#include "schema/custom/object_rules.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "schema/custom/check_rules.h"
#include "schema/custom/check_schema.h"

namespace cardea::schema {
namespace {

json::Value parsed(std::string_view text) {
  return *json::parse(text);
}

std::vector<std::string> broken(std::string_view schema, std::string_view value,
                                std::string_view old = "",
                                std::vector<std::string>* warnings = nullptr) {
  const ObjectRules rules(parsed(schema), true);
  const json::Value now = parsed(value);
  const json::Value before = old.empty() ? json::Value() : parsed(old);
  ObjectRules::Outcome outcome = rules.check(now, old.empty() ? nullptr : &before, true);
  std::vector<std::string> out;
  for (const json::FieldError& e : outcome.errors) out.push_back(e.message());
  if (warnings) *warnings = outcome.warnings;
  return out;
}

constexpr std::string_view
    kPart = R"({"type":"object","properties":{"spec":{"type":"object","properties":{
  "n":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 0",
    "message":"must be positive"}]},
  "once":{"type":"string","x-kubernetes-validations":[{"rule":"self == oldSelf"}]},
  "items":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
    "items":{"type":"object","properties":{"k":{"type":"string"},
      "v":{"type":"integer","x-kubernetes-validations":[{"rule":"self >= oldSelf"}]}}}}}}}})";

TEST(ObjectRules, SayWhichPartBreaksWhichRule) {
  EXPECT_EQ(broken(kPart, R"({"spec":{"n":-1}})"),
            std::vector<std::string>{"spec.n: Invalid value: -1: must be positive"});
}

TEST(ObjectRules, LetAnUnchangedPartGoOnBreakingARuleWithAWarning) {
  std::vector<std::string> warnings;
  EXPECT_TRUE(
      broken(kPart, R"({"spec":{"n":-1,"once":"a"}})", R"({"spec":{"n":-1}})", &warnings).empty());
  EXPECT_EQ(warnings, std::vector<std::string>{"spec.n: Invalid value: -1: must be positive"});
}

TEST(ObjectRules, RunTransitionRulesOnlyWhereThereWasAValue) {
  EXPECT_TRUE(broken(kPart, R"({"spec":{"once":"a"}})").empty());
  EXPECT_EQ(
      broken(kPart, R"({"spec":{"once":"b"}})", R"({"spec":{"once":"a"}})"),
      std::vector<std::string>{R"(spec.once: Invalid value: "b": failed rule: self == oldSelf)"});
}

TEST(ObjectRules, FindTheOldItemOfAListByItsKeys) {
  EXPECT_EQ(
      broken(kPart, R"({"spec":{"items":[{"k":"b","v":1},{"k":"a","v":1}]}})",
             R"({"spec":{"items":[{"k":"a","v":5},{"k":"b","v":1}]}})"),
      std::vector<std::string>{"spec.items[1].v: Invalid value: 1: failed rule: self >= oldSelf"});
}

TEST(ObjectRules, StopWhenTheBudgetIsSpent) {
  const ObjectRules rules(parsed(R"({"type":"object","x-kubernetes-validations":[{"rule":"true"},)"
                                 R"({"rule":"self.kind != ''"},{"rule":"self.kind != ''"}]})"),
                          true);
  const ObjectRules::Outcome outcome = rules.check(parsed(R"({"kind":"X"})"), nullptr, false, "",
                                                   3);
  ASSERT_EQ(outcome.errors.size(), 1u);
  EXPECT_EQ(outcome.errors[0].message(),
            "<nil>: Invalid value: \"object\": validation failed due to running out of cost "
            "budget, no further validation rules will be run");
  EXPECT_LT(outcome.budget, 0);
}

std::vector<std::string> complaints(std::string_view schema) {
  RuleChecker rules(false);
  std::vector<std::string> out;
  for (const json::FieldError& e : check_open_api(parsed(schema), "s", &rules))
    out.push_back(e.message());
  return out;
}

TEST(RuleChecker, RefusesOldSelfInListsWhoseItemsCannotBeToldApart) {
  EXPECT_EQ(complaints(R"({"type":"object","properties":{"l":{"type":"array","maxItems":3,)"
                       R"("items":{"type":"integer","x-kubernetes-validations":[)"
                       R"({"rule":"self == oldSelf"}]}}}})"),
            std::vector<std::string>{
                R"(s.properties[l].items.x-kubernetes-validations[0].rule: Invalid value: )"
                R"("self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of )"
                R"(the schema within s.properties[l])"});
}

TEST(RuleChecker, RefusesRulesThatCouldCostTooMuch) {
  const auto found = complaints(R"json({"type":"object","properties":{"l":{"type":"array",)json"
                                R"json("items":{"type":"string","x-kubernetes-validations":[)json"
                                R"json({"rule":"self.contains('x')"}]}}}})json");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(
      found[0].starts_with("s.properties[l].items.x-kubernetes-validations[0].rule: Forbidden: "
                           "estimated rule cost exceeds budget by factor of more than 100x"));
}

}  // namespace
}  // namespace cardea::schema
