#include "authz/rbac/escalation.h"

#include <gtest/gtest.h>

#include "authz/rbac/bootstrap_policy.h"
#include "authz/rbac/covers.h"
#include "base/strings.h"
#include "json/parse.h"

namespace cardea::authz::rbac {
namespace {

json::Value parsed(std::string_view text) {
  return json::parse(text).value();
}

class Escalation : public ::testing::Test {
 protected:
  Escalation() {
    policy_.set_role("", "reader", {{{"get", "list"}, {""}, {"pods"}, {}, {}}});
    policy_.add_binding("ns", "b",
                        parsed(
                            R"({"roleRef": {"kind": "ClusterRole", "name": "reader"},
                "subjects": [{"kind": "User", "name": "alice"}]})"));
  }
  std::string refusal(std::string_view resource, std::string_view object,
                      std::string_view where = "ns") {
    json::Value o = parsed(object);
    auto refused = check_escalation(policy_, {.user = alice_,
                                              .resource = resource,
                                              .namespace_name = where,
                                              .request_name = "",
                                              .object = o});
    if (!refused) return "";
    return refused->kind == EscalationRefusal::Kind::kMissingRole ? "no role " + refused->text
                                                                  : refused->text;
  }
  User alice_{.name = "alice", .groups = {"system:authenticated"}};
  RoleTable policy_;
};

TEST_F(Escalation, LetsOneGiveAwayWhatOneHas) {
  EXPECT_EQ(refusal("roles",
                    R"({"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"],
                  "resourceNames": ["p"]}]})"),
            "");
  EXPECT_EQ(refusal("rolebindings", R"({"roleRef":{"kind":"ClusterRole","name":"reader"}})"), "");
  EXPECT_EQ(refusal("roles", R"({})"), "");
}

TEST_F(Escalation, TellsWhatIsMissingCompactedAndSorted) {
  EXPECT_EQ(
      refusal(
          "roles",
          R"({"rules":[{"verbs":["get","create"],"apiGroups":[""],"resources":["secrets","pods"]},
              {"verbs":["list"],"apiGroups":["apps"],"resources":["deployments"],
                "resourceNames":["x","y"]}]})"),
      "user \"alice\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions "
      "not currently held:\n"
      "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"create\"]}\n"
      "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"create\"]}\n"
      "{APIGroups:[\"apps\"], Resources:[\"deployments\"], ResourceNames:[\"x\"], "
      "Verbs:[\"list\"]}\n"
      "{APIGroups:[\"apps\"], Resources:[\"deployments\"], ResourceNames:[\"y\"], "
      "Verbs:[\"list\"]}");
}

TEST_F(Escalation, CountsOnlyWhatIsHeldWhereItIsGiven) {
  std::string_view rules = R"({"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})";
  EXPECT_EQ(refusal("roles", rules), "");
  EXPECT_NE(refusal("roles", rules, "other"), "");
  EXPECT_NE(refusal("clusterroles", rules, ""), "");
}

TEST_F(Escalation, NamesTheRoleThatABindingMisses) {
  EXPECT_EQ(refusal("rolebindings", R"({"roleRef":{"kind":"Role","name":"missing"}})"),
            "no role missing");
  EXPECT_EQ(refusal("clusterrolebindings", R"({"roleRef":{"kind":"Role","name":"reader"}})", ""),
            "Namespace parameter required.");
  EXPECT_EQ(refusal("rolebindings", R"({"roleRef":{"kind":"ClusterRole"}})"),
            "Name parameter required.");
}

TEST_F(Escalation, TellsWhatCouldNotBeResolved) {
  policy_.add_binding("ns", "c",
                      parsed(
                          R"({"roleRef": {"kind": "ClusterRole", "name": "gone"},
              "subjects": [{"kind": "User", "name": "alice"}]})"));
  EXPECT_EQ(
      refusal("roles", R"({"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["secrets"]}]})"),
      "user \"alice\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions "
      "not currently held:\n"
      "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}; "
      "resolution errors: [roles.rbac.authorization.k8s.io \"gone\" not found]");
}

TEST_F(Escalation, AnAggregationNeedsEverything) {
  std::string_view
      role = R"({"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}})";
  EXPECT_EQ(refusal("clusterroles", role, ""),
            "must have cluster-admin privileges to use the aggregationRule");
  policy_.set_role("", "all", {{{"*"}, {"*"}, {"*"}, {}, {}}, {{"*"}, {}, {}, {}, {"/*"}}});
  policy_.add_binding("", "all",
                      parsed(
                          R"({"roleRef": {"kind": "ClusterRole", "name": "all"},
              "subjects": [{"kind": "User", "name": "alice"}]})"));
  EXPECT_NE(refusal("clusterroles", role, ""), "");
  policy_.set_role("", "all", {{{"*"}, {"*"}, {"*"}, {}, {}}, {{"*"}, {}, {}, {}, {"*"}}});
  EXPECT_EQ(refusal("clusterroles", role, ""), "");
}

TEST_F(Escalation, DoesNotTakeApartWhatIsTooMuch) {
  std::vector<std::string> many;
  for (int i = 0; i < 3'000; ++i) many.push_back(cat("word", i));
  auto missing = missing_rules({}, {{many, many, many, many, {}}, {many, {}, {}, {}, many}});
  EXPECT_EQ(missing.size(), 2u);
  EXPECT_TRUE(
      missing_rules({{{"*"}, {"*"}, {"*"}, {}, {}}}, {{many, many, many, many, {}}}).empty());
}

TEST(Ownership, IsNotWorthACheck) {
  json::Value old = parsed(
      R"({"metadata":{"name":"r","finalizers":["a"],"labels":{}},"rules":[]})");
  EXPECT_TRUE(only_changes_ownership(
      parsed(R"({"metadata":{"name":"r","ownerReferences":[{"name":"x"}]}})"), old));
  EXPECT_FALSE(
      only_changes_ownership(parsed(R"({"metadata":{"name":"r","labels":{"a":"b"}}})"), old));
}

TEST(BootstrapPolicy, ComesWithTheRolesThatEveryoneNeeds) {
  std::vector<json::Value> all = bootstrap_policy();
  EXPECT_GT(all.size(), 100u);
  EXPECT_FALSE(bootstrap_rules("system:discovery").empty());
  EXPECT_FALSE(bootstrap_rules("system:node").empty());
  EXPECT_TRUE(bootstrap_rules("nobody").empty());
}

TEST(BootstrapPolicy, AddsWhatIsMissingAndKeepsWhatWasAdded) {
  for (const json::Value& expected : bootstrap_policy()) {
    EXPECT_FALSE(reconcile(expected, expected)) << expected["metadata"]["name"].as_string();
    json::Value bare = expected;
    bare.erase("rules");
    bare.erase("subjects");
    bare.member("metadata").set("labels", parsed(R"({"mine":"yes"})"));
    auto change = reconcile(expected, bare);
    ASSERT_TRUE(change);
    EXPECT_FALSE(change->replaces);
    EXPECT_EQ(change->object["metadata"]["labels"]["mine"].as_string(), "yes");
    EXPECT_FALSE(reconcile(expected, change->object)) << "once is enough";
  }
}

TEST(BootstrapPolicy, ReplacesABindingToAnotherRole) {
  json::Value expected = parsed(R"({"roleRef":{"name":"a"},"subjects":[{"name":"s"}]})");
  auto change = reconcile(expected,
                          parsed(R"({"roleRef":{"name":"b"},"subjects":[{"name":"s"}]})"));
  ASSERT_TRUE(change);
  EXPECT_TRUE(change->replaces);
  EXPECT_EQ(change->object, expected);
}

}  // namespace
}  // namespace cardea::authz::rbac
