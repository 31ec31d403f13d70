#include "catalog/kinds/core/service_allocator.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/print.h"

namespace cardea::catalog {
namespace {

json::Value service(std::string_view spec) {
  auto parsed = json::parse(cat(R"({"metadata":{"name":"s","namespace":"n"},"spec":)", spec, "}"));
  EXPECT_TRUE(parsed.has_value()) << spec;
  return parsed ? *parsed : json::Value();
}

const ServiceAllocator kAllocator("10.0.0.0/29", 30000, 30002);

TEST(ServiceAllocator, GivesAnAddressThatIsFreeAndSaysWhatFollowsFromIt) {
  ServicesInUse in_use;
  for (int i = 0; i < 6; ++i) {
    json::Value s = service(R"({"type":"ClusterIP"})");
    ASSERT_FALSE(kAllocator.create(s, in_use, 3)) << i;
    EXPECT_FALSE(in_use.has_address(s["spec"]["clusterIP"].as_string()));
    EXPECT_EQ(s["spec"]["clusterIPs"][0], s["spec"]["clusterIP"]);
    EXPECT_EQ(json::print(s["spec"]["ipFamilies"]), R"(["IPv4"])");
    EXPECT_EQ(s["spec"]["ipFamilyPolicy"].as_string(), "SingleStack");
    in_use.add(s);
  }
  json::Value one_more = service(R"({"type":"ClusterIP"})");
  auto error = kAllocator.create(one_more, in_use, 3);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "failed to allocate a serviceIP for Service \"s\": range is full");
  EXPECT_FALSE(one_more["spec"].has("clusterIP"));
}

TEST(ServiceAllocator, RefusesAnAddressThatIsTakenOrOutside) {
  ServicesInUse in_use;
  json::Value first = service(R"({"type":"ClusterIP","clusterIP":"10.0.0.3"})");
  ASSERT_FALSE(kAllocator.create(first, in_use, 0));
  in_use.add(first);
  json::Value second = service(R"({"type":"ClusterIP","clusterIP":"10.0.0.3"})");
  EXPECT_EQ(kAllocator.create(second, in_use, 0)->message,
            "Service \"s\" is invalid: spec.clusterIPs: Invalid value: [\"10.0.0.3\"]: failed to "
            "allocate IP "
            "10.0.0.3: "
            "provided IP is already allocated");
  EXPECT_FALSE(kAllocator.create(second, in_use, {0, true}))
      << "a dry run holds nothing against what is taken";
  for (const char* outside : {"10.0.1.1", "10.0.0.0", "10.0.0.7"}) {
    json::Value s = service(cat(R"({"type":"ClusterIP","clusterIP":")", outside, R"("})"));
    auto error = kAllocator.create(s, in_use, 0);
    ASSERT_TRUE(error) << outside;
    EXPECT_TRUE(error->message.ends_with(
        "is not in the valid range. The range of valid IPs is 10.0.0.0/29"))
        << error->message;
  }
}

TEST(ServiceAllocator, GivesNodePortsAndTakesThemBackWithTheService) {
  ServicesInUse in_use;
  json::Value s = service(R"({"type":"NodePort","ports":[{"name":"a","port":80,"protocol":"TCP"},)"
                          R"({"name":"b","port":81,"protocol":"TCP"}]})");
  ASSERT_FALSE(kAllocator.create(s, in_use, 1));
  EXPECT_NE(s["spec"]["ports"][0]["nodePort"], s["spec"]["ports"][1]["nodePort"]);
  in_use.add(s);
  EXPECT_EQ(in_use.port_count(), 2u);
  json::Value taken = service(cat(R"({"type":"NodePort","ports":[{"port":80,"nodePort":)",
                                  s["spec"]["ports"][0]["nodePort"].as_int(), "}]}"));
  EXPECT_EQ(kAllocator.create(taken, in_use, 1)->details->causes[0].message,
            cat("Invalid value: ", s["spec"]["ports"][0]["nodePort"].as_int(),
                ": provided port is already allocated"));
  in_use.remove(s);
  EXPECT_EQ(in_use.port_count(), 0u);
  EXPECT_EQ(in_use.address_count(), 0u);
}

TEST(ServiceAllocator, PortsOfOneNumberShareTheirNodePort) {
  ServicesInUse in_use;
  json::Value s = service(R"({"type":"NodePort","ports":[{"name":"a","port":53,"protocol":"TCP"},)"
                          R"({"name":"b","port":53,"protocol":"UDP"}]})");
  ASSERT_FALSE(kAllocator.create(s, in_use, 1));
  EXPECT_EQ(s["spec"]["ports"][0]["nodePort"], s["spec"]["ports"][1]["nodePort"]);
}

TEST(ServiceAllocator, AnUpdateKeepsWhatTheClientLeftOut) {
  ServicesInUse in_use;
  json::Value old = service(
      R"({"type":"NodePort","ports":[{"name":"a","port":80,"protocol":"TCP"}]})");
  ASSERT_FALSE(kAllocator.create(old, in_use, 1));
  in_use.add(old);
  json::Value now = service(
      R"({"type":"NodePort","ports":[{"name":"a","port":8080,"protocol":"TCP"}]})");
  ASSERT_FALSE(kAllocator.update(now, old, in_use, 2));
  EXPECT_EQ(now["spec"]["clusterIP"], old["spec"]["clusterIP"]);
  EXPECT_EQ(now["spec"]["ports"][0]["nodePort"], old["spec"]["ports"][0]["nodePort"]);
}

TEST(ServiceAllocator, HeadlessAndExternalServicesTakeNothing) {
  ServicesInUse in_use;
  json::Value headless = service(R"({"type":"ClusterIP","clusterIP":"None"})");
  ASSERT_FALSE(kAllocator.create(headless, in_use, 1));
  EXPECT_EQ(json::print(headless["spec"]["ipFamilies"]), R"(["IPv4","IPv6"])");
  json::Value external = service(R"({"type":"ExternalName","externalName":"a.example"})");
  ASSERT_FALSE(kAllocator.create(external, in_use, 1));
  in_use.add(headless);
  in_use.add(external);
  EXPECT_EQ(in_use.address_count(), 0u);
}

}  // namespace
}  // namespace cardea::catalog
