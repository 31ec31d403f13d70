#include "catalog/discovery.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"
#include "json/testing/recordings.h"

namespace cardea::catalog {
namespace {

using json::Value;

Value without_hashes(Value list) {
  Value& resources = list.member("resources");
  for (std::size_t i = 0; i < resources.size(); ++i) resources.item(i).erase("storageVersionHash");
  return list;
}

// The item of a list whose dotted field has this value. A recording selects it with `[?a.b=c]`.
const Value* select(const Value& list, std::string_view condition) {
  auto equals = condition.find('=');
  for (const Value& item : list.items()) {
    const Value* at = &item;
    for (auto part : split(condition.substr(0, equals), '.')) at = &(*at)[part];
    if (at->as_string() == condition.substr(equals + 1)) return &item;
  }
  return nullptr;
}

TEST(Discovery, AnswersAsRecorded) {
  const std::optional<json::Value> recording = json::recorded("discovery--discovery-legacy");
  auto catalog = Catalog::builtin();
  int compared = 0;
  for (const Value& step : (*recording)["steps"].items()) {
    if (step["expect"]["status"].as_int() != 200 || step["only"].is_array()) continue;
    std::string path(step["path"].as_string());
    if (path.ends_with('/')) path.pop_back();
    auto parts = split(path, '/');
    if (parts[1] != "apis" || parts.size() < 3) continue;
    auto answer = parts.size() == 3 ? group(*catalog, parts[2])
                                    : resource_list(*catalog, parts[2], parts[3]);
    ASSERT_TRUE(answer) << path;
    const Value& expected = step["expect"]["body"];
    bool hashes = step["ignore"].is_null();
    if (parts.size() == 4 && !hashes)
      EXPECT_EQ(json::print(without_hashes(*answer)), json::print(without_hashes(expected)))
          << path;
    else
      EXPECT_EQ(json::print(*answer), json::print(expected)) << path;
    ++compared;
  }
  EXPECT_GE(compared, 5);
}

TEST(Discovery, AggregatesAsRecorded) {
  const std::optional<json::Value> recording = json::recorded("discovery--discovery-aggregated");
  auto catalog = Catalog::builtin();
  int compared = 0;
  for (const Value& step : (*recording)["steps"].items()) {
    std::string_view path = step["path"].as_string();
    if (path != "/api" && path != "/apis") continue;
    auto form = discovery_form(step["headers"]["Accept"].as_string());
    int status = static_cast<int>(step["expect"]["status"].as_int());
    EXPECT_EQ(form, status == 200 ? DiscoveryForm::kAggregated : DiscoveryForm::kNotAcceptable);
    if (status != 200) continue;
    EXPECT_EQ(step["expect"]["headers"]["Content-Type"].as_string(), kAggregatedDiscoveryType);
    Value all = aggregated_discovery(*catalog, path == "/api");
    for (const auto& member : step["expect"]["body"].members()) {
      std::string_view key = member.key();
      auto open = key.find("[?");
      if (open == key.npos) continue;
      const Value& list = key.starts_with("$.items[?")
                              ? all["items"]
                              : all["items"][0]["versions"][0]["resources"];
      const Value* found = select(list, key.substr(open + 2, key.size() - open - 3));
      ASSERT_TRUE(found) << key;
      EXPECT_EQ(json::print(*found), json::print(member.value[0])) << key;
      ++compared;
    }
  }
  EXPECT_GE(compared, 6);
}

TEST(Discovery, AggregatesInProtobufByteForByte) {
  std::ifstream file(json::recordings().parent_path() / "discovery" / "aggregated.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  auto catalog = Catalog::builtin();
  EXPECT_EQ(base64(aggregated_discovery_protobuf(*catalog, aggregated_discovery(*catalog, true))),
            (*json::parse(line))["protobuf"].as_string());
  EXPECT_EQ(discovery_form(kAggregatedProtobufType), DiscoveryForm::kAggregatedProtobuf);
  EXPECT_EQ(discovery_form("application/vnd.kubernetes.protobuf;g=meta.k8s.io;v=v1;as=Table"),
            DiscoveryForm::kNotAcceptable);
}

TEST(Discovery, ServesAFurtherVersionOfReviewsWithoutListingIt) {
  auto catalog = Catalog::builtin({"ConditionalAuthorization"});
  EXPECT_EQ((*group(*catalog, "authorization.k8s.io"))["versions"].size(), 1u);
  EXPECT_EQ((*resource_list(*catalog, "authorization.k8s.io", "v1alpha1"))["resources"][0]["name"]
                .as_string(),
            "authorizationconditionsreviews");
  EXPECT_EQ((*group(*catalog, "authorization.openshift.io"))["versions"].size(), 2u);
  for (const Value& item : aggregated_discovery(*catalog, false)["items"].items())
    if (item["metadata"]["name"].as_string() == "authorization.k8s.io")
      EXPECT_EQ(item["versions"].size(), 1u);
}

TEST(Discovery, HashesTheVersionObjectsAreStoredIn) {
  auto catalog = Catalog::builtin();
  EXPECT_EQ(storage_version_hash(*catalog->find("apps", "v1", "controllerrevisions")),
            "85nkx63pcBU=");
  EXPECT_EQ(storage_version_hash(*catalog->find("apps", "v1", "deployments")), "8aSe+NMegvE=");
  EXPECT_EQ(storage_version_hash(*catalog->find("events.k8s.io", "v1", "events")),
            storage_version_hash(*catalog->find("", "v1", "events")));
  EXPECT_EQ(
      storage_version_hash(*catalog->find("authorization.k8s.io", "v1", "subjectaccessreviews")),
      "");
}

TEST(Discovery, ShowsCustomResourcesAfterTheBuiltInGroups) {
  auto parsed = json::parse(
      R"({"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Cluster",
    "names":{"plural":"widgets","singular":"widget","kind":"Widget"},"versions":[
    {"name":"v1alpha1","served":true,"storage":false},
    {"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{}}}]},
    "status":{"conditions":[{"type":"Established","status":"True"}]}})");
  auto catalog = Catalog::builtin()->with_definitions({*parsed});
  EXPECT_EQ(json::print(*group(*catalog, "example.com")),
            R"({"apiVersion":"v1","kind":"APIGroup","name":"example.com",)"
            R"("preferredVersion":{"groupVersion":"example.com/v1","version":"v1"},)"
            R"("versions":[{"groupVersion":"example.com/v1","version":"v1"},)"
            R"({"groupVersion":"example.com/v1alpha1","version":"v1alpha1"}]})");
  Value list = *resource_list(*catalog, "example.com", "v1");
  ASSERT_EQ(list["resources"].size(), 3u);
  EXPECT_EQ(
      json::print(list["resources"][0]),
      R"({"kind":"Widget","name":"widgets","namespaced":false,"singularName":"widget",)"
      R"("storageVersionHash":"gIwvi5rymmg=",)"
      R"("verbs":["delete","deletecollection","get","list","patch","create","update","watch"]})");
  EXPECT_EQ(json::print(list["resources"][2]),
            R"({"group":"autoscaling","kind":"Scale","name":"widgets/scale","namespaced":false,)"
            R"("singularName":"","verbs":["get","patch","update"],"version":"v1"})");
  Value all = aggregated_discovery(*catalog, false);
  const Value& last = all["items"][all["items"].size() - 1];
  EXPECT_EQ(last["metadata"]["name"].as_string(), "example.com");
  EXPECT_EQ(json::print(last["versions"][0]["resources"][0]["subresources"][0]["responseKind"]),
            R"({"group":"example.com","kind":"Widget","version":"v1"})");
}

TEST(Discovery, ChoosesAFormByTheAcceptHeader) {
  EXPECT_EQ(discovery_form(""), DiscoveryForm::kPlain);
  EXPECT_EQ(discovery_form("*/*"), DiscoveryForm::kPlain);
  EXPECT_EQ(discovery_form("application/json"), DiscoveryForm::kPlain);
  EXPECT_EQ(discovery_form(
                "application/"
                "json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"),
            DiscoveryForm::kPlain);
  EXPECT_EQ(discovery_form("application/json;q=0.5, "
                           "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
            DiscoveryForm::kAggregated);
  EXPECT_EQ(discovery_form("text/html"), DiscoveryForm::kNotAcceptable);
}

}  // namespace
}  // namespace cardea::catalog
