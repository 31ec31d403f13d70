#include "authz/access/delegation.h"

#include <gtest/gtest.h>

#include "authz/access/access_authorizer.h"
#include "base/strings.h"
#include "json/parse.h"

namespace cardea::authz::access {
namespace {

using rbac::PolicyRule;

class Delegation : public ::testing::Test {
 protected:
  static PolicyPtr policy(std::string_view spec, std::string_view space = "",
                          std::string_view name = "p") {
    auto read = json::parse(cat(R"({"effect":"Allow",)", spec, "}"));
    EXPECT_TRUE(read.has_value()) << spec;
    auto out = std::make_shared<const Policy>(space, name, json::Value::object({{"spec", *read}}));
    EXPECT_EQ(out->problem(), "") << spec;
    return out;
  }
  void holds(std::string_view spec, std::string_view space = "") {
    index_.add(policy(spec, space, cat("held", index_.size())));
  }
  static std::string rules(std::string_view verbs = R"("create","update")",
                           std::string_view more = "") {
    return cat(R"("rules":[{"verbs":[)", verbs, R"(],"apiGroups":[""],"resources":["volumes"])",
               more, "}]");
  }
  // Whether alice may give what a policy with this expression gives.
  bool may_give(std::string_view expression, std::string_view space = "",
                std::string_view what = "") {
    const PolicyPtr given = policy(cat(what.empty() ? rules(R"("create")") : std::string(what),
                                       R"(,"expression":")", expression, "\""),
                                   space);
    const ConditionalHoldings held(index_, alice_, space);
    const auto granted = given->granted();
    return !granted.empty() && std::ranges::all_of(granted, [&](const PolicyRule& rule) {
      return held.hold(rule, *given);
    });
  }

  User alice_{.name = "alice", .groups = {"ops"}};
  Index index_;
};

TEST_F(Delegation, TheSameConditionOrAStrongerOneCanBeGiven) {
  holds(cat(rules(), R"(,"expression":"object.spec.class == 'dev'")"));
  EXPECT_TRUE(may_give("object.spec.class == 'dev'"));
  EXPECT_TRUE(may_give("object.spec.class == 'dev' && object.spec.size < 5"));
  EXPECT_TRUE(may_give("request.userInfo.username == 'bob' && object.spec.class == 'dev'"));
  EXPECT_FALSE(may_give("object.spec.class in ['dev', 'prod']"));
  EXPECT_FALSE(may_give("object.spec.class == 'dev' || request.userInfo.username == 'bob'"));
  EXPECT_FALSE(may_give("true"));
  EXPECT_FALSE(may_give("object.spec.class == 'dev'", "", rules(R"("create","delete")")));
  EXPECT_FALSE(may_give("object.spec.class == 'dev'", "",
                        R"("rules":[{"verbs":["create"],"apiGroups":[""],"resources":["*"]}])"));
}

TEST_F(Delegation, APolicyWithoutAConditionGivesMore) {
  holds(cat(rules(), R"(,"expression":"object.spec.class == 'dev'")"));
  const PolicyPtr all = policy(rules(R"("create")"));
  EXPECT_FALSE(ConditionalHoldings(index_, alice_, "").hold(all->granted()[0], *all));
}

TEST_F(Delegation, SeveralPoliciesCountTogether) {
  holds(cat(rules(), R"(,"expression":"object.spec.class == 'dev'")"));
  holds(cat(rules(), R"(,"expression":"object.spec.class == 'test' && object.spec.size <= 10")"));
  EXPECT_TRUE(may_give("object.spec.class in ['dev', 'test'] && object.spec.size < 10"));
  EXPECT_FALSE(may_give("object.spec.class in ['dev', 'test']"));
}

TEST_F(Delegation, WhatTheRulesSayCountsAsKnown) {
  holds(cat(R"("expression":"request.verb in ['create', 'update'] && request.apiGroup == '' && )",
            R"(request.resource == 'volumes' && request.subresource == '' && )",
            R"(object.spec.class == 'dev'")"));
  EXPECT_TRUE(may_give("object.spec.class == 'dev'"));
  EXPECT_FALSE(may_give("object.spec.class == 'dev'", "", rules(R"("delete")")));
  EXPECT_FALSE(may_give("object.spec.class == 'dev'", "", rules(R"("*")")));
}

TEST_F(Delegation, ConditionsCountAsTheyAreForTheWriter) {
  holds(
      cat(rules(), R"(,"expression":"object.metadata.labels.owner == request.userInfo.username")"));
  EXPECT_TRUE(may_give("object.metadata.labels.owner == 'alice'"));
  EXPECT_FALSE(may_give("object.metadata.labels.owner == request.userInfo.username"))
      << "for bob, these are the objects of bob";
  EXPECT_FALSE(may_give("object.metadata.labels.owner == 'bob'"));
}

TEST_F(Delegation, APolicyOfOthersGivesNothing) {
  holds(cat(rules(), R"(,"subjects":[{"kind":"User","name":"bob"}],
                         "expression":"object.spec.class == 'dev'")"));
  holds(cat(rules(), R"(,"expression":"request.userInfo.username == 'bob' && object.a == 1")"));
  EXPECT_FALSE(may_give("object.spec.class == 'dev'"));
  EXPECT_FALSE(may_give("object.a == 1"));
  holds(cat(rules(), R"(,"subjects":[{"kind":"Group","name":"ops"}],
                         "expression":"'ops' in request.userInfo.groups && object.b == 1")"));
  EXPECT_TRUE(may_give("object.b == 1"));
}

TEST_F(Delegation, QuestionsAboutTheUserCannotBeGivenAway) {
  const char* asks = "authorizer.group('').resource('pods').check('get').allowed()";
  holds(cat(rules(), R"(,"expression":")", asks, "\""));
  holds(cat(rules(), R"(,"expression":"object.a == 1 && )", asks, "\""));
  EXPECT_FALSE(may_give(asks)) << "it was about alice, and would be about bob";
  EXPECT_FALSE(may_give(cat("object.a == 1 && ", asks)));
  holds(cat(rules(), R"(,"expression":"impersonatedRequest == null")"));
  EXPECT_FALSE(may_give("impersonatedRequest == null"));
}

TEST_F(Delegation, APolicyOfANamespaceCountsThereAlone) {
  holds(cat(rules(), R"(,"expression":"object.a == 1")"), "x");
  EXPECT_TRUE(may_give("object.a == 1", "x"));
  EXPECT_FALSE(may_give("object.a == 1", "y"));
  EXPECT_FALSE(may_give("object.a == 1", ""));
  holds(cat(rules(), R"(,"expression":"object.b == 1 && request.namespace == 'x'")"));
  EXPECT_TRUE(may_give("object.b == 1", "x")) << "requests there have this namespace";
  EXPECT_FALSE(may_give("object.b == 1", "y"));
  EXPECT_FALSE(may_give("object.b == 1", ""));
}

TEST_F(Delegation, OnlyAllowsAreHeld) {
  index_.add(
      std::make_shared<const Policy>("", "d",
                                     *json::parse(cat(R"({"spec":{"effect":"Deny",)", rules(),
                                                      R"(,"expression":"object.a == 1"}})"))));
  index_.add(
      std::make_shared<const Policy>("", "n",
                                     *json::parse(cat(R"({"spec":{"effect":"NoOpinion",)", rules(),
                                                      R"(,"expression":"object.a == 1"}})"))));
  EXPECT_FALSE(may_give("object.a == 1"));
}

TEST_F(Delegation, AnErrorIsNeverAnAllow) {
  index_.add(
      std::make_shared<const Policy>("", "broken",
                                     *json::parse(cat(R"({"spec":{"effect":"Allow",)", rules(),
                                                      R"(,"expression":"object.a ==="}})"))));
  EXPECT_FALSE(may_give("object.a == 1"));
  holds(cat(rules(), R"(,"expression":"request.userInfo.extra['x'][0] == 'y' || object.a == 1")"));
  EXPECT_TRUE(may_give("object.a == 1")) << "an error beside a true does not count";
  holds(cat(rules(), R"(,"expression":"request.userInfo.extra['x'][0] == 'y' && object.b == 1")"));
  EXPECT_FALSE(may_give("object.b == 1"));
  // What is given does not compile.
  const Policy given("", "g",
                     *json::parse(cat(R"({"spec":{"effect":"Allow",)", rules(),
                                      R"(,"expression":"object.a == 1 &&"}})")));
  EXPECT_FALSE(ConditionalHoldings(index_, alice_, "").hold(given.granted()[0], given));
}

}  // namespace
}  // namespace cardea::authz::access
