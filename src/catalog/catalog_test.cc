#include "catalog/catalog.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "catalog/builtin_types.h"
#include "catalog/versions.h"
#include "json/parse.h"

namespace cardea::catalog {
namespace {

using json::Value;
using schema::Held;
using schema::Schema;

Value definition(std::string_view extra = "") {
  std::string text = cat(
      R"({"metadata":{"name":"widgets.example.com"},
    "spec":{"group":"example.com","scope":"Namespaced",
    "names":{"plural":"widgets","singular":"widget","kind":"Widget","shortNames":["wd"],
      "categories":["all"]},
    "versions":[{"name":"v1beta1","served":true,"storage":false,"schema":{}},
                {"name":"v1","served":true,"storage":true,"schema":{},
                 "subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas",
                   "statusReplicasPath":".status.replicas"}},
                 "selectableFields":[{"jsonPath":".spec.color"}],
                 "additionalPrinterColumns":[{"name":"Color","type":"string",
                   "jsonPath":".spec.color","priority":1}]},
                {"name":"v0","served":false,"storage":false,"schema":{}}])",
      extra, R"(},"status":{"conditions":[{"type":"Established","status":"True"}]}})");
  return json::parse(text).value();
}

TEST(Catalog, ServesTheGenerallyAvailableVersionsInKubernetesOrderAndItsOwnLast) {
  auto catalog = Catalog::builtin();
  std::vector<std::string> names;
  for (const Group& group : catalog->groups())
    for (const Version& version : group.versions) names.push_back(group.name + "/" + version.name);
  EXPECT_EQ(join(names, " "),
            "/v1 apiregistration.k8s.io/v1 apps/v1 events.k8s.io/v1 authentication.k8s.io/v1 "
            "authorization.k8s.io/v1 "
            "autoscaling/v2 autoscaling/v1 batch/v1 certificates.k8s.io/v1 networking.k8s.io/v1 "
            "policy/v1 "
            "rbac.authorization.k8s.io/v1 storage.k8s.io/v1 admissionregistration.k8s.io/v1 "
            "apiextensions.k8s.io/v1 "
            "scheduling.k8s.io/v1 coordination.k8s.io/v1 node.k8s.io/v1 discovery.k8s.io/v1 "
            "resource.k8s.io/v1 "
            "flowcontrol.apiserver.k8s.io/v1 access.cardea.dev/v1alpha1 "
            "authorization.openshift.io/v1 authorization.openshift.io/v1beta3");
}

TEST(Catalog, FindsAResourceByNameAndByKind) {
  auto catalog = Catalog::builtin();
  const Resource* pods = catalog->find("", "v1", "pods");
  ASSERT_TRUE(pods);
  EXPECT_EQ(pods->kind, "Pod");
  EXPECT_EQ(pods->list_kind, "PodList");
  EXPECT_TRUE(pods->namespaced);
  EXPECT_TRUE(pods->has_verb("watch"));
  EXPECT_EQ(pods->storage_prefix, "/registry/pods/");
  ASSERT_TRUE(pods->subresource("eviction"));
  EXPECT_EQ(pods->subresource("eviction")->schema, catalog->type("io.k8s.api.policy.v1.Eviction"));
  EXPECT_EQ(catalog->find_kind("", "v1", "Pod"), pods);
  EXPECT_EQ(catalog->find("apps", "v2", "deployments"), nullptr);
  EXPECT_EQ(catalog->find("apps", "v1", "pods"), nullptr);
  EXPECT_FALSE(catalog->find("", "v1", "namespaces")->namespaced);
  EXPECT_FALSE(catalog->find("", "v1", "namespaces")->has_verb("deletecollection"));
}

TEST(Catalog, EveryResourceHasASchemaAndAStrategy) {
  auto catalog = Catalog::builtin();
  int count = 0;
  for (const Group& group : catalog->groups())
    for (const Version& version : group.versions)
      for (const Resource* resource : version.resources) {
        ++count;
        EXPECT_TRUE(resource->schema) << resource->name;
        EXPECT_TRUE(resource->strategy) << resource->name;
        EXPECT_EQ(resource->is_computed(),
                  resource->name == "componentstatuses" || resource->name == "decisions")
            << resource->name;
        EXPECT_EQ(resource->has_verb("get"),
                  !resource->storage_prefix.empty() || resource->is_computed())
            << resource->name;
        EXPECT_TRUE(catalog->storage_of(*resource)) << resource->name;
      }
  EXPECT_EQ(count, 88);
}

TEST(Catalog, TwoFacesOfEventsAndAutoscalersRestInOnePlace) {
  auto catalog = Catalog::builtin();
  EXPECT_EQ(catalog->storage_of(*catalog->find("events.k8s.io", "v1", "events")),
            catalog->find("", "v1", "events"));
  EXPECT_EQ(catalog->find("events.k8s.io", "v1", "events")->storage_prefix, "/registry/events/");
  EXPECT_EQ(catalog->storage_of(*catalog->find("autoscaling", "v1", "horizontalpodautoscalers")),
            catalog->find("autoscaling", "v2", "horizontalpodautoscalers"));
}

TEST(BuiltinTypes, KnowHowAFieldIsHeldMergedAndNumbered) {
  auto catalog = Catalog::builtin();
  const Schema* pod_spec = catalog->type("io.k8s.api.core.v1.PodSpec");
  ASSERT_TRUE(pod_spec);
  const auto* containers = pod_spec->property("containers");
  ASSERT_TRUE(containers);
  EXPECT_TRUE(containers->required);
  EXPECT_FALSE(containers->omit_empty);
  EXPECT_EQ(containers->held, Held::kList);
  EXPECT_EQ(containers->number, 2u);
  EXPECT_EQ(containers->schema->list_type, Schema::ListType::kMap);
  EXPECT_EQ(containers->schema->map_keys, std::vector<std::string>{"name"});
  EXPECT_EQ(containers->schema->patch_merge_key, "name");
  EXPECT_EQ(containers->schema->items->type_name, "io.k8s.api.core.v1.Container");

  const auto* protocol = catalog->type("io.k8s.api.core.v1.ContainerPort")->property("protocol");
  EXPECT_EQ(*protocol->schema->default_value, Value("TCP"));
  EXPECT_EQ(protocol->schema->enumeration.size(), 3u);
  // An embedded message's field carries the path to it.
  EXPECT_EQ(catalog->type("io.k8s.api.core.v1.Probe")->property("httpGet")->number, (1u << 10) | 2);
}

TEST(BuiltinTypes, GiveAUseOfATypeItsOwnMergeStrategy) {
  auto catalog = Catalog::builtin();
  const auto* strategy = catalog->type("io.k8s.api.apps.v1.DeploymentSpec")->property("strategy");
  EXPECT_EQ(strategy->schema->patch_strategy, "retainKeys");
  EXPECT_TRUE(strategy->schema->property("rollingUpdate"));
  EXPECT_EQ(catalog->type("io.k8s.api.apps.v1.DeploymentStrategy")->patch_strategy, "");
  const auto* claim = catalog->type("io.k8s.api.core.v1.PersistentVolumeSpec")
                          ->property("claimRef");
  EXPECT_EQ(claim->schema->map_type, Schema::MapType::kGranular);
  EXPECT_EQ(catalog->type("io.k8s.api.core.v1.ObjectReference")->map_type,
            Schema::MapType::kAtomic);
}

TEST(BuiltinTypes, MayHoldThemselves) {
  auto catalog = Catalog::builtin();
  const Schema* props = catalog->type(
      "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps");
  EXPECT_EQ(props->property("not")->schema, props);
  EXPECT_EQ(props->property("x-kubernetes-list-type")->number, 42u);
  EXPECT_EQ(catalog->kind_type("", "v1", "Status"),
            catalog->type("io.k8s.apimachinery.pkg.apis.meta.v1.Status"));
}

TEST(Catalog, AddsEveryServedVersionOfADefinition) {
  auto builtin = Catalog::builtin();
  auto catalog = builtin->with_definitions({definition()});
  const Resource* v1 = catalog->find("example.com", "v1", "widgets");
  const Resource* beta = catalog->find("example.com", "v1beta1", "widgets");
  ASSERT_TRUE(v1 && beta);
  EXPECT_EQ(catalog->find("example.com", "v0", "widgets"), nullptr);
  EXPECT_EQ(catalog->storage_of(*beta), v1);
  EXPECT_EQ(v1->list_kind, "WidgetList");
  EXPECT_EQ(v1->storage_prefix, "/registry/example.com/widgets/");
  EXPECT_TRUE(v1->subresource("status") && v1->subresource("scale"));
  EXPECT_FALSE(beta->subresource("status"));
  ASSERT_EQ(v1->columns.size(), 2u);
  EXPECT_EQ(v1->columns[1].json_path, ".spec.color");
  EXPECT_EQ(beta->columns[1].name, "Age");
  EXPECT_EQ(v1->strategy->selectable_fields, std::vector<std::string>{"spec.color"});
  EXPECT_EQ(v1->strategy->selectable_field(json::parse(R"({"spec":{"color":"red"}})").value(),
                                           "spec.color"),
            "red");
  EXPECT_EQ(catalog->groups().back().name, "example.com");
  EXPECT_EQ(catalog->groups().back().versions[0].name, "v1");
  EXPECT_NE(catalog->generation(), builtin->generation());
  EXPECT_EQ(builtin->find("example.com", "v1", "widgets"), nullptr);
}

TEST(Catalog, SharesDefinitionsThatDidNotChange) {
  auto first = Catalog::builtin()->with_definitions({definition()});
  auto second = first->with_definitions({definition()});
  EXPECT_EQ(first->find("example.com", "v1", "widgets"),
            second->find("example.com", "v1", "widgets"));
  auto third = second->with_definitions({definition(R"(,"preserveUnknownFields":false)")});
  EXPECT_NE(second->find("example.com", "v1", "widgets"),
            third->find("example.com", "v1", "widgets"));
  EXPECT_EQ(third->with_definitions({})->find("example.com", "v1", "widgets"), nullptr);
}

TEST(Catalog, LeavesOutADefinitionThatIsNotEstablished) {
  Value pending = definition();
  pending.member("status").set("conditions", Value::array());
  EXPECT_EQ(Catalog::builtin()->with_definitions({pending})->find("example.com", "v1", "widgets"),
            nullptr);
}

TEST(Versions, AreOrderedByStabilityThenNumber) {
  std::vector<std::string> order = {"v10",     "v2",        "v1",        "v11beta2", "v10beta3",
                                    "v3beta1", "v12alpha1", "v11alpha2", "foo1",     "foo10"};
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    EXPECT_TRUE(version_before(order[i], order[i + 1])) << order[i];
    EXPECT_FALSE(version_before(order[i + 1], order[i])) << order[i];
  }
}

}  // namespace
}  // namespace cardea::catalog
