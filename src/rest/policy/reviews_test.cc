#include "rest/policy/reviews.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/print.h"
#include "rest/policy/review_question.h"
#include "rest/testing/test_server.h"

namespace cardea::rest::policy {
namespace {

using json::Value;

// Knows two users and one group by name.
class Fixed : public authz::Authorizer {
 public:
  std::string_view name() const override { return "fixed"; }
  std::optional<authz::Decision> authorize(const authz::Attributes& a) const override {
    bool is_known = a.resource == "pods" && a.namespace_name == "hammer" &&
                    (a.user.name == "Edgar" || a.user.in_group("editors"));
    return is_known ? authz::Decision::allow("as an editor") : authz::Decision::no_opinion();
  }
  void add_rules(const authz::User& user, std::string_view namespace_name,
                 authz::Rules& rules) const override {
    if (user.name != "Edgar" || namespace_name != "hammer") return;
    rules.resource_rules.push_back({{"get"}, {""}, {"pods"}, {}});
    rules.non_resource_rules.push_back({{"get"}, {"/x"}});
  }
  void add_allowed(const authz::Attributes& a, authz::AllowedSubjects& allowed) const override {
    if (a.resource != "pods" || a.namespace_name != "hammer") return;
    for (auto [kind, name] : {std::pair("User", "Edgar"), std::pair("Group", "editors"),
                              std::pair("User", "Anna"), std::pair("User", "Edgar")})
      allowed.subjects.push_back({.kind = kind,
                                  .name = name,
                                  .namespace_name = "",
                                  .binding_kind = "",
                                  .binding_namespace = "",
                                  .binding = "",
                                  .role_kind = "",
                                  .role = "",
                                  .rule = {}});
    allowed.remarks.push_back("Anna only on Sundays");
  }
};

class PolicyReviews : public ::testing::Test {
 protected:
  Loopback::Reply ask(std::string path, std::string_view kind, std::string_view rest,
                      std::string_view version = "v1beta3") {
    return server.send(
        "POST", std::move(path),
        cat(R"({"kind":")", kind, R"(","apiVersion":")", version, R"(",)", rest, "}"));
  }
  TestServer server{{}, {std::make_shared<Fixed>()}};
};

TEST_F(PolicyReviews, AnswerAtThePathsTheyHadAndHave) {
  constexpr std::string_view kSpec =
      R"("metadata":{"name":"q"},"spec":{"verb":"GET","resourceKind":"Pod","userName":"Edgar"})";
  for (std::string path :
       {"/api/v1beta3/ns/hammer/subjectAccessReviews", "/api/v1beta3/ns/hammer/subjectAccessReview",
        "/apis/authorization.openshift.io/v1beta3/namespaces/hammer/subjectaccessreviews",
        "/apis/authorization.openshift.io/v1beta3/namespaces/hammer/SubjectAccessReview"}) {
    auto reply = ask(path, "SubjectAccessReview", kSpec);
    ASSERT_EQ(reply.status, 201) << path << json::print(reply.body);
    EXPECT_EQ(json::print(reply.body["status"]), R"({"allowReason":"as an editor","allowed":true})")
        << path;
    EXPECT_EQ(reply.body["apiVersion"].as_string(),
              path.starts_with("/api/") ? "v1beta3" : "authorization.openshift.io/v1beta3");
    EXPECT_EQ(reply.body["spec"]["resourceKind"].as_string(), "Pod");
    EXPECT_EQ(reply.body["metadata"]["name"].as_string(), "q");
  }
  EXPECT_EQ(server.send("GET", "/api/v1beta3/ns/hammer/subjectAccessReviews").status, 405);
  EXPECT_EQ(server.send("GET", "/api/v1beta3/ns/hammer/pods").status, 404);
  EXPECT_EQ(server.send("POST", "/api/v1beta3/ns/hammer/subjectAccessReviews/x", "{}").status, 404);
}

TEST_F(PolicyReviews, AreAboutAUserAGroupOrWhoeverAsks) {
  std::string path = "/api/v1beta3/ns/hammer/subjectAccessReviews";
  EXPECT_TRUE(ask(path, "SubjectAccessReview",
                  R"("spec":{"verb":"get","resourceKind":"pods","groupName":"editors"})")
                  .body["status"]["allowed"]
                  .as_bool());
  EXPECT_TRUE(ask(path, "SubjectAccessReview", R"("spec":{"verb":"get","resourceKind":"secrets"})")
                  .body["status"]["allowed"]
                  .as_bool())
      << "the test itself may all";
  auto refused = ask(path, "SubjectAccessReview",
                     R"("spec":{"verb":"get","resourceKind":"secrets","userName":"Edgar"})");
  EXPECT_EQ(json::print(refused.body["status"]),
            R"({"allowed":false,"denyReason":"denied by default"})");
  auto both = ask(
      path, "SubjectAccessReview",
      R"("spec":{"verb":"get","resourceKind":"pods","groupName":"editors","userName":"Edgar"})");
  EXPECT_EQ(both.status, 422);
  EXPECT_EQ(ask(path, "SubjectAccessReview", R"("spec":{"verb":"get"})").status, 422);
  EXPECT_EQ(
      ask(path, "ResourceAccessReview", R"("spec":{"verb":"get","resourceKind":"pods"})").status,
      400);
}

TEST_F(PolicyReviews, WhoCanComesFromTheWholeChainInOrderAndSaysWhatIsNotExact) {
  auto reply = ask("/api/v1beta3/ns/hammer/resourceAccessReviews", "ResourceAccessReview",
                   R"("spec":{"verb":"create","resourceKind":"pods"})");
  ASSERT_EQ(reply.status, 201);
  EXPECT_EQ(
      json::print(reply.body["status"]),
      R"({"evaluationError":"Anna only on Sundays","groupNames":["editors","system:masters"],)"
      R"("userNames":["Anna","Edgar"]})");
  // If the object is given, the chain is asked about every listed user.
  auto exact = ask("/api/v1beta3/ns/hammer/resourceAccessReviews", "ResourceAccessReview",
                   R"("spec":{"verb":"create","resourceKind":"pods","content":{"kind":"Pod"}})");
  EXPECT_EQ(json::print(exact.body["status"]["userNames"]), R"(["Edgar"])");
}

TEST_F(PolicyReviews, SpeakTheFlatShapeOfOpenShift) {
  std::string base = "/apis/authorization.openshift.io/v1";
  auto subject = ask(
      base + "/subjectaccessreviews", "SubjectAccessReview",
      R"("namespace":"hammer","verb":"get","resource":"pods","user":"Edgar","groups":null,)"
      R"("scopes":null)",
      "authorization.openshift.io/v1");
  ASSERT_EQ(subject.status, 201) << json::print(subject.body);
  EXPECT_EQ(
      json::print(subject.body),
      R"({"allowed":true,"apiVersion":"authorization.openshift.io/v1",)"
      R"("kind":"SubjectAccessReviewResponse","namespace":"hammer","reason":"as an editor"})");
  auto who = ask(base + "/namespaces/hammer/localresourceaccessreviews",
                 "LocalResourceAccessReview", R"("verb":"get","resource":"pods")",
                 "authorization.openshift.io/v1");
  EXPECT_EQ(
      json::print(who.body),
      R"({"apiVersion":"authorization.openshift.io/v1","evalutionError":"Anna only on Sundays",)"
      R"("groups":["editors","system:masters"],)"
      R"("kind":"ResourceAccessReviewResponse","namespace":"hammer","users":["Anna","Edgar"]})");
  EXPECT_EQ(
      ask(base + "/namespaces/hammer/localresourceaccessreviews", "LocalResourceAccessReview",
          R"("verb":"get","resource":"pods","namespace":"anvil")", "authorization.openshift.io/v1")
          .status,
      422);
  EXPECT_EQ(ask(base + "/subjectaccessreviews", "SubjectAccessReview",
                R"("verb":"get","resource":"pods","scopes":["user:info"])",
                "authorization.openshift.io/v1")
                .status,
            422);
}

TEST_F(PolicyReviews, ListTheRulesOfSomebodyAsOpenShiftsClientsAskForThem) {
  std::string base = "/apis/authorization.openshift.io/v1/namespaces/hammer";
  auto own = ask(
      base + "/selfsubjectrulesreviews", "SelfSubjectRulesReview",
      R"("metadata":{"creationTimestamp":null},"spec":{"scopes":null},"status":{"rules":null})",
      "authorization.openshift.io/v1");
  ASSERT_EQ(own.status, 201) << json::print(own.body);
  EXPECT_EQ(own.body["kind"].as_string(), "SelfSubjectRulesReview");
  EXPECT_TRUE(own.body["status"]["rules"].is_array());
  auto edgars = ask(base + "/subjectrulesreviews", "SubjectRulesReview",
                    R"("spec":{"user":"Edgar","groups":["x"],"scopes":null})",
                    "authorization.openshift.io/v1");
  ASSERT_EQ(edgars.status, 201) << json::print(edgars.body);
  EXPECT_EQ(
      json::print(edgars.body["status"]),
      R"({"rules":[{"apiGroups":[""],"attributeRestrictions":null,"resources":["pods"],)"
      R"("verbs":["get"]},{"attributeRestrictions":null,"nonResourceURLs":["/x"],"resources":[],)"
      R"("verbs":["get"]}]})");
  EXPECT_EQ(
      ask(base + "/subjectrulesreviews", "SubjectRulesReview",
          R"("spec":{"user":"","groups":null,"scopes":null})", "authorization.openshift.io/v1")
          .status,
      422);
  EXPECT_EQ(ask(base + "/selfsubjectrulesreviews", "SelfSubjectRulesReview",
                R"("spec":{"scopes":["user:info"]})", "authorization.openshift.io/v1")
                .status,
            422);
}

TEST(ReviewQuestion, KindsAreFoundBySingularPluralAndGroup) {
  auto catalog = catalog::Catalog::builtin();
  EXPECT_EQ(find_resource(*catalog, "Pod").name, "pods");
  EXPECT_EQ(find_resource(*catalog, "deploy").group, "apps");
  EXPECT_EQ(find_resource(*catalog, "roles").group, "authorization.openshift.io");
  EXPECT_EQ(find_resource(*catalog, "roles.rbac.authorization.k8s.io").group,
            "rbac.authorization.k8s.io");
  NamedResource log = find_resource(*catalog, "Pods/Log");
  EXPECT_EQ(log.name + "/" + log.subresource, "pods/log");
  NamedResource unknown = find_resource(*catalog, "Widget");
  EXPECT_EQ(unknown.name, "widget");
  EXPECT_EQ(unknown.resource, nullptr);
}

}  // namespace
}  // namespace cardea::rest::policy
