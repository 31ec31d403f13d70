#include "authz/namespace_policy/covers.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "authz/effects.h"
#include "authz/namespace_policy/decide.h"
#include "base/strings.h"
#include "json/parse.h"

namespace cardea::authz::namespace_policy {
namespace {

using json::Value;
using Texts = std::vector<std::string>;

Rule rule(std::string_view text) {
  json::FieldErrors errors;
  Rule out = read_rule(*json::parse(text), "", errors);
  EXPECT_TRUE(errors.empty()) << text;
  return out;
}

// An index in which `author` is bound to these roles, in the master namespace and in `ns`.
std::shared_ptr<const Index> holding(const std::vector<Rule>& master,
                                     const std::vector<Rule>& local) {
  auto index = std::make_shared<Index>();
  auto fill = [&](std::string_view space, const std::vector<Rule>& rules) {
    Value role = as_json(Role{std::string(space), "r", Value::object({{"name", "r"}}), rules},
                         true);
    index->change_policy(space, {}, Value::object({{"roles", Value::object({{"r", role}})}}));
    Value binding = as_json(RoleBinding{std::string(space),
                                        "b",
                                        Value::object({{"name", "b"}}),
                                        {std::string(space), "r"},
                                        {"author"},
                                        {}},
                            true);
    index->change_bindings(space, space, {},
                           Value::object({{"roleBindings", Value::object({{"b", binding}})}}));
  };
  fill("master", master);
  fill("ns", local);
  return index;
}

std::string missing(const std::vector<Rule>& master, const std::vector<Rule>& local,
                    const std::vector<Rule>& wanted, std::string_view space = "ns") {
  auto found = first_missing(*holding(master, local), User{.name = "author"}, space, wanted,
                             nullptr);
  return found ? found->text() : "";
}

TEST(PolicyEscalation, NamesTheFirstPermissionThatIsMissing) {
  Rule read = rule(R"({"verbs":["get","list"],"resourceKinds":["pods"]})");
  EXPECT_EQ(missing({}, {read}, {read}), "");
  EXPECT_EQ(missing({}, {read}, {rule(R"({"verbs":["get","delete"],"resourceKinds":["pods"]})")}),
            "delete pods");
  EXPECT_EQ(missing({}, {},
                    {rule(
                        R"({"verbs": ["get"], "resourceKinds": ["secrets"], "resourceNames": ["x"],
                  "apiGroups": [""]})")}),
            R"(get secrets in API group "" named "x")");
}

TEST(PolicyEscalation, AnEnumerationNeverCoversEverything) {
  EXPECT_EQ(missing({}, {rule(R"({"verbs":["get"],"resourceKinds":["pods","secrets"]})")},
                    {rule(R"({"verbs":["get"],"resourceKinds":["*"]})")}),
            "get any other kind");
  EXPECT_EQ(missing({}, {rule(R"({"verbs":["get"],"resourceKinds":["*"]})")},
                    {rule(R"({"verbs":["*"],"resourceKinds":["*"]})")}) != "",
            true);
}

TEST(PolicyEscalation, NegationCountsForWhatNobodyNames) {
  Rule edit = rule(R"({"verbs":["*"],"resourceKinds":["*","-roles"]})");
  EXPECT_EQ(missing({}, {edit}, {edit}), "");
  EXPECT_EQ(
      missing({}, {edit}, {rule(R"({"verbs":["*"],"resourceKinds":["*","-roles","-secrets"]})")}),
      "");
  EXPECT_NE(missing({}, {edit}, {rule(R"({"verbs":["*"],"resourceKinds":["*"]})")}), "");
  EXPECT_EQ(missing({}, {edit}, {rule(R"({"verbs":["get"],"resourceKinds":["roles/status"]})")}),
            "get roles/status");
}

TEST(PolicyEscalation, WhatIsDeniedIsNotHeld) {
  Rule all = rule(R"({"verbs":["*"],"resourceKinds":["*"]})");
  Rule deny = rule(R"({"deny":true,"verbs":["delete"],"resourceKinds":["secrets"]})");
  EXPECT_EQ(missing({}, {all, deny}, {rule(R"({"verbs":["get"],"resourceKinds":["secrets"]})")}),
            "");
  EXPECT_EQ(missing({}, {all, deny}, {rule(R"({"verbs":["delete"],"resourceKinds":["secrets"]})")}),
            "delete secrets");
  EXPECT_EQ(missing({all}, {deny}, {all}), "")
      << "what the master namespace allows no namespace denies";
  EXPECT_EQ(missing({}, {all, deny}, {all, deny}), "")
      << "the role takes back what it does not hold";
  EXPECT_NE(missing({}, {all, deny}, {all}), "");
}

TEST(PolicyEscalation, AWayToWhatIsDeniedIsNotHeldWhateverGroupsAreNamed) {
  Rule all = rule(R"({"verbs":["*"],"resourceKinds":["*"]})"),
       deny = rule(R"({"deny":true,"verbs":["delete","exec"],"resourceKinds":["pods"]})"),
       no_events = rule(
           R"({"deny":true,"verbs":["delete"],"resourceKinds":["events"],"apiGroups":[""]})");
  for (std::string_view wanted :
       {R"({"verbs":["create"],"resourceKinds":["pods/eviction"]})",
        R"({"verbs":["create"],"resourceKinds":["pods/eviction"],"apiGroups":[""]})",
        R"({"verbs":["create"],"resourceKinds":["pods/eviction"],"apiGroups":["*"]})",
        R"({"verbs":["create"],"resourceKinds":["pods/exec"]})",
        R"({"verbs":["get"],"resourceKinds":["pods/exec"]})",
        R"({"verbs":["create"],"resourceKinds":["*"]})",
        R"({"verbs":["create"],"resourceKinds":["*"],"apiGroups":[""]})",
        R"({"verbs":["create"],"resourceKinds":["*","-pods/exec"]})"})
    EXPECT_NE(missing({}, {all, deny}, {rule(wanted)}), "") << wanted;
  for (std::string_view wanted :
       {R"({"verbs":["create"],"resourceKinds":["pods","configmaps"]})",
        R"({"verbs":["create"],"resourceKinds":["*"],"apiGroups":["apps"]})",
        R"({"verbs":["create"],"resourceKinds":["*","-pods"]})",
        R"({"verbs":["*"],"resourceKinds":["configmaps"]})"})
    EXPECT_EQ(missing({}, {all, deny}, {rule(wanted)}), "") << wanted;
  EXPECT_NE(
      missing(
          {}, {all, no_events},
          {rule(R"({"verbs":["delete"],"resourceKinds":["*"],"apiGroups":["events.k8s.io"]})")}),
      "");
  EXPECT_NE(
      missing({}, {all, no_events}, {rule(R"({"verbs":["delete"],"resourceKinds":["events"]})")}),
      "");
}

// Each row of the table, as a denial of its right side and a grant of its left side.
TEST(PolicyEscalation, EveryRowOfTheTableOfEffectsIsHeld) {
  Rule all = rule(R"({"verbs":["*"],"resourceKinds":["*"]})");
  for (const EffectRow& row : effect_rows()) {
    const std::string resource(row.resource == "*" ? "widgets" : row.resource);
    const std::string to(row.to_resource.empty() ? resource : std::string(row.to_resource));
    Rule deny{.deny = true};
    if (!row.to_group.empty())
      deny.api_groups = {row.to_group == "core" ? "" : std::string(row.to_group)};
    for (std::string_view verb : split(row.verbs == "*" ? "delete" : row.verbs, ' ')) {
      deny.verbs = {std::string(row.to_verb.empty() ? verb : row.to_verb)};
      for (std::string_view sub : split(row.subresource == "*"   ? "status"
                                        : row.subresource == "/" ? ""
                                                                 : row.subresource,
                                        ' ')) {
        const std::string_view to_sub = row.to_subresource == "-"    ? ""
                                        : row.to_subresource.empty() ? sub
                                                                     : row.to_subresource;
        const std::string full = sub.empty() ? resource : cat(resource, "/", sub);
        deny.resource_kinds = {to_sub.empty() ? to : cat(to, "/", to_sub)};
        for (const std::string& kind : {full, std::string("*")}) {
          Rule wanted{.verbs = {std::string(verb)}, .resource_kinds = {kind}};
          EXPECT_NE(missing({}, {all, deny}, {wanted}), "")
              << verb << " " << kind << " is " << deny.verbs[0];
        }
      }
    }
  }
}

TEST(PolicyEscalation, ACreateIsDeniedByTheNameThatItsObjectBrings) {
  Rule all = rule(R"({"verbs":["create"],"resourceKinds":["pods"]})"),
       deny = rule(
           R"({"deny":true,"verbs":["create"],"resourceKinds":["pods"],"resourceNames":["n"]})"),
       one = rule(R"({"verbs":["create"],"resourceKinds":["pods"],"resourceNames":["n"]})");
  EXPECT_EQ(missing({}, {all, deny}, {all, deny}), "")
      << "what one holds can be handed on as it is";
  EXPECT_EQ(missing({}, {all, deny}, {all}), R"(create pods named "n")");
  EXPECT_EQ(missing({one}, {all, deny}, {all}), R"(create pods named "n")")
      << "the name allows no request that does not say it";
  EXPECT_EQ(missing({one}, {all, deny}, {all, deny}), "");
}

TEST(PolicyEscalation, WritingIsNoLeaveToGiveAwaySingleFields) {
  Rule star = rule(R"({"verbs":["*"],"resourceKinds":["*"]})"),
       but_update = rule(R"({"verbs":["*","-update"],"resourceKinds":["*"]})"),
       update = rule(R"({"verbs":["update"],"resourceKinds":["*"]})"),
       gate = rule(R"({"verbs":["granular"],"resourceKinds":["*"]})"),
       labels = rule(R"({"verbs":["granular:labels"],"resourceKinds":["*"]})");
  EXPECT_EQ(missing({}, {but_update, update}, {star}), "granular any other kind")
      << "both together hold every verb but those";
  EXPECT_EQ(missing({}, {but_update, update, gate}, {star}),
            "any other granular verb any other kind");
  EXPECT_EQ(missing({}, {but_update, update}, {but_update}), "");
  EXPECT_EQ(missing({}, {but_update, gate}, {gate}), "");
  EXPECT_EQ(missing({}, {but_update, labels}, {labels}), "");
  EXPECT_EQ(missing({}, {but_update, gate}, {labels}), "granular:labels any other kind");
}

TEST(PolicyEscalation, ARestrictionIsHeldByTheSameRestriction) {
  std::string_view labels =
      R"({"verbs": ["update"], "resourceKinds": ["pods"],
          "attributeRestrictions": {"fieldsMutatable": ["labels"]}})";
  EXPECT_EQ(missing({}, {rule(labels)}, {rule(labels)}), "");
  EXPECT_EQ(missing({}, {rule(R"({"verbs":["update"],"resourceKinds":["pods"]})")}, {rule(labels)}),
            "");
  EXPECT_NE(missing({}, {rule(labels)}, {rule(R"({"verbs":["update"],"resourceKinds":["pods"]})")}),
            "");
}

TEST(PolicyEscalation, TheMasterNamespaceNeedsWhatTheMasterNamespaceGives) {
  Rule all = rule(R"({"verbs":["*"],"resourceKinds":["*"]})");
  EXPECT_NE(missing({}, {all}, {all}, "master"), "");
  EXPECT_EQ(missing({all}, {}, {all}, "master"), "");
}

TEST(PolicyEscalation, ALongRoleIsNoTrouble) {
  std::vector<Rule> wanted;
  for (int i = 0; i < 1000; ++i)
    wanted.push_back(
        rule(cat(R"({"verbs":["get","update"],"resourceKinds":["kind-)", i, R"("]})")));
  EXPECT_EQ(missing({rule(R"({"verbs":["*"],"resourceKinds":["*"]})")}, {}, wanted), "");
  EXPECT_EQ(missing({rule(R"({"verbs":["*"],"resourceKinds":["*","-kind-999"]})")}, {}, wanted),
            "get kind-999");
}

TEST(PolicyEscalation, KnowsAChangedDenial) {
  Rule deny = rule(R"({"deny":true,"verbs":["delete"],"resourceKinds":["secrets"]})"),
       allow = rule(R"({"verbs":["get"],"resourceKinds":["pods"]})");
  EXPECT_FALSE(changes_denials({allow}, {}));
  EXPECT_TRUE(changes_denials({}, {deny}));
  EXPECT_TRUE(changes_denials({deny, allow}, {allow}));
  EXPECT_FALSE(changes_denials({deny, allow}, {allow, deny}));
}

TEST(PolicyEscalation, LiftingADenialGivesWhatItDenied) {
  Rule deny = rule(
           R"({"deny": true, "verbs": ["delete"], "resourceKinds": ["secrets"],
              "attributeRestrictions": {"labelsContain": ["x"]}})"),
       allow = rule(R"({"verbs":["get"],"resourceKinds":["pods"]})");
  EXPECT_TRUE(lifted({allow, deny}, {deny}).empty());
  EXPECT_TRUE(lifted({}, {deny}).empty());
  EXPECT_EQ(lifted({allow, deny}, {allow}),
            std::vector<Rule>{rule(R"({"verbs":["delete"],"resourceKinds":["secrets"]})")});
  Rule unknown{.deny = true, .verbs = {"get"}, .resource_kinds = {"resourcegroup:nothing"}};
  EXPECT_EQ(lifted({unknown}, {})[0].resource_kinds, Texts{"*"});
  Rule all = rule(R"({"verbs":["*"],"resourceKinds":["*"]})");
  EXPECT_EQ(missing({}, {all, deny}, lifted({deny}, {})), "delete secrets")
      << "whom it concerns does not hold it";
  EXPECT_EQ(missing({all}, {deny}, lifted({deny}, {})), "")
      << "whom the master namespace allows is not denied";
}

// With a small alphabet, every question can be asked.
TEST(PolicyEscalation, NoRoleThatPassesGivesAnythingItsAuthorLacks) {
  std::mt19937_64 random(5);
  auto below = [&](std::size_t n) { return random() % n; };
  auto some = [&](const Texts& words, std::size_t most) {
    Texts out;
    for (std::size_t i = 1 + below(most); i > 0; --i) out.push_back(words[below(words.size())]);
    return out;
  };
  const Texts verb_words{
      "*",    "*",       "get",     "update", "patch",    "delete",          "exec",
      "-get", "-update", "-create", "-exec",  "granular", "granular:labels", "-granular:labels"};
  const Texts kind_words{"*",       "*",     "pods",     "pods/exec",
                         "secrets", "-pods", "-secrets", "-pods/exec"};
  const Texts verbs{
      "get",  "update",  "patch",    "delete",          "deletecollection",   "create",
      "exec", "unheard", "granular", "granular:labels", "granular:unheard(x)"},
      kinds{"pods", "pods/exec", "pods/log", "secrets", "secrets/x", "unheard", "unheard/proxy"};
  const Texts names{"", "n", "unheard"}, groups{"", "apps", "unheard"};
  auto random_rules = [&](std::size_t most) {
    std::vector<Rule> out;
    for (std::size_t i = 1 + below(most); i > 0; --i) {
      Rule r;
      r.deny = below(4) == 0;
      r.verbs = some(verb_words, 3);
      r.resource_kinds = some(kind_words, 3);
      if (below(4) == 0) r.resource_names = {"n"};
      if (below(4) == 0) r.api_groups = {below(2) ? "" : "apps"};
      out.push_back(std::move(r));
    }
    return out;
  };
  const char* wanted_cases = std::getenv("CARDEA_POLICY_CASES");
  int rounds = wanted_cases ? std::atoi(wanted_cases) : 400, passed = 0, refused = 0;
  Surroundings none;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Rule> master = random_rules(1), local = random_rules(3), wanted = random_rules(2);
    if (below(3) == 0) wanted = local;
    std::shared_ptr<const Index> author = holding(master, local);
    auto found = first_missing(*author, User{.name = "author"}, "ns", wanted, nullptr);
    // The permissions that the role gives to a user without any others.
    std::shared_ptr<const Index> holder = holding({}, wanted);
    bool exceeds = false;
    User user{.name = "author"};
    for (const std::string& verb : verbs)
      for (const std::string& kind : kinds)
        for (const std::string& name : names)
          for (const std::string& group : groups) {
            Attributes a(user);
            a.is_resource_request = true;
            a.verb = verb;
            auto slash = kind.find('/');
            a.resource = std::string_view(kind).substr(0, slash);
            if (slash != std::string::npos)
              a.subresource = std::string_view(kind).substr(slash + 1);
            a.name = name;
            a.api_group = group;
            a.api_version = "v1";
            a.namespace_name = "ns";
            exceeds |= decide(holder, a, none).allowed() && !decide(author, a, none).allowed();
          }
    ASSERT_EQ(found.has_value(), exceeds) << "round " << round << (found ? found->text() : "");
    ++(found ? refused : passed);
  }
  EXPECT_GT(passed, rounds / 20);
  EXPECT_GT(refused, rounds / 20);
}

}  // namespace
}  // namespace cardea::authz::namespace_policy
