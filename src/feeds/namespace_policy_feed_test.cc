// Decisions by policies, as stories with these users: Clark owns the cluster, Hubert owns the
// project, Edgar edits it.
#include "feeds/namespace_policy_feed.h"

#include <gtest/gtest.h>

#include "authz/namespace_policy/policy_authorizer.h"
#include "authz/testing/allocations.h"
#include "base/strings.h"
#include "feeds/catalog_kinds.h"
#include "json/parse.h"
#include "schema/permissions/changed_fields.h"
#include "store/testing/memory_store.h"

namespace cardea::feeds {
namespace {

using namespace authz;
using namespace authz::namespace_policy;
using json::Value;
using Kind = Decision::Kind;

template <typename T>
T run(Task<T> task) {
  std::optional<T> value;
  spawn(std::move(task), [&](T v) { value.emplace(std::move(v)); });
  return std::move(*value);
}

Value parsed(std::string_view text) {
  return json::parse(text).value();
}

constexpr std::string_view kMaster = R"({"roles":{
  "view":{"rules":[{"verbs":["watch","list","get"],
    "resourceKinds":["*","-roles","-rolebindings","-policybindings","-policies"]}]},
  "edit":{"rules":[{"verbs":["*"],"resourceKinds":["*","-roles","-rolebindings","-policybindings",
    "-policies"]}]},
  "admin":{"rules":[{"verbs":["*","-create","-update","-delete"],"resourceKinds":["*"]},
    {"verbs":["create","update","delete"],"resourceKinds":["*","-policies","-policybindings"]}]},
  "cluster-admin":{"rules":[{"verbs":["*"],"resourceKinds":["*"],"nonResourceURLs":["*"]}]},
  "kubelet":{"rules":[{"verbs":["*"],"resourceKinds":["Pod","pods/status","pods/exec"],
    "attributeRestrictions":{"kind":"sameMinionRestriction"}}]},
  "asker":{"rules":[{"verbs":["create"],"resourceKinds":["subjectaccessreviews",
    "batchsubjectaccessreviews","resourceaccessreviews","localresourceaccessreviews"],
    "attributeRestrictions":{"kind":"IsPersonalSubjectAccessReview"}}]}}})";
constexpr std::string_view kHammer = R"({"roles":{
  "labelers":{"rules":[{"verbs":["watch","list","get"],"resourceKinds":["Deployment"]},
                       {"verbs":["update"],"resourceKinds":["Deployment"],
                         "attributeRestrictions":{"fieldsMutatable":["labels"]}}]},
  "fatFingered":{"rule":[{"Deny":"true","Verbs":["delete"],"ResourceKinds":["Deployment"],
    "AttributeRestrictions":{"labelsContain":["protected"]}}]}}})";
constexpr std::string_view kMasterBindings = R"({"roleBindings":{
  "admins":{"roleRef":{"namespace":"master","name":"cluster-admin"},"userNames":["clark"]},
  "kubelets":{"roleRef":{"namespace":"master","name":"kubelet"},"userNames":["system:node:n1"]},
  "askers":{"roleRef":{"namespace":"master","name":"asker"},"groupNames":["everybody"]}}})";
constexpr std::string_view kHammerMasterBindings = R"({"roleBindings":{
  "projectAdmins":{"roleRef":{"namespace":"master","name":"admin"},"userNames":["hubert"]},
  "editors":{"roleRef":{"namespace":"master","name":"edit"},"userNames":["edgar"]}}})";
constexpr std::string_view kHammerBindings = R"({"roleBindings":{
  "bots":{"roleRef":{"namespace":"hammer","name":"labelers"},"userNames":["bot"]},
  "fat":{"roleRef":{"namespace":"hammer","name":"fatFingered"},"userNames":["edgar"]}}})";

struct Ask {
  std::string user, verb, resource = "deployments", group = "apps", space = "hammer", name = "d",
                          subresource = "";
};

class NamespacePolicy : public ::testing::Test {
 protected:
  NamespacePolicy() : catalog_(catalog::Catalog::builtin()), kinds_(catalog_), nodes_(random_) {
    nodes_.change({}, {.node = "n1", .objects = {{node::Kind::kPod, "hammer", "mine"}}});
    around_.kinds = &kinds_;
    around_.nodes = &nodes_;
    put("policies/master/default", kMaster);
    put("policies/hammer/default", kHammer);
    put("policybindings/master/master", kMasterBindings);
    put("policybindings/hammer/master", kHammerMasterBindings);
    put("policybindings/hammer/hammer", kHammerBindings);
    feed_ = *NamespacePolicyFeed::start(*store_);
    authorizer_.emplace(feed_->snapshot(), around_);
  }
  void put(std::string_view where, std::string_view text) {
    std::string key = cat("/registry/authorization.openshift.io/", where);
    auto done = store::commit_sync(*store_, {{}, {store::Put{key, std::string(text)}}});
    ASSERT_TRUE(done && done->succeeded);
  }

  Attributes attributes(const Ask& ask) {
    user_ = {.name = ask.user, .groups = {"everybody"}};
    ask_ = ask;
    Attributes a(user_);
    a.is_resource_request = true;
    a.verb = ask_.verb;
    a.api_group = ask_.group;
    a.api_version = "v1";
    a.resource = ask_.resource;
    a.subresource = ask_.subresource;
    a.namespace_name = ask_.space;
    a.name = ask_.name;
    a.takes_conditions = true;
    return a;
  }
  Decision decide(const Ask& ask) { return *authorizer_->authorize(attributes(ask)); }

  // The second phase: by the compiled conditions, and by the texts that other evaluators read.
  Decision settle(const Decision& d, std::string_view object, std::string_view old) {
    Value now = parsed(object), before = parsed(old);
    std::string operation = before.is_null() ? "CREATE" : now.is_null() ? "DELETE" : "UPDATE";
    ConditionData data{.operation = operation,
                       .object = &now,
                       .old_object = &before,
                       .group = ask_.group,
                       .version = "v1",
                       .resource = ask_.resource,
                       .name = ask_.name,
                       .user = &user_};
    const ConditionData parent = data;
    data.parent = &parent;
    Decision out = run(authorizer_->evaluate(d.conditions, data));
    Decision by_text = run(authorizer_->evaluate(texts_only(d).conditions, data));
    EXPECT_EQ(out.kind, by_text.kind) << by_text.error;
    return out;
  }
  static Decision texts_only(const Decision& d) {
    if (d.kind != Kind::kConditional) return d;
    if (const Conditions::Set* set = d.conditions->set()) {
      Conditions::Set out = *set;
      for (Condition& c : out.conditions) {
        if (c.on_parent) continue;  // which no other evaluator can judge
        c.text = c.shown_text();
        c.compiled = nullptr;
      }
      return Decision::conditional(std::make_shared<const Conditions>(std::move(out)));
    }
    Conditions::Chain out;
    for (const NamedDecision& n : *d.conditions->chain())
      out.push_back({n.authorizer, texts_only(n.decision)});
    return Decision::conditional(std::make_shared<const Conditions>(std::move(out)));
  }

  SystemClock clock_;
  SystemRandom random_;
  std::unique_ptr<store::Store> store_ = store::make_memory_store(clock_);
  Snapshot<catalog::Catalog> catalog_;
  CatalogKinds kinds_;
  node::Graph nodes_;
  Surroundings around_;
  std::unique_ptr<NamespacePolicyFeed> feed_;
  std::optional<PolicyAuthorizer> authorizer_;
  User user_;
  Ask ask_;
};

TEST_F(NamespacePolicy, AllowsWhatTheMasterNamespaceAllowsEverywhere) {
  EXPECT_TRUE(decide({"clark", "delete"}).allowed());
  EXPECT_TRUE(decide({.user = "clark", .verb = "get", .space = ""}).allowed());
  EXPECT_EQ(
      decide({"hubert", "delete"}).reason.text(),
      R"(allowed by rule in hammer: rule 1 of role "master/admin", bound by "projectAdmins")");
  EXPECT_EQ(decide({.user = "hubert", .verb = "get", .space = "anvil"}).kind, Kind::kNoOpinion);
  EXPECT_EQ(decide({"stranger", "get"}).kind, Kind::kNoOpinion);
}

TEST_F(NamespacePolicy, KeepsEditorsFromPolicy) {
  EXPECT_TRUE(decide({"edgar", "update"}).kind == Kind::kConditional) << "the label must stay";
  EXPECT_TRUE(
      decide({.user = "edgar", .verb = "create", .resource = "configmaps", .group = "", .name = ""})
          .allowed());
  EXPECT_EQ(decide({.user = "edgar",
                    .verb = "update",
                    .resource = "roles",
                    .group = "authorization.openshift.io"})
                .kind,
            Kind::kNoOpinion);
}

TEST_F(NamespacePolicy, DeniesTheDeletionOfWhatIsProtected) {
  Decision d = decide({"edgar", "delete"});
  ASSERT_EQ(d.kind, Kind::kConditional);
  Decision denied = settle(d, "null", R"({"metadata":{"labels":{"protected":"yes"}}})");
  EXPECT_EQ(denied.kind, Kind::kDeny);
  EXPECT_TRUE(
      denied.reason.text().starts_with(R"(condition "policy.openshift.io/hammer.fatFingered.0")"))
      << denied.reason.text();
  EXPECT_TRUE(settle(d, "null", R"({"metadata":{"labels":{"other":"yes"}}})").allowed());
  EXPECT_EQ(decide({"edgar", "deletecollection"}).kind, Kind::kConditional);
}

TEST_F(NamespacePolicy, ALabelThatForbidsCannotBeTakenOffFirst) {
  for (const char* verb : {"update", "patch"}) {
    for (const char* subresource : {"", "status"}) {
      Decision d = decide({.user = "edgar", .verb = verb, .subresource = subresource});
      ASSERT_EQ(d.kind, Kind::kConditional);
      EXPECT_EQ(
          settle(d, R"({"metadata":{}})", R"({"metadata":{"labels":{"protected":"yes"}}})").kind,
          Kind::kDeny);
      EXPECT_TRUE(settle(d, R"({"metadata":{"labels":{"protected":"yes"}},"spec":{"replicas":3}})",
                         R"({"metadata":{"labels":{"protected":"yes"}}})")
                      .allowed());
    }
  }
}

TEST_F(NamespacePolicy, LetsLabelersChangeLabelsAndNothingElse) {
  EXPECT_TRUE(decide({"bot", "get"}).allowed());
  EXPECT_EQ(decide({"bot", "delete"}).kind, Kind::kNoOpinion);
  for (const char* verb : {"update", "patch"}) {
    Decision d = decide({"bot", verb});
    ASSERT_EQ(d.kind, Kind::kConditional);
    EXPECT_EQ(d.conditions->set()->conditions[0].type, kFieldsType);
    EXPECT_EQ(d.conditions->set()->conditions[0].shown_text(), R"(["labels"])");
    EXPECT_TRUE(
        settle(d, R"({"metadata":{"name":"d","labels":{"protected":"yes"}},"spec":{"replicas":1}})",
               R"({"metadata":{"name":"d"},"spec":{"replicas":1}})")
            .allowed());
    EXPECT_EQ(settle(d, R"({"metadata":{"name":"d","labels":{"a":"b"}},"spec":{"replicas":2}})",
                     R"({"metadata":{"name":"d"},"spec":{"replicas":1}})")
                  .kind,
              Kind::kNoOpinion);
  }
}

TEST_F(NamespacePolicy, LetsKubeletsTouchPodsOfTheirNodeOnly) {
  auto pod = [](std::string verb, std::string name, std::string sub = "") {
    return Ask{.user = "system:node:n1",
               .verb = std::move(verb),
               .resource = "pods",
               .group = "",
               .name = std::move(name),
               .subresource = std::move(sub)};
  };
  EXPECT_TRUE(decide(pod("get", "mine")).allowed());
  EXPECT_FALSE(decide(pod("get", "other")).allowed());
  EXPECT_TRUE(decide(pod("create", "mine", "exec")).allowed());
  EXPECT_FALSE(decide(pod("create", "other", "exec")).allowed());
  EXPECT_FALSE(decide(pod("list", "")).allowed());
  Selectors selectors;
  selectors.fields.add({"spec.nodeName", true, "n1"});
  Attributes a = attributes(pod("list", ""));
  a.selectors = &selectors;
  EXPECT_TRUE(authorizer_->authorize(a)->allowed());
  Decision d = decide(pod("delete", "mine"));
  ASSERT_EQ(d.kind, Kind::kConditional);
  EXPECT_TRUE(settle(d, "null", R"({"spec":{"nodeName":"n1"}})").allowed());
  EXPECT_EQ(settle(d, "null", R"({"spec":{"nodeName":"n2"}})").kind, Kind::kNoOpinion);
  EXPECT_EQ(settle(d, "null", R"({"metadata":{}})").kind, Kind::kNoOpinion);
  Decision c = decide(pod("create", ""));
  ASSERT_EQ(c.kind, Kind::kConditional);
  EXPECT_TRUE(settle(c, R"({"spec":{"nodeName":"n1"}})", "null").allowed());
}

TEST_F(NamespacePolicy, LetsPeopleAskAboutThemselves) {
  Decision d = decide({.user = "ann",
                       .verb = "create",
                       .resource = "subjectaccessreviews",
                       .group = "authorization.k8s.io",
                       .name = ""});
  ASSERT_EQ(d.kind, Kind::kConditional);
  EXPECT_TRUE(settle(d, R"({"spec":{"user":"ann"}})", "null").allowed());
  EXPECT_TRUE(settle(d, R"({"spec":{}})", "null").allowed());
  EXPECT_TRUE(settle(d, R"({"spec":{"user":"ann","groups":["everybody"]}})", "null").allowed());
  EXPECT_EQ(settle(d, R"({"spec":{"user":"bob"}})", "null").kind, Kind::kNoOpinion);
  EXPECT_EQ(settle(d, R"({"spec":{"user":"ann","groups":["everybody","admins"]}})", "null").kind,
            Kind::kNoOpinion);
  EXPECT_EQ(settle(d, R"({"user":"bob"})", "null").kind, Kind::kNoOpinion);
}

TEST_F(NamespacePolicy, EveryItemOfAPersonalBatchIsAboutItsSender) {
  Decision d = decide({.user = "ann",
                       .verb = "create",
                       .resource = "batchsubjectaccessreviews",
                       .group = "access.cardea.dev",
                       .name = ""});
  ASSERT_EQ(d.kind, Kind::kConditional);
  EXPECT_TRUE(
      settle(d, R"({"spec":{"user":"ann","items":[{},{"user":"ann"},{"groups":["everybody"]}]}})",
             "null")
          .allowed());
  for (auto item : {R"({"user":"bob"})", R"({"user":"ann","groups":["system:masters"]})",
                    R"({"user":"ann","groups":["everybody","admins"]})",
                    R"({"user":"ann","uid":"7"})", R"({"user":"ann","extra":{"scope":["s"]}})"}) {
    EXPECT_EQ(settle(d, cat(R"({"spec":{"user":"ann","items":[{},)", item, "]}}"), "null").kind,
              Kind::kNoOpinion)
        << item;
    EXPECT_EQ(settle(d, cat(R"({"spec":)", item, "}"), "null").kind, Kind::kNoOpinion) << item;
  }
}

TEST_F(NamespacePolicy, AReviewOfWhoCanIsAboutEverybody) {
  for (auto group : {"access.cardea.dev", "authorization.openshift.io", ""})
    for (auto resource :
         {"resourceaccessreviews", "localresourceaccessreviews", "ResourceAccessReviews"})
      EXPECT_EQ(
          decide(
              {.user = "ann", .verb = "create", .resource = resource, .group = group, .name = ""})
              .kind,
          Kind::kNoOpinion)
          << group << " " << resource;
}

TEST_F(NamespacePolicy, ACallerWhoCannotWaitIsDeniedWhatMightBeDenied) {
  Attributes a = attributes({"edgar", "delete"});
  a.takes_conditions = false;
  EXPECT_EQ(authorizer_->authorize(a)->kind, Kind::kDeny);
  Attributes b = attributes({"bot", "update"});
  b.takes_conditions = false;
  EXPECT_EQ(authorizer_->authorize(b)->kind, Kind::kNoOpinion);
}

TEST_F(NamespacePolicy, AnErrorIsNeverAnAllow) {
  put("policybindings/hammer/master",
      R"({"roleBindings": {
            "x": {"roleRef": {"namespace": "master", "name": "gone"}, "userNames": ["hubert"]},
            "y": {"roleRef": {"namespace": "master", "name": "admin"},
              "userNames": ["hubert", "other"]}}})");
  Decision d = decide({"hubert", "delete"});
  EXPECT_EQ(d.kind, Kind::kDeny);
  EXPECT_EQ(d.error, R"(role "master/gone" not found)");
  EXPECT_TRUE(decide({"other", "delete"}).allowed()) << "whom the broken binding does not name";
  EXPECT_TRUE(decide({"clark", "delete"}).allowed()) << "an earlier step decided";
  put("policybindings/hammer/master",
      R"({"roleBindings": {
            "x": {"roleRef": {"namespace": "master", "name": "admin"}, "userNames": "hubert"}}})");
  EXPECT_EQ(decide({"anybody", "get"}).kind, Kind::kDeny);
  EXPECT_NE(decide({"anybody", "get"}).error, "");
  put("policybindings/hammer/master", "not json");
  EXPECT_EQ(decide({"anybody", "get"}).kind, Kind::kDeny);
  EXPECT_TRUE(decide({"clark", "delete"}).allowed());
  put("policybindings/hammer/master", kHammerMasterBindings);
  EXPECT_TRUE(decide({"hubert", "delete"}).allowed());
  put("policies/hammer/default",
      R"({"roles": {"fatFingered": {
              "rules": [{"deny": true, "verbs": ["delete"], "resourceKinds": ["deployments"],
                  "attributeRestrictions": {"kind": "fullMoon"}}]}}})");
  EXPECT_EQ(decide({"edgar", "delete"}).kind, Kind::kDeny)
      << "a restriction that is not known holds for a denial";
  put("policies/hammer/default", R"({"roles":{"fatFingered":{"rules":[{"verbs":"*"}]}}})");
  EXPECT_EQ(decide({"edgar", "get"}).kind, Kind::kDeny)
      << "a role that cannot be read might have denied";
}

TEST_F(NamespacePolicy, AWriteIsSeenByTheNextDecision) {
  EXPECT_EQ(decide({"newcomer", "get"}).kind, Kind::kNoOpinion);
  put("policybindings/hammer/master",
      R"({"roleBindings": {
            "v": {"roleRef": {"namespace": "master", "name": "view"},
              "userNames": ["newcomer"]}}})");
  EXPECT_TRUE(decide({"newcomer", "get"}).allowed());
  auto gone = store::commit_sync(
      *store_,
      {{}, {store::Delete{"/registry/authorization.openshift.io/policybindings/hammer/master"}}});
  ASSERT_TRUE(gone && gone->succeeded);
  EXPECT_EQ(decide({"newcomer", "get"}).kind, Kind::kNoOpinion);
}

TEST_F(NamespacePolicy, KeepsBothReasons) {
  put("policies/hammer/default",
      R"({"roles": {"fatFingered": {
              "rules": [{"deny": true, "verbs": ["delete"], "resourceKinds": ["deployment"]}]},
            "labelers": {}}})");
  Answer answer = authorizer_->explain(attributes({"edgar", "delete"}));
  EXPECT_EQ(answer.decision.kind, Kind::kDeny);
  EXPECT_TRUE(answer.allowed_by.starts_with("allowed by rule in hammer")) << answer.allowed_by;
  EXPECT_TRUE(answer.denied_because.starts_with("denied by rule in hammer"))
      << answer.denied_because;
  EXPECT_EQ(authorizer_->explain(attributes({"stranger", "delete"})).denied_because,
            "denied by default");
}

TEST_F(NamespacePolicy, DecidesWithoutAllocating) {
  Attributes a = attributes({"hubert", "delete"});
  authorizer_->authorize(a);
  if (counted_allocations() < 0)
    GTEST_SKIP() << "the thread sanitizer has an allocator of its own, so nothing counts here";
  long before = counted_allocations();
  bool allowed = authorizer_->authorize(a)->allowed();
  EXPECT_EQ(counted_allocations(), before);
  EXPECT_TRUE(allowed);
}

TEST_F(NamespacePolicy, TellsWhoCan) {
  AllowedSubjects found;
  authorizer_->add_allowed(attributes({"", "delete"}), found);
  std::vector<std::string> names;
  for (const AllowedSubject& s : found.subjects) names.push_back(cat(s.kind, " ", s.name));
  EXPECT_EQ(names, (std::vector<std::string>{"User clark", "User edgar", "User hubert"}));
  EXPECT_TRUE(found.incomplete) << "edgar only what is not protected";
  put("policies/hammer/default",
      R"({"roles": {"fatFingered": {
              "rules": [{"deny": true, "verbs": ["delete"], "resourceKinds": ["deployment"]}]},
            "labelers": {}}})");
  AllowedSubjects now;
  authorizer_->add_allowed(attributes({"", "delete"}), now);
  ASSERT_EQ(now.subjects.size(), 2u);
  EXPECT_EQ(now.subjects[1].name, "hubert");
}

// Allows some users by their names, as RBAC would.
class Named : public Authorizer {
 public:
  std::string_view name() const override { return "named"; }
  std::optional<Decision> authorize(const Attributes& a) const override {
    bool is_named = a.user.name == "edgar" || a.user.name == "zoe" || a.user.in_group("interns") ||
                    a.user.in_group("editors");
    return is_named ? Decision::allow("named") : Decision::no_opinion();
  }
  void add_allowed(const Attributes&, AllowedSubjects& allowed) const override {
    for (auto [kind, name] : {std::pair("User", "edgar"), std::pair("User", "zoe"),
                              std::pair("Group", "interns"), std::pair("Group", "editors")})
      allowed.subjects.push_back({.kind = kind,
                                  .name = name,
                                  .namespace_name = "",
                                  .binding_kind = "",
                                  .binding_namespace = "",
                                  .binding = "",
                                  .role_kind = "",
                                  .role = "",
                                  .rule = {}});
  }
};

TEST_F(NamespacePolicy, WhomItDeniesNobodyAfterItIsSaidToAllow) {
  put("policies/hammer/default",
      R"({"roles": {"fatFingered": {
              "rules": [{"deny": true, "verbs": ["delete"], "resourceKinds": ["deployment"]}]},
            "labelers": {}}})");
  put("policybindings/hammer/hammer",
      R"({"roleBindings": {"fat": {"roleRef": {"namespace": "hammer", "name": "fatFingered"},
              "userNames": ["edgar"], "groupNames": ["interns"]}}})");
  auto names = [](const AllowedSubjects& found) {
    std::vector<std::string> out;
    for (const AllowedSubject& s : found.subjects) out.push_back(cat(s.kind, " ", s.name));
    return out;
  };
  std::shared_ptr<const Authorizer> policy = authorizer_->frozen(),
                                    named = std::make_shared<Named>();
  AllowedSubjects found = Chain({policy, named}).allowed(attributes({"", "delete"}));
  EXPECT_EQ(names(found),
            (std::vector<std::string>{"User clark", "User hubert", "User zoe", "Group editors"}));
  EXPECT_TRUE(found.incomplete);
  ASSERT_EQ(found.remarks.size(), 2u);
  EXPECT_EQ(
      found.remarks[0],
      R"(namespace policy denies this to members of "interns": those listed may be among them)");
  EXPECT_EQ(
      found.remarks[1],
      R"(namespace policy denies this to "edgar"; these users may be members of a listed group)");
  EXPECT_EQ(names(Chain({named, policy}).allowed(attributes({"", "delete"})))[0], "User edgar")
      << "who allows first allows";
  // Every user is in some groups.
  put("policybindings/hammer/hammer",
      R"({"roleBindings": {"fat": {"roleRef": {"namespace": "hammer", "name": "fatFingered"},
              "groupNames": ["system:authenticated"]}}})");
  EXPECT_EQ(names(Chain({authorizer_->frozen(), named}).allowed(attributes({"", "delete"}))),
            std::vector<std::string>{"User clark"});
  // A condition on the object removes no user from the list.
  put("policies/hammer/default", kHammer);
  EXPECT_EQ(names(Chain({authorizer_->frozen(), named}).allowed(attributes({"", "delete"}))).size(),
            7u);
}

TEST_F(NamespacePolicy, WhoIsKnownAsksAboutThemselves) {
  User known{.name = "stranger", .groups = {"system:authenticated"}}, unknown{.name = "nobody"};
  auto asks = [&](const User& user, std::string_view resource, std::string_view verb = "create",
                  std::string_view group = "authorization.openshift.io", bool waits = true) {
    Attributes a(user);
    a.is_resource_request = true;
    a.verb = verb;
    a.api_group = group;
    a.api_version = "v1beta3";
    a.resource = resource;
    a.namespace_name = "hammer";
    a.takes_conditions = waits;
    const Decision decision = *authorizer_->authorize(a);
    EXPECT_EQ(authorizer_->frozen()->authorize(a)->kind, decision.kind);
    return decision.kind;
  };
  using Kind = Decision::Kind;
  EXPECT_EQ(asks(known, "subjectaccessreviews"), Kind::kConditional);
  EXPECT_EQ(asks(known, "localsubjectaccessreviews"), Kind::kConditional);
  EXPECT_EQ(asks(known, "subjectaccessreviews", "create", "authorization.openshift.io", false),
            Kind::kNoOpinion)
      << "an error is never an allow: nobody looks at the content";
  EXPECT_EQ(asks(known, "resourceaccessreviews"), Kind::kNoOpinion);
  EXPECT_EQ(asks(known, "roles"), Kind::kNoOpinion);
  EXPECT_EQ(asks(known, "subjectaccessreviews", "get"), Kind::kNoOpinion);
  EXPECT_EQ(asks(known, "subjectaccessreviews", "create", "authorization.k8s.io"),
            Kind::kNoOpinion);
  EXPECT_EQ(asks(unknown, "subjectaccessreviews"), Kind::kNoOpinion);
}

TEST_F(NamespacePolicy, ListsPlainRulesAndTellsThatThereAreOthers) {
  Rules rules;
  authorizer_->add_rules({.name = "bot"}, "hammer", rules);
  ASSERT_EQ(rules.resource_rules.size(), 1u);
  EXPECT_EQ(rules.resource_rules[0].resources,
            (std::vector<std::string>{"deployments", "deployments/scale", "deployments/status"}));
  EXPECT_TRUE(rules.incomplete);
}

TEST_F(NamespacePolicy, ListsWhatItMayDenyRatherTooMuchThanTooLittle) {
  auto denied = [&](std::string_view rule, std::string_view space = "hammer") {
    put("policies/hammer/default", cat(R"({"roles":{"r":{"rules":[)", rule, "]}}}"));
    put("policybindings/hammer/hammer",
        R"({"roleBindings": {
              "b": {"roleRef": {"namespace": "hammer", "name": "r"}, "userNames": ["bot"]}}})");
    Rules rules;
    authorizer_->add_rules({.name = "bot"}, space, rules);
    std::vector<std::string> out;
    for (const ResourceRule& r : rules.denied_resources)
      out.insert(out.end(), r.resources.begin(), r.resources.end());
    return join(out, ",");
  };
  EXPECT_EQ(denied(R"({"verbs":["get"],"resourceKinds":["pods"]})"), "");
  EXPECT_EQ(denied(
                R"({"deny": true, "verbs": ["get"], "resourceKinds": ["Deployment"],
              "attributeRestrictions": {"labelsContain": ["x"]}})"),
            "deployments");
  EXPECT_EQ(denied(R"({"deny":true,"verbs":["get"],"resourceKinds":["*","-pods"]})"), "*");
  EXPECT_EQ(denied(R"({"deny":true,"verbs":["get"],"resourceKinds":["resourcegroup:nothing"]})"),
            "*");
  EXPECT_EQ(denied(
                R"({"deny": true, "verbs": ["get"], "resourceKinds": ["pods"],
              "attributeRestrictions": {"kind": "nobody-knows"}})"),
            "*");
  EXPECT_EQ(denied(R"({"verbs":["get"],"resourceKinds":["resourcegroup:nothing"]})"), "*")
      << "what cannot be read denies";
  EXPECT_EQ(denied(R"({"deny":true,"verbs":["get"],"resourceKinds":["pods"]})", ""), "*")
      << "somewhere in the cluster";
}

TEST_F(NamespacePolicy, WordsAreComparedWithoutCase) {
  EXPECT_EQ(decide({.user = "edgar", .verb = "Delete"}).kind, Kind::kDeny)
      << "no such request can wait for an object";
  EXPECT_TRUE(decide({"clark", "DELETE"}).allowed());
}

TEST_F(NamespacePolicy, ADenialOfANameWaitsForTheNameOfWhatIsCreated) {
  put("policies/hammer/default",
      R"({"roles": {"fatFingered": {"rules": [
                {"deny": true, "verbs": ["create", "delete"], "resourceKinds": ["deployments"],
                  "resourceNames": ["crown"]}]}, "labelers": {}}})");
  Decision d = decide({.user = "edgar", .verb = "create", .name = ""});
  ASSERT_EQ(d.kind, Kind::kConditional);
  ask_.name = "crown";
  EXPECT_EQ(settle(d, R"({"metadata":{"name":"crown"}})", "null").kind, Kind::kDeny);
  ask_.name = "hat";
  EXPECT_TRUE(settle(d, R"({"metadata":{"name":"hat"}})", "null").allowed());
  EXPECT_EQ(decide({.user = "edgar", .verb = "deletecollection", .name = ""}).kind, Kind::kDeny)
      << "all of them, the crown too";
  EXPECT_EQ(decide({.user = "edgar", .verb = "delete", .name = "crown"}).kind, Kind::kDeny);
  EXPECT_TRUE(decide({.user = "edgar", .verb = "delete", .name = "hat"}).allowed());
}

}  // namespace
}  // namespace cardea::feeds
