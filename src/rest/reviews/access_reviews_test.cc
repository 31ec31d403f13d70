#include <gtest/gtest.h>

#include "json/print.h"
#include "rest/testing/test_server.h"

namespace cardea::rest {
namespace {

constexpr const char* kSubject = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
constexpr const char* kSelf = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
constexpr const char* kRules = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
constexpr const char*
    kLocal = "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews";

// Answers each verb in its own way.
class ByVerb : public authz::Authorizer {
 public:
  std::string_view name() const override { return "byverb"; }
  std::optional<authz::Decision> authorize(const authz::Attributes& a) const override {
    if (a.verb == "allow") return authz::Decision::allow("because");
    if (a.verb == "deny") return authz::Decision::deny("never");
    if (a.verb == "fail") return authz::Decision::no_opinion("", "it broke");
    if (a.verb == "select")
      return a.selectors && !a.selectors->fields.empty() ? authz::Decision::allow()
                                                         : authz::Decision::no_opinion();
    return authz::Decision::no_opinion();
  }
  void add_rules(const authz::User& user, std::string_view namespace_name,
                 authz::Rules& rules) const override {
    rules.resource_rules.push_back({{"get"}, {""}, {"pods"}, {user.name}});
    rules.non_resource_rules.push_back({{"get"}, {"/" + std::string(namespace_name)}});
    rules.incomplete = true;
    rules.errors = {"a", "b", "a"};
  }
};

struct AccessReviews : testing::Test {
  TestServer server{{}, {std::make_shared<ByVerb>()}};

  json::Value ask(const char* where, const std::string& spec) {
    return server.send("POST", where, "{\"spec\":" + spec + "}").body;
  }
  std::string status(const char* where, const std::string& spec) {
    return json::print(ask(where, spec)["status"]);
  }
};

TEST_F(AccessReviews, SayAllowedDeniedAndNeither) {
  EXPECT_EQ(status(kSubject, R"({"user":"u","resourceAttributes":{"verb":"allow"}})"),
            R"({"allowed":true,"reason":"because"})");
  EXPECT_EQ(status(kSubject, R"({"user":"u","resourceAttributes":{"verb":"deny"}})"),
            R"({"allowed":false,"denied":true,"reason":"never"})");
  EXPECT_EQ(
      status(kSubject, R"({"groups":["g"],"nonResourceAttributes":{"path":"/x","verb":"none"}})"),
      R"({"allowed":false})");
}

TEST_F(AccessReviews, AnErrorIsNeverAnAllow) {
  EXPECT_EQ(status(kSubject, R"({"user":"u","resourceAttributes":{"verb":"fail"}})"),
            R"({"allowed":false,"evaluationError":"it broke"})");
}

TEST_F(AccessReviews, SelectorsReachTheAuthorizerAndWhatCannotBeReadIsTold) {
  EXPECT_EQ(status(kSubject, R"({"user":"u","resourceAttributes":{"verb":"select",)"
                             R"("fieldSelector":{"rawSelector":"a=b"}}})"),
            R"({"allowed":true})");
  EXPECT_EQ(
      status(
          kSubject,
          R"({"user":"u","resourceAttributes":{"verb":"fail","fieldSelector":{"rawSelector":"?"},)"
          R"("labelSelector":{"requirements":[{"key":"a","operator":"Exists"},)"
          R"({"key":"b","operator":"Later"}]}}})"),
      R"({"allowed":false,"evaluationError":"it broke; spec.resourceAttributes.fieldSelector )"
      R"(ignored due to parse error; )"
      R"(spec.resourceAttributes.labelSelector partially ignored due to parse error"})");
}

TEST_F(AccessReviews, OfOneselfAskAboutTheCaller) {
  EXPECT_EQ(status(kSelf, R"({"resourceAttributes":{"verb":"none"}})"),
            R"({"allowed":true})");  // system:masters
}

TEST_F(AccessReviews, ALocalOneStaysInItsNamespace) {
  EXPECT_EQ(
      status(kLocal, R"({"user":"u","resourceAttributes":{"verb":"allow","namespace":"default"}})"),
      R"({"allowed":true,"reason":"because"})");
  EXPECT_EQ(ask(kLocal,
                R"({"user":"u","resourceAttributes":{"verb":"allow","namespace":"other"}})")["code"]
                .as_int(),
            422);
  EXPECT_EQ(
      ask(kLocal, R"({"user":"u","nonResourceAttributes":{"verb":"allow"}})")["code"].as_int(),
      422);
}

TEST_F(AccessReviews, KeepTheMetadataEmptyButForOwners) {
  auto refused = server.send(
      "POST", kSubject, R"({"metadata":{"name":"n"},"spec":{"user":"u","resourceAttributes":{}}})");
  EXPECT_EQ(refused.status, 422);
  json::Value answer = ask(kSubject, R"({"user":"u","resourceAttributes":{}})");
  EXPECT_FALSE(answer["metadata"].has("creationTimestamp"));
  EXPECT_EQ(answer["metadata"]["managedFields"].size(), 1u);
}

TEST_F(AccessReviews, OwnersAreTheSameTheSecondTime) {
  const std::string with = R"({"user":"u","extra":{"k":["a"]},"resourceAttributes":{"verb":"none",)"
                           R"("fieldSelector":{"rawSelector":"a=b"}}})";
  const std::string without = R"({"groups":["g"],"nonResourceAttributes":{"verb":"none"}})";
  for (int i = 0; i < 2; ++i) {
    json::Value first = ask(kSubject, with)["metadata"]["managedFields"][0];
    EXPECT_EQ(json::print(first["fieldsV1"]),
              R"({"f:spec":{"f:extra":{".":{},"f:k":{}},"f:resourceAttributes":{".":{},)"
              R"("f:fieldSelector":{".":{},"f:rawSelector":{}},"f:verb":{}},"f:user":{}}})");
    EXPECT_EQ(first["manager"].as_string(), "test");
    EXPECT_EQ(json::print(ask(kSubject, without)["metadata"]["managedFields"][0]["fieldsV1"]),
              R"({"f:spec":{"f:groups":{},"f:nonResourceAttributes":{".":{},"f:verb":{}}}})");
  }
}

TEST_F(AccessReviews, RulesComeFromEveryAuthorizerWithWhatWentWrong) {
  json::Value answer = ask(kRules, R"({"namespace":"ns"})");
  EXPECT_EQ(json::print(answer["status"]),
            R"({"evaluationError":"[a, b]","incomplete":true,)"
            R"("nonResourceRules":[{"nonResourceURLs":["/ns"],"verbs":["get"]}],)"
            R"("resourceRules":[{"apiGroups":[""],"resourceNames":["test"],"resources":["pods"],)"
            R"("verbs":["get"]}]})");
  EXPECT_EQ(json::print(answer["spec"]), "{}");
  EXPECT_EQ(ask(kRules, "{}")["message"].as_string(), "no namespace on request");
}

}  // namespace
}  // namespace cardea::rest
