#include <gtest/gtest.h>

#include "rest/testing/test_controllers.h"

namespace cardea::rest {
namespace {

constexpr char kMerge[] = "application/merge-patch+json";

std::string config_map(std::string_view name, std::string_view more = "") {
  return cat(R"({"metadata":{"name":")", name, R"(")", more, "}}");
}

std::string condition(const json::Value& ns, std::string_view type, std::string_view member) {
  for (const json::Value& c : ns["status"]["conditions"].items())
    if (c["type"].as_string() == type) return std::string(c[member].as_string());
  return "";
}

TEST(NamespaceController, ATerminatingNamespaceIsEmptiedAndGoes) {
  TestServer server;
  make_namespace(server, "a");
  make_namespace(server, "b");
  ASSERT_TRUE(server.send("POST", "/api/v1/namespaces/a/configmaps", config_map("x")).ok());
  ASSERT_TRUE(server.send("POST", "/api/v1/namespaces/a/secrets", config_map("y")).ok());
  ASSERT_TRUE(server.send("POST", "/api/v1/namespaces/b/configmaps", config_map("x")).ok());
  RunningControllers running(server, known_controllers());
  ASSERT_TRUE(server.send("DELETE", "/api/v1/namespaces/a").ok());
  ASSERT_TRUE(server.eventually_gone("/api/v1/namespaces/a"));
  EXPECT_EQ(server.store().count(store::keys_with_prefix("/registry/configmaps/a/")), 0);
  EXPECT_EQ(server.store().count(store::keys_with_prefix("/registry/secrets/a/")), 0);
  EXPECT_TRUE(server.send("GET", "/api/v1/namespaces/b/configmaps/x").ok());
}

TEST(NamespaceController, ManyObjectsGo) {
  TestServer server;
  make_namespace(server, "a");
  store::Txn txn;
  for (int i = 0; i < 10'000; ++i)
    txn.ops.push_back(
        store::Put{cat("/registry/configmaps/a/c", i),
                   cat(R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c)", i,
                       R"(","namespace":"a","uid":"u)", i, R"("}})")});
  ASSERT_TRUE(store::commit_sync(server.store(), std::move(txn)));
  RunningControllers running(server, {"namespace-controller"});
  ASSERT_TRUE(server.send("DELETE", "/api/v1/namespaces/a").ok());
  // In the meantime the loop of the controllers answers other requests.
  EXPECT_TRUE(server.send("GET", "/api/v1/namespaces/a").ok());
  EXPECT_TRUE(server.eventually_gone("/api/v1/namespaces/a"));
}

TEST(NamespaceController, AFinalizerHoldsTheNamespaceAndItsConditionsSayWhy) {
  TestServer server;
  make_namespace(server, "a");
  ASSERT_TRUE(server
                  .send("POST", "/api/v1/namespaces/a/configmaps",
                        config_map("x", R"(,"finalizers":["example.com/hold"])"))
                  .ok());
  RunningControllers running(server, {"namespace-controller"});
  ASSERT_TRUE(server.send("DELETE", "/api/v1/namespaces/a").ok());
  ASSERT_TRUE(server.eventually([&] {
    return condition(server.get("/api/v1/namespaces/a"), "NamespaceFinalizersRemaining",
                     "status") == "True";
  }));
  json::Value ns = server.get("/api/v1/namespaces/a");
  EXPECT_EQ(condition(ns, "NamespaceFinalizersRemaining", "message"),
            "Some content in the namespace has finalizers remaining: example.com/hold in 1 "
            "resource instances");
  EXPECT_EQ(condition(ns, "NamespaceContentRemaining", "message"),
            "Some resources are remaining: configmaps. has 1 resource instances");
  ASSERT_TRUE(server
                  .send("PATCH", "/api/v1/namespaces/a/configmaps/x",
                        R"({"metadata":{"finalizers":null}})", kMerge)
                  .ok());
  EXPECT_TRUE(server.eventually_gone("/api/v1/namespaces/a"));
}

TEST(NamespaceController, ObjectsOfCustomResourcesGoToo) {
  TestServer server;
  ASSERT_TRUE(server
                  .send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", R"({
      "metadata":{"name":"widgets.example.com"},
      "spec":{"group":"example.com","scope":"Namespaced",
        "names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
        "versions":[{"name":"v1","served":true,"storage":true,
          "schema":{"openAPIV3Schema":{"type":"object"}}}]}})")
                  .ok());
  make_namespace(server, "a");
  ASSERT_TRUE(server.eventually([&] {
    return server
        .send("POST", "/apis/example.com/v1/namespaces/a/widgets",
              R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}})")
        .ok();
  }));
  RunningControllers running(server, {"namespace-controller"});
  ASSERT_TRUE(server.send("DELETE", "/api/v1/namespaces/a").ok());
  ASSERT_TRUE(server.eventually_gone("/api/v1/namespaces/a"));
  EXPECT_EQ(server.store().count(store::keys_with_prefix("/registry/example.com/widgets/")), 0);
}

TEST(NamespaceController, PodsOfANodeThatIsGoneAreNotWaitedFor) {
  TestServer server;
  make_namespace(server, "a");
  auto pod = [](std::string_view name, std::string_view node) {
    return cat(R"({"metadata":{"name":")", name, R"("},"spec":{"nodeName":")", node,
               R"(","containers":[{"name":"c","image":"i"}]}})");
  };
  ASSERT_TRUE(server.send("POST", "/api/v1/nodes", R"({"metadata":{"name":"here"}})").ok());
  ASSERT_TRUE(server.send("POST", "/api/v1/namespaces/a/pods", pod("lost", "nowhere")).ok());
  ASSERT_TRUE(server.send("POST", "/api/v1/namespaces/a/pods", pod("kept", "here")).ok());
  ASSERT_TRUE(server.send("POST", "/api/v1/namespaces/a/configmaps", config_map("x")).ok());
  RunningControllers running(server, {"namespace-controller"});
  ASSERT_TRUE(server.send("DELETE", "/api/v1/namespaces/a").ok());
  ASSERT_TRUE(server.eventually_gone("/api/v1/namespaces/a/pods/lost"));
  ASSERT_TRUE(server.eventually([&] {
    return condition(server.get("/api/v1/namespaces/a"), "NamespaceContentRemaining", "status") ==
           "True";
  }));
  EXPECT_TRUE(server.send("GET", "/api/v1/namespaces/a/pods/kept").ok()) << "its kubelet ends it";
  EXPECT_TRUE(server.send("GET", "/api/v1/namespaces/a/configmaps/x").ok()) << "pods go first";
  // The kubelet does the same.
  ASSERT_TRUE(server.send("DELETE", "/api/v1/namespaces/a/pods/kept?gracePeriodSeconds=0").ok());
  EXPECT_TRUE(server.eventually_gone("/api/v1/namespaces/a"));
}

}  // namespace
}  // namespace cardea::rest
