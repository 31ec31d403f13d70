#include "rest/boot/bootstrap.h"

#include <gtest/gtest.h>

#include "json/print.h"
#include "rest/testing/test_server.h"

namespace cardea::rest {
namespace {

using json::Value;

TEST(Bootstrap, ASecondStartFindsEverythingAndChangesNothing) {
  TestServer server;
  BootstrapOptions options{.service_ranges = {"10.0.0.0/24"},
                           .service_address = "10.0.0.1",
                           .server_address = "10.1.2.3",
                           .server_port = 6443,
                           .authentication = {{"client-ca-file", "ca"}},
                           .now = "2026-01-01T00:00:00Z"};
  auto first = bootstrap(server.api(), *server.catalog().get(), options);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(
      server.get("/api/v1/namespaces/default/services/kubernetes")["spec"]["clusterIP"].as_string(),
      "10.0.0.1");
  Value endpoints = server.get("/api/v1/namespaces/default/endpoints/kubernetes");
  EXPECT_EQ(endpoints["subsets"].items()[0]["addresses"].items()[0]["ip"].as_string(), "10.1.2.3");
  Value slice = server.get(
      "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes");
  EXPECT_EQ(slice["ports"].items()[0]["port"].as_int(), 6443);
  Value tracking = server.get(
      "/api/v1/namespaces/kube-system/configmaps/"
      "kube-apiserver-legacy-service-account-token-tracking");
  EXPECT_EQ(tracking["data"]["since"].as_string(), "2026-01-01");
  Value service = server.get("/apis/apiregistration.k8s.io/v1/apiservices/v1.apps");
  EXPECT_EQ(service["spec"]["groupPriorityMinimum"].as_int(), 17800);
  EXPECT_EQ(service["status"]["conditions"].items()[0]["reason"].as_string(), "Local");
  store::Revision revision = server.store().current_revision();
  auto second = bootstrap(server.api(), *server.catalog().get(), options);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(server.store().current_revision(), revision);
  options.authentication = {{"client-ca-file", "other"}};
  options.server_address = "10.1.2.4";
  ASSERT_TRUE(bootstrap(server.api(), *server.catalog().get(), options));
  endpoints = server.get("/api/v1/namespaces/default/endpoints/kubernetes");
  EXPECT_EQ(endpoints["subsets"].items()[0]["addresses"].items()[0]["ip"].as_string(), "10.1.2.4")
      << "the address follows the flags";
  Value config = server.get(
      "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication");
  EXPECT_EQ(config["data"]["client-ca-file"].as_string(), "other");
}

TEST(Bootstrap, ASecondFamilyIsAddedAndARangeInUseStays) {
  TestServer server;
  BootstrapOptions options{.service_ranges = {"10.0.0.0/24"},
                           .service_address = "10.0.0.1",
                           .now = "2026-01-01T00:00:00Z"};
  auto ranges = [&] {
    EXPECT_TRUE(bootstrap(server.api(), *server.catalog().get(), options));
    return json::print(server.get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes")["spec"]);
  };
  EXPECT_EQ(ranges(), R"({"cidrs":["10.0.0.0/24"]})");
  options.service_ranges = {"10.0.0.0/24", "fd00::/112"};
  EXPECT_EQ(ranges(), R"({"cidrs":["10.0.0.0/24","fd00::/112"]})");
  options.service_ranges = {"10.1.0.0/24"};
  EXPECT_EQ(ranges(), R"({"cidrs":["10.0.0.0/24","fd00::/112"]})");
}

}  // namespace
}  // namespace cardea::rest
