#include "rest/aggregation/api_service.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/parse.h"

namespace cardea::rest {
namespace {

using json::Value;

Value read(std::string_view text) {
  auto parsed = json::parse(text);
  CARDEA_CHECK(parsed.has_value());
  return *parsed;
}

const Value kClusterService = read(
    R"({"metadata":{"name":"s"},"spec":{"type":"ClusterIP","clusterIP":"10.0.0.7",
        "ipFamilies":["IPv4"],"ports":[{"name":"https","port":443}]}})");

Value slice(std::string_view endpoints, std::string_view port = R"({"name":"https","port":8443})",
            std::string_view type = "IPv4") {
  return read(cat(R"({"metadata":{"labels":{"kubernetes.io/service-name":"s"}},"addressType":")",
                  type, R"(","ports":[)", port, R"(],"endpoints":[)", endpoints, "]}"));
}

TEST(ApiServices, AreReadWithTheirDefaults) {
  ApiService s = read_api_service(
      read(R"({"metadata":{"name":"v1.a.io"},"spec":{"group":"a.io","version":"v1",
               "groupPriorityMinimum":7,"versionPriority":8,"caBundle":"YWJj",
               "service":{"namespace":"n","name":"s"}},
               "status":{"conditions":[{"type":"Available","status":"True"}]}})"));
  ASSERT_TRUE(s.service.has_value());
  EXPECT_EQ(s.service->port, 443);
  EXPECT_EQ(s.server_name(), "s.n.svc");
  EXPECT_EQ(s.authorities, "abc");
  EXPECT_TRUE(s.is_available);
  EXPECT_FALSE(read_api_service(read(R"({"spec":{"group":"a"}})")).service.has_value());
}

TEST(Targets, AreTheClusterIpOrTheExternalName) {
  EXPECT_EQ(*targets_of(kClusterService, {}, 443, false), (std::vector<Target>{{"10.0.0.7", 443}}));
  const Value external = read(R"({"spec":{"type":"ExternalName","externalName":"a.example"}})");
  EXPECT_EQ(*targets_of(external, {}, 6443, false), (std::vector<Target>{{"a.example", 6443}}));
}

TEST(Targets, AreTheReadyEndpointsOfTheFirstFamily) {
  const std::vector<Value> slices = {
      slice(R"({"addresses":["fd00::1"]})", R"({"name":"https","port":8443})", "IPv6"),
      slice(R"({"addresses":["192.0.2.1"]},
               {"addresses":["192.0.2.2"],"conditions":{"ready":false}},
               {"addresses":["192.0.2.3"],"conditions":{"ready":true}})"),
      slice(R"({"addresses":["192.0.2.4"]})", R"({"name":"other","port":1})")};
  EXPECT_EQ(*targets_of(kClusterService, slices, 443, true),
            (std::vector<Target>{{"192.0.2.1", 8443}, {"192.0.2.3", 8443}}));
  EXPECT_EQ(*targets_of(kClusterService, {slices[0]}, 443, true),
            (std::vector<Target>{{"fd00::1", 8443}}))
      << "better than none";
}

TEST(Targets, ThereAreNoneWithoutAPortAnAddressOrAKnownType) {
  EXPECT_FALSE(targets_of(kClusterService, {}, 444, false));
  EXPECT_FALSE(targets_of(kClusterService, {}, 443, true));
  const Value headless = read(
      R"({"spec":{"type":"ClusterIP","clusterIP":"None","ports":[{"port":443}]}})");
  EXPECT_FALSE(targets_of(headless, {}, 443, false));
  const Value external = read(R"({"spec":{"type":"ExternalName","externalName":"a.example"}})");
  EXPECT_FALSE(targets_of(external, {}, 443, true)) << "a name has no endpoints";
}

TEST(Availability, HasKubernetesReasons) {
  const ServiceReference at{"n", "s", 443};
  auto reason = [&](const Value& service, const std::vector<Value>& slices) {
    auto found = without_service(at, service, slices);
    return found ? found->reason : "";
  };
  EXPECT_EQ(reason(Value(), {}), "ServiceNotFound");
  EXPECT_EQ(reason(read(R"({"spec":{"type":"ClusterIP"}})"), {}), "ServicePortError");
  EXPECT_EQ(reason(kClusterService, {}), "EndpointsNotFound");
  EXPECT_EQ(reason(kClusterService, {slice("")}), "MissingEndpoints");
  EXPECT_EQ(reason(kClusterService, {slice(R"({"addresses":["192.0.2.1"]})")}), "");
  EXPECT_EQ(reason(read(R"({"spec":{"type":"ExternalName"}})"), {}), "");
}

TEST(Availability, IsWrittenWhenItChangesAndKeepsItsTime) {
  const Value before = read(
      R"({"status":{"conditions":[{"type":"Available","status":"False","reason":"a",
          "message":"b","lastTransitionTime":"then"},{"type":"Other"}]}})");
  EXPECT_FALSE(with_availability(before, {"False", "a", "b"}, "now"));
  auto reworded = with_availability(before, {"False", "a", "c"}, "now");
  ASSERT_TRUE(reworded);
  const Value& conditions = (*reworded)["status"]["conditions"];
  ASSERT_EQ(conditions.size(), 2u);
  EXPECT_EQ(conditions[1]["lastTransitionTime"].as_string(), "then");
  auto turned = with_availability(before, passed(), "now");
  EXPECT_EQ((*turned)["status"]["conditions"][1]["lastTransitionTime"].as_string(), "now");
}

}  // namespace
}  // namespace cardea::rest
