#include "feeds/chain_reload.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace cardea::feeds {
namespace {

using namespace authz;

std::string file(std::string_view authorizers) {
  return cat(
      "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n",
      authorizers);
}
constexpr std::string_view kDeny = "- type: AlwaysDeny\n  name: alwaysdeny\n";
constexpr std::string_view kAllow = "- type: AlwaysAllow\n  name: alwaysallow\n";

struct ChainReloadTest : ::testing::Test {
  ChainReloadTest() {
    auto config = load_authorization_config(file(kDeny));
    chain.set(*build(*config));
    built = 0;
    reload.emplace(
        ChainReload::Parts{.chain = chain,
                           .build = [this](const AuthorizationConfig& c) { return build(c); },
                           .metrics = metrics,
                           .clock = clock,
                           .log = [this](const std::string& line) { log.push_back(line); },
                           .server_id = "me"},
        *config, file(kDeny));
  }

  Result<std::shared_ptr<const Chain>> build(const AuthorizationConfig& config) {
    ++built;
    if (fails) return fail(internal_error("cannot be built"));
    std::vector<std::shared_ptr<const Authorizer>> list;
    for (const AuthorizerConfig& a : config.authorizers)
      list.push_back(a.type == "AlwaysAllow" ? always_allow() : always_deny());
    return std::make_shared<const Chain>(std::move(list));
  }
  bool allows() {
    User user{.name = "u"};
    return chain.decide(Attributes(user))->decision.allowed();
  }
  bool shows(std::string_view text) { return metrics.print().find(text) != std::string::npos; }

  CurrentChain chain{nullptr};
  MetricRegistry metrics;
  FakeClock clock{std::chrono::system_clock::from_time_t(1'800'000'000)};
  std::vector<std::string> log;
  bool fails = false;
  int built = 0;
  std::optional<ChainReload> reload;
};

TEST_F(ChainReloadTest, AValidFileTakesOver) {
  EXPECT_FALSE(allows());
  reload->take(file(cat(kAllow, kDeny)));
  EXPECT_TRUE(allows());
  EXPECT_TRUE(shows("automatic_reloads_total{status=\"success\""));
  EXPECT_TRUE(shows("automatic_reload_last_timestamp_seconds{status=\"success\""));
}

TEST_F(ChainReloadTest, WhatMeansTheSameChangesNothing) {
  reload->take(file(cat("# a remark\n", kDeny)));
  EXPECT_EQ(built, 0);
  EXPECT_FALSE(shows("automatic_reloads_total"));
}

TEST_F(ChainReloadTest, AnInvalidFileKeepsTheOldChainAndIsTold) {
  reload->take(file(kAllow));
  reload->take(std::string("authorizers: ["));
  reload->take(fail(bad_request("cannot read it")));
  fails = true;
  reload->take(file(cat(kAllow, kDeny)));
  EXPECT_FALSE(allows());
  EXPECT_EQ(log.size(), 4u);
  EXPECT_NE(log[0].find("missing required types: [AlwaysDeny]"), std::string::npos) << log[0];
  EXPECT_TRUE(
      shows("automatic_reloads_total{status=\"failure\",apiserver_id_hash=\"sha256:"
            "2744ccd10c7533bd736ad890f9dd5cab2adb27b07d500b9493f29cdc420cb2e0\"} 4"));
}

TEST_F(ChainReloadTest, OnlyTheHashInUseIsShown) {
  std::string before = metrics.print();
  reload->take(file(cat(kAllow, kDeny)));
  std::string after = metrics.print();
  auto infos = [](std::string_view text) {
    int n = 0;
    for (auto at = text.find("last_config_info{"); at != text.npos;
         at = text.find("last_config_info{", at + 1))
      ++n;
    return n;
  };
  EXPECT_EQ(infos(before), 1);
  EXPECT_EQ(infos(after), 1);
  EXPECT_NE(before, after);
}

TEST(AuthorizationConfig, EverythingThatIsWrongIsTold) {
  auto config = load_authorization_config(
      file("- type: Webhook\n  name: Bad_Name\n  webhook:\n    timeout: 31s\n    unauthorizedTTL: "
           "-1s\n    failurePolicy: Maybe\n"
           "    subjectAccessReviewVersion: v2\n    connectionInfo: {type: Pigeon}\n    "
           "matchConditions: [{expression: 'request.user'}]\n"));
  ASSERT_FALSE(config);
  for (std::string_view part :
       {"authorizers[0].name: Invalid value: \"Bad_Name\": authorizer name is invalid",
        "authorizers[0].timeout: Invalid value: \"31s\": must be > 0s and <= 30s",
        "authorizers[0].unauthorizedTTL: Invalid value: \"-1s\": must be > 0s",
        "authorizers[0].failurePolicy: Unsupported value: \"Maybe\"",
        "authorizers[0].subjectAccessReviewVersion: Unsupported value: \"v2\"",
        "authorizers[0].connectionInfo.type: Unsupported value: "
        "{\"Type\":\"Pigeon\",\"KubeConfigFile\":null}",
        "authorizers[0].matchConditionSubjectAccessReviewVersion: Required value: required if "
        "match conditions are specified",
        "authorizers[0].matchConditions[0].expression: Invalid value: \"request.user\": must "
        "evaluate to bool"})
    EXPECT_NE(config.error().message.find(part), std::string::npos) << part << "\n"
                                                                    << config.error().message;
}

TEST(AuthorizationConfig, UnknownAndRepeatedFieldsAreRefused) {
  EXPECT_NE(load_authorization_config(file("- {type: RBAC, name: rbac, hook: {}}\n"))
                .error()
                .message.find("unknown field \"authorizers[0].hook\""),
            std::string::npos);
  EXPECT_FALSE(load_authorization_config(file("- {type: RBAC, name: rbac, type: Node}\n")));
  EXPECT_FALSE(load_authorization_config(file("- {type: RBAC, name: 7}\n")));
  EXPECT_FALSE(load_authorization_config(file("rbac")));
  EXPECT_TRUE(load_authorization_config(file("- {type: RBAC, name: rbac}\n")));
  for (std::string_view more : {"---\nauthorizers: [{type: AlwaysAllow, name: a}]\n", "...\nx: y\n",
                                "<<: {authorizers: []}\n"})
    EXPECT_FALSE(load_authorization_config(file(cat("- {type: RBAC, name: rbac}\n", more))))
        << more;
  EXPECT_FALSE(load_authorization_config(file("- {type: RBAC, name: rbac,}\n")));
  EXPECT_FALSE(load_authorization_config(
      R"({"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthorizationConfiguration",)"
      R"("authorizers":[{"type":"RBAC","name":"rbac"}]} {})"));
  EXPECT_FALSE(load_authorization_config("[]"));
}

}  // namespace
}  // namespace cardea::feeds
