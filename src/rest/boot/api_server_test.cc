#include "rest/boot/api_server.h"

#include <gtest/gtest.h>

#include "json/print.h"
#include "rest/testing/test_server.h"

namespace cardea::rest {
namespace {

// Lets edgar write everything, but does not exempt edgar from the guards.
class Writes : public authz::Authorizer {
 public:
  std::string_view name() const override { return "writes"; }
  std::optional<authz::Decision> authorize(const authz::Attributes& a) const override {
    bool is_write = a.verb == "create" || a.verb == "update" || a.verb == "delete";
    return is_write && a.resource != "secrets" ? authz::Decision::allow()
                                               : authz::Decision::no_opinion();
  }
};

class ApiServerTest : public ::testing::Test {
 protected:
  Loopback::Reply edgar(std::string method, std::string path, std::string_view body = "") {
    json::Value document;
    if (!body.empty()) document = *json::parse(body);
    return edgar_.send_and_wait(std::move(method), std::move(path), std::move(document));
  }

  TestServer server_{{}, {std::make_shared<Writes>()}};
  Loopback edgar_{server_.gateway(), server_.loop(), {.name = "edgar"}, "edgar"};
};

TEST_F(ApiServerTest, NobodyGivesAwayWhatTheyDoNotHave) {
  Loopback::Reply role = edgar("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", R"({
    "metadata": {"name": "r"},
    "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]})");
  EXPECT_EQ(role.status, 403) << json::print(role.body);
  Loopback::Reply policy = edgar("POST", "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies",
                                 R"({
    "metadata": {"name": "p"},
    "spec": {"effect": "Allow", "subjects": [{"kind": "User", "name": "edgar"}],
             "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]}})");
  EXPECT_EQ(policy.status, 403) << json::print(policy.body);
}

TEST_F(ApiServerTest, AnUncoveredPermissionSetIsAcceptedWithAWarning) {
  Loopback::Reply set = edgar("POST", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets",
                              R"x({
    "metadata": {"name": "s"},
    "spec": {"uncoveredPermissions": ["granular:label(example.com)"]}})x");
  EXPECT_EQ(set.status, 201) << json::print(set.body);
  EXPECT_FALSE(set.warnings.empty());
}

TEST_F(ApiServerTest, TheMasterNamespaceStays) {
  ASSERT_EQ(server_.send("POST", "/api/v1/namespaces", R"({"metadata":{"name":"master"}})").status,
            201);
  EXPECT_EQ(edgar("DELETE", "/api/v1/namespaces/master").status, 403);
}

TEST_F(ApiServerTest, PartsThatMakeNoSenseAreABadRequest) {
  FakeClock clock({});
  SystemRandom random;
  Metrics metrics;
  net::Loops calls(1);
  net::Dialer dialer;
  auto store = store::make_memory_store(clock);
  authn::AuthenticatorChain nobody{std::vector<std::shared_ptr<const authn::Authenticator>>()};
  auto parts = [&] {
    return Parts{
        .store = *store,
        .clock = clock,
        .random = random,
        .metrics = metrics,
        .calls = calls.at(0),
        .dialer = dialer,
        .authenticators = nobody,
        .make_chain =
            [](const auto&) {
              return std::make_shared<const authz::CurrentChain>(std::make_shared<authz::Chain>(
                  std::vector<std::shared_ptr<const authz::Authorizer>>()));
            },
        .secret = "of a test"};
  };
  Parts plugin = parts();
  plugin.enabled_plugins = {"NoSuchPlugin"};
  Parts range = parts();
  range.service_cluster_ip_range = "nowhere";
  for (Parts* wrong : {&plugin, &range}) {
    auto made = ApiServer::make(std::move(*wrong));
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().reason, Reason::kBadRequest) << made.error().message;
  }
  EXPECT_TRUE(ApiServer::make(parts()).has_value());
}

}  // namespace
}  // namespace cardea::rest
