#include "admission/plugins/pod_standards.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace cardea::admission {
namespace {

std::string found(SecurityPolicy policy, std::string_view spec, std::string_view metadata = "{}") {
  std::string out;
  for (const SecurityViolation& v : violations(policy, *json::parse(metadata), *json::parse(spec)))
    out += v.reason + " (" + v.detail + ")\n";
  return out;
}

constexpr SecurityPolicy kBaseline{SecurityLevel::kBaseline};
constexpr SecurityPolicy kRestricted{SecurityLevel::kRestricted};

TEST(PodStandards, ThePrivilegedLevelForbidsNothing) {
  EXPECT_EQ(found({}, R"({"hostNetwork":true,"containers":[{"name":"c",)"
                      R"("securityContext":{"privileged":true}}]})"),
            "");
}

TEST(PodStandards, BaselineNamesContainersAndValues) {
  EXPECT_EQ(found(kBaseline,
                  R"({"hostPID":true,"volumes":[{"name":"h","hostPath":{}}],
      "initContainers":[{"name":"i","ports":[{"hostPort":80}]}],
      "containers":[{"name":"c","ports":[{"hostPort":90}],
        "securityContext":{"privileged":true,"capabilities":{"add":["NET_ADMIN","CHOWN"]}}}]})"),
            "non-default capabilities (container \"c\" must not include \"NET_ADMIN\" in "
            "securityContext.capabilities.add)\n"
            "host namespaces (hostPID=true)\n"
            "hostPath volumes (volume \"h\")\n"
            "hostPort (containers \"i\", \"c\" use hostPorts 80, 90)\n"
            "privileged (container \"c\" must not set securityContext.privileged=true)\n");
}

TEST(PodStandards, RestrictedWantsThingsSaid) {
  EXPECT_EQ(
      found(kRestricted, R"({"containers":[{"name":"c"}]})"),
      "allowPrivilegeEscalation != false (container \"c\" must set "
      "securityContext.allowPrivilegeEscalation=false)\n"
      "unrestricted capabilities (container \"c\" must set "
      "securityContext.capabilities.drop=[\"ALL\"])\n"
      "runAsNonRoot != true (pod or container \"c\" must set securityContext.runAsNonRoot=true)\n"
      "seccompProfile (pod or container \"c\" must set securityContext.seccompProfile.type to "
      "\"RuntimeDefault\" or \"Localhost\")\n");
}

TEST(PodStandards, AnOlderVersionForbidsWhatWasForbiddenThen) {
  std::string_view
      sysctl = R"({"securityContext":{"sysctls":[{"name":"net.ipv4.tcp_rmem"}]},"containers":[]})";
  EXPECT_EQ(found({SecurityLevel::kBaseline, 31}, sysctl),
            "forbidden sysctls (net.ipv4.tcp_rmem)\n");
  EXPECT_EQ(found({SecurityLevel::kBaseline, 32}, sysctl), "");
}

TEST(PodStandards, AStricterCheckStandsForItsBaselineOne) {
  EXPECT_EQ(found(kRestricted, R"({"volumes":[{"name":"h","hostPath":{}}],"containers":[]})"),
            "restricted volume types (volume \"h\" uses restricted volume type \"hostPath\")\n");
}

TEST(PodStandards, LevelsAndVersionsAreReadStrictly) {
  EXPECT_FALSE(parse_security_level("Baseline"));
  for (auto bad : {"", "v2.0", "1.24", "v1.", "v1.x", "v1.024", "v9"})
    EXPECT_FALSE(parse_policy_version(bad)) << bad;
  EXPECT_EQ(parse_policy_version("v1.24"), 24);
  EXPECT_EQ((SecurityPolicy{SecurityLevel::kBaseline, 24}.print()), "baseline:v1.24");
}

}  // namespace
}  // namespace cardea::admission
