#include "admission/plugins/quota_usage.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/print.h"

namespace cardea::admission {
namespace {

constexpr std::string_view kNow = "2026-01-01T00:00:00Z";

const catalog::Resource& resource(std::string_view group, std::string_view version,
                                  std::string_view name) {
  static auto catalog = catalog::Catalog::builtin();
  return *catalog->find(group, version, name);
}
const catalog::Resource& pods() {
  return resource("", "v1", "pods");
}

std::string used(const catalog::Resource& r, std::string_view object) {
  return json::print(write_amounts(usage_of(r, *json::parse(object), kNow)));
}

TEST(QuotaUsage, APodUsesTheSumOfItsContainersOrItsGreatestInitContainer) {
  EXPECT_EQ(used(pods(),
                 R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"100m"}}},
      {"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}}}],
      "initContainers":[{"resources":{"requests":{"cpu":"3","memory":"1Gi"}}}]}})"),
            R"({"count/pods":"1","cpu":"3","limits.cpu":"2","memory":"1Gi","pods":"1",)"
            R"("requests.cpu":"3","requests.memory":"1Gi"})");
}

TEST(QuotaUsage, SidecarsCountBesideBoth) {
  EXPECT_EQ(used(pods(), R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}],
      "initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
        {"resources":{"requests":{"cpu":"4"}}}]}})"),
            R"({"count/pods":"1","cpu":"5","pods":"1","requests.cpu":"5"})");
}

TEST(QuotaUsage, AnEndedPodUsesItsPlaceInTheStoreOnly) {
  EXPECT_EQ(used(pods(), R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}]},)"
                         R"("status":{"phase":"Succeeded"}})"),
            R"({"count/pods":"1"})");
  EXPECT_EQ(used(pods(), R"({"metadata":{"deletionTimestamp":"2025-01-01T00:00:00Z",)"
                         R"("deletionGracePeriodSeconds":30},"spec":{"containers":[]}})"),
            R"({"count/pods":"1"})");
}

TEST(QuotaUsage, ServicesUseNodePortsByTheirType) {
  const catalog::Resource& services = resource("", "v1", "services");
  EXPECT_EQ(used(services, R"({"spec":{"type":"NodePort","ports":[{},{}]}})"),
            R"({"count/services":"1","services":"1","services.nodeports":"2"})");
  EXPECT_EQ(
      used(services, R"({"spec":{"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,)"
                     R"("ports":[{},{"nodePort":30000}]}})"),
      R"({"count/services":"1","services":"1","services.loadbalancers":"1",)"
      R"("services.nodeports":"1"})");
}

TEST(QuotaUsage, EverythingElseIsCounted) {
  EXPECT_EQ(used(resource("apps", "v1", "deployments"), "{}"), R"({"count/deployments.apps":"1"})");
  EXPECT_TRUE(is_charged_as(resource("apps", "v1", "deployments"), "count/deployments.apps"));
  EXPECT_FALSE(is_charged_as(resource("apps", "v1", "deployments"), "pods"));
}

TEST(QuotaUsage, ScopesNarrow) {
  json::Value quota = *json::parse(R"({"spec":{"scopes":["BestEffort"]}})");
  EXPECT_TRUE(in_scopes(quota, pods(), *json::parse(R"({"spec":{"containers":[{}]}})")));
  EXPECT_FALSE(in_scopes(
      quota, pods(),
      *json::parse(R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}})")));
  EXPECT_FALSE(in_scopes(quota, resource("", "v1", "services"), *json::parse("{}")));
}

TEST(QuotaUsage, APodMustSayWhatIsLimited) {
  json::Value pod = *json::parse(
      R"({"spec":{"containers":[{"name":"b"},{"name":"a","resources":{"limits":{"cpu":"1"}}}]}})");
  EXPECT_EQ(missing_of_pod(pod, {"limits.cpu", "memory", "pods"}),
            "must specify limits.cpu for: b; memory for: a,b");
  EXPECT_EQ(missing_of_pod(pod, {"pods"}), "");
}

}  // namespace
}  // namespace cardea::admission
