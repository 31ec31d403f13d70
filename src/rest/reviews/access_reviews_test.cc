#include <gtest/gtest.h>

#include "base/strings.h"
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
    if (a.user.name == "dev")
      return authz::conditional_on({.conditions = {{.effect = authz::Condition::Effect::kAllow,
                                                    .id = "dev.example.com/class",
                                                    .type = std::string(authz::kCelType),
                                                    .text = "object.spec.class ==\n'dev'",
                                                    .description = "of class dev"}}});
    if (a.user.name == "opaque")
      return authz::conditional_on({.conditions = {{.effect = authz::Condition::Effect::kDeny,
                                                    .id = "x.example.com/secret",
                                                    .type = "x.example.com/own",
                                                    .text = "bytes"},
                                                   {.effect = authz::Condition::Effect::kAllow,
                                                    .id = "x.example.com/rest"}}});
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

TEST_F(AccessReviews, SayConditionsInOneLineWhereTheyCanStillBeSettled) {
  auto about = [&](const char* user, const std::string& attributes, const char* more = "") {
    return status(kSubject, cat(R"({"user":")", user, R"(","resourceAttributes":{)", attributes,
                                "}", more, "}"));
  };
  EXPECT_EQ(about("dev", R"("verb":"create","resource":"pods")"),
            R"({"allowed":false,"reason":"allowed if object.spec.class == 'dev' (of class dev); )"
            R"(`cardea can-i create pods` tells more"})");
  EXPECT_EQ(about("dev", R"("verb":"create","group":"apps","resource":"deployments")"),
            R"({"allowed":false,"reason":"allowed if object.spec.class == 'dev' (of class dev); )"
            R"(`cardea can-i create deployments.apps` tells more"})");
  EXPECT_EQ(about("dev", R"("verb":"get","resource":"pods","subresource":"exec")"),
            R"({"allowed":false,"reason":"allowed if object.spec.class == 'dev' (of class dev); )"
            R"(`cardea can-i get pods/exec` tells more"})");
  EXPECT_EQ(about("opaque", R"("verb":"delete","resource":"pods")"),
            R"({"allowed":false,"denied":true,"reason":"denied if condition )"
            R"(\"x.example.com/secret\" holds; allowed if condition \"x.example.com/rest\" holds; )"
            R"(`cardea can-i delete pods` tells more"})");
  // Reads: no condition can turn them, so none is named.
  for (const char* read :
       {R"("verb":"get","resource":"pods")", R"("verb":"list","resource":"pods")",
        R"("verb":"watch","resource":"pods")",
        R"("verb":"get","resource":"pods","subresource":"log")", R"("verb":"*","resource":"pods")",
        R"("verb":"create","resource":"*")"})
    EXPECT_EQ(about("dev", read),
              R"({"allowed":false,"reason":"allowed under conditions only, which cannot be )"
              R"(evaluated for this request"})")
        << read;
}

TEST_F(AccessReviews, TheCompactFormHasNoWordsForPeople) {
  auto in = [&](const char* mode) {
    return ask(kSubject, cat(R"({"user":"dev","conditionalAuthorization":{"mode":")", mode,
                             R"("},"resourceAttributes":{"verb":"create","version":"v1",)"
                             R"("resource":"pods"}})"))["status"];
  };
  EXPECT_NE(json::print(in("HumanReadable")).find("of class dev"), std::string::npos);
  const json::Value compact = in("Optimized");
  EXPECT_FALSE(compact.has("reason"));
  EXPECT_EQ(json::print(compact).find("of class dev"), std::string::npos);
  EXPECT_NE(json::print(compact).find("object.spec.class"), std::string::npos);
}

TEST_F(AccessReviews, A403OfAReadNamesNoConditions) {
  Loopback dev(server.gateway(), server.loop(), {.name = "dev"}, "dev");
  auto reply = dev.send_and_wait("GET", "/api/v1/namespaces/default/pods");
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(reply.body["message"].as_string().find("object.spec"), std::string_view::npos);
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
