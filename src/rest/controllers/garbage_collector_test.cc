#include <gtest/gtest.h>

#include "rest/testing/test_controllers.h"

namespace cardea::rest {
namespace {

using json::Value;

// ConfigMaps that own each other: for the collector the kind of an owner makes no difference.
class GarbageCollector : public testing::Test {
 protected:
  GarbageCollector() {
    make_namespace(server, "a");
    make_namespace(server, "b");
  }

  static std::string path(std::string_view name, std::string_view ns = "a") {
    return cat("/api/v1/namespaces/", ns, "/configmaps/", name);
  }
  struct Ref {
    std::string name, uid;
    bool blocks = false;
    std::string kind = "ConfigMap";
  };
  // Creates and returns the uid.
  std::string make(std::string_view name, std::vector<Ref> owners = {}, std::string_view ns = "a") {
    std::vector<Value> references;
    for (const Ref& o : owners)
      references.push_back(Value::object({{"apiVersion", "v1"},
                                          {"kind", o.kind},
                                          {"name", o.name},
                                          {"uid", o.uid},
                                          {"blockOwnerDeletion", o.blocks}}));
    Value object = Value::object(
        {{"metadata",
          Value::object({{"name", name}, {"ownerReferences", Value::array(references)}})}});
    Loopback::Reply reply = server.api().send_and_wait(
        "POST", cat("/api/v1/namespaces/", ns, "/configmaps"), object);
    EXPECT_TRUE(reply.ok()) << reply.body["message"].as_string();
    return std::string(reply.body["metadata"]["uid"].as_string());
  }
  bool remove(std::string_view name, std::string_view policy) {
    return server.send("DELETE", cat(path(name), "?propagationPolicy=", policy)).ok();
  }
  bool exists(std::string_view name) { return server.send("GET", path(name)).ok(); }
  // When the effect of a later request is visible, the effects of earlier requests would be visible
  // too.
  void settle() {
    std::string owner = make("settle-owner");
    make("settle", {{"settle-owner", owner}});
    ASSERT_TRUE(remove("settle-owner", "Background"));
    ASSERT_TRUE(server.eventually_gone(path("settle")));
  }

  TestServer server;
};

TEST_F(GarbageCollector, DependentsFollowTheirOwnerInTheBackground) {
  RunningControllers running(server, {"garbage-collector-controller"});
  std::string owner = make("owner");
  std::string child = make("child", {{"owner", owner}});
  make("grandchild", {{"child", child}});
  make("stranger");
  ASSERT_TRUE(remove("owner", "Background"));
  EXPECT_TRUE(server.eventually_gone(path("child")));
  EXPECT_TRUE(server.eventually_gone(path("grandchild")));
  EXPECT_TRUE(exists("stranger"));
}

TEST_F(GarbageCollector, WhatWasLostWhileNobodyWatchedIsFound) {
  std::string owner = make("owner");
  make("child", {{"owner", owner}});
  ASSERT_TRUE(remove("owner", "Background"));
  RunningControllers running(server, {"garbage-collector-controller"});
  EXPECT_TRUE(server.eventually_gone(path("child")));
}

TEST_F(GarbageCollector, AnOwnerOfTheSameNameWithAnotherUidIsAnotherOwner) {
  RunningControllers running(server, {"garbage-collector-controller"});
  make("owner");
  make("child", {{"owner", "00000000-0000-0000-0000-000000000000"}});
  EXPECT_TRUE(server.eventually_gone(path("child")));
  EXPECT_TRUE(exists("owner"));
}

TEST_F(GarbageCollector, OneOwnerThatIsLeftIsEnough) {
  RunningControllers running(server, {"garbage-collector-controller"});
  std::string first = make("first"), second = make("second");
  make("child", {{"first", first}, {"second", second}});
  ASSERT_TRUE(remove("first", "Background"));
  // The reference to the deleted owner is removed.
  ASSERT_TRUE(server.eventually(
      [&] { return server.get(path("child"))["metadata"]["ownerReferences"].size() == 1; }));
  EXPECT_EQ(server.get(path("child"))["metadata"]["ownerReferences"][0]["uid"].as_string(), second);
  ASSERT_TRUE(remove("second", "Background"));
  EXPECT_TRUE(server.eventually_gone(path("child")));
}

TEST_F(GarbageCollector, OrphansAreSetFreeBeforeTheirOwnerGoes) {
  RunningControllers running(server, {"garbage-collector-controller"});
  std::string owner = make("owner");
  make("child", {{"owner", owner}});
  ASSERT_TRUE(remove("owner", "Orphan"));
  ASSERT_TRUE(server.eventually_gone(path("owner")));
  EXPECT_TRUE(server.get(path("child"))["metadata"]["ownerReferences"].empty());
  settle();
  EXPECT_TRUE(exists("child"));
}

TEST_F(GarbageCollector, InTheForegroundAnOwnerWaitsForWhatBlocksIt) {
  std::string owner = make("owner");
  make("child", {{"owner", owner, true}});
  ASSERT_TRUE(server
                  .send("PATCH", path("child"),
                        R"({"metadata":{"finalizers":["example.com/hold"]}})",
                        "application/merge-patch+json")
                  .ok());
  RunningControllers running(server, {"garbage-collector-controller"});
  ASSERT_TRUE(remove("owner", "Foreground"));
  ASSERT_TRUE(server.eventually(
      [&] { return server.get(path("child"))["metadata"].has("deletionTimestamp"); }));
  settle();
  EXPECT_TRUE(exists("owner"));
  ASSERT_TRUE(server
                  .send("PATCH", path("child"), R"({"metadata":{"finalizers":null}})",
                        "application/merge-patch+json")
                  .ok());
  EXPECT_TRUE(server.eventually_gone(path("owner")));
  EXPECT_FALSE(exists("child"));
}

TEST_F(GarbageCollector, ForegroundDeletionGoesDownTheTree) {
  RunningControllers running(server, {"garbage-collector-controller"});
  std::string owner = make("owner");
  std::string child = make("child", {{"owner", owner, true}});
  make("grandchild", {{"child", child, true}});
  ASSERT_TRUE(remove("owner", "Foreground"));
  EXPECT_TRUE(server.eventually_gone(path("owner")));
  EXPECT_FALSE(exists("child"));
  EXPECT_FALSE(exists("grandchild"));
}

TEST_F(GarbageCollector, ACircleInTheForegroundEnds) {
  std::string first = make("first");
  std::string second = make("second", {{"first", first, true}});
  ASSERT_TRUE(
      server
          .send("PATCH", path("first"),
                cat(R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap",)"
                    R"("name":"second","uid":")",
                    second, R"(","blockOwnerDeletion":true}]}})"),
                "application/merge-patch+json")
          .ok());
  RunningControllers running(server, {"garbage-collector-controller"});
  ASSERT_TRUE(remove("first", "Foreground"));
  EXPECT_TRUE(server.eventually_gone(path("first")));
  EXPECT_TRUE(server.eventually_gone(path("second")));
}

TEST_F(GarbageCollector, AnOwnerInAnotherNamespaceCountsAsAbsent) {
  std::string owner = make("owner", {}, "b");
  make("child", {{"owner", owner}});
  RunningControllers running(server, {"garbage-collector-controller"});
  EXPECT_TRUE(server.eventually_gone(path("child")));
  EXPECT_TRUE(server.send("GET", path("owner", "b")).ok());
}

TEST_F(GarbageCollector, AnOwnerOfAnUnknownKindIsNoReasonToDelete) {
  make("child", {{.name = "w", .uid = "1", .kind = "Widget"}});
  RunningControllers running(server, {"garbage-collector-controller"});
  settle();
  EXPECT_TRUE(exists("child"));
}

TEST(ClusterRoleAggregation, RulesAreGatheredThroughLabelsAndFollowTheirSources) {
  TestServer server;
  RunningControllers running(server, {"clusterrole-aggregation-controller"});
  std::string roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  auto make = [&](std::string_view body) { ASSERT_TRUE(server.send("POST", roles, body).ok()); };
  make(R"({"metadata":{"name":"all"},"aggregationRule":{)"
       R"("clusterRoleSelectors":[{"matchLabels":{"to":"all"}}]},"rules":[]})");
  make(R"({"metadata":{"name":"middle","labels":{"to":"all"}},)"
       R"("aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"to":"middle"}}]},)"
       R"("rules":[]})");
  make(R"({"metadata":{"name":"leaf","labels":{"to":"middle"}},)"
       R"("rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]})");
  EXPECT_TRUE(server.eventually([&] {
    return server.get(roles + "/all")["rules"] == server.get(roles + "/leaf")["rules"];
  })) << "through the one in the middle";
  ASSERT_TRUE(server.send("DELETE", roles + "/leaf").ok());
  EXPECT_TRUE(server.eventually([&] { return server.get(roles + "/all")["rules"].empty(); }));
}

}  // namespace
}  // namespace cardea::rest
