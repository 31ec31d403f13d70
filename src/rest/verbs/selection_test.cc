#include "rest/verbs/selection.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "rest/testing/test_server.h"

namespace cardea::rest {
namespace {

store::KeyRange keys(std::string_view resource, std::string_view space, std::string_view fields) {
  static const auto catalog = catalog::Catalog::builtin();
  const catalog::Resource* r = catalog->find("", "v1", resource);
  ListOptions options;
  if (!fields.empty()) options.fields = *json::FieldSelector::parse(fields);
  auto selection = Selection::make(*r, options);
  EXPECT_TRUE(selection);
  return keys_of(*r, space, *selection);
}

TEST(Selection, AnObjectOfOneNameIsOneKey) {
  const std::string one("/registry/configmaps/a/b");
  for (auto [space, fields] :
       {std::pair("a", "metadata.name=b"), std::pair("", "metadata.name=b,metadata.namespace=a")}) {
    EXPECT_EQ(keys("configmaps", space, fields).start, one);
    EXPECT_EQ(keys("configmaps", space, fields).end, one + '\0');
  }
  EXPECT_EQ(keys("namespaces", "", "metadata.name=b").start, "/registry/namespaces/b");
}

TEST(Selection, WithoutANamespaceOrANameItIsACollection) {
  EXPECT_EQ(keys("configmaps", "", "metadata.name=b").start, "/registry/configmaps/");
  EXPECT_EQ(keys("configmaps", "a", "").start, "/registry/configmaps/a/");
  EXPECT_EQ(keys("configmaps", "a", "metadata.name!=b").start, "/registry/configmaps/a/");
  EXPECT_EQ(keys("configmaps", "", "metadata.namespace=a").start, "/registry/configmaps/a/");
}

TEST(Selection, ShowsTheObjectOfTheNameAndNoOther) {
  TestServer server;
  for (const char* space : {"a", "b"}) {
    server.send(
        "POST", "/api/v1/namespaces",
        cat(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")", space, "\"}}"));
    for (const char* name : {"x", "xx", "y"})
      server.send("POST", cat("/api/v1/namespaces/", space, "/configmaps"),
                  cat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")", name,
                      R"(","labels":{"n":")", name, "\"}}}"));
  }
  auto names = [&](std::string path) {
    std::string out;
    for (const json::Value& item : server.get(path)["items"].items())
      out += cat(item["metadata"]["namespace"].as_string(), "/",
                 item["metadata"]["name"].as_string(), " ");
    return out;
  };
  EXPECT_EQ(names("/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dx"), "a/x ");
  EXPECT_EQ(names("/api/v1/configmaps?fieldSelector=metadata.name%3Dx"), "a/x b/x ");
  EXPECT_EQ(names("/api/v1/configmaps?fieldSelector=metadata.name%3Dx&limit=1"), "a/x ");
  EXPECT_EQ(names("/api/v1/configmaps?fieldSelector=metadata.name%3Dx,metadata.namespace%3Db"),
            "b/x ");
  EXPECT_EQ(names("/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dx,"
                  "metadata.namespace%3Db"),
            "");
  EXPECT_EQ(names("/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dx"
                  "&labelSelector=n%3Dy"),
            "");
  EXPECT_EQ(names("/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dx,"
                  "metadata.name%3Dy"),
            "");
  EXPECT_EQ(names("/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dgone"), "");
}

}  // namespace
}  // namespace cardea::rest
