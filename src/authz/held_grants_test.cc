#include "authz/held_grants.h"

#include <gtest/gtest.h>

#include <random>

#include "authz/namespace_policy/decide.h"
#include "authz/rbac/covers.h"
#include "base/strings.h"
#include "json/parse.h"

namespace cardea::authz {
namespace {

using json::Value;
using namespace_policy::Rule;
using rbac::PolicyRule;
using Texts = std::vector<std::string>;

Rule rule(std::string_view text) {
  json::FieldErrors errors;
  Rule out = namespace_policy::read_rule(*json::parse(text), "", errors);
  EXPECT_TRUE(errors.empty()) << text;
  return out;
}

PolicyRule given(Texts verbs, Texts resources, Texts groups = {""}, Texts names = {}) {
  return {std::move(verbs), std::move(groups), std::move(resources), std::move(names), {}};
}

// `granular:nodeAssignment` of pods and `granular:selfDestruct` of bombs are excluded.
class SomeExcluded : public namespace_policy::KindNames {
 public:
  std::string_view kind_of(std::string_view, std::string_view) const override { return ""; }
  std::vector<std::pair<std::string, std::string>> resources_of(std::string_view) const override {
    return {};
  }
  bool is_excluded(std::string_view group, std::string_view resource,
                   std::string_view verb) const override {
    auto is = [](std::string_view pattern, std::string_view word) {
      return pattern == "*" || pattern == word;
    };
    return (is(group, "") && is(resource, "pods") && verb == "granular:nodeAssignment") ||
           (is(group, "b") && is(resource, "bombs") && verb == "granular:selfDestruct");
  }
};

class HeldGrantsTest : public ::testing::Test {
 protected:
  // Binds the author to a role of these rules.
  void bind(std::string_view space, const std::vector<Rule>& rules,
            std::string_view user = "author") {
    namespace np = namespace_policy;
    const Value role = np::as_json(
        np::Role{std::string(space), "r", Value::object({{"name", "r"}}), rules}, true);
    index_.change_policy(space, {}, Value::object({{"roles", Value::object({{"r", role}})}}));
    const Value binding = np::as_json(np::RoleBinding{std::string(space),
                                                      "b",
                                                      Value::object({{"name", "b"}}),
                                                      {std::string(space), "r"},
                                                      {std::string(user)},
                                                      {}},
                                      true);
    index_.change_bindings(space, space, {},
                           Value::object({{"roleBindings", Value::object({{"b", binding}})}}));
  }
  bool holds(const PolicyRule& wanted, std::string_view space = "ns") {
    HeldGrants held({author_, space, rbac_}, policy_counts_ ? &index_ : nullptr, &excluded_,
                    [&](std::string_view group, std::string_view resource, std::string_view verb) {
                      return knows_fields_ && group != "*" && !resource.starts_with('*') &&
                             !excluded_.is_excluded(group, resource.substr(0, resource.find('/')),
                                                    verb);
                    });
    return held.holds(wanted);
  }

  User author_{.name = "author"};
  namespace_policy::Index index_;
  std::vector<PolicyRule> rbac_;
  SomeExcluded excluded_;
  bool policy_counts_ = true, knows_fields_ = true;
};

TEST_F(HeldGrantsTest, WhoWritesWholeObjectsGivesAwayTheirFields) {
  rbac_ = {given({"update", "patch"}, {"pods", "daemonsets"}),
           given({"update", "patch"}, {"jobs/status"}), given({"update"}, {"secrets"}),
           given({"update", "patch"}, {"services"}, {""}, {"s"})};
  for (const char* verb : {"granular", "granular:labels", "granular:label(app)"})
    EXPECT_TRUE(holds(given({verb}, {"pods"}))) << verb;
  EXPECT_TRUE(holds(given({"granular:conditions"}, {"jobs/status"})));
  EXPECT_FALSE(holds(given({"granular:conditions"}, {"daemonsets/status"})))
      << "a part needs the verbs on the part";
  EXPECT_FALSE(holds(given({"granular:labels"}, {"jobs"})));
  EXPECT_TRUE(holds(given({"granular:labels"}, {"services"}, {""}, {"s"})));
  EXPECT_FALSE(holds(given({"granular:labels"}, {"services"}))) << "of one object";
  EXPECT_FALSE(holds(given({"granular:labels"}, {"services"}, {""}, {"s", "t"})));
  EXPECT_FALSE(holds(given({"granular:data"}, {"secrets"}))) << "without patch";
  EXPECT_FALSE(holds(given({"granular:labels"}, {"configmaps"})));
  EXPECT_FALSE(holds(given({"granular:labels"}, {"pods"}, {"apps"}))) << "another group";
  EXPECT_FALSE(holds(given({"granular:nodeAssignment"}, {"pods"}))) << "excluded";
  EXPECT_FALSE(holds(given({"get", "granular:labels"}, {"pods"}))) << "get is no field";
  EXPECT_FALSE(holds(given({"*"}, {"pods"}))) << "contains what is excluded";
  knows_fields_ = false;
  EXPECT_FALSE(holds(given({"granular:labels"}, {"pods"}))) << "nothing is known about fields";
}

TEST_F(HeldGrantsTest, AWildcardIsNoPartOfWriting) {
  rbac_ = {given({"create", "update", "patch"}, {"*"}, {"*"})};
  EXPECT_TRUE(holds(given({"granular:labels"}, {"pods"})));
  for (const PolicyRule& wide :
       {given({"granular:labels"}, {"*"}), given({"granular:labels"}, {"*/status"}),
        given({"granular:labels"}, {"pods"}, {"*"}), given({"*"}, {"pods"})})
    EXPECT_FALSE(holds(wide)) << rbac::compact_text(wide);
}

TEST_F(HeldGrantsTest, PermissionsThatNameNewObjectsAreHeldByWhoMayCreateThem) {
  rbac_ = {given({"update", "patch"}, {"pods"})};
  for (const char* verb : {"granular:identity", "granular:metadata"})
    EXPECT_FALSE(holds(given({verb}, {"pods"}))) << verb;
  EXPECT_FALSE(holds(given({"granular:labels"}, {"pods"}, {""}, {""})))
      << "a permission on no name is for new objects";
  // With the rest of the object, whoever may name one could create it.
  for (const char* verb : {"granular:identity", "granular:metadata"}) {
    rbac_ = {given({"update", "patch", verb}, {"pods"})};
    EXPECT_FALSE(holds(given({"granular:specification"}, {"pods"}))) << verb;
    EXPECT_FALSE(holds(given({"granular:specification"}, {"pods"}, {""}, {"p"}))) << verb;
  }
  rbac_ = {given({"create", "update", "patch"}, {"pods"})};
  for (const char* verb : {"granular:identity", "granular:metadata", "granular:specification"})
    EXPECT_TRUE(holds(given({verb}, {"pods"}))) << verb;
}

TEST_F(HeldGrantsTest, WhatPolicyGivesIsCountedExactly) {
  bind("ns", {rule(R"({"verbs":["get","list","update"],"resourceKinds":["*","-secrets"]})"),
              rule(R"({"verbs":["delete"],"resourceKinds":["pods"],"resourceNames":["p"]})")});
  EXPECT_TRUE(holds(given({"get", "list"}, {"pods", "configmaps", "pods/status"})));
  EXPECT_TRUE(holds(given({"patch"}, {"deployments"}, {"apps"}))) << "update means patch too";
  EXPECT_TRUE(holds(given({"get"}, {"pods"}, {"*"})));
  EXPECT_FALSE(holds(given({"get"}, {"secrets"})));
  EXPECT_FALSE(holds(given({"get"}, {"*"}))) << "contains secrets";
  EXPECT_FALSE(holds(given({"get"}, {"*/status"}, {"*"}))) << "contains secrets/status";
  EXPECT_FALSE(holds(given({"get", "create"}, {"pods"})));
  EXPECT_TRUE(holds(given({"delete"}, {"pods"}, {""}, {"p"})));
  EXPECT_FALSE(holds(given({"delete"}, {"pods"}, {""}, {"p", "q"})));
  EXPECT_FALSE(holds(given({"delete"}, {"pods"})));
  EXPECT_TRUE(holds(given({"granular:labels"}, {"pods"}))) << "update, by policy";
  EXPECT_FALSE(holds(given({"granular:nodeAssignment"}, {"pods"})));
  EXPECT_FALSE(holds(given({"get"}, {"pods"}), "")) << "in one namespace only";
  EXPECT_FALSE(holds(given({"get"}, {"pods"}), "other"));
  rbac_ = {given({"create"}, {"pods"})};
  EXPECT_TRUE(holds(given({"get", "create"}, {"pods"}))) << "both together";
  policy_counts_ = false;
  EXPECT_FALSE(holds(given({"get", "create"}, {"pods"})));
}

// Three ways around an earlier form of this check.
TEST_F(HeldGrantsTest, AnEmptyNameIsARequestWithoutAName) {
  bind("ns", {rule(R"({"verbs":["*"],"resourceKinds":["secrets"],"resourceNames":["s"]})")});
  EXPECT_TRUE(holds(given({"get"}, {"secrets"}, {""}, {"s"})));
  for (const char* verb : {"list", "create", "deletecollection", "granular:data"}) {
    EXPECT_FALSE(holds(given({verb}, {"secrets"}, {""}, {""}))) << verb;
    EXPECT_FALSE(holds(given({verb}, {"secrets"}, {""}, {"s", ""}))) << verb;
  }
  rbac_ = {given({"update", "patch", "list"}, {"secrets"}, {""}, {"s"})};
  EXPECT_FALSE(holds(given({"granular:data"}, {"secrets"}, {""}, {""})));
}

TEST_F(HeldGrantsTest, ADashTakesNothingAwayFromARuleOfRbac) {
  bind("ns", {rule(R"({"verbs":["get"],"resourceKinds":["*","-secrets"]})")});
  EXPECT_FALSE(holds(given({"get"}, {"*", "-secrets"}))) << "is a rule for everything";
  EXPECT_FALSE(holds(given({"get", "delete", "-delete"}, {"pods"})));
  EXPECT_FALSE(holds(given({"*", "-delete"}, {"pods"})));
  EXPECT_FALSE(holds(given({"get"}, {"secrets", "-secrets"})));
}

TEST_F(HeldGrantsTest, ARuleThatIsTooLargeIsNotHeld) {
  bind("ns", {rule(R"({"verbs":["*","-proxy"],"resourceKinds":["*"]})")});
  Texts many;
  for (int i = 0; i < 400; ++i) many.push_back(cat("word", i));
  EXPECT_TRUE(holds(given(many, {"pods"})));
  const PolicyRule large = given(many, many, many, many);
  const auto whole = rbac::missing_rules({}, {large});
  ASSERT_EQ(whole.size(), 1u) << "it comes in one piece";
  EXPECT_FALSE(holds(whole[0]));
  // What it holds is not held because something else is asked later.
  Texts with_secret = many;
  with_secret.emplace_back("proxy");
  EXPECT_FALSE(holds(given(with_secret, {"pods"})));
  EXPECT_FALSE(holds(given(with_secret, many, many, many)));
}

TEST_F(HeldGrantsTest, VerbsThatReplaceChecksNeedEverything) {
  bind("ns", {rule(R"({"verbs":["*","escalate","bind","deny"],"resourceKinds":["*","-nodes"]})")});
  for (const char* verb : {"escalate", "bind", "deny", "*"})
    EXPECT_FALSE(holds(given({verb}, {"roles"}, {"rbac.authorization.k8s.io"}))) << verb;
  EXPECT_TRUE(holds(given({"delete"}, {"roles"}, {"rbac.authorization.k8s.io"})));
  const Rule all = rule(R"({"verbs":["*"],"resourceKinds":["*"]})");
  bind("ns", {all});
  for (const char* verb : {"escalate", "bind", "deny", "*", "granular:nodeAssignment"})
    EXPECT_TRUE(holds(given({verb}, {"roles", "pods"}))) << verb;
  bind("ns", {all, rule(R"({"deny":true,"verbs":["delete"],"resourceKinds":["nodes"]})")});
  for (const char* verb : {"escalate", "*"})
    EXPECT_FALSE(holds(given({verb}, {"roles"}))) << "everything but a denial: " << verb;
  rbac_ = {given({"escalate"}, {"roles"})};
  EXPECT_TRUE(holds(given({"escalate"}, {"roles"})));
}

TEST_F(HeldGrantsTest, WhatIsExcludedSomewhereIsNotHeldEverywhere) {
  bind("ns", {rule(R"({"verbs":["*"],"resourceKinds":["*","-nodes"]})")});
  EXPECT_FALSE(holds(given({"granular:selfDestruct"}, {"bombs"}, {"b"})));
  EXPECT_FALSE(holds(given({"granular:selfDestruct"}, {"bombs"}, {"*"})));
  EXPECT_FALSE(holds(given({"granular:selfDestruct"}, {"*/x"}, {"b"})));
  EXPECT_TRUE(holds(given({"granular:selfDestruct"}, {"pods"})));
  EXPECT_TRUE(holds(given({"granular:other"}, {"bombs"}, {"*"})));
}

TEST_F(HeldGrantsTest, DenialsCountWhetherOrNotTheirRestrictionHolds) {
  const Rule all = rule(R"({"verbs":["*"],"resourceKinds":["*","-x"]})");
  bind("ns", {all, rule(R"({"deny":true,"verbs":["delete"],"resourceKinds":["pods"],
                           "attributeRestrictions":{"labelsContain":["protected"]}})")});
  EXPECT_FALSE(holds(given({"delete"}, {"pods"})));
  EXPECT_FALSE(holds(given({"create"}, {"pods/eviction"}))) << "is a way to it";
  EXPECT_TRUE(holds(given({"get"}, {"pods"})));
  bind("ns", {all, rule(R"({"deny":true,"verbs":["update"],"resourceKinds":["pods"]})")});
  rbac_ = {given({"update", "patch", "granular:labels"}, {"pods"})};
  EXPECT_FALSE(holds(given({"granular:labels"}, {"pods"}))) << "a part of what is denied";
  EXPECT_FALSE(holds(given({"update"}, {"pods"})));
}

TEST_F(HeldGrantsTest, ARestrictedRuleGivesNothingAway) {
  bind("ns", {rule(R"({"verbs":["update"],"resourceKinds":["pods"],
                       "attributeRestrictions":{"fieldsMutatable":["labels"]}})"),
              rule(R"({"verbs":["get"],"resourceKinds":["pods"],
                       "attributeRestrictions":{"kind":"cel","expression":"true"}})")});
  EXPECT_FALSE(holds(given({"update"}, {"pods"})));
  EXPECT_FALSE(holds(given({"granular:labels"}, {"pods"})));
  EXPECT_FALSE(holds(given({"get"}, {"pods"})));
}

TEST_F(HeldGrantsTest, AnErrorIsNeverAnAllow) {
  rbac_ = {given({"get"}, {"pods"})};
  bind("ns", {rule(R"({"verbs":["get"],"resourceKinds":["*"]})")});
  ASSERT_TRUE(holds(given({"get"}, {"pods"})));
  index_.change_bindings("ns", "other", {}, *json::parse(R"({"roleBindings": {"x":
      {"metadata": {"name": "x"}, "roleRef": {"namespace": "ns", "name": "gone"},
       "userNames": ["author"]}}})"));
  EXPECT_FALSE(holds(given({"get"}, {"pods"}))) << "a role that does not exist might deny";
  EXPECT_FALSE(holds(given({"\x01"}, {"pods"})));
  EXPECT_FALSE(holds({{"get"}, {""}, {}, {}, {}}));
  EXPECT_FALSE(holds({{}, {""}, {"pods"}, {}, {}}));
}

TEST_F(HeldGrantsTest, AGrantForTheClusterIsDeniedByEveryNamespace) {
  rbac_ = {given({"get"}, {"pods"})};
  ASSERT_TRUE(holds(given({"get"}, {"pods"}), ""));
  bind("ns", {rule(R"({"deny":true,"verbs":["get"],"resourceKinds":["pods"]})")});
  EXPECT_FALSE(holds(given({"get"}, {"pods"}), ""));
  bind("master", {rule(R"({"verbs":["get"],"resourceKinds":["pods"]})")});
  EXPECT_TRUE(holds(given({"get"}, {"pods"}), "")) << "the master namespace has the last word";
}

TEST_F(HeldGrantsTest, PathsAreHeldByTheMasterNamespaceAlone) {
  const PolicyRule wanted{{"get"}, {}, {}, {}, {"/metrics", "/logs/*"}};
  const Rule paths = rule(R"({"verbs":["get"],"nonResourceURLs":["/metrics","/logs/*"]})");
  bind("ns", {paths});
  EXPECT_FALSE(holds(wanted, ""));
  bind("master", {paths});
  EXPECT_TRUE(holds(wanted, ""));
  EXPECT_FALSE(holds(wanted, "ns")) << "paths lie in no namespace";
  EXPECT_FALSE(holds({{"get"}, {}, {}, {}, {"/logs*"}}, ""));
  EXPECT_FALSE(holds({{"get"}, {}, {}, {}, {"/met*"}}, ""));
  EXPECT_FALSE(holds({{"get"}, {}, {}, {}, {"/a*b"}}, ""));
  EXPECT_FALSE(holds({{"get"}, {}, {}, {}, {"*"}}, ""));
  EXPECT_FALSE(holds({{"post"}, {}, {}, {}, {"/metrics"}}, ""));
}

// With a small alphabet, every question can be asked.
TEST_F(HeldGrantsTest, NoRuleThatPassesGivesAnythingThatTheWriterLacks) {
  std::mt19937_64 random(20);
  auto below = [&](std::size_t n) { return random() % n; };
  auto some = [&](const Texts& words, std::size_t most) {
    Texts out;
    for (std::size_t i = 1 + below(most); i > 0; --i) out.push_back(words[below(words.size())]);
    return out;
  };
  const Texts policy_verbs{
      "*",    "*",       "get",   "update",          "delete",          "create",
      "-get", "-update", "-exec", "granular:labels", "-granular:labels"},
      policy_kinds{"*", "*", "pods", "pods/exec", "secrets", "-pods", "-secrets", "-pods/exec"},
      rbac_verbs{"get",
                 "update",
                 "patch",
                 "patch",
                 "create",
                 "delete",
                 "granular",
                 "granular:labels",
                 "granular:nodeAssignment",
                 "escalate",
                 "*",
                 "-get"},
      rbac_resources{"pods", "pods", "secrets", "pods/exec", "*/exec", "*", "-pods", "unheard"};
  const Texts verbs{"get",     "update",  "patch",    "delete",          "deletecollection",
                    "create",  "unheard", "granular", "granular:labels", "granular:nodeAssignment",
                    "escalate"},
      kinds{"pods", "pods/exec", "pods/log", "secrets", "secrets/exec", "unheard", "unheard/exec"},
      names{"", "n", "m"}, groups{"", "apps", "unheard"};
  auto random_policy = [&](std::size_t most) {
    std::vector<Rule> out;
    for (std::size_t i = 1 + below(most); i > 0; --i) {
      Rule r;
      r.deny = below(4) == 0;
      r.verbs = some(policy_verbs, 3);
      r.resource_kinds = some(policy_kinds, 3);
      if (below(4) == 0) r.resource_names = {"n"};
      if (below(4) == 0) r.api_groups = {below(2) ? "" : "apps"};
      out.push_back(std::move(r));
    }
    return out;
  };
  auto random_rule = [&] {
    PolicyRule r = given(some(rbac_verbs, 3), some(rbac_resources, 2));
    if (below(3) == 0) r.api_groups = {below(2) ? "*" : "apps"};
    if (below(3) == 0) r.resource_names = some({"n", "m", ""}, 2);
    return r;
  };
  namespace_policy::Surroundings around;
  around.kinds = &excluded_;
  int passed = 0, refused = 0, too_careful = 0;
  for (int round = 0; round < 3'000; ++round) {
    index_ = namespace_policy::Index();
    bind("master", random_policy(1));
    bind("ns", random_policy(3));
    rbac_ = {random_rule(), random_rule()};
    const PolicyRule wanted = random_rule();
    const bool held = holds(wanted);
    auto now = std::make_shared<const namespace_policy::Index>(index_);
    auto may = [&](Attributes a, std::string_view verb) {
      a.verb = verb;
      const Decision d = namespace_policy::decide(now, a, around);
      if (d.kind != Decision::Kind::kNoOpinion) return d.allowed();
      return std::ranges::any_of(rbac_, [&](const auto& r) { return rbac::rule_allows(r, a); });
    };
    bool exceeds = false;
    for (const std::string& kind : kinds)
      for (const std::string& group : groups)
        for (const std::string& verb : verbs)
          for (const std::string& name : names) {
            Attributes a(author_);
            a.is_resource_request = true;
            a.verb = verb;
            const auto slash = std::min(kind.find('/'), kind.size());
            a.resource = std::string_view(kind).substr(0, slash);
            if (slash < kind.size()) a.subresource = std::string_view(kind).substr(slash + 1);
            a.name = name;
            a.api_group = group;
            a.api_version = "v1";
            a.namespace_name = "ns";
            if (!rbac::rule_allows(wanted, a)) continue;
            const bool is_part = verb.starts_with("granular") &&
                                 !excluded_.is_excluded(group, a.resource, verb);
            exceeds |= !may(a, verb) && !(is_part && may(a, "update") && may(a, "patch"));
          }
    ASSERT_FALSE(held && exceeds) << "round " << round << ": " << rbac::compact_text(wanted);
    ++(held ? passed : refused);
    too_careful += !held && !exceeds;
  }
  EXPECT_GT(passed, 150);
  EXPECT_GT(refused, 1'500);
  // `*` and `escalate` need everything, and a wildcard is no part of writing.
  EXPECT_LT(too_careful, refused / 4);
}

}  // namespace
}  // namespace cardea::authz
