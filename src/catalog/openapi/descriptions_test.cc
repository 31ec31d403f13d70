#include "catalog/openapi/descriptions.h"

#include <gtest/gtest.h>

#include <set>

#include "base/strings.h"
#include "catalog/catalog.h"
#include "catalog/openapi/openapi_v2.h"
#include "catalog/openapi/openapi_v3.h"

namespace cardea::catalog::openapi {
namespace {

using json::Value;

TEST(Descriptions, ReadTextsOfSeveralLinesAndFieldsThatAreLikeThoseOfAnotherType) {
  Descriptions texts(R"(# A comment.
api.One: A thing
    with a long text.
  color: The colour:
    red
    or green.
  colorful: Not the field `color`.

# Another comment.
api.Two:
  = api.One
  color: Another one.
api.Three: Without fields.
)");
  schema::Schema one, two, three, unknown;
  one.type_name = "io.k8s.api.One";
  two.type_name = "io.k8s.api.Two";
  three.type_name = "io.k8s.api.Three";
  unknown.type_name = "io.k8s.api.Unknown";
  EXPECT_EQ(texts.of_type({&one, {}}), "A thing with a long text.");
  EXPECT_EQ(texts.of_type({&two, {}}), "");
  EXPECT_EQ(texts.of_type({&three, {}}), "Without fields.");
  EXPECT_EQ(texts.of_type({&unknown, {}}), "");
  EXPECT_EQ(texts.of_field({&one, {}}, "color"), "The colour: red or green.");
  EXPECT_EQ(texts.of_field({&one, {}}, "colorful"), "Not the field `color`.");
  EXPECT_EQ(texts.of_field({&one, {}}, "col"), "");
  EXPECT_EQ(texts.of_field({&two, {}}, "color"), "Another one.");
  EXPECT_EQ(texts.of_field({&two, {}}, "colorful"), "Not the field `color`.");
  EXPECT_EQ(texts.of_field({&three, {}}, "color"), "");
  EXPECT_EQ(texts.of_field({&one, {}}, "kind"), "");
  EXPECT_EQ(texts.of_field({&one, {{"", "v1", "One"}}}, "kind"),
            "Kind names the type of this object, in CamelCase.");
}

TEST(Descriptions, AreAboutTypesAndFieldsThatExistAndNoneIsWrittenTwice) {
  auto catalog = Catalog::builtin();
  auto find = [&](std::string_view name) {
    const schema::Schema* schema = catalog->types().find(cat("io.k8s.", name));
    return schema ? schema : catalog->types().find(name);
  };
  std::set<std::string> types, fields;
  const schema::Schema* type = nullptr;
  for (std::string_view line : split(description_texts(), '\n')) {
    EXPECT_LE(line.size(), 100u) << line;
    if (line.empty() || line.starts_with('#') || line.starts_with("    ")) continue;
    if (line.starts_with("  = ")) {
      EXPECT_TRUE(find(line.substr(4))) << line;
      continue;
    }
    std::string_view name = trim(line.substr(0, line.find(':')));
    if (line.starts_with("  ")) {
      EXPECT_TRUE(fields.emplace(name).second) << line;
      ASSERT_TRUE(type) << line;
      EXPECT_TRUE(type->property(name)) << type->type_name << ": " << line;
    } else {
      EXPECT_TRUE(types.emplace(name).second) << line;
      fields.clear();
      type = find(name);
      ASSERT_TRUE(type) << line;
    }
  }
}

// The texts of a document's types, and the fields that can be reached from them.
class Explained {
 public:
  Explained(const Value& types, std::string_view prefix) : types_(types), prefix_(prefix) {}

  void expect_text_of_every_kind() const {
    for (const auto& type : types_.members())
      if (type.value.has("x-kubernetes-group-version-kind"))
        EXPECT_TRUE(is_text(type.value["description"])) << type.key();
  }

  // All fields of a type, and of the types of these fields.
  void expect_text_of_every_field(std::string_view name) {
    if (!seen_.emplace(name).second) return;
    ASSERT_TRUE(types_.has(name)) << name;
    for (const auto& field : types_[name]["properties"].members()) {
      EXPECT_TRUE(is_text(field.value["description"])) << name << "." << field.key();
      follow(field.value);
    }
  }

  std::size_t seen() const { return seen_.size(); }

 private:
  static bool is_text(const Value& text) {
    std::string_view words = text.as_string();
    return words.find(' ') != words.npos || words.size() > 4;
  }

  void follow(const Value& node) {
    if (std::string_view to = node["$ref"].as_string(); !to.empty())
      expect_text_of_every_field(to.substr(prefix_.size()));
    for (std::string_view key : {"items", "additionalProperties"})
      if (node.has(key)) follow(node[key]);
    for (const Value& part : node["allOf"].items()) follow(part);
  }

  const Value& types_;
  std::string_view prefix_;
  std::set<std::string, std::less<>> seen_;
};

constexpr std::string_view kAskedAbout[] = {
    "api.core.v1.Pod",
    "api.core.v1.Service",
    "api.core.v1.ConfigMap",
    "api.core.v1.Secret",
    "api.core.v1.PersistentVolumeClaim",
    "api.core.v1.PersistentVolume",
    "api.core.v1.Node",
    "api.core.v1.Namespace",
    "api.core.v1.ServiceAccount",
    "api.apps.v1.Deployment",
    "api.apps.v1.ReplicaSet",
    "api.apps.v1.StatefulSet",
    "api.apps.v1.DaemonSet",
    "api.batch.v1.Job",
    "api.batch.v1.CronJob",
    "api.networking.v1.Ingress",
    "api.networking.v1.NetworkPolicy",
    "api.rbac.v1.Role",
    "api.rbac.v1.ClusterRole",
    "api.rbac.v1.RoleBinding",
    "api.rbac.v1.ClusterRoleBinding",
    "api.autoscaling.v1.HorizontalPodAutoscaler",
    "api.autoscaling.v2.HorizontalPodAutoscaler",
    "api.policy.v1.PodDisruptionBudget",
    "apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
};

// Cardea's own kinds need texts as well.
bool is_own(std::string_view type) {
  for (std::string_view prefix :
       {"dev.cardea.", "io.k8s.api.permissionconfig.", "io.k8s.api.authorization."})
    if (type.starts_with(prefix)) return true;
  return false;
}

TEST(OpenApiV2, ExplainsEveryKindAndEveryFieldOfTheKindsThatPeopleAskAbout) {
  auto catalog = Catalog::builtin({"ConditionalAuthorization", "FineGrainedAuthorization"});
  Value types = openapi_v2(*catalog)["definitions"];
  Explained explained(types, "#/definitions/");
  explained.expect_text_of_every_kind();
  for (std::string_view name : kAskedAbout) {
    explained.expect_text_of_every_field(cat("io.k8s.", name));
    explained.expect_text_of_every_field(cat("io.k8s.", name, "List"));
  }
  for (const auto& type : types.members())
    if (is_own(type.key())) explained.expect_text_of_every_field(type.key());
  EXPECT_GT(explained.seen(), 350u);
}

TEST(OpenApiV3, ExplainsEveryKindAndEveryFieldOfTheKindsThatPeopleAskAbout) {
  auto catalog = Catalog::builtin({"ConditionalAuthorization", "FineGrainedAuthorization"});
  std::set<std::string_view> asked(std::begin(kAskedAbout), std::end(kAskedAbout));
  for (const std::string& path : openapi_v3_paths(*catalog)) {
    Value types = (*openapi_v3(*catalog, path))["components"]["schemas"];
    Explained explained(types, "#/components/schemas/");
    explained.expect_text_of_every_kind();
    for (const auto& type : types.members()) {
      std::string_view name = type.key();
      bool is_asked = name.starts_with("io.k8s.") && asked.erase(name.substr(7));
      if (is_asked || is_own(name)) explained.expect_text_of_every_field(name);
    }
  }
  EXPECT_TRUE(asked.empty()) << *asked.begin();
}

}  // namespace
}  // namespace cardea::catalog::openapi
