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

const ServiceAllocator kAllocator(*ServiceRanges::parse("10.0.0.0/29"), 30000, 30002);
const ServiceAllocator kDual(*ServiceRanges::parse("10.0.0.0/29,fd00::/125"), 30000, 30002);

TEST(ServiceAllocator, GivesAnAddressThatIsFreeAndSaysWhatFollowsFromIt) {
  ServicesInUse in_use;
  for (int i = 0; i < 6; ++i) {
    json::Value s = service(R"({"type":"ClusterIP"})");
    ASSERT_FALSE(kAllocator.create(s, in_use, 3)) << i;
    EXPECT_FALSE(in_use.has_address(*parse_ip(s["spec"]["clusterIP"].as_string())));
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

TEST(ServicesInUse, GivesBackOnlyWhatWasTaken) {
  ServicesInUse in_use;
  in_use.add(service(R"({"type":"NodePort","clusterIP":"10.0.0.3","clusterIPs":["10.0.0.3"],)"
                     R"("ports":[{"port":1,"nodePort":30001}]})"));
  // A service that names what another one has, and is refused afterwards.
  const ServicesInUse taken = in_use.add(
      service(R"({"type":"ClusterIP","clusterIP":"10.0.0.4","clusterIPs":["10.0.0.4"],)"
              R"("ports":[{"port":1,"nodePort":30001}]})"));
  in_use.remove(taken);
  EXPECT_TRUE(in_use.has_port(30001));
  EXPECT_TRUE(in_use.has_address(*parse_ip("10.0.0.3")));
  EXPECT_FALSE(in_use.has_address(*parse_ip("10.0.0.4")));
  // A kind of service that has neither.
  in_use.remove(service(R"({"type":"ExternalName","ports":[{"port":1,"nodePort":30001}]})"));
  EXPECT_TRUE(in_use.has_port(30001));
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
    EXPECT_TRUE(error->message.ends_with("the provided network does not match the current range"))
        << error->message;
    error = kAllocator.create(s, in_use, {0, true});
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

std::string shown(const json::Value& service) {
  return json::print(service["spec"]["ipFamilies"]) +
         std::to_string(service["spec"]["clusterIPs"].size());
}

TEST(ServiceAllocator, AServiceGetsAnAddressOfEachFamilyItAsksFor) {
  ServicesInUse none;
  json::Value both = service(R"({"type":"ClusterIP","ipFamilyPolicy":"RequireDualStack"})");
  ASSERT_FALSE(kDual.create(both, none, 3));
  EXPECT_EQ(shown(both), R"(["IPv4","IPv6"]2)");
  json::Value turned = service(
      R"({"type":"ClusterIP","ipFamilyPolicy":"PreferDualStack","ipFamilies":["IPv6"]})");
  ASSERT_FALSE(kDual.create(turned, none, 3));
  EXPECT_EQ(shown(turned), R"(["IPv6","IPv4"]2)");
  EXPECT_EQ(turned["spec"]["clusterIP"], turned["spec"]["clusterIPs"][0]);
  json::Value single = service(R"({"type":"ClusterIP","ipFamilyPolicy":"PreferDualStack"})");
  ASSERT_FALSE(kAllocator.create(single, none, 3));
  EXPECT_EQ(shown(single), R"(["IPv4"]1)");
}

TEST(ServiceAllocator, TheSecondFamilyComesAndGoesWithThePolicy) {
  ServicesInUse none;
  json::Value old = service(R"({"type":"ClusterIP"})");
  ASSERT_FALSE(kDual.create(old, none, 3));
  json::Value both = old;
  both.member("spec").set("ipFamilyPolicy", "RequireDualStack");
  ASSERT_FALSE(kDual.update(both, old, none, 4));
  EXPECT_EQ(shown(both), R"(["IPv4","IPv6"]2)");
  EXPECT_EQ(both["spec"]["clusterIPs"][0], old["spec"]["clusterIP"]);
  json::Value shorter = both;
  shorter.member("spec").set("ipFamilies", json::Value::array({"IPv4"}));
  EXPECT_EQ(
      kDual.update(shorter, both, none, 4)->details->causes[0].message,
      "Invalid value: \"RequireDualStack\": must be 'SingleStack' to release the secondary IP "
      "family");
  json::Value one = both;
  one.member("spec").set("ipFamilyPolicy", "SingleStack");
  ASSERT_FALSE(kDual.update(one, both, none, 4));
  EXPECT_EQ(shown(one), R"(["IPv4"]1)");
}

TEST(ServiceAllocator, AnAddressThatAnObjectHoldsIsTaken) {
  ServicesInUse in_use;
  in_use.hold(*parse_ip("10.0.0.3"));
  json::Value s = service(R"({"type":"ClusterIP","clusterIP":"10.0.0.3"})");
  EXPECT_TRUE(kAllocator.create(s, in_use, 0));
  in_use.release(*parse_ip("10.0.0.3"));
  EXPECT_FALSE(kAllocator.create(s, in_use, 0));
}

TEST(ServiceRanges, TakesOneRangeOrOneOfEachFamily) {
  auto two = ServiceRanges::parse("fd00:10::/112, 10.0.0.0/24");
  ASSERT_TRUE(two);
  EXPECT_EQ(two->families[0], "IPv6");
  EXPECT_EQ(two->ranges[0].first().text(), "fd00:10::1");
  EXPECT_TRUE(two->ranges[0].has(*parse_ip("fd00:10::ffff"))) << "IPv6 has no broadcast address";
  EXPECT_FALSE(two->ranges[0].has(*parse_ip("fd00:10::")));
  EXPECT_FALSE(two->ranges[1].has(*parse_ip("10.0.0.255")));
  for (const char* wrong :
       {"10.0.0.1/24", "10.0.0.0/33", "10.0.0.0", "10.0.0.0/31", "10.0.0.0/7", "",
        "10.0.0.0/24,10.1.0.0/24", "10.0.0.0/24,fd00::/112,fd01::/112", "10.0.0.0/24,"})
    EXPECT_FALSE(ServiceRanges::parse(wrong)) << wrong;
}

TEST(ServiceRanges, LowAddressesComeLast) {
  const ServiceRange range(*parse_cidr("10.0.0.0/24"), "10.0.0.0/24");
  std::set<Ip> taken;
  for (int i = 0; i < 254; ++i) {
    auto ip = range.next(static_cast<std::uint64_t>(i) * 7919,
                         [&](const Ip& a) { return taken.contains(a); });
    ASSERT_TRUE(ip) << i;
    EXPECT_EQ(ip->bytes[15] > 16, i < 254 - 16) << ip->text();
    taken.insert(*ip);
  }
  EXPECT_FALSE(range.next(0, [&](const Ip& a) { return taken.contains(a); }));
}

}  // namespace
}  // namespace cardea::catalog
