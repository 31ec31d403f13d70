#include "rest/aggregation/documents.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/parse.h"

namespace cardea::rest {
namespace {

using json::Value;

Value read(std::string_view text) {
  auto parsed = json::parse(text);
  CARDEA_CHECK(parsed.has_value());
  return *parsed;
}

Described api_service(std::string group, std::string version, std::int64_t group_priority,
                      std::int64_t version_priority, bool is_remote = true) {
  Described out;
  out.service = {.name = cat(version, ".", group),
                 .group = group,
                 .version = version,
                 .group_priority = group_priority,
                 .version_priority = version_priority};
  if (is_remote) out.service.service = ServiceReference{"n", "s", 443};
  return out;
}

std::string names(const Value& list, std::string_view member) {
  std::string out;
  for (const Value& v : list[member].items())
    out += cat(out.empty() ? "" : " ", v.has("metadata") ? v["metadata"]["name"].as_string()
                                       : v.has("name")   ? v["name"].as_string()
                                                         : v["version"].as_string());
  return out;
}

const Value kOwn = read(
    R"({"kind":"APIGroupList","groups":[
        {"name":"apiregistration.k8s.io","versions":[{"version":"v1"}]},
        {"name":"apps","versions":[{"version":"v1"}]},
        {"name":"b.io","versions":[{"version":"v1"}]}]})");

TEST(MergedDiscovery, IsTheOwnOneWithoutOtherServers) {
  EXPECT_EQ(merged_group_list(kOwn, {api_service("apps", "v1", 100, 1, false)}), kOwn);
}

TEST(MergedDiscovery, GroupsStandInTheOrderOfTheirPriorities) {
  const std::vector<Described> all = {
      api_service("apps", "v1", 17800, 15, false), api_service("b.io", "v1", 1000, 100, false),
      api_service("a.io", "v1", 1000, 1),          api_service("c.io", "v1", 1000, 1),
      api_service("z.io", "v1", 19000, 1),         api_service("low.io", "v1", 1, 1)};
  EXPECT_EQ(names(merged_group_list(kOwn, all), "groups"),
            "apiregistration.k8s.io z.io apps a.io b.io c.io low.io");
}

TEST(MergedDiscovery, VersionsOfBothServersStandInOneList) {
  const std::vector<Described> all = {
      api_service("b.io", "v1", 1000, 100, false), api_service("b.io", "v2", 1000, 100),
      api_service("b.io", "v3alpha1", 1000, 200), api_service("b.io", "v1beta1", 1000, 100)};
  auto group = merged_group(read(R"({"name":"b.io","versions":[{"version":"v1"}]})"), "b.io", all);
  ASSERT_TRUE(group);
  EXPECT_EQ(names(*group, "versions"), "v3alpha1 v2 v1 v1beta1");
  EXPECT_EQ((*group)["preferredVersion"]["groupVersion"].as_string(), "b.io/v3alpha1");
  EXPECT_FALSE(merged_group(std::nullopt, "other.io", all));
}

TEST(MergedDiscovery, AServerThatDidNotAnswerIsStale) {
  Described good = api_service("a.io", "v1", 10, 1), away = api_service("a.io", "v2", 10, 1);
  good.documents.is_current = true;
  good.documents.resources = read(R"([{"resource":"things"}])");
  away.documents.resources = read(R"([{"resource":"things"}])");  // of before
  const Value merged = merged_discovery(read(R"({"items":[]})"), {good, away});
  EXPECT_EQ(merged["items"][0]["versions"],
            read(R"([{"version":"v2","freshness":"Stale"},)"
                 R"({"version":"v1","resources":[{"resource":"things"}],"freshness":"Current"}])"));
}

TEST(DiscoveredResources, HaveTheirSubresourcesInThem) {
  auto got = discovered_resources(
      read(R"({"resources":[{"name":"a","singularName":"one","namespaced":true,"kind":"A",
             "verbs":["get"],"shortNames":["s"]},
             {"name":"a/scale","namespaced":true,"kind":"Scale","group":"autoscaling",
              "version":"v1","verbs":["get"]},
             {"name":"b/orphan","kind":"B","verbs":["get"]},
             {"name":"c","kind":"C","verbs":["list"]}]})"));
  ASSERT_TRUE(got);
  ASSERT_EQ(got->size(), 2u);
  EXPECT_EQ(
      (*got)[0],
      read(R"({"resource":"a","responseKind":{"group":"","version":"","kind":"A"},)"
           R"("scope":"Namespaced","singularResource":"one","verbs":["get"],"shortNames":["s"],)"
           R"("subresources":[{"subresource":"scale","responseKind":{"group":"autoscaling",)"
           R"("version":"v1","kind":"Scale"},"verbs":["get"]}]})"));
  EXPECT_EQ((*got)[1]["scope"].as_string(), "Cluster");
  EXPECT_FALSE(discovered_resources(read(R"({"resources":"none"})")));
}

TEST(MergedOpenApi, AServerDescribesItsOwnPathsAlone) {
  Described d = api_service("a.io", "v1", 10, 1);
  d.documents.openapi_v2 = read(
      R"({"paths":{"/apis/a.io/v1/as":{"$ref":"#/definitions/A"},
                   "/apis/a.io/v10/as":{"x":1},"/api/v1/pods":{"x":2}},
          "definitions":{"A":{"b":{"$ref":"#/definitions/B"},"c":{"$ref":"#/definitions/C"}},
                         "B":{"type":"theirs"},"C":{"type":"both"},"Unused":{}}})");
  const Value own = read(
      R"({"paths":{"/api/v1/pods":{}},"definitions":{"B":{"type":"ours"},"C":{"type":"both"}}})");
  const Value merged = merged_openapi_v2(own, {d});
  EXPECT_EQ(merged["paths"],
            read(R"({"/api/v1/pods":{},"/apis/a.io/v1/as":{"$ref":"#/definitions/A"}})"));
  EXPECT_EQ(merged["definitions"],
            read(R"({"B":{"type":"ours"},"C":{"type":"both"},)"
                 R"("A":{"b":{"$ref":"#/definitions/B_v2"},"c":{"$ref":"#/definitions/C"}},)"
                 R"("B_v2":{"type":"theirs"}})"));
}

TEST(MergedOpenApi, TheIndexLeadsNowhereElse) {
  const ApiService service = api_service("a.io", "v1", 1, 1).service;
  auto entry = [&](std::string_view url) {
    return openapi_v3_entry(
        read(cat(R"({"paths":{"apis/a.io/v1":{"serverRelativeURL":")", url, R"("}}})")), service);
  };
  EXPECT_TRUE(entry("/openapi/v3/apis/a.io/v1?hash=A").is_object());
  EXPECT_TRUE(entry("/openapi/v3/apis/a.io/v1").is_object());
  for (std::string_view url : {"https://elsewhere/openapi/v3/apis/a.io/v1", "/metrics",
                               "/openapi/v3/apis/a.io/v10", "//elsewhere", ""})
    EXPECT_TRUE(entry(url).is_null()) << url;
}

}  // namespace
}  // namespace cardea::rest
