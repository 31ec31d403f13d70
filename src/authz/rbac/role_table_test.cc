#include "authz/rbac/role_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "authz/rbac/near_miss.h"
#include "authz/rbac/rbac_authorizer.h"
#include "authz/testing/allocations.h"
#include "base/strings.h"
#include "json/parse.h"

namespace cardea::authz::rbac {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

json::Value parsed(std::string_view text) {
  return json::parse(text).value();
}

json::Value binding(std::string_view role_kind, std::string_view role, std::string_view subjects) {
  return parsed(cat(R"({"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":")", role_kind,
                    R"(","name":")", role, R"("},"subjects":[)", subjects, "]}"));
}
std::string user(std::string_view name) {
  return cat(R"({"kind":"User","name":")", name, R"("})");
}
std::string group(std::string_view name) {
  return cat(R"({"kind":"Group","name":")", name, R"("})");
}

PolicyRule rule(std::vector<std::string> verbs, std::vector<std::string> resources,
                std::vector<std::string> names = {}) {
  return {std::move(verbs), {""}, std::move(resources), std::move(names), {}};
}

struct Ask {
  User who;
  std::string verb, namespace_name, resource = "pods", subresource = "", name = "";
  Attributes attributes() const {
    Attributes a(who);
    a.is_resource_request = true;
    a.verb = verb;
    a.namespace_name = namespace_name;
    a.resource = resource;
    a.subresource = subresource;
    a.name = name;
    return a;
  }
};

class RbacPolicy : public ::testing::Test {
 protected:
  Decision decide(const Ask& ask) { return rbac::decide(policy_, ask.attributes()); }
  std::shared_ptr<RoleTable> policy_ = std::make_shared<RoleTable>();
};

TEST_F(RbacPolicy, AllowsNothingWhenItIsEmpty) {
  Decision d = decide({{.name = "jane"}, "get", "ns"});
  EXPECT_EQ(d.kind, Decision::Kind::kNoOpinion);
  EXPECT_TRUE(d.reason.empty());
}

TEST_F(RbacPolicy, DeniesWhenTheRoleIsInAnotherNamespace) {
  policy_->set_role("other", "r", {rule({"get"}, {"pods"})});
  policy_->add_binding("ns", "b", binding("Role", "r", user("jane")));
  Decision d = decide({{.name = "jane"}, "get", "ns"});
  EXPECT_FALSE(d.allowed());
  EXPECT_EQ(d.reason.text(), R"(RBAC: role.rbac.authorization.k8s.io "r" not found)");
}

TEST_F(RbacPolicy, NamesClusterBindingsBeforeOthersAndEachByName) {
  policy_->set_role("", "r", {rule({"get"}, {"pods"})});
  policy_->add_binding("ns", "a", binding("ClusterRole", "r", user("jane")));
  EXPECT_EQ(decide({{.name = "jane"}, "get", "ns"}).reason.text(),
            R"(RBAC: allowed by RoleBinding "a/ns" of ClusterRole "r" to User "jane")");
  policy_->add_binding("", "z", binding("ClusterRole", "r", user("x") + "," + user("jane")));
  policy_->add_binding("", "y", binding("ClusterRole", "r", group("g")));
  Ask ask{{.name = "jane", .groups = {"h", "g"}}, "get", "ns"};
  EXPECT_EQ(decide(ask).reason.text(),
            R"(RBAC: allowed by ClusterRoleBinding "y" of ClusterRole "r" to Group "g")");
  policy_->remove_binding("", "y", binding("ClusterRole", "r", group("g")));
  EXPECT_EQ(decide(ask).reason.text(),
            R"(RBAC: allowed by ClusterRoleBinding "z" of ClusterRole "r" to User "jane")");
}

TEST_F(RbacPolicy, NamesTheFirstSubjectThatApplies) {
  policy_->set_role("", "r", {rule({"get"}, {"pods"})});
  policy_->add_binding(
      "ns", "b",
      binding("ClusterRole", "r", group("other") + "," + group("g") + "," + user("jane")));
  EXPECT_THAT(decide({{.name = "jane", .groups = {"g"}}, "get", "ns"}).reason.text(),
              HasSubstr(R"(to Group "g")"));
}

TEST_F(RbacPolicy, TakesServiceAccountsByTheirUserName) {
  policy_->set_role("", "r", {rule({"get"}, {"pods"})});
  policy_->add_binding("ns", "b",
                       binding("ClusterRole", "r", R"({"kind":"ServiceAccount","name":"sa"})"));
  policy_->add_binding("", "c",
                       binding("ClusterRole", "r", R"({"kind":"ServiceAccount","name":"sb"})"));
  EXPECT_EQ(decide({{.name = "system:serviceaccount:ns:sa"}, "get", "ns"}).reason.text(),
            R"(RBAC: allowed by RoleBinding "b/ns" of ClusterRole "r" to ServiceAccount "sa/ns")");
  EXPECT_FALSE(decide({{.name = "system:serviceaccount:other:sa"}, "get", "ns"}).allowed());
  EXPECT_FALSE(decide({{.name = "system:serviceaccount::sb"}, "get", "ns"}).allowed());
}

TEST_F(RbacPolicy, ARoleIsNotTakenForAClusterRole) {
  policy_->set_role("", "r", {rule({"*"}, {"*"})});
  policy_->add_binding("", "b", binding("Role", "r", user("jane")));
  Decision d = decide({{.name = "jane"}, "get", "ns"});
  EXPECT_FALSE(d.allowed());
  EXPECT_EQ(d.reason.text(), R"(RBAC: role.rbac.authorization.k8s.io "r" not found)");
}

TEST_F(RbacPolicy, TellsEveryBrokenBindingOnce) {
  for (std::string name : {"1", "2", "3"})
    policy_->add_binding("", name, binding("ClusterRole", name == "3" ? "b" : "a", user("jane")));
  policy_->add_binding("", "4", binding("Elf", "a", user("jane")));
  EXPECT_EQ(decide({{.name = "jane"}, "get", ""}).reason.text(),
            R"(RBAC: [clusterrole.rbac.authorization.k8s.io "a" not found, )"
            R"(clusterrole.rbac.authorization.k8s.io "b" not found, )"
            R"(unsupported role reference kind: "Elf"])");
  EXPECT_TRUE(decide({{.name = "joe"}, "get", ""}).reason.empty());
}

TEST_F(RbacPolicy, MatchesWordsToTheLetter) {
  policy_->set_role("", "r",
                    {rule({"get"}, {"pods/*", "*/log"}), rule({"list"}, {"pods"}, {""}),
                     rule({"watch"}, {"pods"}, {"*"})});
  policy_->add_binding("", "b", binding("ClusterRole", "r", user("u")));
  auto allowed = [&](std::string verb, std::string resource, std::string sub, std::string name) {
    return decide({{.name = "u"}, verb, "ns", resource, sub, name}).allowed();
  };
  EXPECT_TRUE(allowed("get", "pods", "log", "x"));
  EXPECT_TRUE(allowed("get", "pods", "*", "x"));
  EXPECT_FALSE(allowed("get", "pods", "status", "x"));
  EXPECT_FALSE(allowed("get", "pods", "", "x"));
  EXPECT_FALSE(allowed("get", "pods/log", "", "x"));
  EXPECT_TRUE(allowed("list", "pods", "", ""));
  EXPECT_FALSE(allowed("list", "pods", "", "x"));
  EXPECT_FALSE(allowed("watch", "pods", "", "x"));
  EXPECT_FALSE(allowed("GET", "pods", "log", "x"));
}

TEST_F(RbacPolicy, DecidesWithoutAllocating) {
  policy_->set_role("", "r", {rule({"get"}, {"pods", "pods/log"})});
  for (int i = 0; i < 2'000; ++i)
    policy_->add_binding(cat("ns-", i % 10), cat("b-", i),
                         binding("ClusterRole", "r", user(cat("user-", i))));
  Ask allowed{{.name = "user-7", .groups = {"system:authenticated", "a", "b"}},
              "get",
              "ns-7",
              "pods",
              "log",
              "p"};
  Ask refused{{.name = "nobody", .groups = {"system:authenticated", "a", "b"}}, "get", "ns-7"};
  std::shared_ptr<const RoleTable> policy = policy_;
  bool first, second;
  if (counted_allocations() < 0)
    GTEST_SKIP() << "the thread sanitizer has an allocator of its own, so nothing counts here";
  long before = counted_allocations();
  {
    Decision d = rbac::decide(policy, allowed.attributes());
    first = d.allowed();
    Decision e = rbac::decide(policy, refused.attributes());
    second = e.allowed();
  }
  EXPECT_EQ(counted_allocations(), before);
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
}

TEST_F(RbacPolicy, KeepsEarlierStatesAsTheyWere) {
  policy_->set_role("", "r", {rule({"get"}, {"pods"})});
  for (int i = 0; i < 5'000; ++i)
    policy_->add_binding("ns", cat("b-", i), binding("ClusterRole", "r", user(cat("u", i))));
  auto before = std::make_shared<const RoleTable>(*policy_);
  for (int i = 0; i < 5'000; i += 2)
    policy_->remove_binding("ns", cat("b-", i), binding("ClusterRole", "r", user(cat("u", i))));
  auto after = std::make_shared<const RoleTable>(*policy_);
  policy_->remove_role("", "r");
  for (int i = 0; i < 5'000; ++i) {
    Ask ask{{.name = cat("u", i)}, "get", "ns"};
    ASSERT_TRUE(rbac::decide(before, ask.attributes()).allowed()) << i;
    ASSERT_EQ(rbac::decide(after, ask.attributes()).allowed(), i % 2 == 1) << i;
    ASSERT_FALSE(decide(ask).allowed()) << i;
  }
  EXPECT_EQ(after->bindings_in("ns"), 2'500u);
}

TEST_F(RbacPolicy, HoldsManyBindingsOfOneSubject) {
  policy_->set_role("", "r", {rule({"get"}, {"pods"})});
  for (int i = 0; i < 3'000; ++i)
    policy_->add_binding("", cat("b-", i),
                         binding("ClusterRole", i == 2'999 ? "r" : "missing", group("g")));
  EXPECT_THAT(decide({{.name = "u", .groups = {"g"}}, "get", ""}).reason.text(),
              HasSubstr("\"b-2999\""));
  for (int i = 0; i < 2'999; ++i)
    policy_->remove_binding("", cat("b-", i), binding("ClusterRole", "missing", group("g")));
  EXPECT_EQ(policy_->bindings_in(""), 1u);
}

TEST_F(RbacPolicy, ListsWhoeverIsAllowed) {
  policy_->set_role("", "r", {rule({"list"}, {"pods"}), rule({"get"}, {"pods"})});
  policy_->set_role("", "none", {rule({"get"}, {"secrets"})});
  policy_->add_binding("ns", "b", binding("ClusterRole", "r", user("jane") + "," + group("g")));
  policy_->add_binding("", "c", binding("ClusterRole", "r", user("joe")));
  policy_->add_binding("", "d", binding("ClusterRole", "none", user("jim")));
  policy_->add_binding("other", "b", binding("ClusterRole", "r", user("jack")));
  std::vector<std::string> found;
  policy_->for_each_allowed(
      Ask{{}, "get", "ns"}.attributes(),
      [&](const Subject& s, const Role& role, const PolicyRule& r) {
        found.push_back(cat(s.kind_name(), " ", s.name(), " by ", s.binding().name(), " ",
                            role.name(), " ", compact_text(r)));
      });
  EXPECT_THAT(found,
              ElementsAre(R"(User joe by c r {APIGroups:[""], Resources:["pods"], Verbs:["get"]})",
                          R"(User jane by b r {APIGroups:[""], Resources:["pods"], Verbs:["get"]})",
                          R"(Group g by b r {APIGroups:[""], Resources:["pods"], Verbs:["get"]})"));
}

TEST(RbacNearMiss, NamesWhatTheNearestRuleLacks) {
  RoleTable policy;
  policy.set_role("ns", "reader",
                  {rule({"get", "list"}, {"pods"}), rule({"delete"}, {"pods"}, {"mine"}),
                   rule({"get"}, {"secrets"})});
  policy.add_binding("ns", "b", binding("Role", "reader", user("jane")));
  auto hints = near_misses(policy,
                           Ask{{.name = "jane"}, "delete", "ns", "pods", "", "other"}.attributes());
  ASSERT_EQ(hints.size(), 2u);
  EXPECT_EQ(hints[0].text,
            R"(Role "reader", bound to User "jane" by RoleBinding "b/ns", has {APIGroups:[""], )"
            R"(Resources:["pods"], )"
            R"(Verbs:["get" "list"]}: it lacks verb "delete")");
  EXPECT_EQ(hints[0].field, "rules[0].verbs");
  EXPECT_EQ(hints[1].field, "rules[1].resourceNames");
  EXPECT_TRUE(near_misses(policy, Ask{{.name = "joe"}, "delete", "ns"}.attributes()).empty());
}

}  // namespace
}  // namespace cardea::authz::rbac
