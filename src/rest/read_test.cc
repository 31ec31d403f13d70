#include <gtest/gtest.h>

#include "base/strings.h"
#include "rest/test_server.h"

namespace cardea::rest {
namespace {

TEST(List, GoesOnInTodaysStateWhenThatOfTheFirstPageIsGone) {
  TestServer server;
  ASSERT_EQ(server.send("POST", "/api/v1/namespaces", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})").status, 201);
  auto create = [&](std::string name) {
    ASSERT_EQ(server.send("POST", "/api/v1/namespaces/n/configmaps", cat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")", name, "\"}}")).status, 201);
  };
  for (std::string name : {"a", "b", "d"}) create(name);
  const std::string configmaps = "/api/v1/namespaces/n/configmaps?limit=1&continue=";
  json::Value first = server.get(configmaps);
  create("c");
  ASSERT_TRUE(store::compact_sync(server.store(), server.store().current_revision()));

  Loopback::Reply expired = server.send("GET", configmaps + std::string(first["metadata"]["continue"].as_string()));
  EXPECT_EQ(expired.status, 410);
  EXPECT_EQ(expired.body["reason"].as_string(), "Expired");
  json::Value page = server.get(configmaps + std::string(expired.body["metadata"]["continue"].as_string()));
  std::string names;
  for (;;) {
    names += page["items"][0]["metadata"]["name"].as_string();
    EXPECT_EQ(page["metadata"]["resourceVersion"].as_string(), std::to_string(server.store().current_revision()));
    std::string_view next = page["metadata"]["continue"].as_string();
    if (next.empty()) break;
    page = server.get(configmaps + std::string(next));
  }
  EXPECT_EQ(names, "bcd");
}

}  // namespace
}  // namespace cardea::rest
