#include "catalog/kinds/pod_placement.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/parse.h"

namespace cardea::catalog {
namespace {

json::Value doc(std::string_view text) {
  auto parsed = json::parse(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? *parsed : json::Value();
}

constexpr std::string_view kNow = "2026-01-02T03:04:05Z";

json::Value binding() {
  return doc(
      R"({"metadata":{"name":"p","annotations":{"from":"scheduler"}},"target":{"kind":"Node","name":"n9"}})");
}

TEST(Binding, PutsThePodOnItsNode) {
  auto pod = bind_pod(doc(R"({"metadata":{"name":"p"},"spec":{},"status":{"nominatedNodeName":"x"}})"),
                      binding(), kNow);
  ASSERT_TRUE(pod);
  EXPECT_EQ((*pod)["spec"]["nodeName"].as_string(), "n9");
  EXPECT_EQ((*pod)["metadata"]["annotations"]["from"].as_string(), "scheduler");
  EXPECT_FALSE((*pod)["status"].has("nominatedNodeName"));
  EXPECT_EQ((*pod)["status"]["conditions"][0]["type"].as_string(), "PodScheduled");
  EXPECT_EQ((*pod)["status"]["conditions"][0]["lastTransitionTime"].as_string(), kNow);
}

TEST(Binding, IsAConflictForPodsThatCannotMove) {
  auto why = [](std::string_view pod) { return bind_pod(doc(pod), binding(), kNow).error().message; };
  EXPECT_EQ(why(R"({"metadata":{"name":"p"},"spec":{"nodeName":"n8"}})"),
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \"n8\"");
  EXPECT_EQ(why(R"({"metadata":{"name":"p"},"spec":{"schedulingGates":[{"name":"a/b"}]}})"),
            "Operation cannot be fulfilled on pods/binding \"p\": pod p has non-empty .spec.schedulingGates");
  EXPECT_EQ(why(R"({"metadata":{"name":"p","deletionTimestamp":"t"},"spec":{}})"),
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is being deleted, cannot be assigned "
            "to a host");
}

TEST(Binding, MustNameANode) {
  EXPECT_FALSE(check_binding(binding(), "p"));
  EXPECT_EQ(check_binding(binding(), "q")->message, "name in URL does not match name in Binding object");
  EXPECT_EQ(
      check_binding(doc(R"({"metadata":{"name":"p"},"target":{"kind":"Rack","name":"r"}})"), "p")->reason,
      Reason::kInvalid);
  EXPECT_EQ(check_binding(doc(R"({"metadata":{"name":"p"}})"), "p")->reason, Reason::kInvalid);
}

class Eviction : public testing::Test {
 protected:
  json::Value pod = doc(
      R"({"metadata":{"name":"b","labels":{"app":"b"}},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})");
  json::Value budget(std::string_view status) {
    return doc(cat(
        R"({"metadata":{"name":"pdb","generation":1},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"b"}}},"status":)",
        status, "}"));
  }
  EvictionVerdict judge(std::vector<json::Value> budgets) { return judge_eviction(pod, budgets, kNow); }
};

TEST_F(Eviction, NeedsNoBudgetWhereNoneMatches) {
  EXPECT_FALSE(judge({}).refusal);
  pod.member("metadata").member("labels").set("app", "other");
  EXPECT_FALSE(judge({budget(R"({"observedGeneration":1,"disruptionsAllowed":0})")}).refusal);
}

TEST_F(Eviction, WaitsForABudgetThatIsNotYetObserved) {
  auto verdict = judge({budget(R"({"observedGeneration":0})")});
  ASSERT_TRUE(verdict.refusal);
  EXPECT_EQ(verdict.refusal->reason, Reason::kTooManyRequests);
  EXPECT_EQ(verdict.refusal->details->causes[0].message,
            "The disruption budget pdb is still being processed by the server.");
  EXPECT_EQ(verdict.refusal->details->retry_after_seconds, 10);
}

TEST_F(Eviction, IsRefusedWhenTheBudgetIsSpent) {
  auto verdict = judge(
      {budget(R"({"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":1,"desiredHealthy":1})")});
  ASSERT_TRUE(verdict.refusal);
  EXPECT_EQ(verdict.refusal->details->causes[0].message,
            "The disruption budget pdb needs 1 healthy pods and has 1 currently");
}

TEST_F(Eviction, SpendsOneDisruptionAndRemembersThePod) {
  auto verdict = judge(
      {budget(R"({"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":1,"desiredHealthy":1})")});
  ASSERT_FALSE(verdict.refusal);
  EXPECT_EQ(verdict.budget["status"]["disruptionsAllowed"].as_int(), 0);
  EXPECT_EQ(verdict.budget["status"]["disruptedPods"]["b"].as_string(), kNow);
  EXPECT_EQ(verdict.budget["status"]["conditions"][0]["reason"].as_string(), "InsufficientPods");
}

TEST_F(Eviction, TwoBudgetsForOnePodAreAnErrorAndNeverAnAllow) {
  json::Value b = budget(R"({"observedGeneration":1,"disruptionsAllowed":5})");
  auto verdict = judge({b, b});
  ASSERT_TRUE(verdict.refusal);
  EXPECT_EQ(verdict.refusal->reason, Reason::kInternalError);
}

TEST_F(Eviction, LetsAnUnhealthyPodGoWhenEnoughOthersAreWell) {
  pod.member("status").erase("conditions");
  auto verdict = judge(
      {budget(R"({"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":2,"desiredHealthy":2})")});
  EXPECT_FALSE(verdict.refusal);
  EXPECT_TRUE(verdict.pin_resource_version);
}

}  // namespace
}  // namespace cardea::catalog
