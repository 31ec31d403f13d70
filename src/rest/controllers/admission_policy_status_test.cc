#include <gtest/gtest.h>

#include "rest/testing/test_controllers.h"

namespace cardea::rest {
namespace {

constexpr char kPath[] = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";

json::Value checked(std::string_view rules, std::string_view validations,
                    std::string_view more = "") {
  TestServer server;
  RunningControllers controllers(server, {"validatingadmissionpolicy-status-controller"});
  const std::string body = cat(
      R"({"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[)", rules,
      R"(]},"validations":[)", validations, "]", more, "}}");
  EXPECT_EQ(server.send("POST", kPath, body).status, 201);
  json::Value policy;
  EXPECT_TRUE(TestServer::eventually([&] {
    policy = server.get(cat(kPath, "/p"));
    return policy["status"]["observedGeneration"].as_int() == 1;
  }));
  return policy["status"]["typeChecking"];
}

constexpr char
    kDeployments[] = R"({"apiGroups":["apps"],"apiVersions":["v1"],"operations":["CREATE"],)"
                     R"("resources":["deployments"]})";

TEST(AdmissionPolicyStatus, SaysNothingOfExpressionsThatFit) {
  const json::Value found = checked(
      kDeployments,
      R"j({"expression":"object.spec.replicas < 5 && object.metadata.labels.x == 'y' && )j"
      R"j(object.spec.template.spec.containers.all(c, c.image != '')"})j");
  EXPECT_TRUE(found.is_object());
  EXPECT_TRUE(found["expressionWarnings"].empty());
}

TEST(AdmissionPolicyStatus, WarnsForEachTypeThatTheRulesName) {
  const json::Value found = checked(
      R"({"apiGroups":["","apps"],"apiVersions":["v1"],"operations":["CREATE"],)"
      R"("resources":["pods","deployments"]})",
      R"({"expression":"object.spec.replicas == '5'","messageExpression":"'x' + object.baz"})");
  ASSERT_EQ(found["expressionWarnings"].size(), 2u);
  EXPECT_EQ(found["expressionWarnings"][0]["fieldRef"].as_string(),
            "spec.validations[0].expression");
  EXPECT_EQ(found["expressionWarnings"][0]["warning"].as_string(),
            "/v1, Kind=Pod: ERROR: <input>:1:12: undefined field 'replicas'\n | "
            "object.spec.replicas == '5'\n | ...........^\n\n"
            "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_==_' "
            "applied to '(int, string)'\n | object.spec.replicas == '5'\n | "
            ".....................^\n");
  EXPECT_EQ(found["expressionWarnings"][1]["fieldRef"].as_string(),
            "spec.validations[0].messageExpression");
}

TEST(AdmissionPolicyStatus, KnowsParametersAndVariables) {
  const json::Value found = checked(
      kDeployments,
      R"({"expression":"params.data.x == 'y' && variables.count > 1"},)"
      R"({"expression":"params.nothing == 1"},{"expression":"variables.count == 'x'"})",
      R"(,"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},)"
      R"("variables":[{"name":"count","expression":"object.spec.replicas"}])");
  ASSERT_EQ(found["expressionWarnings"].size(), 2u);
  EXPECT_EQ(found["expressionWarnings"][0]["warning"].as_string(),
            "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'nothing'\n | "
            "params.nothing == 1\n | ......^\n");
  EXPECT_EQ(found["expressionWarnings"][1]["fieldRef"].as_string(),
            "spec.validations[2].expression");
}

TEST(AdmissionPolicyStatus, ChecksNothingWhereTheRulesSayAny) {
  EXPECT_TRUE(checked(R"({"apiGroups":["*"],"apiVersions":["v1"],"operations":["CREATE"],)"
                      R"("resources":["pods"]})",
                      R"({"expression":"object.foo == 1"})")["expressionWarnings"]
                  .empty());
}

}  // namespace
}  // namespace cardea::rest
