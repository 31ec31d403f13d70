#include <gtest/gtest.h>

#include <future>

#include "base/strings.h"
#include "json/print.h"
#include "rest/testing/test_server.h"

namespace cardea::rest {
namespace {

constexpr char kDecisionsPath[] = "/apis/access.cardea.dev/v1alpha1/decisions";

// Whoever has a token is the user of that name.
class ByName : public authn::Authenticator {
 public:
  std::optional<Result<std::optional<authn::Identity>>> authenticate(
      const authn::Credentials& credentials) const override {
    if (credentials.token.empty()) return fail(Error::of(Reason::kUnauthorized, "no token"));
    return authn::Identity{.user = {.name = std::string(credentials.token),
                                    .groups = {"dev"},
                                    .extra = {{"secret", {"do-not-keep"}}}}};
  }
};

class MayRead : public authz::Authorizer {
 public:
  std::string_view name() const override { return "may-read"; }
  std::optional<authz::Decision> authorize(const authz::Attributes& a) const override {
    if (a.user.name == "broken")
      return authz::Decision::no_opinion({}, "the policy cannot be read");
    if (a.verb == "impersonate") return authz::Decision::no_opinion();
    if (a.verb == "get" || a.verb == "list") return authz::Decision::allow();
    return authz::Decision::no_opinion("only reads are allowed");
  }
};

class Exchange : public http::Exchange {
 public:
  explicit Exchange(net::Loop& loop) : http::Exchange(loop) {}
  void respond(http::Response response) override { status.set_value(response.status); }
  std::shared_ptr<http::Stream> stream(http::Response) override { return nullptr; }
  void on_close(net::Callback) override {}
  std::promise<int> status;
};

class Decisions : public ::testing::Test {
 protected:
  int send(std::string_view user, std::string method, std::string path,
           std::string_view impersonated = "") {
    auto e = std::make_shared<Exchange>(server_.loop());
    e->request().method = std::move(method);
    e->request().target = path;
    const auto mark = path.find('?');
    e->request().path = path.substr(0, mark);
    if (mark != path.npos) e->request().query = path.substr(mark + 1);
    if (!user.empty()) e->request().headers.add("Authorization", cat("Bearer ", user));
    if (!impersonated.empty()) e->request().headers.add("Impersonate-User", impersonated);
    server_.loop().post([&] { gateway_->handle(e); });
    return e->status.get_future().get();
  }
  json::Value list(std::string_view query = "") { return server_.get(cat(kDecisionsPath, query)); }

  TestServer server_{{}, {std::make_shared<MayRead>()}};
  authn::AuthenticatorChain authenticators_{{std::make_shared<ByName>()}};
  std::unique_ptr<Gateway> gateway_ = server_.gateway_with(authenticators_);
};

TEST_F(Decisions, TellWhoAskedForWhatAndWhyItWasRefused) {
  EXPECT_EQ(send("jane", "GET", "/api/v1/namespaces/shop/pods"), 200);
  EXPECT_EQ(send("jane", "DELETE", "/apis/apps/v1/namespaces/shop/deployments/web"), 403);
  const json::Value all = list();
  EXPECT_EQ(all["kind"].as_string(), "DecisionList");
  ASSERT_EQ(all["items"].items().size(), 2u);
  const json::Value& refused = all["items"].items()[0];
  EXPECT_EQ(refused["user"].as_string(), "jane");
  EXPECT_EQ(refused["groups"].items()[0].as_string(), "dev");
  EXPECT_EQ(refused["outcome"].as_string(), "Denied");
  EXPECT_EQ(refused["code"].as_int(), 403);
  EXPECT_TRUE(refused["reason"].as_string().ends_with("only reads are allowed"));
  EXPECT_EQ(refused["request"]["verb"].as_string(), "delete");
  EXPECT_EQ(refused["request"]["group"].as_string(), "apps");
  EXPECT_EQ(refused["request"]["resource"].as_string(), "deployments");
  EXPECT_EQ(refused["request"]["namespace"].as_string(), "shop");
  EXPECT_EQ(refused["request"]["name"].as_string(), "web");
  EXPECT_EQ(all["items"].items()[1]["outcome"].as_string(), "Allowed");
  const std::string name(refused["metadata"]["name"].as_string());
  EXPECT_EQ(server_.get(cat(kDecisionsPath, "/", name))["user"].as_string(), "jane");
  for (const char* wrong : {"0", "99", "-1", "x"})
    EXPECT_EQ(server_.send("GET", cat(kDecisionsPath, "/", wrong)).status, 404) << wrong;
  EXPECT_EQ(server_.send("GET", cat(kDecisionsPath, "/0", name)).status, 404);
}

TEST_F(Decisions, HoldNeitherQueriesNorExtraValues) {
  EXPECT_EQ(send("jane", "GET", "/api/v1/pods?labelSelector=token%3Ddo-not-keep"), 200);
  const std::string shown = json::print(list());
  EXPECT_FALSE(shown.contains("do-not-keep")) << shown;
  EXPECT_TRUE(shown.contains("jane"));
}

TEST_F(Decisions, AreNarrowedByFieldsAndReadInPages) {
  for (int i = 0; i < 3; ++i) send("jane", "GET", cat("/api/v1/namespaces/n", std::to_string(i)));
  send("bob", "GET", "/api/v1/pods");
  send("bob", "DELETE", "/api/v1/nodes/a");
  auto found = [&](std::string_view selector) {
    return list(cat("?fieldSelector=", selector))["items"].items().size();
  };
  EXPECT_EQ(found("user%3Djane"), 3u);
  EXPECT_EQ(found("outcome%3DDenied"), 1u);
  EXPECT_EQ(found("request.resource%3Dpods,user%3Dbob"), 1u);
  EXPECT_EQ(found("request.verb!%3Dget"), 2u);
  EXPECT_EQ(server_.send("GET", cat(kDecisionsPath, "?fieldSelector=extra%3Dx")).status, 400);

  json::Value page = list("?limit=2&fieldSelector=user%3Djane");
  ASSERT_EQ(page["items"].items().size(), 2u);
  EXPECT_EQ(page["items"].items()[0]["request"]["name"].as_string(), "n2");
  send("jane", "GET", "/api/v1/namespaces/n9");  // shifts nothing
  page = list(cat("?limit=2&fieldSelector=user%3Djane&continue=",
                  page["metadata"]["continue"].as_string()));
  ASSERT_EQ(page["items"].items().size(), 1u);
  EXPECT_EQ(page["items"].items()[0]["request"]["name"].as_string(), "n0");
  EXPECT_TRUE(page["metadata"]["continue"].is_null());
  EXPECT_EQ(server_.send("GET", cat(kDecisionsPath, "?limit=2&continue=x")).status, 400);
}

TEST_F(Decisions, LeaveOutWhatNobodyLooksForButNotItsRefusals) {
  send("jane", "GET", "/readyz");
  send("jane", "GET", "/livez/ping");
  send("jane", "GET", kDecisionsPath);
  send("", "GET", "/api/v1/pods");  // nobody
  EXPECT_EQ(list()["items"].items().size(), 0u);
  send("jane", "GET", "/healthzz");
  send("jane", "DELETE", kDecisionsPath);
  EXPECT_EQ(list()["items"].items().size(), 2u);
}

TEST_F(Decisions, AnErrorIsNeverAnAllow) {
  EXPECT_EQ(send("broken", "GET", "/api/v1/pods"), 500);
  const json::Value kept = list()["items"].items()[0];
  EXPECT_EQ(kept["outcome"].as_string(), "Error");
  EXPECT_EQ(kept["reason"].as_string(), "the policy cannot be read");
}

TEST_F(Decisions, TellOfRefusedImpersonation) {
  EXPECT_EQ(send("jane", "GET", "/api/v1/pods", "admin"), 403);
  const json::Value kept = list()["items"].items()[0];
  EXPECT_EQ(kept["user"].as_string(), "jane");
  EXPECT_EQ(kept["outcome"].as_string(), "Denied");
  EXPECT_TRUE(kept["reason"].as_string().contains("cannot impersonate")) << json::print(kept);
}

TEST_F(Decisions, AreNeverWritten) {
  for (const char* method : {"POST", "DELETE"})
    EXPECT_EQ(server_.send(method, kDecisionsPath, "{}").status, 405) << method;
}

}  // namespace
}  // namespace cardea::rest
