#include "catalog/kinds/core/pod_placement.h"

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
  return doc(R"({"metadata":{"name":"p","annotations":{"from":"scheduler"}},)"
             R"("target":{"kind":"Node","name":"n9"}})");
}

TEST(Binding, PutsThePodOnItsNode) {
  auto pod = bound_pod(
      doc(R"({"metadata":{"name":"p"},"spec":{},"status":{"conditions":[{"type":"PodScheduled",)"
          R"("status":"False"}]}})"),
      binding(), "p", kNow);
  ASSERT_TRUE(pod);
  EXPECT_EQ((*pod)["spec"]["nodeName"].as_string(), "n9");
  EXPECT_EQ((*pod)["metadata"]["annotations"]["from"].as_string(), "scheduler");
  ASSERT_EQ((*pod)["status"]["conditions"].size(), 1u);
  EXPECT_EQ((*pod)["status"]["conditions"][0]["type"].as_string(), "PodScheduled");
  EXPECT_EQ((*pod)["status"]["conditions"][0]["status"].as_string(), "True");
  EXPECT_EQ((*pod)["status"]["conditions"][0]["lastTransitionTime"].as_string(), kNow);
}

TEST(Binding, ForAnotherPodBringsItsUidSoThatTheWriteRefuses) {
  json::Value other = binding();
  other.member("metadata").set("uid", "another");
  auto pod = bound_pod(doc(R"({"metadata":{"name":"p","uid":"mine"},"spec":{}})"), other, "p",
                       kNow);
  ASSERT_TRUE(pod);
  EXPECT_EQ((*pod)["metadata"]["uid"].as_string(), "another");
}

TEST(Binding, IsAConflictForPodsThatCannotMove) {
  auto why = [](std::string_view pod) {
    return bound_pod(doc(pod), binding(), "p", kNow).error().message;
  };
  EXPECT_EQ(why(R"({"metadata":{"name":"p"},"spec":{"nodeName":"n8"}})"),
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to "
            "node \"n8\"");
  EXPECT_EQ(why(R"({"metadata":{"name":"p"},"spec":{"schedulingGates":[{"name":"a/b"}]}})"),
            "Operation cannot be fulfilled on pods/binding \"p\": pod p has non-empty "
            ".spec.schedulingGates");
  EXPECT_EQ(why(R"({"metadata":{"name":"p","deletionTimestamp":"t"},"spec":{}})"),
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is being deleted, cannot "
            "be assigned "
            "to a host");
}

TEST(Binding, MustNameANode) {
  EXPECT_TRUE(check_binding(binding()));
  EXPECT_TRUE(check_binding(doc(R"({"target":{"name":"n"}})")));
  auto rack = check_binding(doc(R"({"target":{"kind":"Rack","name":"r"}})"));
  ASSERT_FALSE(rack);
  EXPECT_EQ(rack.error().reason, Reason::kBadRequest);
  EXPECT_EQ(rack.error().message,
            "target.kind: Unsupported value: \"Rack\": supported values: \"Node\", \"<empty>\"");
  EXPECT_EQ(check_binding(doc("{}")).error().message, "target.name: Required value");
}

json::Value budget(std::string_view status) {
  return doc(cat(R"({"metadata":{"name":"pdb","generation":1},"spec":{)"
                 R"("selector":{"matchLabels":{"app":"b"}}},"status":)",
                 status, "}"));
}

TEST(Eviction, NeedsNoBudgetWhenThePodDoesNotRun) {
  for (const char* phase : {"Succeeded", "Failed", "Pending"})
    EXPECT_TRUE(leaves_without_budget(doc(cat(R"({"status":{"phase":")", phase, R"("}})"))))
        << phase;
  EXPECT_TRUE(leaves_without_budget(
      doc(R"({"metadata":{"deletionTimestamp":"t"},"status":{"phase":"Running"}})")));
  EXPECT_FALSE(leaves_without_budget(doc(R"({"status":{"phase":"Running"}})")));
}

TEST(Eviction, IsABudgetsBusinessWhenItSelectsThePod) {
  EXPECT_TRUE(budget_covers(budget("{}"), doc(R"({"metadata":{"labels":{"app":"b"}}})")));
  EXPECT_FALSE(budget_covers(budget("{}"), doc(R"({"metadata":{"labels":{"app":"c"}}})")));
  EXPECT_TRUE(budget_covers(doc(R"({"spec":{"selector":{}}})"), doc("{}")));
  EXPECT_FALSE(budget_covers(doc(R"({"spec":{}})"), doc("{}")));
}

TEST(Eviction, WaitsForABudgetThatIsNotYetObserved) {
  auto spent = spend_budget(budget(R"({"observedGeneration":0,"disruptionsAllowed":5})"), "b",
                            kNow);
  ASSERT_FALSE(spent);
  EXPECT_EQ(spent.error().reason, Reason::kTooManyRequests);
  EXPECT_EQ(spent.error().details->causes[0].message,
            "The disruption budget pdb is still being processed by the server.");
  EXPECT_EQ(spent.error().details->retry_after_seconds, 10);
}

TEST(Eviction, IsRefusedWhenTheBudgetIsSpent) {
  auto spent = spend_budget(
      budget(R"({"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":1,)"
             R"("desiredHealthy":1})"),
      "b", kNow);
  ASSERT_FALSE(spent);
  EXPECT_EQ(spent.error().details->causes[0].message,
            "The disruption budget pdb needs 1 healthy pods and has 1 currently");
}

TEST(Eviction, ABudgetInDisorderIsAnErrorAndNeverAnAllow) {
  EXPECT_EQ(spend_budget(budget(R"({"observedGeneration":1,"disruptionsAllowed":-1})"), "b", kNow)
                .error()
                .reason,
            Reason::kForbidden);
  EXPECT_EQ(spend_budget(budget("{}"), "b", kNow).error().reason, Reason::kTooManyRequests);
}

TEST(Eviction, SpendsOneDisruptionAndRemembersThePod) {
  auto spent = spend_budget(budget(R"({"observedGeneration":1,"disruptionsAllowed":2})"), "b",
                            kNow);
  ASSERT_TRUE(spent);
  EXPECT_EQ((*spent)["status"]["disruptionsAllowed"].as_int(), 1);
  EXPECT_EQ((*spent)["status"]["disruptedPods"]["b"].as_string(), kNow);
  EXPECT_FALSE((*spent)["status"].has("conditions"));
}

TEST(Eviction, ThatSpendsTheLastDisruptionSaysSo) {
  auto spent = spend_budget(budget(R"({"observedGeneration":1,"disruptionsAllowed":1})"), "b",
                            kNow);
  ASSERT_TRUE(spent);
  EXPECT_EQ((*spent)["status"]["conditions"][0]["reason"].as_string(), "InsufficientPods");
  EXPECT_EQ((*spent)["status"]["conditions"][0]["observedGeneration"].as_int(), 1);
}

}  // namespace
}  // namespace cardea::catalog
