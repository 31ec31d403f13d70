#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include "base/strings.h"
#include "catalog/catalog.h"
#include "catalog/openapi/openapi_v2.h"
#include "catalog/openapi/openapi_v3.h"
#include "catalog/openapi/publication.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::catalog {
namespace {

using json::Value;

Value widget(std::string_view schema) {
  return json::parse(cat(R"({"metadata":{"name":"widgets.example.com"},
    "spec":{"group":"example.com","scope":"Namespaced",
    "names":{"plural":"widgets","singular":"widget","kind":"Widget"},"versions":[
    {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":)",
                         schema, R"(}}]},
    "status":{"conditions":[{"type":"Established","status":"True"}]}})"))
      .value();
}

void each_reference(const Value& value, const std::function<void(std::string_view)>& visit) {
  for (const auto& member : value.members()) {
    if (member.key() == "$ref" && member.value.is_string()) visit(member.value.as_string());
    each_reference(member.value, visit);
  }
  for (const Value& item : value.items()) each_reference(item, visit);
}

TEST(OpenApiV3, HasADocumentForEveryGroupAndVersionAndEveryReferenceResolves) {
  auto catalog = Catalog::builtin()->with_definitions({widget(R"({"type":"object"})")});
  auto paths = openapi_v3_paths(*catalog);
  EXPECT_EQ(std::set<std::string>(paths.begin(), paths.end()).count("apis/example.com/v1"), 1u);
  for (const std::string& path : paths) {
    auto document = openapi_v3(*catalog, path);
    ASSERT_TRUE(document) << path;
    constexpr std::string_view kPrefix = "#/components/schemas/";
    each_reference((*document)["components"]["schemas"], [&](std::string_view ref) {
      ASSERT_TRUE(ref.starts_with(kPrefix)) << ref;
      EXPECT_TRUE((*document)["components"]["schemas"].has(ref.substr(kPrefix.size())))
          << path << " " << ref;
    });
    each_reference((*document)["paths"], [&](std::string_view ref) {
      EXPECT_TRUE((*document)["components"]["schemas"].has(ref.substr(kPrefix.size())))
          << path << " " << ref;
    });
  }
  EXPECT_FALSE(openapi_v3(*catalog, "apis/nosuch/v1"));
  EXPECT_FALSE(openapi_v3(*catalog, "apis/apps/v9"));
  EXPECT_FALSE(openapi_v3(*catalog, ""));
}

TEST(OpenApiV3, SaysHowClientsMergeAndWhichParametersAWriteTakes) {
  auto document = openapi_v3(*Catalog::builtin(), "apis/apps/v1");
  const Value& schemas = (*document)["components"]["schemas"];
  const Value& containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
  EXPECT_EQ(containers["x-kubernetes-patch-merge-key"].as_string(), "name");
  EXPECT_EQ(containers["x-kubernetes-list-type"].as_string(), "map");
  EXPECT_EQ(schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"]
                   ["x-kubernetes-patch-strategy"]
                       .as_string(),
            "retainKeys");
  EXPECT_EQ(
      json::print(schemas["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"]),
      R"([{"group":"apps","kind":"Deployment","version":"v1"}])");
  const Value& patch = (*document)["paths"]
                                  ["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
                                  ["patch"];
  EXPECT_EQ(patch["operationId"].as_string(), "patchAppsV1NamespacedDeployment");
  EXPECT_EQ(patch["x-kubernetes-group-version-kind"]["kind"].as_string(), "Deployment");
  std::set<std::string> names;
  for (const Value& parameter : patch["parameters"].items())
    names.emplace(parameter["name"].as_string());
  EXPECT_TRUE(names.contains("fieldValidation") && names.contains("dryRun") &&
              names.contains("force"));
}

TEST(OpenApiV3, PublishesACustomResourceAsItIsDefinedWithWhatTheServerAdds) {
  auto catalog = Catalog::builtin()->with_definitions(
      {widget(R"({"type":"object","description":"A thing.","properties":{
      "spec":{"type":"object","properties":{"port":{"x-kubernetes-int-or-string":true},
        "size":{"type":"integer","default":1,"nullable":true,"format":"int32"},
        "odd":{"type":"string","format":"odd","example":"x",
          "externalDocs":{"url":"https://example.com"}},
        "pod":{"type":"object","x-kubernetes-embedded-resource":true,
          "x-kubernetes-preserve-unknown-fields":true}}}}})")});
  auto document = openapi_v3(*catalog, "apis/example.com/v1");
  const Value& type = (*document)["components"]["schemas"]["com.example.v1.Widget"];
  EXPECT_EQ(type["description"].as_string(), "A thing.");
  EXPECT_EQ(type["properties"]["apiVersion"]["type"].as_string(), "string");
  EXPECT_EQ(type["properties"]["metadata"]["allOf"][0]["$ref"].as_string(),
            "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  const Value& spec = type["properties"]["spec"]["properties"];
  EXPECT_EQ(
      json::print(spec["port"]),
      R"({"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true})");
  EXPECT_EQ(json::print(spec["size"]),
            R"({"default":1,"format":"int32","nullable":true,"type":"integer"})");
  EXPECT_EQ(json::print(spec["odd"]),
            R"({"example":"x","externalDocs":{"url":"https://example.com"},"format":"odd",)"
            R"("type":"string"})");
  EXPECT_EQ(json::print(spec["pod"]["required"]), R"(["kind","apiVersion"])");
}

TEST(OpenApiV2, LeavesOutOfACustomResourceWhatItsReadersCannotUnderstand) {
  auto catalog = Catalog::builtin()->with_definitions(
      {widget(R"({"type":"object","required":["spec"],"properties":{
      "spec":{"type":"object","required":["size","name"],"oneOf":[{"required":["a"]}],"properties":{
        "size":{"type":"integer","default":1,"nullable":true},"name":{"type":"string"},
        "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true,
          "properties":{"a":{"type":"string"}}},
        "list":{"type":"array","nullable":true,"items":{"type":"string"}}}}}})")});
  const Value type = openapi_v2(*catalog)["definitions"]["com.example.v1.Widget"];
  EXPECT_EQ(json::print(type["properties"]["spec"]),
            R"({"properties":{"free":{"x-kubernetes-preserve-unknown-fields":true},"list":{},)"
            R"("name":{"type":"string"},"size":{}},)"
            R"("required":["name"],"type":"object"})");
  EXPECT_EQ(type["properties"]["metadata"]["$ref"].as_string(),
            "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");

  auto open = Catalog::builtin()->with_definitions(
      {widget(R"({"type":"object","x-kubernetes-preserve-unknown-fields":true})")});
  EXPECT_EQ(json::print(openapi_v2(*open)["definitions"]["com.example.v1.Widget"]),
            R"({"type":"object","x-kubernetes-group-version-kind":[{"group":"example.com",)"
            R"("kind":"Widget","version":"v1"}]})");
}

TEST(OpenApi, ShowsNoPermissionsThatNobodyFollows) {
  for (bool is_on : {false, true}) {
    auto catalog = Catalog::builtin(is_on ? std::vector<std::string>{"FineGrainedAuthorization"}
                                          : std::vector<std::string>());
    for (const Value& document : {openapi_v2(*catalog), *openapi_v3(*catalog, "api/v1")})
      for (std::string_view tag :
           {R"("x-kubernetes-permission-verb":")", R"("x-kubernetes-permissions":)"})
        EXPECT_EQ(json::print(document).find(tag) != std::string::npos, is_on) << tag;
  }
}

TEST(OpenApi, ShowsThePermissionsOnFieldsOfBuiltInKindsWhereTheyAreTrueOfEveryUse) {
  auto catalog = Catalog::builtin({"FineGrainedAuthorization"});
  for (bool v3 : {false, true}) {
    Value types = v3 ? (*openapi_v3(*catalog, "apis/apps/v1"))["components"]["schemas"]
                     : openapi_v2(*catalog)["definitions"];
    const Value& meta = types["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"];
    EXPECT_EQ(meta["labels"]["x-kubernetes-permission-verb"].as_string(), "labels");
    const Value& label = meta["labels"]["additionalProperties"];
    EXPECT_EQ(label["x-kubernetes-permission-verb"].as_string(), "label");
    EXPECT_EQ(label["x-kubernetes-permission-parameter"].as_string(), "mapKey");
    EXPECT_EQ(label["x-kubernetes-permission-parameter-treatment"].as_string(),
              "slash-delimited-prefix");
    EXPECT_EQ(meta["finalizers"]["items"]["x-kubernetes-permission-parameter"].as_string(),
              "setValue");
    EXPECT_FALSE(meta["managedFields"].has("x-kubernetes-permission-verb"));

    const Value& deployment = types["io.k8s.api.apps.v1.Deployment"];
    EXPECT_EQ(deployment["properties"]["spec"]["x-kubernetes-permission-verb"].as_string(),
              "specification");
    EXPECT_EQ(deployment["properties"]["spec"].has("$ref"), !v3)
        << "siblings of $ref count for nothing in version 3";
    EXPECT_EQ(types["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["replicas"]
                   ["x-kubernetes-permission-verb"]
                       .as_string(),
              "replicaCount");
    const Value& conditions = types["io.k8s.api.apps.v1.DeploymentStatus"]["properties"]
                                   ["conditions"];
    EXPECT_EQ(conditions["x-kubernetes-permission-verb"].as_string(), "conditions");
    EXPECT_EQ(conditions["items"]["x-kubernetes-permission-parameter"].as_string(), "listKey:type");
    // The containers of a PodTemplate have no such permission, so only the kinds can show it.
    EXPECT_FALSE(types["io.k8s.api.core.v1.Container"]["properties"]["resources"].has(
        "x-kubernetes-permission-verb"));
    EXPECT_EQ(json::print(deployment["x-kubernetes-permissions"]),
              R"([{"fields":["spec.template.spec.containers[*].resources",)"
              R"("spec.template.spec.initContainers[*].resources"],)"
              R"("x-kubernetes-permission-verb":"computeResources"}])");
  }
  // Pods and templates share this type, and a template has no permission to assign a node.
  Value core = (*openapi_v3(*catalog, "api/v1"))["components"]["schemas"];
  EXPECT_FALSE(core["io.k8s.api.core.v1.PodSpec"]["properties"]["nodeName"].has(
      "x-kubernetes-permission-verb"));
  std::set<std::string> verbs;
  for (const Value& p : core["io.k8s.api.core.v1.Pod"]["x-kubernetes-permissions"].items())
    verbs.emplace(p["x-kubernetes-permission-verb"].as_string());
  EXPECT_EQ(verbs,
            (std::set<std::string>{"computeResources", "nodeAssignment", "schedulingGates"}));
}

TEST(OpenApi, ShowsThePermissionsOnFieldsOfADefinition) {
  auto catalog = Catalog::builtin({"FineGrainedAuthorization"})
                     ->with_definitions({widget(R"({"type":"object","properties":{
      "spec":{"type":"object","x-kubernetes-permission-verb":"specification","properties":{
        "boom":{"type":"boolean","x-kubernetes-permission-verb":"example.com/boom",
          "x-kubernetes-permission-excluded":true},
        "parts":{"type":"object","additionalProperties":{"type":"string",
          "x-kubernetes-permission-verb":"example.com/part",
          "x-kubernetes-permission-parameter":"mapKey",
          "x-kubernetes-permission-parameter-cel":"self"}}}}}})")});
  for (const Value& type :
       {(*openapi_v3(*catalog,
                     "apis/example.com/v1"))["components"]["schemas"]["com.example.v1.Widget"],
        openapi_v2(*catalog)["definitions"]["com.example.v1.Widget"]}) {
    const Value& spec = type["properties"]["spec"];
    EXPECT_EQ(spec["x-kubernetes-permission-verb"].as_string(), "specification");
    EXPECT_TRUE(spec["properties"]["boom"]["x-kubernetes-permission-excluded"].as_bool());
    EXPECT_EQ(
        spec["properties"]["parts"]["additionalProperties"]["x-kubernetes-permission-parameter-cel"]
            .as_string(),
        "self");
  }
}

TEST(OpenApiV2, EveryReferenceResolves) {
  Value document = openapi_v2(*Catalog::builtin());
  each_reference(document, [&](std::string_view ref) {
    ASSERT_TRUE(ref.starts_with("#/definitions/")) << ref;
    EXPECT_TRUE(document["definitions"].has(ref.substr(14))) << ref;
  });
}

TEST(OpenApi, HasTheTypesOfDiscoveryAndWatches) {
  auto catalog = Catalog::builtin();
  Value v2 = openapi_v2(*catalog);
  for (std::string_view name :
       {"APIGroup", "APIGroupList", "APIResource", "APIResourceList", "APIVersions", "WatchEvent"})
    EXPECT_TRUE(v2["definitions"].has(cat("io.k8s.apimachinery.pkg.apis.meta.v1.", name))) << name;
  for (std::string_view path :
       {"/version/", "/api/", "/api/v1/", "/apis/", "/apis/apps/", "/apis/apps/v1/"})
    EXPECT_TRUE(v2["paths"].has(path)) << path;
  EXPECT_FALSE(v2["paths"].has("/apis//"));
  const Value& apps = v2["paths"]["/apis/apps/v1/"]["get"];
  EXPECT_EQ(apps["operationId"].as_string(), "getAppsV1APIResources");
  EXPECT_EQ(apps["tags"][0].as_string(), "apps_v1");
  Value v3 = *openapi_v3(*catalog, "apis/apps/v1");
  EXPECT_TRUE(v3["components"]["schemas"].has("io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent"));
}

// Splits one level of a Protobuf message into its length-delimited fields.
std::vector<std::pair<int, std::string_view>> fields(std::string_view text) {
  std::vector<std::pair<int, std::string_view>> out;
  std::size_t at = 0;
  auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      auto byte = static_cast<unsigned char>(text.at(at++));
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
  };
  while (at < text.size()) {
    auto tag = varint();
    EXPECT_EQ(tag & 7, 2u);
    auto size = varint();
    out.emplace_back(static_cast<int>(tag >> 3), text.substr(at, size));
    at += size;
  }
  EXPECT_EQ(at, text.size());
  return out;
}

TEST(OpenApiV2, IsTheSameDocumentInProtobuf) {
  Value document = openapi_v2(*Catalog::builtin());
  std::string bytes = openapi_v2_protobuf(document);
  std::set<std::string> paths, definitions;
  for (auto [number, value] : fields(bytes)) {
    if (number == 1) EXPECT_EQ(value, "2.0");
    if (number == 8)
      for (auto [inner, path] : fields(value)) paths.emplace(fields(path)[0].second);
    if (number == 9)
      for (auto [inner, definition] : fields(value))
        definitions.emplace(fields(definition)[0].second);
  }
  EXPECT_EQ(paths.size(), document["paths"].size());
  EXPECT_EQ(definitions.size(), document["definitions"].size());
  EXPECT_TRUE(definitions.contains("io.k8s.api.core.v1.Pod"));
}

TEST(Publication, KeepsDocumentsUntilTheCatalogueChangesThem) {
  auto builtin = Catalog::builtin();
  Publication publication;
  auto apps = publication.openapi_v3(*builtin, "apis/apps/v1");
  auto v2 = publication.openapi_v2(*builtin);
  EXPECT_EQ(publication.openapi_v2(*builtin), v2);
  auto index = json::parse(publication.openapi_v3_index(*builtin)->body).value();
  std::string hash = apps->etag.substr(1, apps->etag.size() - 2);
  EXPECT_EQ(index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_string(),
            cat("/openapi/v3/apis/apps/v1?hash=", hash));

  auto first = builtin->with_definitions({widget(R"({"type":"object"})")});
  auto widgets = publication.openapi_v3(*first, "apis/example.com/v1");
  ASSERT_TRUE(widgets);
  EXPECT_EQ(publication.openapi_v3(*first, "apis/apps/v1"), apps);
  EXPECT_NE(publication.openapi_v2(*first)->etag, v2->etag);
  auto second = first->with_definitions({widget(R"({"type":"object","description":"changed"})")});
  EXPECT_NE(publication.openapi_v3(*second, "apis/example.com/v1")->etag, widgets->etag);
  EXPECT_EQ(publication.openapi_v3(*builtin, "apis/example.com/v1"), nullptr);
  EXPECT_TRUE(apps->matches(cat("\"other\", ", apps->etag)));
  EXPECT_FALSE(apps->matches("\"other\""));
  EXPECT_NE(publication.aggregated_discovery(*builtin, true)->etag,
            publication.aggregated_discovery(*builtin, false)->etag);
}

TEST(Publication, GivesEveryThreadTheDocumentOfItsOwnCatalogue) {
  auto builtin = Catalog::builtin();
  auto custom = builtin->with_definitions({widget(R"({"type":"object"})")});
  Publication publication;
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 3; ++round) {
        const Catalog& catalog = (i + round) % 2 ? *custom : *builtin;
        bool has = publication.aggregated_discovery(catalog, false)->body.find("example.com") !=
                   std::string::npos;
        bool document = publication.openapi_v3(catalog, "apis/example.com/v1") != nullptr;
        if (has != (&catalog == custom.get()) || document != has) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// As gnostic, which kube-apiserver uses, encodes the same document.
TEST(OpenApiV3, IsEncodedInProtobufAsGnosticDoes) {
  constexpr std::string_view kText =
      R"x({"openapi": "3.0.0", "info": {"title": "T", "version": "1"}, "paths": {"/a/": {")x"
      R"x(get": {"tags": ["t"], "description": "d", "operationId": "o", "parameters": [{"n)x"
      R"x(ame": "q", "in": "query", "description": "x", "schema": {"type": "string", "uniq)x"
      R"x(ueItems": true}}], "requestBody": {"content": {"*/*": {"schema": {"$ref": "#/r"})x"
      R"x(}}, "required": true}, "responses": {"200": {"description": "OK", "content": {"a)x"
      R"x(pplication/json": {"schema": {"$ref": "#/r"}}}}}, "x-kubernetes-action": "list",)x"
      R"x( "x-kubernetes-group-version-kind": {"group": "", "kind": "A", "version": "v1"}})x"
      R"x(}}, "components": {"schemas": {"A": {"description": "s", "type": "object", "requ)x"
      R"x(ired": ["b"], "properties": {"b": {"type": "array", "items": {"allOf": [{"$ref":)x"
      R"x( "#/r"}], "default": {}}, "x-kubernetes-list-map-keys": ["k"]}, "c": {"type": "i)x"
      R"x(nteger", "format": "int32", "default": 0}, "d": {"type": "boolean", "default": f)x"
      R"x(alse}, "e": {"type": "string", "enum": ["x", "z"], "default": ""}}, "additionalP)x"
      R"x(roperties": {"type": "string"}, "x-kubernetes-unions": [{"discriminator": "type")x"
      R"x(, "fields-to-discriminateBy": {"p": "P"}}]}}, "securitySchemes": {"B": {"type": )x"
      R"x("apiKey", "description": "k", "name": "authorization", "in": "header"}}}, "secur)x"
      R"x(ity": [{"B": []}]})x";
  constexpr std::string_view kBytes =
      "0a05332e302e3012060a015432013122e9010ae6010a032f612f12de0122db010a01741a01642a01"
      "6f321f0a1d0a0171120571756572791a0178520e0a0ca00101ca0106737472696e673a180a161212"
      "0a100a032a2f2a12090a0712050a03232f7218014230122e0a0332303012270a250a024f4b1a1f0a"
      "1d0a106170706c69636174696f6e2f6a736f6e12090a0712050a03232f726a1e0a13782d6b756265"
      "726e657465732d616374696f6e120712056c6973740a6a430a1f782d6b756265726e657465732d67"
      "726f75702d76657273696f6e2d6b696e641220121e67726f75703a2022220a6b696e643a20410a76"
      "657273696f6e3a2076310a2ae8020ab8020ab5020a014112af020aac02ba010162ca01066f626a65"
      "6374fa01b0010a4a0a016212450a43ca01056172726179f201110a0f0a0dd2010712050a03232f72"
      "8a0200a202240a1a782d6b756265726e657465732d6c6973742d6d61702d6b657973120612042d20"
      "6b0a0a250a016312200a1eca0107696e74656765728a02090900000000000000009a0205696e7433"
      "320a160a016412110a0fca0107626f6f6c65616e8a020210000a230a0165121e0a1cc20104120278"
      "0ac2010412027a0aca0106737472696e678a02021a0082020d0a0b0a09ca0106737472696e679202"
      "0173a202540a13782d6b756265726e657465732d756e696f6e73123d123b2d206469736372696d69"
      "6e61746f723a20747970650a20206669656c64732d746f2d6469736372696d696e61746542793a0a"
      "20202020703a20500a3a2b0a290a014212240a220a066170694b657912016b1a0d617574686f7269"
      "7a6174696f6e220668656164657232070a050a01421200";
  auto document = json::parse(kText);
  ASSERT_TRUE(document);
  std::string hex;
  for (unsigned char c : openapi_v3_protobuf(*document)) {
    hex.push_back("0123456789abcdef"[c >> 4]);
    hex.push_back("0123456789abcdef"[c & 15]);
  }
  EXPECT_EQ(hex, kBytes);
}

}  // namespace
}  // namespace cardea::catalog
