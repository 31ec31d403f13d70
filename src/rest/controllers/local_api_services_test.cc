#include <gtest/gtest.h>

#include "rest/testing/test_controllers.h"

namespace cardea::rest {
namespace {

constexpr char kPath[] = "/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com";
constexpr char kDefinitionPath[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

std::string definition(std::string_view plural) {
  return cat(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
      "metadata":{"name":")",
             plural, R"(.example.com"},
      "spec":{"group":"example.com","scope":"Namespaced",
        "names":{"plural":")",
             plural, R"(","kind":")", plural, R"("},
        "versions":[{"name":"v1","served":true,"storage":true,
          "schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
}

TEST(LocalApiServices, AGroupOfDefinitionsHasOneUntilItsLastDefinitionGoes) {
  TestServer server;
  RunningControllers controllers(server, {});
  for (const char* plural : {"as", "bs"})
    ASSERT_EQ(server.send("POST", kDefinitionPath, definition(plural)).status, 201);
  auto is_there = [&] { return server.send("GET", kPath).status == 200; };
  ASSERT_TRUE(TestServer::eventually(is_there));
  json::Value service = server.get(kPath);
  EXPECT_EQ(service["spec"]["groupPriorityMinimum"].as_int(), 1000);
  EXPECT_EQ(service["spec"]["versionPriority"].as_int(), 100);
  EXPECT_EQ(service["status"]["conditions"].items()[0]["reason"].as_string(), "Local");

  ASSERT_TRUE(server.send("DELETE", kPath).ok());
  EXPECT_TRUE(TestServer::eventually([&] {
    return is_there() && server.get(kPath)["metadata"]["uid"] != service["metadata"]["uid"];
  })) << "a deleted one comes back";

  ASSERT_TRUE(server.send("DELETE", cat(kDefinitionPath, "/as.example.com")).ok());
  ASSERT_TRUE(server.eventually_gone(cat(kDefinitionPath, "/as.example.com")));
  EXPECT_TRUE(is_there()) << "the other definition needs it";
  ASSERT_TRUE(server.send("DELETE", cat(kDefinitionPath, "/bs.example.com")).ok());
  EXPECT_TRUE(server.eventually_gone(kPath));
}

TEST(LocalApiServices, AnotherServersApiServiceStays) {
  TestServer server;
  RunningControllers controllers(server, {});
  ASSERT_EQ(server
                .send("POST", "/apis/apiregistration.k8s.io/v1/apiservices",
                      R"({"metadata":{"name":"v1.example.com"},
                          "spec":{"group":"example.com","version":"v1","groupPriorityMinimum":5,
                                  "versionPriority":5,"insecureSkipTLSVerify":true,
                                  "service":{"namespace":"default","name":"s"}}})")
                .status,
            201);
  ASSERT_EQ(server.send("POST", kDefinitionPath, definition("as")).status, 201);
  ASSERT_TRUE(server.send("DELETE", cat(kDefinitionPath, "/as.example.com")).ok());
  ASSERT_TRUE(server.eventually_gone(cat(kDefinitionPath, "/as.example.com")));
  EXPECT_EQ(server.get(kPath)["spec"]["service"]["name"].as_string(), "s");
}

}  // namespace
}  // namespace cardea::rest
