#include "authz/rbac/role_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "authz/rbac/near_miss.h"
#include "authz/rbac/policy_index.h"
#include "authz/rbac/rbac_authorizer.h"
#include "authz/refusal.h"
#include "base/strings.h"
#include "json/parse.h"
#include "store/testing/memory_store.h"

namespace {
thread_local long allocations = 0;
}

// The thread sanitizer brings these itself.
#if !__has_feature(thread_sanitizer)
constexpr bool kCountsAllocations = true;
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  std::abort();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size ? size : 1);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#else
constexpr bool kCountsAllocations = false;
#endif

namespace cardea::authz {
// For other tests of this program: how often this thread allocated; -1 where nobody counts.
long counted_allocations() {
  return kCountsAllocations ? allocations : -1;
}
}  // namespace cardea::authz

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
  EXPECT_EQ(
      decide({{.name = "jane"}, "get", ""}).reason.text(),
      R"(RBAC: [clusterrole.rbac.authorization.k8s.io "a" not found, clusterrole.rbac.authorization.k8s.io "b" not found, )"
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
  if (!kCountsAllocations)
    GTEST_SKIP() << "the thread sanitizer has an allocator of its own, so nothing counts here";
  long before = allocations;
  {
    Decision d = rbac::decide(policy, allowed.attributes());
    first = d.allowed();
    Decision e = rbac::decide(policy, refused.attributes());
    second = e.allowed();
  }
  EXPECT_EQ(allocations, before);
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
  EXPECT_EQ(
      hints[0].text,
      R"(Role "reader", bound to User "jane" by RoleBinding "b/ns", has {APIGroups:[""], Resources:["pods"], )"
      R"(Verbs:["get" "list"]}: it lacks verb "delete")");
  EXPECT_EQ(hints[0].field, "rules[0].verbs");
  EXPECT_EQ(hints[1].field, "rules[1].resourceNames");
  EXPECT_TRUE(near_misses(policy, Ask{{.name = "joe"}, "delete", "ns"}.attributes()).empty());
}

// A store with roles and bindings, its index and a chain.
class RbacIndex : public ::testing::Test {
 protected:
  void put(std::string key, std::string value) {
    ASSERT_TRUE(store::commit_sync(*store_, {{}, {store::Put{std::move(key), std::move(value)}}}));
  }
  void erase(std::string key) {
    ASSERT_TRUE(store::commit_sync(*store_, {{}, {store::Delete{std::move(key)}}}));
  }
  bool allowed(const PolicyIndex& index, const Ask& ask) {
    return RbacAuthorizer(index.snapshot()).authorize(ask.attributes())->allowed();
  }

  SystemClock clock_;
  std::unique_ptr<store::Store> store_ = store::make_memory_store(clock_);
  Ask ask_{{.name = "jane"}, "get", "ns"};
  std::string role_ = R"({"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})";
  std::string binding_ =
      R"({"roleRef":{"kind":"ClusterRole","name":"r"},"subjects":[{"kind":"User","name":"jane"}]})";
};

TEST_F(RbacIndex, KnowsEverythingWhenItIsMade) {
  put("/registry/clusterroles/r", role_);
  put("/registry/rolebindings/ns/b", binding_);
  auto index = PolicyIndex::load(*store_);
  ASSERT_TRUE(index);
  EXPECT_TRUE(allowed(**index, ask_));
}

TEST_F(RbacIndex, ShowsEveryWriteToTheNextRequest) {
  auto index = PolicyIndex::load(*store_);
  ASSERT_TRUE(index);
  EXPECT_FALSE(allowed(**index, ask_));
  for (int i = 0; i < 50; ++i) {
    put("/registry/rolebindings/ns/b", binding_);
    EXPECT_FALSE(allowed(**index, ask_));
    put("/registry/clusterroles/r", role_);
    EXPECT_TRUE(allowed(**index, ask_));
    put("/registry/rolebindings/ns/b", R"({"roleRef":{"kind":"ClusterRole","name":"r"}})");
    EXPECT_FALSE(allowed(**index, ask_));
    put("/registry/rolebindings/ns/b", binding_);
    EXPECT_TRUE(allowed(**index, ask_));
    erase("/registry/clusterroles/r");
    EXPECT_FALSE(allowed(**index, ask_));
    erase("/registry/rolebindings/ns/b");
  }
  EXPECT_EQ((*index)->policy()->bindings_in("ns"), 0u);
}

TEST_F(RbacIndex, IsAskedByAChainWithoutAllocating) {
  put("/registry/clusterroles/r", role_);
  put("/registry/rolebindings/ns/b", binding_);
  auto index = PolicyIndex::load(*store_);
  ASSERT_TRUE(index);
  Chain chain({masters_authorizer(), std::make_shared<RbacAuthorizer>((*index)->snapshot())});
  Ask stranger{{.name = "joe", .groups = {"system:authenticated"}}, "get", "ns"};
  Attributes attributes = ask_.attributes(), others = stranger.attributes();
  chain.decide(attributes);  // this thread takes its reference to the policy
  if (!kCountsAllocations)
    GTEST_SKIP() << "the thread sanitizer has an allocator of its own, so nothing counts here";
  long before = allocations;
  bool permitted = chain.decide(attributes)->permit.has_value();
  bool refused = !chain.decide(others)->permit.has_value();
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(permitted);
  EXPECT_TRUE(refused);
}

TEST_F(RbacIndex, AnErrorIsNeverAnAllow) {
  put("/registry/clusterroles/r", "{");
  put("/registry/clusterroles/odd", R"({"rules":[{"verbs":"get","apiGroups":{},"resources":7}]})");
  put("/registry/rolebindings/ns/b", binding_);
  put("/registry/rolebindings/ns/odd",
      R"({"roleRef":[],"subjects":{"kind":"User","name":"jane"}})");
  put("/registry/rolebindings/ns/bytes", "\xff\xfe");
  auto index = PolicyIndex::load(*store_);
  ASSERT_TRUE(index);
  EXPECT_FALSE(allowed(**index, ask_));
}

TEST_F(RbacIndex, TeachesOnlyThoseWhoMayReadTheRole) {
  auto index = PolicyIndex::load(*store_);
  ASSERT_TRUE(index);
  put("/registry/clusterroles/r", role_);
  put("/registry/rolebindings/ns/b", binding_);
  Chain chain({masters_authorizer(), std::make_shared<RbacAuthorizer>((*index)->snapshot())});
  Ask ask = ask_;
  ask.verb = "delete";
  Attributes attributes = ask.attributes();
  Decision refused = chain.decide(attributes)->decision;
  Error plain = forbidden(attributes, refused.reason.text());
  Error before = refusal(chain, attributes, refused);
  EXPECT_TRUE(before.details->causes.empty());
  put("/registry/clusterroles/see",
      R"({"rules":[{"verbs":["get"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"]}]})");
  put("/registry/clusterrolebindings/see",
      R"({"roleRef":{"kind":"ClusterRole","name":"see"},"subjects":[{"kind":"User","name":"jane"}]})");
  Error after = refusal(chain, attributes, refused);
  ASSERT_EQ(after.details->causes.size(), 1u);
  EXPECT_EQ(after.details->causes[0].reason, "RuleAlmostMatches");
  EXPECT_THAT(after.details->causes[0].message, HasSubstr(R"(it lacks verb "delete")"));
  EXPECT_EQ(after.message, plain.message);
  EXPECT_EQ(after.details->kind, plain.details->kind);
}

}  // namespace
}  // namespace cardea::authz::rbac
