#include "rest/aggregation/aggregator.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace cardea::rest {
namespace {

ApiService served(std::string group, std::string version, std::string service = "s") {
  return {.name = cat(version, ".", group),
          .group = std::move(group),
          .version = std::move(version),
          .group_priority = 1,
          .version_priority = 1,
          .service = ServiceReference{"n", std::move(service), 443},
          .is_insecure = true};
}

class AggregatorTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Remote> asked(std::string_view path) {
    auto info = authz::parse_request_info("GET", path, "");
    CARDEA_CHECK(info.has_value());
    return aggregator_.find(*info);
  }

  net::Loops loops_{1};
  net::Dialer dialer_;
  std::shared_ptr<const catalog::Catalog> catalog_ = catalog::Catalog::builtin();
  Aggregator aggregator_{{}, {&loops_.at(0)}, loops_.at(0), dialer_};
};

TEST_F(AggregatorTest, FindsTheServerOfARequest) {
  EXPECT_EQ(asked("/apis/a.io/v1/things"), nullptr);
  aggregator_.set(served("a.io", "v1"), *catalog_);
  for (const char* path : {"/apis/a.io/v1/things", "/apis/a.io/v1/namespaces/n/things/x/status",
                           "/apis/a.io/v1", "/apis/a.io/v1/", "/openapi/v3/apis/a.io/v1"})
    EXPECT_NE(asked(path), nullptr) << path;
  for (const char* path : {"/apis/a.io/v2/things", "/apis/a.io", "/apis", "/api/v1/pods",
                           "/apis/a.io/v10", "/openapi/v2", "/openapi/v3", "/metrics", "/",
                           "//apis/a.io/v1", "/apis//a.io/v1", "/apis/a.io/v1//"})
    EXPECT_EQ(asked(path), nullptr) << path;
  aggregator_.erase("v1.a.io");
  EXPECT_EQ(asked("/apis/a.io/v1/things"), nullptr);
  EXPECT_EQ(aggregator_.table()->generation, 0u);
}

TEST_F(AggregatorTest, WhatIsBuiltInStaysHere) {
  aggregator_.set(served("authorization.k8s.io", "v1"), *catalog_);
  ApiService core = served("", "v1");
  aggregator_.set(core, *catalog_);
  EXPECT_EQ(asked("/apis/authorization.k8s.io/v1/subjectaccessreviews"), nullptr);
  EXPECT_EQ(asked("/api/v1/pods"), nullptr);
  aggregator_.set(served("apps", "v9"), *catalog_);
  EXPECT_NE(asked("/apis/apps/v9/things"), nullptr) << "a version that nobody else has";
}

TEST_F(AggregatorTest, ConnectionsLastAsLongAsTheWayDoes) {
  aggregator_.set(served("a.io", "v1"), *catalog_);
  BackendDocuments documents;
  documents.is_current = true;
  aggregator_.found("v1.a.io", {{"192.0.2.1", 443}}, true, documents);
  const auto first = aggregator_.find("a.io", "v1");
  EXPECT_TRUE(first->is_available);
  EXPECT_EQ(first->targets.size(), 1u);

  ApiService lower = served("a.io", "v1");
  lower.version_priority = 5;
  lower.is_available = true;
  aggregator_.set(lower, *catalog_);
  const auto same = aggregator_.find("a.io", "v1");
  EXPECT_EQ(same->wires, first->wires);
  EXPECT_EQ(same->targets, first->targets);

  ApiService moved = served("a.io", "v1", "other");
  moved.is_available = true;  // as it is still stored
  aggregator_.set(moved, *catalog_);
  const auto other = aggregator_.find("a.io", "v1");
  EXPECT_NE(other->wires, first->wires);
  EXPECT_TRUE(other->targets.empty()) << "the old way must not be taken for the new service";
  EXPECT_FALSE(aggregator_.documents_of("v1.a.io")->is_current);
}

TEST_F(AggregatorTest, DamagedCertificatesAreToldAndNotIgnored) {
  ApiService damaged = served("a.io", "v1");
  damaged.is_insecure = false;
  damaged.authorities = "not a certificate";
  aggregator_.set(damaged, *catalog_);
  const auto remote = aggregator_.find("a.io", "v1");
  ASSERT_NE(remote, nullptr);
  EXPECT_EQ(remote->wires, nullptr);
  EXPECT_NE(remote->broken, "");
}

}  // namespace
}  // namespace cardea::rest
