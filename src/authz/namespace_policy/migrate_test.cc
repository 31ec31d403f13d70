#include "authz/namespace_policy/migrate.h"

#include <gtest/gtest.h>

#include <random>

#include "authz/access/access_authorizer.h"
#include "authz/namespace_policy/decide.h"
#include "authz/rbac/rbac_authorizer.h"
#include "authz/testing/random_worlds.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::authz::namespace_policy {
namespace {

using json::Value;
using Texts = std::vector<std::string>;

Value parsed(std::string_view text) {
  return json::parse(text).value();
}

struct SomeKinds : KindNames {
  std::string_view kind_of(std::string_view, std::string_view) const override { return ""; }
  std::vector<std::pair<std::string, std::string>> resources_of(std::string_view) const override {
    return {};
  }
  std::optional<Texts> parts_of(std::string_view resource) const override {
    if (resource != "pods" && resource != "secrets") return std::nullopt;
    return Texts{"exec", "proxy", "status"};
  }
};

TEST(PolicyMigration, KnowsTheRolesOfTheMasterNamespace) {
  json::FieldErrors errors;
  const Value binding = parsed(
      R"({"kind": "RoleBinding", "name": "r", "namespace": "hammer",
          "roleRef": {"namespace": "master", "name": "cluster-admin"}, "userNames": ["ann"]})");
  Migration done = migrate({binding}, "master", nullptr, errors);
  ASSERT_TRUE(errors.empty());
  ASSERT_EQ(done.objects.size(), 2u);
  EXPECT_EQ(json::print(done.objects[0]["rules"]),
            R"([{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}])");
  // A document that is among those migrated comes before.
  const Value own = parsed(
      R"({"kind": "Role", "name": "cluster-admin", "namespace": "master",
          "rules": [{"verbs": ["get"], "resourceKinds": ["*"]}]})");
  done = migrate({own, binding}, "master", nullptr, errors);
  EXPECT_EQ(json::print(done.objects[0]["rules"]),
            R"([{"apiGroups":["*"],"resources":["*"],"verbs":["get"]}])");
}

TEST(PolicyMigration, SaysInRbacWhatRbacCanSay) {
  json::FieldErrors errors;
  SomeKinds names;
  Migration done = migrate(
      {parsed(
           R"({"kind": "Policy", "metadata": {"name": "default", "namespace": "hammer"},
               "roles": {
                 "readers": {"rules": [{"verbs": ["get", "update"],
                   "resourceKinds": ["pods"]}]}}})"),
       parsed(
           R"({"kind": "RoleBinding", "name": "r", "namespace": "hammer",
               "roleRef": {"namespace": "hammer", "name": "readers"}, "userNames": ["ann"]})")},
      "master", &names, errors);
  ASSERT_TRUE(errors.empty());
  ASSERT_EQ(done.objects.size(), 2u);
  EXPECT_EQ(json::print(done.objects[0]["rules"]),
            R"([{"apiGroups":["*"],"resources":["pods","pods/status"],)"
            R"("verbs":["get","update","patch"]}])");
  EXPECT_EQ(json::print(done.objects[1]["subjects"]),
            R"([{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"ann"}])");
  EXPECT_TRUE(done.changes.empty());
}

TEST(PolicyMigration, TellsWhatChanges) {
  json::FieldErrors errors;
  Migration done = migrate({parsed(
                                R"({"kind": "Role", "name": "l", "namespace": "hammer",
               "rules": [{"verbs": ["update"], "resourceKinds": ["pods"],
                   "attributeRestrictions": {"fieldsMutatable": ["labels"]}}]})"),
                            parsed(
                                R"({"kind": "RoleBinding", "name": "r", "namespace": "hammer",
               "roleRef": {"namespace": "hammer", "name": "l"}, "userNames": ["ann"]})")},
                           "master", nullptr, errors);
  ASSERT_TRUE(errors.empty());
  EXPECT_TRUE(done.objects.empty());
  ASSERT_EQ(done.changes.size(), 1u);
  EXPECT_EQ(done.changes[0],
            "binding hammer/r of role hammer/l, rule 0: access policies cannot tell which fields "
            "change; not allowed any more");
}

TEST(PolicyMigration, RefusesWhatIsNotValid) {
  json::FieldErrors errors;
  Migration done = migrate({parsed(
                               R"({"kind": "RoleBinding", "name": "r", "namespace": "hammer",
              "roleRef": {"namespace": "hammer", "name": "nobody"}, "userNames": ["ann"]})")},
                           "master", nullptr, errors);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].message(), R"(roleBindings[r].roleRef: Not found: "hammer/nobody")");
  EXPECT_TRUE(done.objects.empty());
}

TEST(PolicyMigration, MigratedObjectsDecideAsThePoliciesDid) {
  std::mt19937_64 random(17);
  auto below = [&](std::size_t n) { return random() % n; };
  auto some = [&](const Texts& words, std::size_t most) {
    Texts out;
    for (std::size_t i = 1 + below(most); i > 0; --i) out.push_back(words[below(words.size())]);
    return out;
  };
  auto with_negations = [&](const Texts& positive, const Texts& negative) {
    Texts out = some(positive, 2);
    if (below(3) == 0) out.push_back(negative[below(negative.size())]);
    return out;
  };
  const Texts verbs{"get",      "list",           "create",           "update",
                    "patch",    "delete",         "deletecollection", "other",
                    "granular", "granular:labels"},
      users{"u0", "u1"}, spaces{"master", "a", "b"};
  Surroundings none;
  SomeKinds names;
  int kinds[3] = {};
  for (int round = 0; round < 60; ++round) {
    Value policies = Value::array(), items = Value::array();
    auto index = std::make_shared<Index>();
    for (const std::string& space : spaces) {
      Value roles = Value::object(), bindings[2] = {Value::object(), Value::object()};
      for (int r = 0; r < 2; ++r) {
        std::vector<Rule> rules;
        for (std::size_t i = 1 + below(2); i > 0; --i) {
          Rule rule;
          rule.deny = below(4) == 0;
          rule.verbs = with_negations(
              {"*", "get", "update", "delete", "create", "exec", "proxy", "granular:labels"},
              {"-get", "-update", "-exec", "-granular"});
          rule.resource_kinds = with_negations({"*", "pods", "pods/exec", "secrets"},
                                               {"-pods", "-secrets", "-pods/exec"});
          // A denial of names has its own remark.
          if (!rule.deny && below(4) == 0) rule.resource_names = {"n"};
          if (below(4) == 0) rule.api_groups = {"apps"};
          if (space == "master" && below(3) == 0)
            rule.non_resource_urls = {below(2) ? "/a/*" : "/b"};
          rules.push_back(std::move(rule));
        }
        std::string name = cat("r", r);
        roles.set(name, as_json(Role{space, name,
                                     Value::object({{"name", name}, {"namespace", space}}), rules},
                                true));
      }
      items.push_back(
          Value::object({{"kind", "Policy"},
                         {"metadata", Value::object({{"name", "default"}, {"namespace", space}})},
                         {"roles", roles}}));
      index->change_policy(space, {}, items[items.size() - 1]);
      for (int b = 0; b < 3; ++b) {
        bool is_local = space != "master" && below(2) == 0;
        std::string name = cat("b", b), where = is_local ? space : "master";
        RoleBinding binding{space,
                            name,
                            Value::object({{"name", name}, {"namespace", space}}),
                            {where, cat("r", below(2))},
                            {users[below(2)]},
                            {}};
        bindings[is_local].set(name, as_json(binding, true));
      }
      for (int local = 0; local < 2; ++local) {
        const std::string& where = local ? space : spaces[0];
        if (local && space == "master") continue;
        Value container = Value::object(
            {{"kind", "PolicyBinding"},
             {"metadata", Value::object({{"name", where}, {"namespace", space}})},
             {"roleBindings", bindings[local]}});
        items.push_back(container);
        index->change_bindings(space, where, {}, container);
      }
    }
    json::FieldErrors errors;
    Migration done = migrate({Value::object({{"kind", "List"}, {"items", items}})}, "master",
                             round % 2 ? nullptr : &names, errors);
    ASSERT_TRUE(errors.empty()) << errors[0].message();
    // Access policies have no negations. A name that a negation leaves out may be denied because of
    // another effect.
    bool is_stricter = !done.changes.empty();
    for (const std::string& c : done.changes)
      ASSERT_NE(c.find("what its negations leave out"), std::string::npos) << c;
    access::Index access;
    auto rbac = std::make_shared<rbac::RoleTable>();
    for (const Value& o : done.objects) {
      if (o["kind"].as_string().ends_with("AccessPolicy")) {
        auto policy = std::make_shared<const access::Policy>(o["metadata"]["namespace"].as_string(),
                                                             o["metadata"]["name"].as_string(), o);
        ASSERT_EQ(policy->problem(), "") << json::print(o);
        access.add(policy);
      } else {
        rbac::add_object(*rbac, o);
      }
    }
    std::shared_ptr<const Index> shared = index;
    for (int i = 0; i < 300; ++i) {
      User user{.name = users[below(2)]};
      Attributes a(user);
      std::string space = Texts{"", "master", "a", "b"}[below(4)],
                  resource = Texts{"pods", "secrets", "things"}[below(3)],
                  sub = Texts{"", "", "exec", "proxy", "status"}[below(5)];
      std::string name = Texts{"", "n", "m"}[below(3)], group = Texts{"", "apps"}[below(2)],
                  path = Texts{"/a/x", "/b", "/c"}[below(3)];
      a.verb = verbs[below(verbs.size())];
      if (below(8) == 0) {
        a.path = path;
      } else {
        a.is_resource_request = true;
        a.resource = resource;
        a.subresource = sub;
        a.namespace_name = space;
        a.name = name;
        a.api_group = group;
        a.api_version = "v1";
      }
      Decision expected = decide(shared, a, none);
      Decision got = access::decide(access, a);
      if (got.kind == Decision::Kind::kNoOpinion) got = rbac::decide(rbac, a);
      ++kinds[static_cast<int>(expected.kind)];
      if (is_stricter && got.kind == Decision::Kind::kDeny) continue;
      ASSERT_EQ(static_cast<int>(got.kind), static_cast<int>(expected.kind))
          << user.name << " " << a.verb << " " << group << " " << resource << "/" << sub << " in "
          << space << " " << name << " " << a.path << ": " << expected.reason.text() << " / "
          << got.reason.text() << got.error;
    }
  }
  for (int k : kinds) EXPECT_GT(k, 300);
}

}  // namespace
}  // namespace cardea::authz::namespace_policy
