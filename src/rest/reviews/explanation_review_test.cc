#include <gtest/gtest.h>

#include "rest/testing/test_server.h"

namespace cardea::rest {
namespace {

constexpr const char* kExplain = "/apis/access.cardea.dev/v1alpha1/accessexplanationreviews";
constexpr const char* kEvaluate = "/apis/access.cardea.dev/v1alpha1/expressionreviews";

class Says : public authz::Authorizer {
 public:
  Says(std::string name, authz::Decision decision)
      : name_(std::move(name)), decision_(std::move(decision)) {}
  std::string_view name() const override { return name_; }
  std::optional<authz::Decision> authorize(const authz::Attributes&) const override {
    return decision_;
  }

 private:
  const std::string name_;
  const authz::Decision decision_;
};

struct Explanation : testing::Test {
  json::Value explain(std::vector<std::shared_ptr<const authz::Authorizer>> authorizers) {
    TestServer server{{}, std::move(authorizers)};
    return server
        .send("POST", kExplain,
              R"({"spec":{"user":"jane","resourceAttributes":)"
              R"({"verb":"get","resource":"pods","version":"v1","namespace":"default"}}})")
        .body["status"];
  }
};

TEST_F(Explanation, EveryAuthorizerIsListedUpToTheOneThatDecides) {
  json::Value status = explain(
      {std::make_shared<Says>("silent", authz::Decision::no_opinion("not mine")),
       std::make_shared<Says>("strict", authz::Decision::deny("never")),
       std::make_shared<Says>("late", authz::Decision::allow("always"))});
  EXPECT_FALSE(status["allowed"].as_bool());
  EXPECT_EQ(status["answer"].as_string(), "Deny");
  const json::Value& list = status["authorizers"];
  ASSERT_EQ(list.size(), 4u);  // the authorizer of system:masters is first
  EXPECT_EQ(list[1]["reason"].as_string(), "not mine");
  EXPECT_EQ(list[2]["answer"].as_string(), "Deny");
  EXPECT_EQ(list[3]["answer"].as_string(), "NotAsked");
}

TEST_F(Explanation, AnErrorIsNeverAnAllow) {
  json::Value status = explain(
      {std::make_shared<Says>("broken", authz::Decision::no_opinion("", "it broke"))});
  EXPECT_FALSE(status["allowed"].as_bool());
  EXPECT_EQ(status["answer"].as_string(), "NoOpinion");
  EXPECT_EQ(status["evaluationError"].as_string(), "it broke");
}

TEST(Explanations, AQuestionWithoutAUserIsRefused) {
  TestServer server;
  EXPECT_EQ(
      server.send("POST", kExplain, R"({"spec":{"resourceAttributes":{"verb":"get"}}})").status,
      422);
  EXPECT_EQ(server.send("POST", kExplain, R"({"spec":{"user":"jane"}})").status, 422);
}

struct Expressions : testing::Test {
  TestServer server;
  json::Value evaluate(const std::string& spec) {
    Loopback::Reply reply = server.send("POST", kEvaluate, "{\"spec\":" + spec + "}");
    EXPECT_EQ(reply.status, 201) << reply.body["message"].as_string();
    return reply.body["status"];
  }
};

TEST_F(Expressions, AValueHasItsTypeAndCost) {
  json::Value status = evaluate(
      R"({"expression":"object.a + 1 == 3 && n == 'x'","variables":{"object":{"a":2},"n":"x"}})");
  EXPECT_EQ(status["outcome"].as_string(), "True");
  EXPECT_EQ(status["type"].as_string(), "bool");
  EXPECT_GT(status["cost"].as_int(), 0);
  ASSERT_EQ(status["parts"].size(), 3u);
  EXPECT_EQ(status["parts"][1]["expression"].as_string(), "object.a + 1 == 3");
  EXPECT_EQ(status["parts"][1]["outcome"].as_string(), "True");
}

TEST_F(Expressions, WhatHasNoValueStays) {
  json::Value status = evaluate(R"({"expression":"request.verb == 'get' && object.spec.size > 1",)"
                                R"("variables":{"request":{"verb":"get"}}})");
  EXPECT_EQ(status["outcome"].as_string(), "Unknown");
  EXPECT_EQ(status["value"].as_string(), "object.spec.size > 1");
  EXPECT_EQ(status["parts"][1]["outcome"].as_string(), "True");
  EXPECT_EQ(status["parts"][2]["outcome"].as_string(), "Unknown");
}

TEST_F(Expressions, ChosenPartsAreUnknown) {
  json::Value status = evaluate(
      R"({"expression":"object.a + object.b","variables":{"object":{"a":1,"b":2}},)"
      R"("unknown":["object.b"]})");
  EXPECT_EQ(status["outcome"].as_string(), "Unknown");
}

TEST_F(Expressions, TheFieldsOfAResourceAreChecked) {
  auto problem_of = [&](const std::string& expression) {
    return evaluate(R"({"resource":{"group":"apps","version":"v1","resource":"deployments"},)"
                    R"("expression":")" +
                    expression + "\"}")["typeProblem"];
  };
  EXPECT_TRUE(problem_of("object.spec.replicas > 1").is_null());
  EXPECT_TRUE(problem_of("object.spec.replicsa > 1").as_string().contains("undefined field"));
}

TEST_F(Expressions, WhatDoesNotCompileIsAnAnswer) {
  EXPECT_EQ(evaluate(R"({"expression":"1 +"})")["outcome"].as_string(), "Invalid");
  EXPECT_EQ(evaluate(R"({"expression":"1 / 0 == 1"})")["outcome"].as_string(), "Error");
}

TEST_F(Expressions, TheCostHasALimit) {
  std::string list = "[0";
  for (int i = 1; i < 1500; ++i) list += "," + std::to_string(i % 10);
  json::Value status = evaluate(R"x({"expression":"n.all(a, n.all(b, a < b + 100))",)x"
                                R"("variables":{"n":)" +
                                list + "]}}");
  EXPECT_EQ(status["outcome"].as_string(), "Error");
  EXPECT_NE(status["value"].as_string().find("cost limit"), std::string_view::npos);
}

TEST_F(Expressions, NothingOfTheClusterIsAsked) {
  json::Value status = evaluate(
      R"x({"expression":"authorizer.group('').resource('pods').check('get').allowed()"})x");
  EXPECT_EQ(status["outcome"].as_string(), "Unknown");
  EXPECT_EQ(server
                .send("POST", kEvaluate,
                      R"({"spec":{"expression":"true","variables":{"authorizer":{}}}})")
                .status,
            422);
}

TEST_F(Expressions, WhatIsTooLongIsRefused) {
  EXPECT_EQ(server.send("POST", kEvaluate, R"({"spec":{}})").status, 422);
  EXPECT_EQ(server
                .send("POST", kEvaluate,
                      "{\"spec\":{\"expression\":\"" + std::string(20'000, '1') + "\"}}")
                .status,
            422);
}

}  // namespace
}  // namespace cardea::rest
