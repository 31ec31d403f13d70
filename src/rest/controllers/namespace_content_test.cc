#include <gtest/gtest.h>

#include "rest/testing/test_controllers.h"

namespace cardea::rest {
namespace {

constexpr char kAccount[] = "/api/v1/namespaces/a/serviceaccounts/default";
constexpr char kRootCa[] = "/api/v1/namespaces/a/configmaps/kube-root-ca.crt";

TEST(ServiceAccountController, EveryNamespaceGetsTheDefaultAccountAndGetsItBack) {
  TestServer server;
  make_namespace(server, "a");
  RunningControllers running(server, {"serviceaccount-controller"});
  ASSERT_TRUE(server.eventually([&] { return server.send("GET", kAccount).ok(); }))
      << "of a namespace that was there";
  std::string uid(server.get(kAccount)["metadata"]["uid"].as_string());
  ASSERT_TRUE(server.send("DELETE", kAccount).ok());
  EXPECT_TRUE(server.eventually([&] {
    Loopback::Reply reply = server.send("GET", kAccount);
    return reply.ok() && reply.body["metadata"]["uid"].as_string() != uid;
  }));
  make_namespace(server, "b");
  EXPECT_TRUE(server.eventually(
      [&] { return server.send("GET", "/api/v1/namespaces/b/serviceaccounts/default").ok(); }));
}

TEST(RootCaPublisher, EveryNamespaceGetsTheCertificateAndGetsItBack) {
  TestServer server;
  make_namespace(server, "a");
  RunningControllers running(server, {"root-ca-certificate-publisher-controller"});
  auto is_right = [&] {
    json::Value object = server.get(kRootCa);
    return object["data"]["ca.crt"].as_string() == kTestCa && object["data"].size() == 1;
  };
  EXPECT_TRUE(server.eventually(is_right));
  ASSERT_TRUE(server
                  .send("PATCH", kRootCa, R"({"data":{"ca.crt":"mine","more":"x"}})",
                        "application/merge-patch+json")
                  .ok());
  EXPECT_TRUE(server.eventually(is_right)) << "changed";
  ASSERT_TRUE(server.send("DELETE", kRootCa).ok());
  EXPECT_TRUE(server.eventually(is_right)) << "deleted";
}

TEST(ControllerSelection, NamesStarsAndMinusesChoose) {
  auto chosen = [](std::vector<std::string> wanted) { return select_controllers(wanted).value(); };
  EXPECT_EQ(chosen({"*"}), known_controllers());
  EXPECT_TRUE(chosen({}).empty());
  EXPECT_TRUE(chosen({""}).empty());
  EXPECT_EQ(chosen({"serviceaccount-controller"}),
            std::vector<std::string>{"serviceaccount-controller"});
  EXPECT_EQ(chosen({"*", "-serviceaccount-controller"}).size(), known_controllers().size() - 1);
  EXPECT_TRUE(chosen({"-serviceaccount-controller"}).empty());
}

TEST(ControllerSelection, AnUnknownOrContradictoryNameIsAnError) {
  EXPECT_FALSE(select_controllers({"*", "-no-such"}));
  EXPECT_FALSE(select_controllers({"no-such"}));
  EXPECT_FALSE(select_controllers({"serviceaccount-controller", "-serviceaccount-controller"}));
}

}  // namespace
}  // namespace cardea::rest
