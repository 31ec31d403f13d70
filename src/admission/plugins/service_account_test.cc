#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/plugins.h"
#include "base/clock.h"
#include "json/parse.h"
#include "json/print.h"
#include "store/testing/memory_store.h"

namespace cardea::admission {
namespace {

using json::Value;
using ::testing::HasSubstr;

class ServiceAccountPlugin : public ::testing::Test {
 protected:
  ServiceAccountPlugin() {
    account("sa", R"({"imagePullSecrets":[{"name":"pull"}],"secrets":[{"name":"mine"}]})");
  }

  void account(const std::string& name, std::string_view text) {
    Value object = json::parse(text).value();
    object.member("metadata").set("name", name);
    std::string key = "/registry/serviceaccounts/ns/" + name;
    ASSERT_TRUE(store::commit_sync(*store_, {{}, {store::Put{key, json::print(object)}}}));
  }
  // The admitted pod; or null, with the reason in `why_`.
  Value admit(std::string_view text) {
    Review review{.operation = Operation::kCreate,
                  .catalog = *catalog_,
                  .resource = *catalog_->find("", "v1", "pods"),
                  .namespace_name = "ns",
                  .name = "p",
                  .user = user_,
                  .object = json::parse(text).value()};
    Result<void> done;
    EXPECT_TRUE(plugin_->handles(review));
    spawn(plugin_->mutate(review), [&](Result<void> r) { done = std::move(r); });
    if (done) spawn(plugin_->validate(review), [&](Result<void> r) { done = std::move(r); });
    why_ = done ? "" : done.error().message;
    return done ? review.object : Value();
  }

  SystemClock clock_;
  authz::User user_{.name = "jane"};
  std::unique_ptr<store::Store> store_ = store::make_memory_store(clock_);
  std::shared_ptr<const catalog::Catalog> catalog_ = catalog::Catalog::builtin();
  std::unique_ptr<Plugin> plugin_ = service_account(Objects(*store_));
  std::string why_;
};

constexpr auto kPath = "/var/run/secrets/kubernetes.io/serviceaccount";

TEST_F(ServiceAccountPlugin, EveryContainerFindsTheTokenWhereClientsLook) {
  Value pod = admit(
      R"({"spec":{"serviceAccountName":"sa","initContainers":[{"name":"i"}],
      "containers":[{"name":"a"},
      {"name":"b","volumeMounts":[{"name":"own",
        "mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}]}]}})");
  const Value& spec = pod["spec"];
  ASSERT_EQ(spec["volumes"].size(), 1u) << why_;
  std::string volume(spec["volumes"][0]["name"].as_string());
  EXPECT_THAT(volume, HasSubstr("kube-api-access-"));
  const Value& sources = spec["volumes"][0]["projected"]["sources"];
  EXPECT_EQ(sources[0]["serviceAccountToken"]["expirationSeconds"].as_int(), 3607);
  EXPECT_EQ(sources[1]["configMap"]["name"].as_string(), "kube-root-ca.crt");
  EXPECT_EQ(sources[2]["downwardAPI"]["items"][0]["fieldRef"]["fieldPath"].as_string(),
            "metadata.namespace");
  EXPECT_EQ(spec["initContainers"][0]["volumeMounts"][0]["mountPath"].as_string(), kPath);
  EXPECT_EQ(spec["containers"][0]["volumeMounts"][0]["name"].as_string(), volume);
  // A volume that the container itself mounts there stays.
  EXPECT_EQ(spec["containers"][1]["volumeMounts"].size(), 1u);
  EXPECT_EQ(spec["containers"][1]["volumeMounts"][0]["name"].as_string(), "own");
  EXPECT_EQ(spec["imagePullSecrets"], json::parse(R"([{"name":"pull"}])").value());
}

TEST_F(ServiceAccountPlugin, AVolumeThatIsThereIsUsedAgain) {
  Value pod = admit(
      R"({"spec":{"serviceAccountName":"sa","volumes":[{"name":"kube-api-access-abcde"}],)"
      R"("containers":[{"name":"a"}]}})");
  EXPECT_EQ(pod["spec"]["volumes"].size(), 1u);
  EXPECT_EQ(pod["spec"]["containers"][0]["volumeMounts"][0]["name"].as_string(),
            "kube-api-access-abcde");
}

TEST_F(ServiceAccountPlugin, PodAndAccountCanDoWithoutTheToken) {
  account("shy", R"({"automountServiceAccountToken":false})");
  auto mounts = [&](std::string_view pod) { return !admit(pod)["spec"]["volumes"].empty(); };
  EXPECT_FALSE(mounts(R"({"spec":{"serviceAccountName":"shy","containers":[{"name":"a"}]}})"));
  EXPECT_TRUE(mounts(R"({"spec":{"serviceAccountName":"shy","automountServiceAccountToken":true,)"
                     R"("containers":[{"name":"a"}]}})"));
  EXPECT_FALSE(mounts(R"({"spec":{"serviceAccountName":"sa","automountServiceAccountToken":false,)"
                      R"("containers":[{"name":"a"}]}})"));
}

TEST_F(ServiceAccountPlugin, APodOfAMissingAccountIsRefused) {
  EXPECT_TRUE(admit(R"({"spec":{"containers":[{"name":"a"}]}})").is_null());
  EXPECT_EQ(why_, R"(pods "p" is forbidden: error looking up service account ns/default: )"
                  R"(serviceaccount "default" not found)");
  account("default", "{}");
  Value pod = admit(R"({"spec":{"containers":[{"name":"a"}]}})");
  EXPECT_EQ(pod["spec"]["serviceAccountName"].as_string(), "default");
}

TEST_F(ServiceAccountPlugin, AMirrorPodIsNotChangedAndReachesForNothing) {
  auto mirror = [&](std::string_view spec) {
    return admit(
        std::string(R"({"metadata":{"annotations":{"kubernetes.io/config.mirror":"x"}},"spec":)") +
        std::string(spec) + "}");
  };
  Value pod = mirror(R"({"containers":[{"name":"a"}]})");
  EXPECT_EQ(pod["spec"], json::parse(R"({"containers":[{"name":"a"}]})").value());
  EXPECT_TRUE(mirror(R"({"serviceAccountName":"sa"})").is_null());
  EXPECT_THAT(why_, HasSubstr("may not reference service accounts"));
  for (auto spec :
       {R"({"volumes":[{"secret":{"secretName":"s"}}]})", R"({"imagePullSecrets":[{"name":"s"}]})",
        R"({"containers":[{"env":[{"valueFrom":{"secretKeyRef":{"name":"s"}}}]}]})",
        R"({"containers":[{"envFrom":[{"secretRef":{"name":"s"}}]}]})",
        R"({"volumes":[{"projected":{"sources":[{"secret":{"name":"s"}}]}}]})",
        R"({"volumes":[{"csi":{"nodePublishSecretRef":{"name":"s"}}}]})"}) {
    EXPECT_TRUE(mirror(spec).is_null());
    EXPECT_THAT(why_, HasSubstr("may not reference secrets")) << spec;
  }
  EXPECT_TRUE(
      mirror(R"({"volumes":[{"projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}]})")
          .is_null());
  EXPECT_THAT(why_, HasSubstr("ServiceAccountToken volume projections"));
}

TEST_F(ServiceAccountPlugin, AnAccountCanLimitWhichSecretsItsPodsUse) {
  account("strict",
          R"({"metadata":{"annotations":{"kubernetes.io/enforce-mountable-secrets":"true"}},)"
          R"("secrets":[{"name":"mine"}]})");
  auto strict = [&](std::string_view rest) {
    return admit(
        std::string(
            R"({"spec":{"serviceAccountName":"strict","automountServiceAccountToken":false,)") +
        std::string(rest) + "}}");
  };
  EXPECT_FALSE(strict(R"("volumes":[{"secret":{"secretName":"mine"}}])").is_null()) << why_;
  EXPECT_TRUE(strict(R"("volumes":[{"secret":{"secretName":"other"}}])").is_null());
  EXPECT_THAT(
      why_,
      HasSubstr(
          R"(volume with secret.secretName="other" is not allowed because service account strict )"
          R"(does not reference that secret)"));
  EXPECT_TRUE(strict(R"("containers":[{"name":"c","env":[{"name":"E",)"
                     R"("valueFrom":{"secretKeyRef":{"name":"other"}}}]}])")
                  .is_null());
  EXPECT_THAT(
      why_,
      HasSubstr(
          R"(container c with envVar E referencing secret.secretName="other" is not allowed)"));
  EXPECT_TRUE(strict(R"("containers":[{"name":"c","envFrom":[{"secretRef":{"name":"other"}}]}])")
                  .is_null());
  EXPECT_TRUE(strict(R"("imagePullSecrets":[{"name":"other"}])").is_null());
  EXPECT_THAT(why_, HasSubstr(R"(imagePullSecrets[0].name="other" is not allowed)"));
}

}  // namespace
}  // namespace cardea::admission
