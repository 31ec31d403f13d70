#include <gtest/gtest.h>

#include "base/strings.h"
#include "rest/testing/test_server.h"
#include "rest/verbs/options.h"

namespace cardea::rest {
namespace {

TEST(List, GoesOnInTodaysStateWhenThatOfTheFirstPageIsGone) {
  TestServer server;
  ASSERT_EQ(server
                .send("POST", "/api/v1/namespaces",
                      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})")
                .status,
            201);
  auto create = [&](std::string name) {
    ASSERT_EQ(server
                  .send("POST", "/api/v1/namespaces/n/configmaps",
                        cat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")", name,
                            "\"}}"))
                  .status,
              201);
  };
  for (std::string name : {"a", "b", "d"}) create(name);
  const std::string configmaps = "/api/v1/namespaces/n/configmaps?limit=1&continue=";
  json::Value first = server.get(configmaps);
  create("c");
  ASSERT_TRUE(store::compact_sync(server.store(), server.store().current_revision()));

  Loopback::Reply expired = server.send(
      "GET", configmaps + std::string(first["metadata"]["continue"].as_string()));
  EXPECT_EQ(expired.status, 410);
  EXPECT_EQ(expired.body["reason"].as_string(), "Expired");
  json::Value page = server.get(configmaps +
                                std::string(expired.body["metadata"]["continue"].as_string()));
  std::string names;
  for (;;) {
    names += page["items"][0]["metadata"]["name"].as_string();
    EXPECT_EQ(page["metadata"]["resourceVersion"].as_string(),
              std::to_string(server.store().current_revision()));
    std::string_view next = page["metadata"]["continue"].as_string();
    if (next.empty()) break;
    page = server.get(configmaps + std::string(next));
  }
  EXPECT_EQ(names, "bcd");
}

authz::RequestInfo info_of(std::string_view path, std::string_view query) {
  return *authz::parse_request_info("GET", path, query);
}

TEST(ListOptions, SelectTheNameOfTheRequestAndNothingElse) {
  constexpr std::string_view kNamed = "/api/v1/watch/namespaces/x/secrets/allowed",
                             kAll = "/api/v1/namespaces/x/secrets";
  for (std::string_view query :
       {"fieldSelector=metadata.name%3Dforbidden", "fieldSelector=metadata.name!%3Dallowed",
        "fieldSelector=type%3DOpaque", "fieldSelector=metadata.namespace%3Dx"}) {
    auto options = list_options(info_of(kNamed, query));
    ASSERT_FALSE(options) << query;
    EXPECT_EQ(options.error().message, "fieldSelector metadata.name doesn't match requested name");
    EXPECT_EQ(options.error().reason, Reason::kBadRequest);
  }
  for (std::string_view query : {"", "fieldSelector=", "fieldSelector=metadata.name%3Dallowed"})
    EXPECT_EQ(list_options(info_of(kNamed, query))->fields.exact("metadata.name"), "allowed")
        << query;
  // A name that looks like a selector is still one name.
  EXPECT_EQ(list_options(info_of("/api/v1/watch/namespaces/x/secrets/a,metadata.name=b", ""))
                ->fields.terms()
                .size(),
            1u);
  for (auto watch : {"", "watch=1&"}) {
    authz::RequestInfo named = info_of(
        kAll, cat(watch, "fieldSelector=metadata.name%3Dallowed,type%3DOpaque"));
    EXPECT_EQ(named.name, "allowed");
    EXPECT_EQ(list_options(named)->fields.terms().size(), 2u);
  }
}

}  // namespace
}  // namespace cardea::rest
