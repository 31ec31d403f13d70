#include "rest/at_rest/kubernetes_encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "catalog/catalog.h"
#include "json/parse.h"
#include "json/print.h"
#include "rest/write/object_rules.h"
#include "schema/wire/protobuf_writer.h"

namespace cardea::rest {
namespace {

using json::Value;
using schema::Schema;
using store::EtcdEncoding;
using testing::StartsWith;
using Place = EtcdEncoding::Place;

constexpr std::string_view
    kSecretObject = R"({"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"},)"
                    R"("data":{"a":"b3Blbg=="},"type":"Opaque"})";

// A value with every field set, down to some depth.
Value sample(const Schema& s, int depth = 0) {
  switch (s.type) {
    case Schema::Type::kBoolean:
      return true;
    case Schema::Type::kInteger:
      return 7;
    case Schema::Type::kNumber:
      return 1.5;
    case Schema::Type::kIntOrString:
      return s.format == "quantity" ? Value("1500m") : Value("50%");
    case Schema::Type::kArray:
      return Value::array({sample(*s.items, depth + 1)});
    case Schema::Type::kString:
      if (s.format == "byte") return "AAEC";
      if (s.type_name.ends_with("MicroTime")) return "2026-01-02T03:04:05.000006Z";
      if (s.format == "date-time") return "2026-01-02T03:04:05Z";
      if (s.type_name.ends_with("Duration")) return "1m0s";
      return "text <&> \xe2\x80\xa8 \"metadata\":{";
    case Schema::Type::kObject:
      break;
    case Schema::Type::kAny:
      return Value::object({{"any", 1}});
  }
  Value out = Value::object();
  if (s.additional) out.set("key", sample(*s.additional, depth + 1));
  if (s.preserve_unknown_fields && s.properties.empty()) out.set("f:any", Value::object());
  if (depth > 8) return out;
  for (const schema::Property& p : s.properties) out.set(p.name, sample(*p.schema, depth + 1));
  // The claims of a StatefulSet: Protobuf does not say what they are.
  if (s.type_name.ends_with(".PersistentVolumeClaim")) {
    out.set("kind", "PersistentVolumeClaim");
    out.set("apiVersion", "v1");
  }
  return out;
}

class KubernetesEncoding : public testing::Test {
 protected:
  Place place(std::string_view key) const { return encoding_->place_of(key); }
  std::string there(std::string_view key, std::string_view value) const {
    return encoding_->to_etcd(key, key, value).value();
  }
  Result<std::string> back(std::string_view key, std::string_view value) const {
    return encoding_->from_etcd(key, key, value);
  }
  std::vector<std::string> told_;
  std::shared_ptr<const EtcdEncoding> encoding_ = kubernetes_encoding(
      nullptr, [this](const std::string& line) { told_.push_back(line); });
  std::shared_ptr<const catalog::Catalog> catalog_ = catalog::Catalog::builtin();
};

TEST_F(KubernetesEncoding, EveryKindComesBackAsItWas) {
  int kinds = 0;
  for (const catalog::Group& group : catalog_->all_groups())
    for (const catalog::Version& version : group.versions)
      for (const catalog::Resource* r : version.resources) {
        if (r->storage_prefix.empty() || !r->has_protobuf || catalog_->storage_of(*r) != r)
          continue;
        SCOPED_TRACE(r->qualified_name());
        json::Document document{sample(*r->schema), {}, {}};
        document.value.set("apiVersion", r->api_version());
        document.value.set("kind", r->kind);
        auto form = decode_form(*catalog_, *r, *r->schema, document, "");
        ASSERT_TRUE(form) << form.error().message;
        form->value.member("metadata").erase("resourceVersion");
        const std::string key = cat(r->storage_prefix, r->namespaced ? "default/" : "", "a");
        const std::string stored = json::print_object(form->value);
        const std::string written = there(key, stored);
        EXPECT_EQ(written.starts_with('{'),
                  r->group == "apiextensions.k8s.io" || r->group == "apiregistration.k8s.io");
        auto read = back(key, written);
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(*read, stored);
        EXPECT_EQ(there(key, *read), written);
        // JSON, as older servers wrote it.
        EXPECT_EQ(back(key, stored).value(), stored);
        // Whatever is cut off is not an object, or is one that is whole.
        for (std::size_t cut = 0; cut < std::min<std::size_t>(written.size(), 200); ++cut)
          if (auto part = back(key, written.substr(0, cut)))
            EXPECT_TRUE(json::parse(*part) && (*json::parse(*part))["metadata"].is_object());
        ++kinds;
      }
  EXPECT_GT(kinds, 50);
}

TEST_F(KubernetesEncoding, AValueOfAnotherVersionIsConverted) {
  const catalog::Resource* old = catalog_->find("autoscaling", "v1", "horizontalpodautoscalers");
  auto object = json::parse(
      R"({"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v1","metadata":{"name":"a"},)"
      R"("spec":{"maxReplicas":3,"targetCPUUtilizationPercentage":70,)"
      R"("scaleTargetRef":{"kind":"Deployment","name":"a"}},"status":{}})");
  const std::string written = schema::encode_enveloped(*old->schema, *object).bytes;
  auto read = back("/registry/horizontalpodautoscalers/default/a", written);
  ASSERT_TRUE(read) << read.error().message;
  const Value now = *json::parse(*read);
  EXPECT_EQ(now["apiVersion"].as_string(), "autoscaling/v2");
  EXPECT_EQ(now["spec"]["metrics"].items().size(), 1u);
}

TEST_F(KubernetesEncoding, CustomResourcesAreJson) {
  const std::string key = "/registry/example.com/widgets/default/a";
  const std::string
      stored = R"({"kind":"W","apiVersion":"example.com/v1","metadata":{"name":"a"},"a":1})";
  EXPECT_EQ(place(key), Place::kShared);
  const std::string written = there(key, stored);
  EXPECT_EQ(written, R"({"a":1,"apiVersion":"example.com/v1","kind":"W","metadata":{"name":"a"}})"
                     "\n");
  EXPECT_EQ(back(key, written).value(), stored);
  EXPECT_FALSE(back(key, "[]"));
  EXPECT_FALSE(back(key, "{}"));
  EXPECT_FALSE(back(key, ""));
}

TEST_F(KubernetesEncoding, KeysLieWhereKubernetesHasThem) {
  for (std::string_view key :
       {"/registry/pods/default/a", "/registry/services/specs/default/a",
        "/registry/services/endpoints/default/a", "/registry/minions/a",
        "/registry/apiextensions.k8s.io/customresourcedefinitions/a",
        "/registry/apiregistration.k8s.io/apiservices/v1.authorization.k8s.io",
        "/registry/masterleases/10.0.0.1", "/registry/ranges/servicenodeports"})
    EXPECT_EQ(place(key), Place::kShared) << key;
}

TEST_F(KubernetesEncoding, OwnKindsLieWhereKubernetesDoesNotLook) {
  for (std::string_view key :
       {"/cardea/mark", "/registry/access.cardea.dev/clusteraccesspolicies/a",
        "/registry/authorization.openshift.io/policies/default/a",
        "/registry/permissionconfig.k8s.io/uncoveredpermissionsets/a",
        "/registry/apiregistration.k8s.io/apiservices/v1alpha1.access.cardea.dev",
        "/registry/apiregistration.k8s.io/apiservices/v1alpha1.authorization.k8s.io"}) {
    EXPECT_EQ(place(key), Place::kOwn) << key;
    const std::string text = R"({"metadata": {}, "as": "it is"})";
    EXPECT_EQ(there(key, text), text);
    EXPECT_EQ(back(key, text).value(), text);
    const bool is_object = key.starts_with("/registry/");
    for (const char* damaged : {"", "junk", "[]", R"({"metadata":)"})
      EXPECT_EQ(back(key, damaged).has_value(), !is_object) << key << damaged;
  }
}

TEST_F(KubernetesEncoding, WhatIsNotKnownIsForeign) {
  for (std::string_view key : {"/registry/strangethings/a", "/registry/strange", "/registry/",
                               "/registry/ranges/serviceips", "/registry/peerserverleases/a",
                               "/registry/services/other/a", "/registry/pods"})
    EXPECT_EQ(place(key), Place::kForeign) << key;
}

TEST_F(KubernetesEncoding, AValueInTheWrongPlaceIsNotShown) {
  const std::string secret = there("/registry/secrets/default/a", kSecretObject);
  EXPECT_THAT(secret, StartsWith(std::string_view("k8s\0", 4)));
  EXPECT_TRUE(back("/registry/secrets/default/a", secret));
  EXPECT_TRUE(told_.empty());
  EXPECT_FALSE(back("/registry/configmaps/default/a", secret));
  EXPECT_FALSE(back("/registry/ranges/servicenodeports", secret));
  EXPECT_FALSE(back("/registry/secrets/default/a", cat("k8s:enc:aescbc:v1:a:", secret)));
  EXPECT_EQ(told_.size(), 3u) << "each is told";
}

TEST_F(KubernetesEncoding, SecretsAreSealedAsConfigured) {
  auto config = Encryption::read(
      cat("{kind: EncryptionConfiguration, apiVersion: apiserver.config.k8s.io/v1, resources: "
          "[{resources: [secrets], providers: [{aesgcm: {keys: [{name: a, secret: \"",
          base64(std::string(32, 'k')), "\"}]}}]}]}"));
  ASSERT_TRUE(config) << config.error().message;
  auto sealing = kubernetes_encoding(std::make_shared<const CurrentEncryption>(
      std::make_shared<const Encryption>(std::move(*config))));
  const std::string key = "/registry/secrets/default/a";
  auto sealed = sealing->to_etcd(key, key, kSecretObject);
  ASSERT_TRUE(sealed);
  EXPECT_THAT(*sealed, StartsWith("k8s:enc:aesgcm:v1:a:"));
  EXPECT_FALSE(sealed->contains("Opaque"));
  auto opened = sealing->from_etcd(key, key, *sealed);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*json::parse(*opened))["data"]["a"].as_string(), "b3Blbg==");
  EXPECT_FALSE(
      sealing->from_etcd("/registry/secrets/default/b", "/registry/secrets/default/b", *sealed))
      << "it does not open at another key";
  EXPECT_FALSE(back(key, *sealed)) << "nor without the keys";
}

}  // namespace
}  // namespace cardea::rest
