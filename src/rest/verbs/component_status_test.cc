#include <gtest/gtest.h>

#include "rest/testing/test_controllers.h"

namespace cardea::rest {
namespace {

constexpr char kComponents[] = "/api/v1/componentstatuses";

TEST(ComponentStatus, TellsByItsLeaseWhetherAProgramLives) {
  TestServer server;
  make_namespace(server, "kube-system");
  auto condition = [&](const char* name) {
    return server.get(cat(kComponents, "/", name))["conditions"].items()[0];
  };
  EXPECT_EQ(condition("store")["message"].as_string(), "ok");
  EXPECT_EQ(condition("scheduler")["status"].as_string(), "False");
  EXPECT_EQ(condition("scheduler")["message"].as_string(),
            "there is no Lease kube-system/kube-scheduler");
  auto renew = [&](std::string_view program, std::string_view at) {
    Loopback::Reply reply = server.send(
        "POST", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
        cat(R"({"metadata":{"name":")", program,
            R"("},"spec":{"holderIdentity":"x","leaseDurationSeconds":15,"renewTime":")", at,
            R"("}})"));
    EXPECT_EQ(reply.status, 201);
  };
  // The clock of a TestServer stands at the beginning of 2026-01-31.
  renew("kube-scheduler", "2026-01-30T23:59:50.000000Z");
  renew("kube-controller-manager", "2026-01-30T23:59:40.000000Z");
  EXPECT_EQ(condition("scheduler")["status"].as_string(), "True");
  EXPECT_EQ(condition("controller-manager")["message"].as_string(),
            "Lease kube-system/kube-controller-manager was not renewed since 2026-01-30T23:59:40Z");
}

TEST(ComponentStatus, IsReadInEveryFormAndNeverWritten) {
  TestServer server;
  EXPECT_EQ(server.get(kComponents)["items"].items().size(), 3u);
  json::Value one = server.get(cat(kComponents, "?fieldSelector=metadata.name%3Dstore"));
  ASSERT_EQ(one["items"].items().size(), 1u);
  EXPECT_EQ(one["kind"].as_string(), "ComponentStatusList");
  Loopback::Reply unknown = server.send("GET", cat(kComponents, "/nope"));
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.body["message"].as_string(), "componentstatus \"nope\" not found");
  for (const char* method : {"POST", "DELETE"})
    EXPECT_EQ(server.send(method, kComponents, "{}").status, 405) << method;
  EXPECT_EQ(server.send("PUT", cat(kComponents, "/store"), "{}").status, 405);
}

}  // namespace
}  // namespace cardea::rest
