#include "advice/suggested_role.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "advice/known_resources.h"
#include "base/strings.h"
#include "json/parse.h"

namespace cardea::advice {
namespace {

using json::Value;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const KnownResources& builtins() {
  static const KnownResources kKnown;
  return kKnown;
}

Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : Value();
}

// An audit log to which the server still writes.
struct Log {
  LoggedChanges changes{"bot", [](auto g, auto v, auto r) { return builtins().find(g, v, r); }, {}};

  void add(std::string_view user, std::string_view verb, std::string_view group,
           std::string_view resource, Value request, Value response, int code = 200,
           std::string_view uri = "/", Value more = Value::object()) {
    auto slash = resource.find('/');
    Value ref = Value::object({{"apiGroup", group},
                               {"apiVersion", "v1"},
                               {"resource", resource.substr(0, slash)},
                               {"namespace", "default"},
                               {"name", "x"}});
    if (slash != resource.npos) ref.set("subresource", resource.substr(slash + 1));
    Value event = Value::object({{"kind", "Event"},
                                 {"apiVersion", "audit.k8s.io/v1"},
                                 {"level", "RequestResponse"},
                                 {"auditID", "a1"},
                                 {"stage", "ResponseComplete"},
                                 {"requestURI", uri},
                                 {"verb", verb},
                                 {"user", Value::object({{"username", user}})},
                                 {"objectRef", ref},
                                 {"responseStatus", Value::object({{"code", code}})}});
    if (!request.is_null()) event.set("requestObject", std::move(request));
    if (!response.is_null()) event.set("responseObject", std::move(response));
    for (const json::Member& m : more.members()) event.set(m.key(), m.value);
    changes.take(event);
  }

  // Of the one rule for changes.
  std::vector<std::string> verbs() const {
    auto roles = suggest_roles(changes.changes());
    if (roles.size() != 1 || roles[0].rules.empty()) return {"no rule"};
    for (std::size_t i = 1; i < roles[0].rules.size(); ++i)
      if (roles[0].rules[i].changes > 0) return {"not one rule"};
    return roles[0].rules[0].verbs;
  }
};

Value deployment(std::string_view labels = "{}", std::string_view spec = R"({"replicas":1})") {
  return parsed(cat(
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x","namespace":"default",)"
      R"("uid":"u1","resourceVersion":"5","labels":)",
      labels, R"(},"spec":)", spec, "}"));
}

Value config(std::string_view rest) {
  return parsed(
      cat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"default",)"
          R"("uid":"u2"})",
          rest, "}"));
}

TEST(SuggestedRole, HasTheMostSpecificVerbsForWhatWasChanged) {
  Log log;
  log.add("admin", "create", "apps", "deployments", deployment(), deployment(), 201);
  log.add("bot", "patch", "apps", "deployments",
          parsed(R"({"metadata":{"labels":{"safe.com/a":"1"}}})"),
          deployment(R"({"safe.com/a":"1"})"));
  log.add("bot", "update", "apps", "deployments",
          deployment(R"({"safe.com/a":"1"})", R"({"replicas":3})"),
          deployment(R"({"safe.com/a":"1"})", R"({"replicas":3})"));
  log.add("admin", "update", "apps", "deployments", deployment(R"({"app":"z"})"),
          deployment(R"({"app":"z"})", R"({"replicas":3,"paused":true})"));
  EXPECT_THAT(log.changes.notes(), IsEmpty());
  EXPECT_EQ(roles_yaml(suggest_roles(log.changes.changes()), "bot"),
            "apiVersion: rbac.authorization.k8s.io/v1\n"
            "kind: Role\n"
            "metadata:\n"
            "  name: \"fields-of:bot\"\n"
            "  namespace: \"default\"\n"
            "rules:\n"
            "# 2 changes, instead of {\"apiGroups\": [\"apps\"], \"resources\": [\"deployments\"], "
            "\"verbs\": [\"patch\", \"update\"]}\n"
            "- {\"apiGroups\": [\"apps\"], \"resources\": [\"deployments\"], \"verbs\": "
            "[\"granular\", \"granular:label(safe.com)\", \"granular:replicaCount\"]}\n"
            "# to read what it changes, and the answers\n"
            "- {\"apiGroups\": [\"apps\"], \"resources\": [\"deployments\"], \"verbs\": "
            "[\"get\"]}\n");
}

TEST(SuggestedRole, WhoWritesAStatusReadsTheObject) {
  Log log;
  log.add("admin", "get", "apps", "deployments", Value(), deployment());
  log.add("bot", "patch", "apps", "deployments/status",
          parsed(R"({"status":{"observedGeneration":2}})"), deployment());
  auto roles = suggest_roles(log.changes.changes());
  ASSERT_THAT(roles, SizeIs(1));
  ASSERT_THAT(roles[0].rules, SizeIs(2));
  EXPECT_EQ(roles[0].rules[0].resource, "deployments/status");
  EXPECT_EQ(roles[0].rules[1].resource, "deployments");
  EXPECT_THAT(roles[0].rules[1].verbs, ElementsAre("get"));
}

TEST(SuggestedRole, TakesTheVerbItselfWhereNoPermissionGuardsTheFieldAndNothingBesides) {
  Log log;
  log.add("admin", "create", "", "configmaps", config(""), config(""), 201);
  log.add("bot", "patch", "", "configmaps", parsed(R"({"data":{"a":"1"}})"),
          config(R"(,"data":{"a":"1"})"));
  EXPECT_THAT(log.verbs(), ElementsAre("granular", "granular:data"));
  log.add("bot", "patch", "", "configmaps", parsed(R"({"immutable":true})"),
          config(R"(,"data":{"a":"1"},"immutable":true)"));
  EXPECT_THAT(log.verbs(), ElementsAre("patch"));
  // Changes by another verb need their own permissions.
  log.add("bot", "update", "", "configmaps", Value(),
          config(R"(,"data":{"a":"2"},"immutable":true)"));
  EXPECT_THAT(log.verbs(), ElementsAre("granular", "granular:data", "patch"));
}

TEST(SuggestedRole, ACreateIsJudgedByWhatWasSentWithItsName) {
  Log log;
  log.add("bot", "create", "", "configmaps",
          parsed(R"({"metadata":{"name":"x"},"data":{"a":"1"}})"), config(R"(,"data":{"a":"1"})"),
          201);
  EXPECT_THAT(log.verbs(), ElementsAre("granular", "granular:data", "granular:identity"));
}

TEST(SuggestedRole, AnApplyThatCreatesTakesBothVerbs) {
  Log log;
  log.add(
      "bot", "patch", "", "configmaps",
      parsed(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1"}})"),
      config(""), 201);
  EXPECT_THAT(log.verbs(), ElementsAre("granular", "granular:data", "granular:identity"));
  log.add("bot", "delete", "", "configmaps", Value(), parsed(R"({"kind":"Status"})"));
  log.add("bot", "patch", "", "configmaps", parsed(R"({"metadata":{"name":"x"},"immutable":true})"),
          config(R"(,"immutable":true)"), 201);
  EXPECT_THAT(log.verbs(), ElementsAre("create", "patch"));
  EXPECT_EQ(suggest_roles(log.changes.changes())[0].rules[0].changes, 2u);
}

TEST(SuggestedRole, ANamespaceIsTheSameObjectHoweverTheLogPlacesIt) {
  Log log;
  Value before = parsed(
            R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"x","uid":"u3"}})"),
        after = before;
  after.member("metadata")
      .set("labels", Value::object({{"pod-security.kubernetes.io/enforce", "restricted"}}));
  log.add("admin", "create", "", "namespaces", before, before, 201);
  log.add("bot", "update", "", "namespaces", after, after);
  auto roles = suggest_roles(log.changes.changes());
  ASSERT_THAT(roles, SizeIs(1));
  EXPECT_EQ(roles[0].namespace_name, "");
  EXPECT_THAT(roles[0].rules[0].verbs,
              ElementsAre("granular", "granular:label(pod-security.kubernetes.io)"));
}

TEST(SuggestedRole, APatchOfAnUnknownObjectIsJudgedByItsFields) {
  Log log;
  log.add("bot", "patch", "apps", "deployments",
          parsed(
              R"({"metadata": {"labels": {"app": null}, "resourceVersion": "1"},
              "spec": {"replicas": 2}, "status": {"replicas": 1}})"),
          deployment());
  EXPECT_THAT(log.verbs(), ElementsAre("granular", "granular:label(app)", "granular:replicaCount"));
  ASSERT_THAT(log.changes.notes(), SizeIs(1));
  EXPECT_EQ(log.changes.notes()[0],
            "a1: patch deployments default/x: the object before it is not in the log; judged by "
            "the fields that the patch names");

  Log pointers;
  pointers.add("bot", "patch", "apps", "deployments",
               parsed(
                   R"([{"op":"test","path":"/spec/paused","value":true},
              {"op":"add","path":"/metadata/labels/a.com~1b","value":"1"},
              {"op":"remove","path":"/metadata/finalizers/0"},
              {"op":"replace","path":"/spec","value":{"replicas":4}}])"),
               deployment());
  EXPECT_THAT(pointers.verbs(), ElementsAre("granular", "granular:finalizers",
                                            "granular:label(a.com)", "granular:replicaCount"));
}

TEST(SuggestedRole, AnUpdateOfAnUnknownObjectNeedsTheVerb) {
  Log log;
  log.add("bot", "update", "apps", "deployments", deployment(), deployment());
  EXPECT_THAT(log.verbs(), ElementsAre("update"));
  EXPECT_THAT(log.changes.notes()[0], HasSubstr("covered by the verb update alone"));
  // So does a change of an object that was written in the meantime by a request that the log does
  // not show.
  Log stale;
  stale.add("admin", "get", "apps", "deployments", Value(), deployment());
  Value sent = deployment(R"({"a":"1"})");
  sent.member("metadata").set("resourceVersion", "7");
  stale.add("bot", "update", "apps", "deployments", sent, deployment(R"({"a":"1"})"));
  EXPECT_THAT(stale.verbs(), ElementsAre("update"));
  Log blind;
  blind.add("admin", "get", "apps", "deployments", Value(), deployment());
  blind.add("admin", "patch", "apps", "deployments", Value(), Value());
  blind.add("bot", "update", "apps", "deployments", Value(), deployment());
  EXPECT_THAT(blind.verbs(), ElementsAre("update"));
}

TEST(SuggestedRole, CountsTheUserWhoWasImpersonatedAndOnlyWhatSucceeded) {
  Log log;
  Value as_bot = Value::object({{"impersonatedUser", Value::object({{"username", "bot"}})}});
  Value as_other = Value::object({{"impersonatedUser", Value::object({{"username", "other"}})}});
  log.add("admin", "get", "apps", "deployments", Value(), deployment());
  log.add("bot", "update", "apps", "deployments", Value(), deployment(R"({"a":"1"})"), 200, "/",
          as_other);
  log.add("bot", "update", "apps", "deployments", Value(), Value::object({{"kind", "Status"}}),
          403);
  log.add("bot", "get", "apps", "deployments", Value(), deployment(R"({"a":"1"})"));
  EXPECT_THAT(log.changes.changes(), IsEmpty());
  EXPECT_EQ(log.changes.other_requests(), 1u);
  log.add("admin", "update", "apps", "deployments", Value(), deployment(R"({"b":"1"})"), 200, "/",
          as_bot);
  EXPECT_THAT(log.verbs(), ElementsAre("granular", "granular:label(a)", "granular:label(b)"));
}

TEST(SuggestedRole, ADryRunIsAskedForButChangesNothing) {
  Log log;
  log.add("admin", "get", "apps", "deployments", Value(), deployment());
  log.add("bot", "patch", "apps", "deployments", parsed(R"({"spec":{"replicas":9}})"),
          deployment("{}", R"({"replicas":9})"), 200, "/x?dryRun=All");
  log.add("bot", "patch", "apps", "deployments", parsed(R"({"spec":{"replicas":1}})"),
          deployment());
  ASSERT_THAT(log.changes.changes(), SizeIs(2));
  EXPECT_THAT(log.changes.changes()[0].demands.fields, SizeIs(1));
  EXPECT_THAT(log.changes.changes()[1].demands.fields, IsEmpty());
}

TEST(SuggestedRole, WhatAWebhookWroteIsNotTheUsers) {
  Log log;
  Value mutated = Value::object(
      {{"annotations", Value::object({{"mutation.webhook.admission.k8s.io/round_0_index_0",
                                       R"({"configuration":"c","mutated":true})"}})}});
  log.add("admin", "get", "apps", "deployments", Value(), deployment());
  log.add("bot", "patch", "apps", "deployments", parsed(R"({"metadata":{"labels":{"mine":"1"}}})"),
          deployment(R"({"mine":"1","theirs":"1"})"), 200, "/", mutated);
  EXPECT_THAT(log.verbs(), ElementsAre("granular", "granular:label(mine)"));
}

TEST(SuggestedRole, SubresourcesHaveRulesOfTheirOwn) {
  Log log;
  log.add("admin", "get", "apps", "deployments", Value(), deployment());
  Value done = deployment();
  done.set("status", parsed(R"({"conditions":[{"type":"Available","status":"True"}]})"));
  log.add("bot", "patch", "apps", "deployments/status", parsed(R"({"status":{}})"), done);
  log.add("bot", "patch", "apps", "deployments/scale", parsed(R"({"spec":{"replicas":2}})"),
          parsed(R"({"kind":"Scale","apiVersion":"autoscaling/v1","spec":{"replicas":2}})"));
  log.add("bot", "create", "", "pods/eviction", parsed(R"({"kind":"Eviction"})"),
          parsed(R"({"kind":"Status"})"), 201);
  auto roles = suggest_roles(log.changes.changes());
  ASSERT_THAT(roles, SizeIs(1));
  ASSERT_THAT(roles[0].rules, SizeIs(4)) << "and one to read";
  EXPECT_EQ(roles[0].rules[0].resource, "pods/eviction");
  EXPECT_THAT(roles[0].rules[0].verbs, ElementsAre("create"));
  EXPECT_EQ(roles[0].rules[1].resource, "deployments/scale");
  EXPECT_THAT(roles[0].rules[1].verbs, ElementsAre("granular", "granular:replicaCount"));
  EXPECT_EQ(roles[0].rules[2].resource, "deployments/status");
  EXPECT_THAT(roles[0].rules[2].verbs, ElementsAre("granular", "granular:condition(Available)"));
}

Value scale(int replicas) {
  return Value::object({{"kind", "Scale"},
                        {"apiVersion", "autoscaling/v1"},
                        {"spec", Value::object({{"replicas", replicas}})}});
}

TEST(SuggestedRole, AScaleIsWhatWritesOfTheObjectMadeOfIt) {
  Log log;
  log.add("bot", "patch", "apps", "deployments/scale", parsed(R"({"spec":{"replicas":2}})"),
          scale(2));
  log.add("admin", "patch", "apps", "deployments", Value(), deployment("{}", R"({"replicas":3})"));
  log.add("bot", "patch", "apps", "deployments/scale", parsed(R"({"spec":{"replicas":3}})"),
          scale(3));
  log.add("bot", "patch", "apps", "deployments/scale", parsed(R"({"spec":{"replicas":2}})"),
          scale(2));
  ASSERT_THAT(log.changes.changes(), SizeIs(3));
  EXPECT_THAT(log.changes.changes()[1].demands.fields, IsEmpty());
  EXPECT_THAT(log.changes.changes()[2].demands.fields, SizeIs(1));
  EXPECT_THAT(log.changes.notes(), SizeIs(1));  // about the first
}

TEST(SuggestedRole, AScaleNeedsWhatIsExcludedOnItsObject) {
  auto suggested = [](const std::string& excluded) {
    Log log;
    schema::ExcludedVerbs verbs;
    verbs.add(excluded);
    log.changes = LoggedChanges(
        "bot", [](auto g, auto v, auto r) { return builtins().find(g, v, r); }, verbs);
    log.add("admin", "get", "apps", "deployments", Value(), deployment());
    log.add("bot", "update", "apps", "deployments/scale", scale(2), scale(2));
    return log.verbs();
  };
  EXPECT_THAT(suggested("granular:labels"), ElementsAre("granular", "granular:replicaCount"));
  EXPECT_THAT(suggested("granular:replicaCount"), ElementsAre("granular", "granular:replicaCount"));
  EXPECT_THAT(suggested("granular:specification"),
              ElementsAre("granular", "granular:specification"));

  KnownResources known;
  ASSERT_TRUE(known.add_definition(
      parsed(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{
      "group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},
      "versions":[{"name":"v1","served":true,"storage":true,
      "subresources":{"scale":{"specReplicasPath":".spec.size",
        "statusReplicasPath":".status.size"}},"schema":{"openAPIV3Schema":{"type":"object",
        "properties":{
        "spec":{"type":"object","properties":{"size":{"type":"integer",
          "x-kubernetes-permission-verb":"example.com/size",
          "x-kubernetes-permission-excluded":true}}}}}}}]}})")));
  Log log;
  log.changes = LoggedChanges("bot",
                              [&known](auto g, auto v, auto r) { return known.find(g, v, r); }, {});
  log.add("admin", "get", "example.com", "widgets", Value(),
          parsed(
              R"({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"},
              "spec": {"size": 1}})"));
  log.add("bot", "update", "example.com", "widgets/scale", scale(2), scale(2));
  EXPECT_THAT(log.changes.notes(), IsEmpty());
  EXPECT_THAT(log.verbs(),
              ElementsAre("granular", "granular:example.com/size", "granular:replicaCount"));
}

TEST(SuggestedRole, TakesMoreGeneralPermissionsWhereTheServerWouldHaveToAskForTooMany) {
  Log log;
  log.add("admin", "get", "apps", "deployments", Value(), deployment());
  std::string labels;
  for (int i = 0; i < 200; ++i) labels += cat(labels.empty() ? "{" : ",", "\"k", i, "\":\"1\"");
  log.add("bot", "update", "apps", "deployments", Value(), deployment(labels + "}"));
  EXPECT_THAT(log.verbs(), ElementsAre("granular", "granular:labels"));
}

// A random edit of an object, and the verbs that cover it, listed independently of the code.
struct Edit {
  std::vector<std::string> path;
  Value value;
  std::vector<std::string> chain;
};

Edit random_edit(std::mt19937& random, bool is_deployment) {
  auto pick = [&](std::vector<std::string> of) { return of[random() % of.size()]; };
  std::string key = pick({"app", "a.com/x", "a.com/y", "b.org/z"}),
              prefix = key.substr(0, key.find('/'));
  Value text(std::to_string(random() % 3));
  if (random() % 3 == 0)
    return {{"metadata", "labels", key},
            text,
            {"granular:metadata", "granular:labels", cat("granular:label(", prefix, ")")}};
  if (random() % 3 == 0)
    return {
        {"metadata", "annotations", key},
        text,
        {"granular:metadata", "granular:annotations", cat("granular:annotation(", prefix, ")")}};
  if (!is_deployment && random() % 8 == 0) return {{"immutable"}, Value(random() % 2 == 0), {}};
  if (!is_deployment) return {{"data", pick({"a", "b"})}, text, {"granular:data"}};
  if (random() % 2)
    return {{"spec", "replicas"},
            Value(static_cast<std::int64_t>(random() % 4)),
            {"granular:specification", "granular:replicaCount"}};
  return {{"spec", "paused"}, Value(random() % 2 == 0), {"granular:specification"}};
}

struct Made {
  std::string verb;
  std::vector<std::vector<std::string>> chains;

  bool covered_by(const std::set<std::string>& verbs) const {
    if (verbs.contains(verb)) return true;
    return verbs.contains("granular") && std::ranges::all_of(chains, [&](const auto& chain) {
             return std::ranges::any_of(chain, [&](const auto& v) { return verbs.contains(v); });
           });
  }
};

TEST(SuggestedRole, CoversEveryLoggedChangeAndNoVerbCanBeTakenAway) {
  std::mt19937 random(20261115);
  for (int round = 0; round < 400; ++round) {
    bool is_deployment = random() % 2;
    std::string_view group = is_deployment ? "apps" : "",
                     resource = is_deployment ? "deployments" : "configmaps";
    Log log;
    std::vector<Made> made;
    Value object = is_deployment ? deployment(R"({"app":"0"})", R"({"replicas":1,"paused":false})")
                                 : config(R"(,"immutable":false,"data":{"a":"0"})");
    log.add("admin", "create", group, resource, object, object, 201);
    for (std::size_t i = 1 + random() % 12; i > 0; --i) {
      Made change{random() % 2 ? "update" : "patch", {}};
      std::set<std::vector<std::string>> named;
      for (std::size_t n = random() % 4; n > 0; --n) {
        Edit edit = random_edit(random, is_deployment);
        // Two edits of one field could cancel each other out.
        if (!named.insert(edit.path).second) continue;
        Value* at = &object;
        for (const std::string& step : edit.path) at = &at->member(step);
        if (*at == edit.value) continue;
        *at = edit.value;
        change.chains.push_back(edit.chain);
      }
      bool is_bot = random() % 3 != 0;
      log.add(is_bot ? "bot" : "other", change.verb, group, resource, Value(), object);
      if (is_bot) made.push_back(std::move(change));
    }
    if (made.empty()) continue;
    ASSERT_EQ(log.changes.changes().size(), made.size());
    auto roles = suggest_roles(log.changes.changes());
    ASSERT_THAT(roles, SizeIs(1));
    ASSERT_THAT(roles[0].rules, Not(IsEmpty()));
    for (std::size_t r = 1; r < roles[0].rules.size(); ++r)
      ASSERT_EQ(roles[0].rules[r].changes, 0u) << "one rule for changes";
    std::set<std::string> verbs(roles[0].rules[0].verbs.begin(), roles[0].rules[0].verbs.end());
    auto all_covered = [&](const std::set<std::string>& held) {
      return std::ranges::all_of(made, [&](const Made& m) { return m.covered_by(held); });
    };
    EXPECT_TRUE(all_covered(verbs)) << round << "\n" << roles_yaml(roles, "bot");
    for (const std::string& verb : verbs) {
      std::set<std::string> fewer = verbs;
      fewer.erase(verb);
      EXPECT_FALSE(all_covered(fewer)) << round << ": " << verb << " is not needed\n"
                                       << roles_yaml(roles, "bot");
    }
    auto shuffled = log.changes.changes();
    std::ranges::shuffle(shuffled, random);
    EXPECT_EQ(roles_yaml(suggest_roles(shuffled), "bot"), roles_yaml(roles, "bot"));
  }
}

}  // namespace
}  // namespace cardea::advice
