#include <gtest/gtest.h>

#include <algorithm>

#include "base/strings.h"
#include "json/print.h"
#include "rest/testing/test_server.h"

namespace cardea::rest {
namespace {

constexpr const char* kBatch = "/apis/access.cardea.dev/v1alpha1/batchsubjectaccessreviews";
constexpr const char* kWhoCan = "/apis/access.cardea.dev/v1alpha1/resourceaccessreviews";

// Allows objects with the name of the user; counts how often its policy was read.
class ByName : public authz::Authorizer {
 public:
  std::string_view name() const override { return "byname"; }
  std::optional<authz::Decision> authorize(const authz::Attributes& a) const override {
    if (a.verb == "wait") return std::nullopt;
    if (a.verb == "fail") return authz::Decision::no_opinion("", "it broke");
    return a.name == a.user.name || a.path == "/" + a.user.name
               ? authz::Decision::allow("named after them")
               : authz::Decision::no_opinion();
  }
  Task<authz::Decision> authorize_waiting(authz::Attributes a) const override {
    co_return a.name == a.user.name ? authz::Decision::allow("waited")
                                    : authz::Decision::deny("waited");
  }
  void add_allowed(const authz::Attributes&, authz::AllowedSubjects& allowed) const override {
    json::Value rule = json::Value::object({{"verbs", json::Value::array({json::Value("get")})}});
    allowed.subjects.push_back({"User", "jane", "", "RoleBinding", "ns", "b1", "Role", "r", rule});
    allowed.subjects.push_back({"ServiceAccount", "robot", "ns", "ClusterRoleBinding", "", "b2",
                                "ClusterRole", "r", rule});
    allowed.subjects.push_back(
        {"User", "jane", "", "ClusterRoleBinding", "", "b2", "ClusterRole", "r", rule});
    allowed.subjects.push_back({.kind = "User", .name = "system:node:n1"});
    allowed.subjects.push_back({.kind = "User", .name = "system:node:n2"});
    allowed.subjects.push_back(
        {.kind = "User",
         .name = "system:node:n2",
         .binding_kind = "ClusterAccessPolicy",
         .binding = "p",
         .rule = json::Value::object({{"verbs", json::Value::array({json::Value("get")})},
                                      {"expression", "object.x == 1"}})});
  }
};

struct AccessQuestions : testing::Test {
  TestServer server{{}, {std::make_shared<ByName>()}};

  Loopback::Reply ask(const char* where, const std::string& spec) {
    return server.send("POST", where, "{\"spec\":" + spec + "}");
  }
  static std::string items(std::size_t n) {
    std::string out = R"({"user":"u","items":[)";
    for (std::size_t i = 0; i < n; ++i)
      out += cat(i ? "," : "", R"({"resourceAttributes":{"verb":"get","name":"u"}})");
    return out + "]}";
  }
};

TEST_F(AccessQuestions, ABatchAnswersInOrder) {
  auto reply = ask(kBatch, R"({"user":"u","groups":["g"],"items":[
      {"resourceAttributes":{"verb":"get","name":"u"}},
      {"resourceAttributes":{"verb":"get","name":"x"}},
      {"user":"x","resourceAttributes":{"verb":"get","name":"x"}},
      {"nonResourceAttributes":{"verb":"get","path":"/u"}},
      {"resourceAttributes":{"verb":"wait","name":"u"}},
      {"groups":["system:masters"],"resourceAttributes":{"verb":"get"}},
      {"resourceAttributes":{"verb":"wait","name":"x"}},
      {"resourceAttributes":{"verb":"fail"}}]})");
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(json::print(reply.body["status"]["items"]),
            R"([{"allowed":true,"reason":"named after them"},{"allowed":false},)"
            R"({"allowed":true,"reason":"named after them"},)"
            R"({"allowed":true,"reason":"named after them"},)"
            R"({"allowed":true,"reason":"waited"},{"allowed":true},)"
            R"({"allowed":false,"denied":true,"reason":"waited"},)"
            R"({"allowed":false,"evaluationError":"it broke"}])");
}

TEST_F(AccessQuestions, AFastBatchIsAnsweredLikeAnyOther) {
  const std::string
      plain = R"({"user":"u","items":[{"resourceAttributes":{"verb":"get","name":"u"}},)"
              R"({"resourceAttributes":{"verb":"get","name":"x"}},)"
              R"({"resourceAttributes":{"verb":"fail"}}]})";
  const std::string
      other = R"({"user":"u","extra":{"k":["v"]},"items":[{"resourceAttributes":{"verb":"get",)"
              R"("name":"u"}},{"resourceAttributes":{"verb":"get","name":"x"}},)"
              R"({"resourceAttributes":{"verb":"fail"}}]})";
  auto quick = ask(kBatch, plain);
  EXPECT_EQ(quick.status, 201);
  EXPECT_EQ(quick.body, ask(kBatch, other).body);
}

TEST_F(AccessQuestions, ABatchHasAtMostAThousandItems) {
  EXPECT_EQ(ask(kBatch, items(1000)).body["status"]["items"].size(), 1000u);
  auto refused = ask(kBatch, items(1001));
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.body["details"]["causes"][0]["message"].as_string(),
            "Too many: 1001: must have at most 1000 items");
  EXPECT_EQ(ask(kBatch, R"({"user":"u"})").status, 422);
}

TEST_F(AccessQuestions, AnItemMustMakeSense) {
  EXPECT_EQ(ask(kBatch, R"({"items":[{"resourceAttributes":{}}]})")
                .body["details"]["causes"][0]["field"]
                .as_string(),
            "spec.items[0].user");
  EXPECT_EQ(
      ask(kBatch, R"({"user":"u","items":[{}]})").body["details"]["causes"][0]["field"].as_string(),
      "spec.items[0].resourceAttributes");
  EXPECT_EQ(
      ask(kBatch, R"({"user":"u","items":[{"resourceAttributes":{"fieldSelector":{}}}]})").status,
      422);
  EXPECT_EQ(ask(kBatch, R"({"user":"u","items":[{"resourceAttributes":{"verb":7}}]})").status, 400);
}

TEST_F(AccessQuestions, WhoCanListsSubjectsWithAllThatAllowsThem) {
  auto reply = ask(kWhoCan, R"({"resourceAttributes":{"verb":"get","resource":"pods"}})");
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(
      json::print(reply.body["status"]),
      R"({"incomplete":false,"subjects":[{"dependsOn":"group membership","kind":"Group",)"
      R"("name":"system:masters"},)"
      R"({"kind":"User","name":"jane","via":[{"binding":{"kind":"RoleBinding","name":"b1",)"
      R"("namespace":"ns"},"role":{"kind":"Role","name":"r","namespace":"ns"},)"
      R"("rule":{"verbs":["get"]}},)"
      R"({"binding":{"kind":"ClusterRoleBinding","name":"b2"},)"
      R"("role":{"kind":"ClusterRole","name":"r"},"rule":{"verbs":["get"]}}]},)"
      R"({"kind":"ServiceAccount","name":"robot","namespace":"ns",)"
      R"("via":[{"binding":{"kind":"ClusterRoleBinding","name":"b2"},)"
      R"("role":{"kind":"ClusterRole","name":"r"},"rule":{"verbs":["get"]}}]},)"
      R"({"dependsOn":"group membership","kind":"User","name":"system:node:n1"},)"
      R"({"kind":"User","name":"system:node:n2","via":[{"binding":{"kind":"ClusterAccessPolicy",)"
      R"("name":"p"},"conditions":["object.x == 1"],"rule":{"verbs":["get"]}}]}]})");
  EXPECT_EQ(ask(kWhoCan, "{}").status, 422);
}

TEST_F(AccessQuestions, TheGroupIsInDiscoveryAndOpenApi) {
  json::Value list = server.get("/apis/access.cardea.dev/v1alpha1");
  std::vector<std::string> names;
  for (const json::Value& r : list["resources"].items()) names.emplace_back(r["name"].as_string());
  EXPECT_NE(std::ranges::find(names, "batchsubjectaccessreviews"), names.end());
  EXPECT_NE(std::ranges::find(names, "resourceaccessreviews"), names.end());
  json::Value document = server.get("/openapi/v3/apis/access.cardea.dev/v1alpha1");
  EXPECT_TRUE(
      document["components"]["schemas"].has("dev.cardea.access.v1alpha1.BatchSubjectAccessReview"));
}

}  // namespace
}  // namespace cardea::rest
