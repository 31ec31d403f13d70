#include "catalog/kinds/core/pod_validation.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "catalog/kinds/core/image_name.h"
#include "catalog/kinds/core/resources.h"
#include "catalog/validate.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::catalog {
namespace {

json::Value doc(std::string_view text) {
  auto parsed = json::parse(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? *parsed : json::Value();
}

const Strategy& pods() {
  return *builtin_strategy("", "Pod");
}

json::Value prepared(std::string_view spec) {
  json::Value pod = doc(cat(R"({"metadata":{"name":"p","namespace":"n"},"spec":)", spec, "}"));
  StrategyContext context;
  context.now = "2026-01-02T03:04:05Z";
  pods().defaults(pod, context);
  pods().prepare_for_create(pod, context);
  return pod;
}

std::vector<std::string> complaints(std::string_view spec) {
  std::vector<std::string> out;
  for (const auto& e : validate_create(pods(), prepared(spec), true, {}))
    out.push_back(e.message());
  return out;
}

TEST(Pod, DefaultsAreIdempotent) {
  json::Value once = prepared(
      R"({"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":0.5}},)"
      R"("livenessProbe":{"httpGet":{"port":80}}}],"volumes":[{"name":"v"}]})");
  json::Value twice = once;
  pods().defaults(twice, {});
  EXPECT_EQ(json::print(once), json::print(twice));
  EXPECT_EQ(once["spec"]["containers"][0]["resources"]["requests"]["cpu"].as_string(), "500m");
  EXPECT_TRUE(once["spec"]["volumes"][0]["emptyDir"].is_object());
}

TEST(Pod, TheTagDecidesWhenAnImageIsPulled) {
  EXPECT_EQ(default_pull_policy("nginx"), "Always");
  EXPECT_EQ(default_pull_policy("registry.example:5000/a/b"), "Always");
  EXPECT_EQ(default_pull_policy("nginx:1"), "IfNotPresent");
  EXPECT_EQ(default_pull_policy(cat("nginx@sha256:", std::string(64, 'a'))), "IfNotPresent");
  EXPECT_EQ(default_pull_policy("Not An Image"), "IfNotPresent");
}

TEST(Pod, ItsClassOfServiceFollowsFromWhatItAsksFor) {
  EXPECT_EQ(pod_qos_class(doc(R"({"containers":[{"name":"c"}]})")), "BestEffort");
  EXPECT_EQ(pod_qos_class(doc(R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}]})")),
            "Burstable");
  EXPECT_EQ(
      pod_qos_class(doc(R"({"containers":[{"resources":{"requests":{"cpu":"1","memory":"1Gi"},)"
                        R"("limits":{"cpu":"1000m","memory":"1Gi"}}}]})")),
      "Guaranteed");
}

TEST(Pod, PrivilegeIsDisallowedUnlessTheServerAllowsIt) {
  constexpr std::string_view
      kSpec = R"({"containers":[{"name":"c","image":"i","securityContext":{"privileged":true}}]})";
  EXPECT_EQ(complaints(kSpec),
            std::vector<std::string>{"spec.containers[0].securityContext.privileged: Forbidden: "
                                     "disallowed by cluster policy"});
  StrategyContext allowing;
  allowing.allow_privileged = true;
  EXPECT_TRUE(validate_create(pods(), prepared(kSpec), true, allowing).empty());
}

TEST(Pod, SeveralVolumeTypesAreOneTooMany) {
  EXPECT_EQ(
      complaints(R"({"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v","emptyDir":{},)"
                 R"("hostPath":{"path":"/x"}}]})"),
      std::vector<std::string>{
          "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"});
}

TEST(Pod, WaitsAtItsGatesWithACondition) {
  json::Value pod = prepared(
      R"({"containers":[{"name":"c","image":"i"}],"schedulingGates":[{"name":"a/b"}]})");
  EXPECT_EQ(pod["status"]["conditions"][0]["reason"].as_string(), "SchedulingGated");
}

TEST(Pod, AnUpdateMayChangeImagesAndLittleElse) {
  json::Value old = prepared(R"({"containers":[{"name":"c","image":"i:1"}]})");
  json::Value now = old;
  now.member("spec").member("containers").item(0).set("image", "i:2");
  EXPECT_TRUE(validate_update(pods(), now, old, true, {}).empty());
  now.member("spec").member("containers").item(0).set("command", json::Value::array({"x"}));
  auto errors = validate_update(pods(), now, old, true, {});
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_TRUE(errors[0].message().starts_with(
      "spec: Forbidden: pod updates may not change fields other than"))
      << errors[0].message();
}

TEST(Pod, ResizingChangesCpuAndMemoryOnly) {
  json::Value old = prepared(
      R"({"containers":[{"name":"c","image":"i:1","resources":{"requests":{"cpu":"1"}}}]})");
  StrategyContext resize;
  resize.subresource = "resize";
  json::Value now = old;
  now.member("spec").member("containers").item(0).set("image", "i:2");
  now.member("spec")
      .member("containers")
      .item(0)
      .set("resources", doc(R"({"requests":{"cpu":"2"}})"));
  pods().prepare_for_update(now, old, resize);
  EXPECT_EQ(now["spec"]["containers"][0]["image"].as_string(), "i:1");
  EXPECT_TRUE(validate_update(pods(), now, old, true, resize).empty());
  now.member("spec").member("containers").item(0).set("resources", doc("{}"));
  EXPECT_FALSE(validate_update(pods(), now, old, true, resize).empty());
}

}  // namespace
}  // namespace cardea::catalog
