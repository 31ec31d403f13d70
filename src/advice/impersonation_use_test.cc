#include "advice/impersonation_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::advice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

json::Value event_of(std::string_view sender, std::string_view impersonated, std::string_view verb,
                     std::string_view object, std::string_view more = "") {
  auto parsed = json::parse(
      cat(R"({"kind":"Event","stage":"ResponseComplete","requestURI":"/healthz?x","user":)", sender,
          R"(,"impersonatedUser":)", impersonated, R"(,"verb":")", verb, R"(","objectRef":)",
          object, more, "}"));
  EXPECT_TRUE(parsed);
  return *parsed;
}

constexpr char kBot[] = R"({"username":"bot","groups":["system:authenticated"]})";
constexpr char kJane[] = R"({"username":"jane","groups":["dev","system:authenticated"]})";
constexpr char kPods[] = R"({"resource":"pods","namespace":"shop","name":"p","apiVersion":"v1"})";

std::string rules_in(const json::Value& role) {
  return json::print(role["rules"]);
}

TEST(ImpersonationUse, JustWhatWasDoneIsAllowed) {
  ImpersonationUse use;
  use.take(event_of(kBot, kJane, "get", kPods));
  use.take(event_of(kBot, kJane, "list", kPods));
  const auto objects = use.objects();
  ASSERT_THAT(objects, SizeIs(4));
  EXPECT_EQ(objects[0]["kind"].as_string(), "ClusterRole");
  EXPECT_EQ(objects[0]["metadata"]["name"].as_string(), "impersonation-by:bot");
  EXPECT_EQ(rules_in(objects[0]),
            R"([{"apiGroups":["authentication.k8s.io"],"resourceNames":["dev"],)"
            R"("resources":["groups"],"verbs":["impersonate:user-info"]},)"
            R"({"apiGroups":["authentication.k8s.io"],"resourceNames":["jane"],)"
            R"("resources":["users"],"verbs":["impersonate:user-info"]}])");
  EXPECT_EQ(objects[1]["subjects"][0]["name"].as_string(), "bot");
  EXPECT_EQ(objects[2]["kind"].as_string(), "Role");
  EXPECT_EQ(objects[2]["metadata"]["namespace"].as_string(), "shop");
  EXPECT_EQ(rules_in(objects[2]),
            R"([{"apiGroups":[""],"resources":["pods"],"verbs":["impersonate-on:user-info:get",)"
            R"("impersonate-on:user-info:list"]}])");
  EXPECT_EQ(use.senders().at("bot").requests, 2u);
  EXPECT_THAT(use.senders().at("bot").users, ElementsAre("jane"));
}

TEST(ImpersonationUse, ServiceAccountsAndPathsHaveTheirOwnRules) {
  ImpersonationUse use;
  use.take(event_of(R"({"username":"system:serviceaccount:ops:bot"})",
                    R"({"username":"system:serviceaccount:shop:till","groups":[)"
                    R"("system:serviceaccounts","system:serviceaccounts:shop",)"
                    R"("system:authenticated"]})",
                    "get", "{}"));
  const auto objects = use.objects();
  ASSERT_THAT(objects, SizeIs(4));
  EXPECT_EQ(rules_in(objects[0]),
            R"([{"nonResourceURLs":["/healthz"],"verbs":["impersonate-on:serviceaccount:get"]}])");
  EXPECT_EQ(objects[1]["subjects"][0]["kind"].as_string(), "ServiceAccount");
  EXPECT_EQ(objects[2]["metadata"]["namespace"].as_string(), "shop");
  EXPECT_EQ(rules_in(objects[2]),
            R"([{"apiGroups":["authentication.k8s.io"],"resourceNames":["till"],)"
            R"("resources":["serviceaccounts"],"verbs":["impersonate:serviceaccount"]}])");
}

TEST(ImpersonationUse, WhatIsConstrainedAlreadyAndOtherSendersNeedNothing) {
  ImpersonationUse use("bot");
  use.take(event_of(kBot, kJane, "get", kPods,
                    R"(,"authenticationMetadata":{"impersonationConstraint":)"
                    R"("impersonate:user-info"})"));
  use.take(event_of(R"({"username":"eve"})", kJane, "get", kPods));
  use.take(event_of(kBot, "null", "get", kPods));
  EXPECT_EQ(use.constrained(), 1u);
  EXPECT_THAT(use.senders(), IsEmpty());
  EXPECT_THAT(use.objects(), IsEmpty());
}

TEST(ImpersonationUse, WhatNoModeAllowsIsCounted) {
  ImpersonationUse use;
  use.take(event_of(kBot, R"({"username":"root","groups":["system:masters"]})", "get", kPods));
  EXPECT_EQ(use.senders().at("bot").impossible, 1u);
}

TEST(ImpersonationUse, StrangeEventsDoNoHarm) {
  ImpersonationUse use;
  for (const char* text :
       {"{}", "[]", "null", R"({"kind":"EventList","items":[1,null,{}]})",
        R"({"stage":"ResponseComplete","user":{"username":"a"},"impersonatedUser":{}})",
        R"({"stage":"ResponseComplete","user":{"username":"a"},"impersonatedUser":{"groups":7},)"
        R"("requestURI":"%zz","objectRef":[]})"})
    use.take(*json::parse(text));
  EXPECT_EQ(use.senders().size(), 1u);
}

}  // namespace
}  // namespace cardea::advice
