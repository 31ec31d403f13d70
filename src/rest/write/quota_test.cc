// ResourceQuota through the whole server without sockets: usage that is added, also under load, and
// usage that is given back.
#include <gtest/gtest.h>

#include <thread>

#include "rest/testing/test_controllers.h"

namespace cardea::rest {
namespace {

constexpr std::string_view
    kQuota = R"({"metadata":{"name":"q"},"spec":{"hard":{"configmaps":"40","pods":"2"}}})";

std::string used(TestServer& server, std::string_view name) {
  return std::string(
      server.get("/api/v1/namespaces/n/resourcequotas/q")["status"]["used"][name].as_string());
}

std::string config_map(int i) {
  return cat(R"({"metadata":{"name":"c)", i, R"("}})");
}

TEST(ResourceQuota, UsageIsExactHoweverManyCreateAtOnce) {
  TestServer server;
  make_namespace(server, "n");
  RunningControllers controllers(server, {"resourcequota-controller"});
  ASSERT_TRUE(server.send("POST", "/api/v1/namespaces/n/resourcequotas", kQuota).ok());
  ASSERT_TRUE(TestServer::eventually([&] { return used(server, "configmaps") == "0"; }));
  std::atomic<int> created = 0, refused = 0, other = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 10; ++i) {
          int status = server
                           .send("POST", "/api/v1/namespaces/n/configmaps", config_map(t * 10 + i))
                           .status;
          ++(status == 201 ? created : status == 403 ? refused : other);
        }
      });
  }
  EXPECT_EQ(created, 40);
  EXPECT_EQ(refused, 40);
  EXPECT_EQ(other, 0);
  EXPECT_EQ(used(server, "configmaps"), "40");
}

TEST(ResourceQuota, WhatIsDeletedIsGivenBack) {
  TestServer server;
  make_namespace(server, "n");
  RunningControllers controllers(server, {"resourcequota-controller"});
  ASSERT_TRUE(server.send("POST", "/api/v1/namespaces/n/configmaps", config_map(1)).ok());
  ASSERT_TRUE(server.send("POST", "/api/v1/namespaces/n/resourcequotas", kQuota).ok());
  EXPECT_TRUE(TestServer::eventually([&] { return used(server, "configmaps") == "1"; }));
  ASSERT_TRUE(server.send("DELETE", "/api/v1/namespaces/n/configmaps/c1").ok());
  EXPECT_TRUE(TestServer::eventually([&] { return used(server, "configmaps") == "0"; }));
}

TEST(ResourceQuota, ARefusedCreateChargesNothing) {
  TestServer server;
  make_namespace(server, "n");
  ASSERT_TRUE(server.send("POST", "/api/v1/namespaces/n/resourcequotas", kQuota).ok());
  ASSERT_TRUE(server
                  .send("PATCH", "/api/v1/namespaces/n/resourcequotas/q/status",
                        R"({"status":{"hard":{"configmaps":"2"},"used":{"configmaps":"0"}}})",
                        "application/merge-patch+json")
                  .ok());
  EXPECT_EQ(server.send("POST", "/api/v1/namespaces/n/configmaps", config_map(1)).status, 201);
  EXPECT_EQ(server.send("POST", "/api/v1/namespaces/n/configmaps", config_map(1)).status, 409);
  EXPECT_EQ(server.send("POST", "/api/v1/namespaces/n/configmaps?dryRun=All", config_map(2)).status,
            201);
  EXPECT_EQ(used(server, "configmaps"), "1");
}

}  // namespace
}  // namespace cardea::rest
