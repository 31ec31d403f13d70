#include "cardea/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace cardea::v1 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kRoles[] = R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects:
- {kind: User, name: jane}
- {kind: Group, name: staff}
)";

constexpr char kNamed[] = R"(
apiVersion: access.cardea.dev/v1alpha1
kind: ClusterAccessPolicy
metadata: {name: own-claims}
spec:
  effect: Allow
  description: users may claim storage of the class that is theirs
  subjects: [{kind: User, name: jane}]
  rules: [{apiGroups: [""], resources: [persistentvolumeclaims], verbs: [create, update]}]
  expression: object.spec.storageClassName == request.userInfo.username + "-disks"
)";

Request asks(std::string user, std::string verb, std::string resource, std::string space = "shop",
             std::string name = "") {
  Request r;
  r.user.name = std::move(user);
  r.verb = std::move(verb);
  r.resource = std::move(resource);
  r.namespace_name = std::move(space);
  r.name = std::move(name);
  return r;
}

void load(Engine& engine, std::string_view text) {
  auto loaded = engine.load(text);
  ASSERT_TRUE(loaded) << loaded.error().message;
}

std::string claim(std::string_view storage_class) {
  return R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)"
         R"("metadata":{"name":"a","namespace":"shop"},)"
         R"("spec":{"storageClassName":")" +
         std::string(storage_class) + R"("}})";
}

Change creation(std::string object) {
  Change c;
  c.object = std::move(object);
  return c;
}

TEST(Engine, WithoutDocumentsAllowsNothing) {
  Engine engine;
  Decision d = engine.ask(asks("jane", "get", "pods"));
  EXPECT_EQ(d.outcome(), Outcome::kNoOpinion);
  EXPECT_FALSE(d.allowed());
  Request root = asks("root", "get", "pods");
  root.user.groups = {"system:masters"};
  EXPECT_FALSE(engine.ask(root).allowed());
  Options options;
  options.masters = true;
  EXPECT_TRUE(Engine(options).ask(root).allowed());
}

TEST(Engine, ADecisionThatNobodyMadeDenies) {
  EXPECT_EQ(Decision().outcome(), Outcome::kDeny);
  EXPECT_EQ(Decision().settle(Change()).outcome(), Outcome::kDeny);
  EXPECT_THAT(Decision().conditions(), IsEmpty());
}

TEST(Engine, AllowsWhatABoundRoleAllowsAndSaysWhichDid) {
  Engine engine;
  auto loaded = engine.load(kRoles);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(*loaded, 2u);
  Decision d = engine.ask(asks("jane", "get", "pods"));
  EXPECT_TRUE(d.allowed());
  EXPECT_EQ(
      d.reason(),
      R"(RBAC: allowed by RoleBinding "readers/shop" of ClusterRole "reader" to User "jane")");
  EXPECT_FALSE(engine.ask(asks("jane", "delete", "pods")).allowed());
  EXPECT_FALSE(engine.ask(asks("jane", "get", "pods", "other")).allowed());
  Request staff = asks("joe", "list", "pods");
  staff.user.groups = {"staff"};
  EXPECT_TRUE(engine.ask(staff).allowed());
}

TEST(Engine, TakesDocumentsBack) {
  Engine engine;
  load(engine, kRoles);
  auto removed = engine.remove(kRoles);
  ASSERT_TRUE(removed);
  EXPECT_EQ(*removed, 2u);
  EXPECT_FALSE(engine.ask(asks("jane", "get", "pods")).allowed());
  EXPECT_EQ(*engine.remove(kRoles), 0u);
}

TEST(Engine, ADocumentReplacesTheOneOfItsName) {
  Engine engine;
  load(engine, kRoles);
  load(engine, R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole",
    "metadata":{"name":"reader"},"rules":[{"apiGroups":[""],"resources":["pods"],
      "verbs":["list"]}]})");
  EXPECT_FALSE(engine.ask(asks("jane", "get", "pods")).allowed());
  EXPECT_TRUE(engine.ask(asks("jane", "list", "pods")).allowed());
}

TEST(Engine, GathersTheRulesOfAggregatedRoles) {
  Engine engine;
  load(engine, kRoles);
  load(engine, R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {to: reader}}]}
)");
  EXPECT_FALSE(engine.ask(asks("jane", "get", "secrets")).allowed());
  constexpr char kPart[] = R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: part, labels: {to: reader}}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
)";
  load(engine, kPart);
  EXPECT_TRUE(engine.ask(asks("jane", "get", "secrets")).allowed());
  ASSERT_TRUE(engine.remove(kPart));
  EXPECT_FALSE(engine.ask(asks("jane", "get", "secrets")).allowed());
}

TEST(Engine, ABadDocumentChangesNothing) {
  Engine engine;
  load(engine, kRoles);
  const char* kBad[] = {
      "{",                          // not JSON
      "a: [",                       // not YAML
      "just a text",                // not an object
      R"({"kind":"ClusterRole"})",  // without a version
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"b"}})",
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{}})",
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"a"}})",
      R"({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
          "metadata": {"name": "a", "name": "b"}})",
      R"({"apiVersion": "rbac.authorization.k8s.io/v7", "kind": "ClusterRole",
          "metadata": {"name": "a"}})",
      // An unknown field, a rule without verbs, a binding to no role.
      R"({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
          "metadata": {"name": "a"}, "rulez": []})",
      R"({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
          "metadata": {"name": "a"}, "rules": [{"apiGroups": [""], "resources": ["pods"]}]})",
      R"({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
          "metadata": {"name": "a"}, "subjects": [{"kind": "User", "name": "jane"}]})",
      R"({"apiVersion": "access.cardea.dev/v1alpha1", "kind": "ClusterAccessPolicy",
          "metadata": {"name": "a"}, "spec": {"effect": "Permit"}})",
      R"({"apiVersion": "access.cardea.dev/v1alpha1", "kind": "ClusterAccessPolicy",
          "metadata": {"name": "a"}, "spec": {"effect": "Allow", "expression": "object.a ==="}})",
      R"({"apiVersion": "authorization.openshift.io/v1beta3", "kind": "Policy",
          "metadata": {"namespace": "shop"}, "roles": {"a": {"rules": [{"denny": true}]}}})",
  };
  for (const char* bad : kBad) {
    // Documents before it in the same text are not loaded either.
    auto loaded = engine.load(bad[0] == '{' ? std::string(bad)
                                            : std::string(kRoles) + "---\n" + bad);
    ASSERT_FALSE(loaded) << bad;
    EXPECT_EQ(loaded.error().code, Error::Code::kBadDocument) << bad;
    EXPECT_FALSE(loaded.error().message.empty()) << bad;
    EXPECT_TRUE(engine.ask(asks("jane", "get", "pods")).allowed()) << bad;
    EXPECT_FALSE(engine.ask(asks("jane", "delete", "pods")).allowed()) << bad;
  }
}

TEST(Engine, AGoodDocumentBesideABadOneIsNotTaken) {
  Engine engine;
  ASSERT_FALSE(engine.load(std::string(kRoles) + "---\nkind: Nothing\n"));
  EXPECT_FALSE(engine.ask(asks("jane", "get", "pods")).allowed());
}

TEST(Engine, ReadsListsAndPassesOverEmptyDocuments) {
  Engine engine;
  auto loaded = engine.load("# a comment\n---\n---\n# another\n" + std::string(kRoles) + "---\n");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(*loaded, 2u);
  EXPECT_EQ(*engine.load(""), 0u);
  EXPECT_EQ(*engine.load(
                R"({"apiVersion": "v1", "kind": "List",
              "items": [{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                  "metadata": {"name": "a"}}]})"),
            1u);
}

TEST(Engine, QuestionsThatMakeNoSenseAreAnErrorAndNoAllow) {
  Options options;
  options.masters = true;
  Engine engine(options);
  Request r;
  r.user.groups = {"system:masters"};
  EXPECT_THAT(engine.ask(r).error(), HasSubstr("verb"));
  r.verb = "get";
  EXPECT_THAT(engine.ask(r).error(), HasSubstr("neither a resource nor a path"));
  r.resource = "pods";
  EXPECT_TRUE(engine.ask(r).allowed());
  r.path = "/healthz";
  EXPECT_THAT(engine.ask(r).error(), HasSubstr("a resource and a path"));
  r.path = "";
  r.label_selector = "a in (";
  Decision d = engine.ask(r);
  EXPECT_FALSE(d.allowed());
  EXPECT_THAT(d.error(), HasSubstr("label selector"));
  EXPECT_THAT(engine.ask(Request()).error(), HasSubstr("neither a user nor a group"));
}

TEST(Engine, DecidesAboutPaths) {
  Engine engine;
  load(engine, R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: health}
rules: [{nonResourceURLs: [/healthz/*], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: health}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: health}
subjects: [{kind: User, name: jane}]
)");
  Request r;
  r.user.name = "jane";
  r.verb = "get";
  r.path = "/healthz/etcd";
  EXPECT_TRUE(engine.ask(r).allowed());
  r.path = "/metrics";
  EXPECT_FALSE(engine.ask(r).allowed());
}

TEST(Engine, AnswersWithConditionsAndSettlesThemWithTheObject) {
  Engine engine;
  load(engine, kNamed);
  Decision d = engine.ask(asks("jane", "create", "persistentvolumeclaims"));
  ASSERT_EQ(d.outcome(), Outcome::kConditional);
  EXPECT_FALSE(d.allowed());
  auto conditions = d.conditions();
  ASSERT_EQ(conditions.size(), 1u);
  EXPECT_EQ(conditions[0].authorizer, "access");
  EXPECT_EQ(conditions[0].effect, Effect::kAllow);
  EXPECT_EQ(conditions[0].id, "clusteraccesspolicy.access.cardea.dev/own-claims");
  EXPECT_EQ(conditions[0].expression, R"(object.spec.storageClassName == "jane-disks")");
  EXPECT_EQ(conditions[0].type, "k8s.io/authorization-cel");
  EXPECT_EQ(conditions[0].description, "users may claim storage of the class that is theirs");

  EXPECT_TRUE(d.settle(creation(claim("jane-disks"))).allowed());
  EXPECT_FALSE(d.settle(creation(claim("fast"))).allowed());
  // A caller that cannot wait for the object gets no Allow.
  EXPECT_EQ(engine.ask_unconditionally(asks("jane", "create", "persistentvolumeclaims")).outcome(),
            Outcome::kNoOpinion);
}

TEST(Engine, ConditionsThatCannotBeSettledNeverAllow) {
  Engine engine;
  load(engine, kNamed);
  Decision d = engine.ask(asks("jane", "create", "persistentvolumeclaims", "shop", "a"));
  ASSERT_EQ(d.outcome(), Outcome::kConditional);
  const std::string good = claim("jane-disks");
  auto refused = [&](const Change& change, const char* why) {
    Decision settled = d.settle(change);
    EXPECT_FALSE(settled.allowed()) << why;
    EXPECT_NE(settled.outcome(), Outcome::kConditional) << why;
    EXPECT_FALSE(settled.error().empty()) << why;
  };
  refused(Change(), "no object");
  refused(creation("{"), "no JSON");
  refused(creation("[]"), "no object but a list");
  refused(creation(R"({"metadata":{"name":"a"}})"), "the expression fails");
  Change wrong = creation(good);
  wrong.operation = "UPDATE";
  refused(wrong, "another operation");
  wrong.operation = "EAT";
  refused(wrong, "no operation");
  wrong.operation = "CREATE";
  wrong.old_object = good;
  refused(wrong, "a new object has no old one");
  Change other = creation(good);
  other.object.replace(other.object.find("\"name\":\"a\""), 10, "\"name\":\"b\"");
  refused(other, "an object of another name");
  other = creation(good);
  other.object.replace(other.object.find("shop"), 4, "cart");
  refused(other, "an object of another namespace");
  other = creation(good);
  other.object.replace(other.object.find("\"v1\""), 4, "\"v2\"");
  refused(other, "an object of another version");
  EXPECT_TRUE(d.settle(creation(good)).allowed());
}

TEST(Engine, AnErrorInADenialDenies) {
  Engine engine;
  load(engine, kNamed);
  load(engine, R"(
apiVersion: access.cardea.dev/v1alpha1
kind: ClusterAccessPolicy
metadata: {name: no-big-ones}
spec:
  effect: Deny
  rules: [{apiGroups: [""], resources: [persistentvolumeclaims], verbs: [create]}]
  expression: object.spec.size > 10
)");
  Decision d = engine.ask(asks("jane", "create", "persistentvolumeclaims"));
  ASSERT_EQ(d.outcome(), Outcome::kConditional);
  ASSERT_EQ(d.conditions().size(), 2u);
  EXPECT_EQ(d.conditions()[0].effect, Effect::kDeny);
  Decision settled = d.settle(creation(claim("jane-disks")));  // which has no size
  EXPECT_EQ(settled.outcome(), Outcome::kDeny);
  EXPECT_FALSE(settled.error().empty());
  EXPECT_EQ(d.settle(Change()).outcome(), Outcome::kDeny);
  EXPECT_EQ(engine.ask_unconditionally(asks("jane", "create", "persistentvolumeclaims")).outcome(),
            Outcome::kDeny);
}

TEST(Engine, ADecisionIsSettledByThePoliciesItWasMadeFrom) {
  auto engine = std::make_unique<Engine>();
  load(*engine, kNamed);
  Decision d = engine->ask(asks("jane", "create", "persistentvolumeclaims"));
  ASSERT_TRUE(engine->remove(kNamed));
  EXPECT_FALSE(engine->ask(asks("jane", "create", "persistentvolumeclaims")).allowed());
  engine.reset();
  EXPECT_TRUE(d.settle(creation(claim("jane-disks"))).allowed());
}

// The two phases together give the answer of an expression that knows everything at once.
TEST(Engine, TwoPhasesAgreeWithOne) {
  struct Case {
    const char* expression;
    bool (*holds)(std::string_view user, std::string_view storage_class);
  };
  const Case kCases[] = {
      {"object.spec.storageClassName == 'fast'",
       [](std::string_view, std::string_view c) { return c == "fast"; }},
      {"request.userInfo.username == 'jane'",
       [](std::string_view u, std::string_view) { return u == "jane"; }},
      {"request.userInfo.username == 'jane' || object.spec.storageClassName == 'fast'",
       [](std::string_view u, std::string_view c) { return u == "jane" || c == "fast"; }},
      {"request.userInfo.username == 'jane' && object.spec.storageClassName != 'fast'",
       [](std::string_view u, std::string_view c) { return u == "jane" && c != "fast"; }},
      {"object.spec.storageClassName.startsWith(request.userInfo.username)",
       [](std::string_view u, std::string_view c) { return c.starts_with(u); }},
  };
  for (const Case& one : kCases)
    for (std::string_view effect : {"Allow", "Deny"}) {
      Engine engine;
      load(engine, R"({"apiVersion":"access.cardea.dev/v1alpha1","kind":"ClusterAccessPolicy",
        "metadata":{"name":"a"},"spec":{"effect":")" +
                       std::string(effect) + R"(","expression":")" + one.expression + R"("}})");
      for (const char* user : {"jane", "joe"})
        for (const char* storage : {"fast", "slow", "joe-disks", ""}) {
          Decision d = engine.ask(asks(user, "create", "persistentvolumeclaims"));
          Outcome outcome = d.settle(creation(claim(storage))).outcome();
          Outcome wanted = !one.holds(user, storage) ? Outcome::kNoOpinion
                           : effect == "Allow"       ? Outcome::kAllow
                                                     : Outcome::kDeny;
          EXPECT_EQ(outcome, wanted)
              << one.expression << " " << effect << " " << user << " " << storage;
        }
    }
}

TEST(Engine, ReadsAskedOnConditionsAreFolded) {
  Engine engine;
  load(engine, R"({"apiVersion":"access.cardea.dev/v1alpha1","kind":"ClusterAccessPolicy",
    "metadata":{"name":"a"},"spec":{"effect":"Allow","expression":"object.a == 1"}})");
  EXPECT_EQ(engine.ask(asks("jane", "get", "pods", "shop", "a")).outcome(), Outcome::kNoOpinion);
}

constexpr char kPolicies[] = R"(
kind: Policy
apiVersion: authorization.openshift.io/v1beta3
metadata: {name: default, namespace: hammer}
roles:
  editor:
    rules:
    - {verbs: [create, update], resourceKinds: [Pod]}
    - {deny: true, verbs: [delete], resourceKinds: [pods]}
    - verbs: [update]
      resourceKinds: [services]
      attributeRestrictions: {fieldsMutatable: [labels]}
---
kind: PolicyBinding
apiVersion: authorization.openshift.io/v1beta3
metadata: {name: hammer, namespace: hammer}
roleBindings:
  editors:
    roleRef: {namespace: hammer, name: editor}
    userNames: [jane]
)";

TEST(Engine, DecidesByPoliciesOfNamespaces) {
  Engine engine;
  load(engine, kPolicies);
  // The rule names the kind.
  EXPECT_TRUE(engine.ask(asks("jane", "create", "pods", "hammer")).allowed());
  EXPECT_EQ(engine.ask(asks("jane", "delete", "pods", "hammer", "a")).outcome(), Outcome::kDeny);
  EXPECT_FALSE(engine.ask(asks("jane", "create", "pods", "other")).allowed());
  EXPECT_FALSE(engine.ask(asks("joe", "create", "pods", "hammer")).allowed());
  EXPECT_EQ(*engine.remove(kPolicies), 2u);
  EXPECT_FALSE(engine.ask(asks("jane", "create", "pods", "hammer")).allowed());
}

TEST(Engine, TellsWhichFieldsChangeWhereAPolicyRestrictsThem) {
  Engine engine;
  load(engine, kPolicies);
  Decision d = engine.ask(asks("jane", "update", "services", "hammer", "a"));
  ASSERT_EQ(d.outcome(), Outcome::kConditional) << d.reason() << d.error();
  auto service = [](std::string labels, std::string type) {
    return R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"a",)"
           R"("namespace":"hammer","labels":)" +
           labels + R"(},"spec":{"type":")" + type + "\"}}";
  };
  Change change;
  change.old_object = service(R"({"a":"b"})", "ClusterIP");
  change.object = service(R"({"a":"c"})", "ClusterIP");
  EXPECT_TRUE(d.settle(change).allowed());
  change.object = service(R"({"a":"c"})", "NodePort");
  EXPECT_FALSE(d.settle(change).allowed());
}

TEST(Engine, ExplainsWhatEverybodySaidAndWhatCameNear) {
  Engine engine;
  load(engine, kRoles);
  Explanation e = engine.explain(asks("jane", "delete", "pods", "shop", "a"));
  EXPECT_FALSE(e.decision.allowed());
  ASSERT_EQ(e.answers.size(), 3u);
  EXPECT_EQ(e.answers[0].authorizer, "access");
  EXPECT_EQ(e.answers[1].authorizer, "policy");
  EXPECT_EQ(e.answers[2].authorizer, "rbac");
  ASSERT_FALSE(e.near_misses.empty());
  EXPECT_EQ(e.near_misses[0].role, "reader");
  EXPECT_THAT(e.text, HasSubstr("NoOpinion"));
  EXPECT_THAT(e.text, HasSubstr("reader"));
  EXPECT_THAT(engine.explain(asks("jane", "get", "pods")).text,
              HasSubstr("Allow: RBAC: allowed by"));
  EXPECT_THAT(engine.explain(Request()).text, HasSubstr("error"));
}

// --- fields ---

constexpr char kFieldRoles[] = R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: labeller, namespace: shop}
rules:
- {apiGroups: [apps], resources: [deployments], verbs: [granular, "granular:labels"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: labellers, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: labeller}
subjects: [{kind: User, name: jane}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: editor, namespace: shop}
rules:
- {apiGroups: [apps], resources: [deployments], verbs: [update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: editors, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: editor}
subjects: [{kind: User, name: joe}]
)";

std::string deployment(std::string labels, int replicas) {
  return R"({"apiVersion":"apps/v1","kind":"Deployment",)"
         R"("metadata":{"name":"web","namespace":"shop","labels":)" +
         labels + R"(},"spec":{"replicas":)" + std::to_string(replicas) +
         R"(,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},)"
         R"("spec":{"containers":[{"name":"c","image":"i"}]}}}})";
}

Request updates(std::string user) {
  Request r = asks(std::move(user), "update", "deployments", "shop", "web");
  r.group = "apps";
  return r;
}

Change update(std::string from, std::string to) {
  Change c;
  c.old_object = std::move(from);
  c.object = std::move(to);
  return c;
}

TEST(EngineFields, TellsWhatAChangeTakes) {
  Engine engine;
  auto demands = engine.field_demands(
      updates("jane"), update(deployment(R"({"a":"b"})", 1), deployment(R"({"a":"c"})", 2)));
  ASSERT_TRUE(demands) << demands.error().message;
  ASSERT_EQ(demands->size(), 2u);
  EXPECT_EQ((*demands)[0].field, "metadata.labels.a");
  EXPECT_THAT((*demands)[0].covered_by, testing::Contains("granular:labels"));
  EXPECT_THAT((*demands)[0].needed, IsEmpty());
  EXPECT_EQ((*demands)[1].field, "spec.replicas");
}

TEST(EngineFields, JudgesAUserFieldByField) {
  Engine engine;
  load(engine, kFieldRoles);
  const std::string before = deployment(R"({"a":"b"})", 1);
  auto labels = engine.judge_fields(updates("jane"), update(before, deployment(R"({"a":"c"})", 1)));
  ASSERT_TRUE(labels) << labels.error().message;
  EXPECT_TRUE(labels->allowed) << labels->reason;
  EXPECT_EQ(labels->way, FieldJudgement::Way::kGranular);
  auto scale = engine.judge_fields(updates("jane"), update(before, deployment(R"({"a":"b"})", 5)));
  ASSERT_TRUE(scale);
  EXPECT_FALSE(scale->allowed);
  EXPECT_EQ(scale->field, "spec.replicas");
  EXPECT_FALSE(scale->missing_verb.empty());
  EXPECT_THAT(scale->reason, HasSubstr("spec.replicas"));
  auto whole = engine.judge_fields(updates("joe"), update(before, deployment(R"({"a":"b"})", 5)));
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->allowed);
  EXPECT_EQ(whole->way, FieldJudgement::Way::kVerb);
  auto nobody = engine.judge_fields(updates("jim"), update(before, before));
  ASSERT_TRUE(nobody);
  EXPECT_FALSE(nobody->allowed);
  EXPECT_EQ(nobody->way, FieldJudgement::Way::kNone);
}

TEST(EngineFields, WhatIsUncoveredTakesItsOwnVerbBesideTheVerbOfTheRequest) {
  Engine engine;
  load(engine, kFieldRoles);
  const Change change = update(deployment(R"({"a":"b"})", 1), deployment(R"({"a":"c"})", 1));
  EXPECT_TRUE(engine.judge_fields(updates("joe"), change)->allowed);
  load(engine, R"(
apiVersion: permissionconfig.k8s.io/v1
kind: UncoveredPermissionSet
metadata: {name: labels}
spec: {uncoveredPermissions: ['granular:label(a)']}
)");
  auto refused = engine.judge_fields(updates("joe"), change);
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->allowed);
  EXPECT_EQ(refused->field, "metadata.labels.a");
  EXPECT_EQ(refused->missing_verb, "granular:label(a)");
  EXPECT_THAT(engine.field_demands(updates("joe"), change)->at(0).needed,
              ElementsAre("granular:label(a)"));
}

TEST(EngineFields, APermissionMapAddsAPermission) {
  Engine engine;
  load(engine, R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: pauser}
rules:
- {apiGroups: [apps], resources: [deployments], verbs: [granular, 'granular:suspension']}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: pauser}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: pauser}
subjects: [{kind: User, name: pat, apiGroup: rbac.authorization.k8s.io}]
)");
  auto paused = [](std::string_view value) {
    return std::string(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web",)"
                       R"("namespace":"shop"},"spec":{"paused":)") +
           std::string(value) + "}}";
  };
  const Change change = update(paused("false"), paused("true"));
  EXPECT_FALSE(engine.judge_fields(updates("pat"), change)->allowed);
  load(engine, R"(
apiVersion: access.cardea.dev/v1alpha1
kind: PermissionMap
metadata: {name: pause}
spec:
  group: apps
  resource: deployments
  permissions: [{field: spec.paused, verb: suspension}]
)");
  EXPECT_TRUE(engine.judge_fields(updates("pat"), change)->allowed);
}

TEST(EngineFields, ADenialOfTheVerbLeavesNothingToFields) {
  Engine engine;
  load(engine, kFieldRoles);
  load(engine, R"({"apiVersion":"access.cardea.dev/v1alpha1","kind":"ClusterAccessPolicy",
    "metadata":{"name":"a"},"spec":{"effect":"Deny","rules":[{"apiGroups":["apps"],
    "resources":["deployments"],"verbs":["update"]}],
    "expression":"object.metadata.name == 'web'"}})");
  auto judged = engine.judge_fields(
      updates("jane"), update(deployment(R"({"a":"b"})", 1), deployment(R"({"a":"c"})", 1)));
  ASSERT_TRUE(judged);
  EXPECT_FALSE(judged->allowed);
  EXPECT_EQ(judged->way, FieldJudgement::Way::kNone);
}

TEST(EngineFields, LearnsFieldsFromADefinition) {
  Engine engine;
  constexpr char kDefinition[] = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              boom:
                type: boolean
                x-kubernetes-permission-verb: example.com/selfDestruct
                x-kubernetes-permission-excluded: true
)";
  Request r = asks("jane", "update", "widgets", "shop", "w");
  r.group = "example.com";
  auto widget = [](const char* boom) {
    return std::string(R"({"apiVersion":"example.com/v1","kind":"Widget",)"
                       R"("metadata":{"name":"w","namespace":"shop"},"spec":{"boom":)") +
           boom + "}}";
  };
  auto unknown = engine.field_demands(r, update(widget("false"), widget("true")));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Error::Code::kUnknownKind);
  load(engine, kDefinition);
  auto known = engine.field_demands(r, update(widget("false"), widget("true")));
  ASSERT_TRUE(known) << known.error().message;
  ASSERT_EQ(known->size(), 1u);
  EXPECT_EQ(known->at(0).field, "spec.boom");
  EXPECT_THAT(known->at(0).needed, ElementsAre("granular:example.com/selfDestruct"));
  ASSERT_TRUE(engine.remove(kDefinition));
  EXPECT_FALSE(engine.field_demands(r, update(widget("false"), widget("true"))));
}

TEST(EngineFields, WhatCannotBeJudgedIsAnErrorAndNoAllow) {
  Options options;
  options.masters = true;
  Engine engine(options);
  Request r = updates("root");
  r.user.groups = {"system:masters"};
  const std::string object = deployment("{}", 1);
  EXPECT_TRUE(engine.judge_fields(r, update(object, object))->allowed);
  EXPECT_FALSE(engine.judge_fields(r, update(object, "")));
  EXPECT_FALSE(engine.judge_fields(r, update("", object)));
  EXPECT_FALSE(engine.judge_fields(r, update(object, "{")));
  // A type that does not fit, an unknown field.
  std::string wrong = object;
  wrong.replace(wrong.find("\"replicas\":1"), 12, "\"replicas\":\"x\"");
  EXPECT_FALSE(engine.judge_fields(r, update(object, wrong)));
  wrong = object;
  wrong.replace(wrong.find("\"replicas\":1"), 12, "\"replicaz\":1");
  EXPECT_FALSE(engine.judge_fields(r, update(object, wrong)));
  r.subresource = "scale";
  EXPECT_FALSE(engine.judge_fields(r, update(object, object)));
  r.subresource = "";
  r.verb = "delete";
  EXPECT_FALSE(engine.judge_fields(r, update(object, object)));
}

// --- threads ---

TEST(EngineThreads, MayAskAndSettleWhileOthersLoad) {
  Engine engine;
  load(engine, kRoles);
  load(engine, kNamed);
  std::atomic<bool> done{false};
  std::atomic<int> asked{0}, wrong{0};
  std::vector<std::thread> askers;
  for (int i = 0; i < 3; ++i)
    askers.emplace_back([&] {
      do {
        // Documents that are loaded again and again stay in force all the time: there is no state
        // in between.
        if (!engine.ask(asks("jane", "get", "pods")).allowed()) ++wrong;
        Decision d = engine.ask(asks("jane", "create", "persistentvolumeclaims"));
        if (!d.settle(creation(claim("jane-disks"))).allowed()) ++wrong;
        if (d.settle(creation(claim("fast"))).allowed()) ++wrong;
        if (engine.ask(asks("joe", "get", "pods")).allowed()) ++wrong;
        ++asked;
      } while (!done);
    });
  for (int i = 0; i < 30; ++i) {
    load(engine, kRoles);
    load(engine, kNamed);
    load(engine, kPolicies);
    ASSERT_TRUE(engine.remove(kPolicies));
  }
  done = true;
  for (std::thread& t : askers) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(asked, 0);
}

TEST(EngineThreads, WhoAsksAfterALoadSeesIt) {
  Engine engine;
  for (int i = 0; i < 20; ++i) {
    load(engine, kRoles);
    std::thread([&] { EXPECT_TRUE(engine.ask(asks("jane", "get", "pods")).allowed()); }).join();
    ASSERT_TRUE(engine.remove(kRoles));
    std::thread([&] { EXPECT_FALSE(engine.ask(asks("jane", "get", "pods")).allowed()); }).join();
  }
}

}  // namespace
}  // namespace cardea::v1
