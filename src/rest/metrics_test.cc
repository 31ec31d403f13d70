#include "rest/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace cardea::rest {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string printed(const Metrics& metrics) {
  MetricPrinter out;
  metrics.print(out);
  return out.text();
}

RequestLabels pods(std::string_view verb) {
  return {.verb = verb, .version = "v1", .resource = "pods", .scope = "namespace"};
}

TEST(RequestMetrics, HaveKubernetesLabels) {
  Metrics metrics;
  RequestSeries& list = metrics.requests().find(pods("LIST"));
  list.count(403, {}, 10);
  list.count(200, std::chrono::seconds(1), 2000);
  list.count(200, {}, 5000);
  const std::string text = printed(metrics);
  const std::string labels =
      R"(group="",resource="pods",scope="namespace",subresource="",verb="LIST",version="v1")";
  auto total = [&](int code) {
    return cat(R"(apiserver_request_total{component="apiserver",code=")", code, R"(",dry_run="",)",
               labels, "} ");
  };
  EXPECT_THAT(text, HasSubstr(total(200) + "2\n"));
  EXPECT_THAT(text, HasSubstr(total(403) + "1\n"));
  for (const char* name : {"duration", "sli_duration"})
    EXPECT_THAT(
        text, HasSubstr(cat("apiserver_request_", name,
                            R"(_seconds_sum{component="apiserver",dry_run="",)", labels, "} 1\n")));
  EXPECT_THAT(text, HasSubstr(cat(R"(apiserver_response_sizes_sum{component="apiserver",)", labels,
                                  "} 7010\n")));
}

TEST(RequestMetrics, AWatchRunsUntilItEnds) {
  Metrics metrics;
  RequestSeries& watch = metrics.requests().find(pods("WATCH"));
  watch.count_stream(200);
  auto running = [&](int n) {
    return cat(R"(scope="namespace",subresource="",verb="WATCH",version="v1"} )", n, "\n");
  };
  {
    RunningRequest one(watch), two(watch);
    RunningRequest moved = std::move(one);
    EXPECT_THAT(printed(metrics), HasSubstr(running(2)));
  }
  EXPECT_THAT(printed(metrics), HasSubstr(running(0)));
  EXPECT_THAT(printed(metrics), Not(HasSubstr("apiserver_request_duration_seconds_sum")));
}

TEST(Metrics, OnlyAFewUsersAreNamed) {
  Metrics metrics;
  for (const std::string name : {"admin", "jane", "jane@example.com", "system:serviceaccount:a:b"})
    metrics.count_authentication(&name, std::chrono::milliseconds(3));
  metrics.count_authentication(nullptr, std::chrono::milliseconds(3));
  const std::string text = printed(metrics);
  EXPECT_THAT(text, HasSubstr(R"(authenticated_user_requests{username="admin"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(authenticated_user_requests{username="email_id"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(authenticated_user_requests{username="other"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(authentication_attempts{result="failure"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(authentication_duration_seconds_count{result="success"} 4)"));
}

TEST(RequestMetrics, NamesThatClientsMakeUpBecomeNoLabels) {
  auto info = authz::parse_request_info("GET", "/apis/made.up/v1/namespaces/x/things/y", "");
  RequestLabels labels = labels_of(*info, {}, nullptr);
  EXPECT_EQ(labels.verb, "GET");
  EXPECT_EQ(labels.resource, "");
  EXPECT_EQ(labels.group, "");
  info = authz::parse_request_info("BREW", "/coffee", "");
  EXPECT_EQ(labels_of(*info, {}, nullptr).verb, "OTHER");
  EXPECT_EQ(labels_of(*info, {}, nullptr).subresource, "");
}

TEST(RequestMetrics, WhatAResourceDoesNotHaveBecomesNoLabel) {
  auto catalog = catalog::Catalog::builtin();
  const catalog::Resource* nodes = catalog->find("", "v1", "nodes");
  auto ask = [&](const char* method, const char* path, const char* query) {
    auto info = authz::parse_request_info(method, path, query);
    RequestLabels labels = labels_of(*info, {}, nodes);
    return cat(labels.verb, " ", labels.resource, " ", labels.subresource, " ", labels.scope,
               labels.is_dry_run ? " dry" : "");
  };
  EXPECT_EQ(ask("PUT", "/api/v1/nodes/a", "dryRun=All"), "PUT nodes  resource dry");
  EXPECT_EQ(ask("GET", "/api/v1/nodes/a", "dryRun=All"), "GET nodes  resource");
  EXPECT_EQ(ask("GET", "/api/v1/namespaces/x/nodes", ""), "LIST nodes  cluster");
  EXPECT_EQ(ask("GET", "/api/v1/nodes/a/status", ""), "GET nodes status resource");
  EXPECT_EQ(ask("DELETE", "/api/v1/nodes/a/status", ""), "DELETE   ") << "no such verb";
  EXPECT_EQ(ask("GET", "/api/v1/nodes/a/coffee", ""), "GET   ") << "no such subresource";
}

TEST(RequestMetrics, TooManyKindsAreCountedTogether) {
  Metrics metrics;
  for (int i = 0; i < 20'000; ++i)
    metrics.requests().find({.verb = "GET", .resource = cat("r", i)}).count(200, {}, 0);
  EXPECT_THAT(printed(metrics), HasSubstr(R"(verb="OTHER")"));
}

TEST(RequestMetrics, TheRegistryFollows) {
  Metrics metrics;
  metrics.registry().counter({"zz_total", "Zs."}).add(7);
  EXPECT_TRUE(
      printed(metrics).ends_with("# HELP zz_total Zs.\n# TYPE zz_total counter\nzz_total 7\n"))
      << printed(metrics);
}

}  // namespace
}  // namespace cardea::rest
