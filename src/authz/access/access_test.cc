#include <gtest/gtest.h>

#include <random>

#include "authz/access/access_authorizer.h"
#include "authz/access/residuals.h"
#include "authz/wire/decision_json.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::authz::access {
namespace {

using json::Value;
using Kind = Decision::Kind;

template <typename T>
T run(Task<T> task) {
  std::optional<T> value;
  spawn(std::move(task), [&](T v) { value.emplace(std::move(v)); });
  return std::move(*value);
}

PolicyPtr policy(std::string name, std::string spec, std::string space = "") {
  auto object = json::parse(cat(R"({"spec":)", spec, "}"));
  EXPECT_TRUE(object) << spec;
  return std::make_shared<const Policy>(space, name, *object);
}

struct Ask {
  User user{.name = "alice", .groups = {"dev", "system:authenticated"}};
  std::string verb = "create", group = "", resource = "pods", subresource = "", space = "ns",
              name = "";
  Attributes attributes() const {
    Attributes a(user);
    a.is_resource_request = true;
    a.verb = verb;
    a.api_group = group;
    a.api_version = "v1";
    a.resource = resource;
    a.subresource = subresource;
    a.namespace_name = space;
    a.name = name;
    a.takes_conditions = true;
    return a;
  }
};

Index index_of(std::initializer_list<PolicyPtr> policies) {
  Index index;
  for (const PolicyPtr& p : policies) index.add(p);
  return index;
}

Decision settle(const Decision& d, const char* object, const char* old = "null") {
  // Conditions are evaluated without reading the policies again.
  const Snapshot<Index> none(std::make_shared<const Index>());
  AccessAuthorizer authorizer(none);
  Value o = *json::parse(object), p = *json::parse(old);
  ConditionData data{.operation = old == std::string_view("null") ? "CREATE" : "UPDATE",
                     .object = &o,
                     .old_object = &p};
  return run(authorizer.evaluate(d.conditions, data));
}

TEST(Access, APolicyWithoutSubjectsAndRulesConcernsEverything) {
  Index index = index_of({policy("all", R"({"effect":"Allow"})")});
  EXPECT_TRUE(decide(index, Ask{}.attributes()).allowed());
}

TEST(Access, SubjectsAndRulesSelect) {
  Index index = index_of(
      {policy("p", R"({"effect":"Allow","subjects":[{"kind":"User","name":"alice"}],
          "rules":[{"verbs":["create"],"apiGroups":[""],"resources":["pods","pods/exec"]}]})")});
  EXPECT_TRUE(decide(index, Ask{}.attributes()).allowed());
  EXPECT_EQ(decide(index, Ask{.user = {.name = "bob"}}.attributes()).kind, Kind::kNoOpinion);
  EXPECT_EQ(decide(index, Ask{.verb = "delete"}.attributes()).kind, Kind::kNoOpinion);
  EXPECT_TRUE(decide(index, Ask{.subresource = "exec"}.attributes()).allowed());
  EXPECT_EQ(decide(index, Ask{.subresource = "log"}.attributes()).kind, Kind::kNoOpinion);
}

TEST(Access, WhatIsKnownIsSettledAndTheRestBecomesACondition) {
  Index index = index_of({policy("owners", R"({"effect":"Allow","description":"yours only",
      "expression":"request.resource == 'pods' && object.metadata.labels.owner == )"
                                           R"(request.userInfo.username"})")});
  Decision d = decide(index, Ask{}.attributes());
  ASSERT_EQ(d.kind, Kind::kConditional);
  const Condition& c = d.conditions->set()->conditions.at(0);
  EXPECT_EQ(c.id, "clusteraccesspolicy.access.cardea.dev/owners");
  EXPECT_EQ(c.shown_text(), R"(object.metadata.labels.owner == "alice")");
  EXPECT_EQ(c.description, "yours only");
  EXPECT_TRUE(settle(d, R"({"metadata":{"labels":{"owner":"alice"}}})").allowed());
  EXPECT_EQ(settle(d, R"({"metadata":{"labels":{"owner":"bob"}}})").kind, Kind::kNoOpinion);
  EXPECT_EQ(decide(index, Ask{.resource = "secrets"}.attributes()).kind, Kind::kNoOpinion);
}

TEST(Access, APolicyCanAllowAListByWhatItSelects) {
  Index index = index_of({policy("dev", R"({"effect":"Allow","rules":[{"verbs":["list","watch"],
      "apiGroups":[""],"resources":["pods"]}],"expression":"request.labelSelector.requirements)"
                                        R"(.exists(r, r.key == 'env' && r.operator == 'In' && )"
                                        R"json(r.values == ['dev'])"})json")});
  auto kind = [&](std::string_view fields, std::string_view labels) {
    const Ask ask{.verb = "list"};
    const auto selectors = read_selectors(fields, labels);
    Attributes a = ask.attributes();
    a.selectors = selectors.get();
    return decide(index, a).kind;
  };
  EXPECT_EQ(kind("", "env=dev"), Kind::kAllow);
  EXPECT_EQ(kind("metadata.name=x", "app!=x,env in (dev),!old"), Kind::kAllow);
  EXPECT_EQ(kind("", ""), Kind::kNoOpinion);
  EXPECT_EQ(kind("", "env!=dev"), Kind::kNoOpinion);
  EXPECT_EQ(kind("", "env in (dev,prod)"), Kind::kNoOpinion);
  EXPECT_EQ(kind("env=dev", ""), Kind::kNoOpinion);
  EXPECT_EQ(kind("", "env=dev,,=("), Kind::kNoOpinion) << "an error is never an allow";
}

TEST(Access, ADenialByWhatIsSelectedAndAFieldSelector) {
  Index index = index_of(
      {policy("all", R"({"effect":"Allow"})"),
       policy(
           "own",
           R"({"effect":"Deny","rules":[{"verbs":["list"],"apiGroups":[""],
          "resources":["pods"]}],"expression":"!request.fieldSelector.requirements.exists(r, )"
           R"json(r.key == 'spec.nodeName' && r.operator == 'In' && r.values == ['n1'])"})json")});
  auto kind = [&](std::string_view fields) {
    const Ask ask{.verb = "list"};
    const auto selectors = read_selectors(fields, "");
    Attributes a = ask.attributes();
    a.selectors = selectors.get();
    return decide(index, a).kind;
  };
  EXPECT_EQ(kind("spec.nodeName=n1"), Kind::kAllow);
  EXPECT_EQ(kind(""), Kind::kDeny);
  EXPECT_EQ(kind("spec.nodeName!=n1"), Kind::kDeny);
}

// `count` policies of each effect whose conditions differ, all about one request.
Index crowd(int count) {
  Index index;
  for (int i = 0; i < count; ++i)
    for (const char* effect : {"Allow", "Deny", "NoOpinion"})
      index.add(policy(cat(effect, "-", i), cat(R"({"effect":")", effect, R"(","expression":")",
                                                R"(object.)", effect, " == ", i, R"("})")));
  return index;
}

TEST(Access, AnyNumberOfConditionsIsSettled) {
  Index index = crowd(130);
  Decision d = decide(index, Ask{}.attributes());
  ASSERT_EQ(d.kind, Kind::kConditional) << d.error;
  EXPECT_TRUE(settle(d, R"({"Allow":129,"Deny":-1,"NoOpinion":-1})").allowed());
  EXPECT_EQ(settle(d, R"({"Allow":129,"Deny":129,"NoOpinion":-1})").kind, Kind::kDeny);
  EXPECT_EQ(settle(d, R"({"Allow":129,"Deny":-1,"NoOpinion":129})").kind, Kind::kNoOpinion);
  index.add(policy("plain", R"({"effect":"Allow"})"));
  d = decide(index, Ask{}.attributes());
  EXPECT_TRUE(settle(d, R"({"Allow":-1,"Deny":-1,"NoOpinion":-1})").allowed());
  EXPECT_EQ(settle(d, R"({"Allow":-1,"Deny":77,"NoOpinion":-1})").kind, Kind::kDeny);
}

TEST(Access, WhatAnotherServerIsToldFailsClosedOnlyWhereItIsTooMuch) {
  // Denials are split. 100 NoOpinion conditions leave room for 28 that allow.
  Decision d = decide(crowd(100), Ask{}.attributes());
  for (bool as_list : {true, false}) {
    json::FieldErrors errors;
    const Decision named = fold_named({{"access", d}, {"other", Decision::no_opinion()}});
    auto told = as_list ? wire::from_list(wire::as_list(named), "x", errors, Author::kOwn)
                        : wire::from_tree(wire::as_tree(named), "x", errors, Author::kOwn);
    ASSERT_TRUE(told) << told.error().message;
    auto outcome = [&](const char* object) {
      Value o = *json::parse(object);
      SecondaryChecks checks(nullptr, nullptr);
      ConditionData data{.operation = "CREATE", .object = &o};
      ResidualRuns runs(data, checks);
      return partially_evaluated(*told, runs).kind;
    };
    EXPECT_EQ(outcome(R"({"Allow":1,"Deny":-1,"NoOpinion":-1})"), Kind::kAllow);
    EXPECT_EQ(outcome(R"({"Allow":1,"Deny":99,"NoOpinion":-1})"), Kind::kDeny);
    EXPECT_EQ(outcome(R"({"Allow":1,"Deny":-1,"NoOpinion":99})"), Kind::kNoOpinion);
    EXPECT_EQ(outcome(R"({"Allow":99,"Deny":-1,"NoOpinion":-1})"), Kind::kNoOpinion);
  }
}

TEST(Access, ATextThatIsTooLongToBeSentIsSettledAllTheSame) {
  Index index = index_of({policy("long", R"({"effect":"Allow","description":"own groups",
      "expression":"object.name in request.userInfo.groups"})")});
  Ask ask;
  for (int i = 0; i < 2'000; ++i) ask.user.groups.push_back(cat("name-", i));
  Decision d = decide(index, ask.attributes());
  ASSERT_EQ(d.kind, Kind::kConditional);
  EXPECT_TRUE(settle(d, R"({"name":"name-1999"})").allowed());
  EXPECT_EQ(settle(d, R"({"name":"other"})").kind, Kind::kNoOpinion);
  const Value shown = wire::as_tree(d)["conditionsMap"]["allowConditions"][0];
  EXPECT_FALSE(shown.has("condition"));
  EXPECT_EQ(shown["description"].as_string().substr(0, 45),
            "own groups; the text of this condition has 24");
}

TEST(Access, TheNamespaceIsReadOnceAndOnlyForWhoLooksAtIt) {
  struct Counted : ObjectOnDemand {
    Value space = *json::parse(R"({"metadata":{"labels":{"env":"dev"}}})");
    mutable int reads = 0;
    const Value* get() const override {
      ++reads;
      return &space;
    }
  };
  const Snapshot<Index> none(std::make_shared<const Index>());
  AccessAuthorizer authorizer(none);
  Value object = *json::parse(R"({"metadata":{"name":"a"}})");
  auto outcome = [&](Index index, const Counted& space) {
    Decision d = decide(index, Ask{}.attributes());
    EXPECT_EQ(d.kind, Kind::kConditional);
    return run(authorizer.evaluate(
                   d.conditions,
                   {.operation = "CREATE", .object = &object, .namespace_on_demand = &space}))
        .kind;
  };
  Counted unread, read;
  EXPECT_EQ(outcome(index_of({policy(
                        "p", R"({"effect":"Allow","expression":"object.metadata.name == 'a'"})")}),
                    unread),
            Kind::kAllow);
  EXPECT_EQ(unread.reads, 0);
  EXPECT_EQ(outcome(index_of({policy("d",
                                     R"({"effect": "Deny",
                       "expression": "namespaceObject.metadata.labels.env == 'prod'"})"),
                              policy("p",
                                     R"({"effect": "Allow",
                       "expression": "request.verb == 'create' && )"
                                     R"(namespaceObject.metadata.labels.env == 'dev'"})")}),
                    read),
            Kind::kAllow);
  EXPECT_EQ(read.reads, 1);
}

TEST(Access, WhatReadsNothingOfTheRequestLeavesTheSameWhoeverAsks) {
  Index index = index_of({policy("p",
                                 R"({"effect": "Allow",
          "expression": "object.metadata.name.startsWith('a') && size('xy') == 2"})")});
  Decision first = decide(index, Ask{}.attributes()),
           second = decide(index, Ask{.user = {.name = "bob"}, .resource = "secrets"}.attributes());
  ASSERT_EQ(first.kind, Kind::kConditional);
  ASSERT_EQ(second.kind, Kind::kConditional);
  const Condition &a = first.conditions->set()->conditions.at(0),
                  &b = second.conditions->set()->conditions.at(0);
  EXPECT_EQ(a.compiled, b.compiled);
  EXPECT_EQ(a.shown_text(), R"(object.metadata.name.startsWith("a"))");
  EXPECT_TRUE(settle(first, R"({"metadata":{"name":"a1"}})").allowed());
  EXPECT_FALSE(settle(second, R"({"metadata":{"name":"b1"}})").allowed());
}

TEST(Access, AnErrorIsNeverAnAllow) {
  Index index = index_of({policy("p", R"({"effect":"Allow","expression":"object.spec.x == 1"})")});
  Decision d = settle(decide(index, Ask{}.attributes()), "{}");
  EXPECT_EQ(d.kind, Kind::kNoOpinion);
  EXPECT_FALSE(d.error.empty());
  index = index_of({policy("p", R"({"effect":"Deny","expression":"object.spec.x == 1"})"),
                    policy("all", R"({"effect":"Allow"})")});
  d = settle(decide(index, Ask{}.attributes()), "{}");
  EXPECT_EQ(d.kind, Kind::kDeny);
  EXPECT_FALSE(d.error.empty());
}

TEST(Access, TheRequestToBeIsUnknownWhenImpersonationIsChecked) {
  PolicyPtr allow = policy("reads",
                           R"({"effect": "Allow",
          "expression": "request.name == 'jane' && impersonatedRequest.verb in ['get', )"
                           R"('list'] && 'g' in impersonatedRequest.userInfo.groups"})");
  Index index = index_of({allow});
  User asked{.name = "jane", .groups = {"g"}};
  for (std::string verb :
       {"impersonate", "impersonate:user-info", "impersonate-on:user-info:create"}) {
    Decision d = decide(index, Ask{.verb = verb, .name = "jane"}.attributes());
    ASSERT_EQ(d.kind, Kind::kConditional) << verb;
    EXPECT_EQ(d.conditions->set()->conditions.at(0).shown_text(),
              R"(impersonatedRequest.verb in ["get", "list"] && "g" in )"
              R"(impersonatedRequest.userInfo.groups)");
    const Snapshot<Index> none(std::make_shared<const Index>());
    AccessAuthorizer authorizer(none);
    Attributes read(asked), write(asked);
    read.verb = "list";
    write.verb = "create";
    EXPECT_TRUE(run(authorizer.evaluate(d.conditions, {.impersonated = &read})).allowed());
    EXPECT_FALSE(run(authorizer.evaluate(d.conditions, {.impersonated = &write})).allowed());
    EXPECT_FALSE(run(authorizer.evaluate(d.conditions, {})).allowed());
    EXPECT_EQ(decide(index, Ask{.verb = verb, .name = "joe"}.attributes()).kind, Kind::kNoOpinion);
  }
}

TEST(Access, TheRequestToBeIsNullForEverythingElse) {
  Index allows = index_of(
      {policy("p", R"({"effect":"Allow","expression":"impersonatedRequest.verb == 'get'"})")});
  EXPECT_EQ(decide(allows, Ask{}.attributes()).kind, Kind::kNoOpinion);
  EXPECT_EQ(decide(allows, Ask{.verb = "impersonated"}.attributes()).kind, Kind::kNoOpinion);
  Index denies = index_of(
      {policy("p", R"({"effect":"Deny","expression":"impersonatedRequest.verb == 'get'"})"),
       policy("all", R"({"effect":"Allow"})")});
  EXPECT_EQ(decide(denies, Ask{}.attributes()).kind, Kind::kDeny);
  Index careful = index_of({policy("p",
                                   R"({"effect": "Deny",
               "expression": "impersonatedRequest != null && impersonatedRequest.verb == 'get'"})"),
                            policy("all", R"({"effect":"Allow"})")});
  EXPECT_TRUE(decide(careful, Ask{}.attributes()).allowed());
  EXPECT_EQ(decide(careful, Ask{.verb = "impersonate"}.attributes()).kind, Kind::kConditional);
}

TEST(Access, WhatDoesNotCompileNeverAllowsAndDeniesWhatItSelects) {
  PolicyPtr all = policy("all", R"({"effect":"Allow"})");
  PolicyPtr bad_allow = policy("bad", R"({"effect":"Allow","expression":"object."})");
  EXPECT_FALSE(bad_allow->problem().empty());
  EXPECT_EQ(decide(index_of({bad_allow}), Ask{}.attributes()).kind, Kind::kNoOpinion);
  PolicyPtr bad_deny = policy("bad",
                              R"({"effect": "Deny", "expression": "object.",
          "rules": [{"verbs": ["*"], "apiGroups": [""], "resources": ["pods"]}]})");
  Decision d = decide(index_of({all, bad_deny}), Ask{}.attributes());
  EXPECT_EQ(d.kind, Kind::kDeny);
  EXPECT_NE(d.reason.text().find("does not compile"), std::string::npos);
  EXPECT_TRUE(decide(index_of({all, bad_deny}), Ask{.resource = "secrets"}.attributes()).allowed());
}

TEST(Access, ANamespacedPolicyNeitherReachesOutNorOverrulesTheCluster) {
  PolicyPtr local_allow = policy("a", R"({"effect":"Allow"})", "ns"),
            local_deny = policy("d", R"({"effect":"Deny"})", "ns");
  EXPECT_TRUE(decide(index_of({local_allow}), Ask{}.attributes()).allowed());
  EXPECT_EQ(decide(index_of({local_allow}), Ask{.space = "other"}.attributes()).kind,
            Kind::kNoOpinion);
  EXPECT_EQ(decide(index_of({local_allow}), Ask{.space = ""}.attributes()).kind, Kind::kNoOpinion);
  EXPECT_EQ(
      decide(index_of({local_allow, policy("c", R"({"effect":"Deny"})")}), Ask{}.attributes()).kind,
      Kind::kDeny);
  EXPECT_TRUE(
      decide(index_of({local_deny, policy("c", R"({"effect":"Allow"})")}), Ask{}.attributes())
          .allowed());
  Decision d = decide(
      index_of({local_deny, policy("c", R"({"effect":"Allow","expression":"object.x == 1"})")}),
      Ask{}.attributes());
  ASSERT_EQ(d.kind, Kind::kConditional);
  EXPECT_TRUE(settle(d, R"({"x":1})").allowed());
  EXPECT_EQ(settle(d, R"({"x":2})").kind, Kind::kDeny);
}

TEST(Access, WhoAsksAboutTheWholeClusterIsToldWhatAnyNamespaceTakesAway) {
  Index index = index_of(
      {policy("all", R"({"effect":"Allow"})"), policy("here", R"({"effect":"Deny"})", "ns"),
       policy("there", R"({"effect":"Deny"})", "elsewhere"),
       policy("open", R"({"effect":"NoOpinion"})", "elsewhere"),
       policy("more", R"({"effect":"Allow"})", "elsewhere"),
       policy("other", R"({"effect":"Deny","subjects":[{"kind":"User","name":"bob"}]})",
              "elsewhere")});
  auto about = [&](std::string_view space) {
    std::vector<std::string> out;
    index.for_each_about(User{.name = "alice", .groups = {"system:authenticated"}}, space,
                         [&](const Policy& p) { out.push_back(p.name()); });
    return join(out, " ");
  };
  EXPECT_EQ(about("ns"), "all here");
  EXPECT_EQ(about(""), "all open there here");
}

TEST(Access, DenyGoesBeforeNoOpinionAndNoOpinionBeforeAllow) {
  PolicyPtr allow = policy("a", R"({"effect":"Allow"})"),
            idle = policy("n", R"({"effect":"NoOpinion","expression":"object.x == 1"})");
  Decision d = decide(index_of({allow, idle}), Ask{}.attributes());
  ASSERT_EQ(d.kind, Kind::kConditional);
  EXPECT_EQ(settle(d, R"({"x":1})").kind, Kind::kNoOpinion);
  EXPECT_TRUE(settle(d, R"({"x":2})").allowed());
}

// Evaluates `text` a hundred thousand times: more than half of the cost limit of one expression.
std::string repeated(std::string_view list, std::string text) {
  for (std::string_view v : {"a", "b", "c", "d", "e"})
    text = cat(list, ".all(", v, ", ", text, ")");
  return text;
}
const std::string kTen = "[1,2,3,4,5,6,7,8,9,10]";
const std::string kDear = repeated(kTen, "request.verb != 'zz'");
std::string spec(std::string_view effect, std::string_view expression) {
  return cat(R"({"effect":")", effect, R"(","expression":")", expression, R"("})");
}

TEST(Access, PoliciesOfOneScopeShareOneBudgetAndWhatPassesItFailsClosed) {
  Ask ask;
  for (std::string_view more : {"", " || object.a == 1"}) {
    const std::string matches = cat(kDear, more),
                      differs = cat("(", kDear, more, ") && request.verb == 'other'");
    for (std::string space : {"", "ns"}) {
      EXPECT_TRUE(decide(index_of({policy("a", spec("Allow", matches), space)}), ask.attributes())
                      .allowed());

      Index denying = index_of({policy("allows", R"({"effect":"Allow"})", space),
                                policy("a", spec("Deny", differs), space)});
      EXPECT_TRUE(decide(denying, ask.attributes()).allowed());
      for (auto name : {"b", "c"}) denying.add(policy(name, spec("Deny", differs), space));
      Decision denied = decide(denying, ask.attributes());
      EXPECT_EQ(denied.kind, Kind::kDeny);
      EXPECT_NE(denied.reason.text().find("denies all requests that it selects: "),
                std::string::npos)
          << denied.reason.text();

      Index abstaining = index_of({policy("allows", R"({"effect":"Allow"})", space),
                                   policy("a", spec("NoOpinion", differs), space)});
      EXPECT_TRUE(decide(abstaining, ask.attributes()).allowed());
      for (auto name : {"b", "c"}) abstaining.add(policy(name, spec("NoOpinion", differs), space));
      EXPECT_EQ(decide(abstaining, ask.attributes()).kind, Kind::kNoOpinion)
          << "what might outrank an Allow lets none through";

      Index allowing = index_of({policy("denies", spec("Deny", "request.verb == 'other'"), space)});
      for (auto name : {"a", "b", "c"}) allowing.add(policy(name, spec("Allow", differs), space));
      EXPECT_EQ(decide(allowing, ask.attributes()).kind, Kind::kNoOpinion)
          << "denials come first, whatever the others cost";
    }
  }
}

TEST(Access, ADearNamespaceLeavesTheClusterItsBudget) {
  Index index = index_of({policy("denies", spec("Deny", "request.verb == 'other'")),
                          policy("allows", spec("Allow", "request.verb == 'create'"))});
  for (auto name : {"a", "b", "c"}) index.add(policy(name, spec("NoOpinion", kDear), "ns"));
  EXPECT_TRUE(decide(index, Ask().attributes()).allowed());
}

TEST(Access, WhatIsNotCountedIsPaidAllTheSame) {
  // An empty list contains nothing; cel-go knows this without evaluating the operand.
  EXPECT_EQ(
      decide(index_of({policy("a", spec("Allow", cat(kTen, ".all(z, !(", kDear, " in []))")))}),
             Ask().attributes())
          .kind,
      Kind::kNoOpinion);
}

TEST(Access, ConditionsShareOneBudget) {
  const char* object = R"({"list":[1,2,3,4,5,6,7,8,9,10],"verb":"create"})";
  const std::string differs = cat(repeated("object.list", "object.verb != 'zz'"),
                                  " && object.verb == 'other'");
  Index index = index_of(
      {policy("allows", R"({"effect":"Allow"})"), policy("a", spec("Deny", differs))});
  EXPECT_TRUE(settle(decide(index, Ask().attributes()), object).allowed());
  for (auto name : {"b", "c", "d", "e"}) index.add(policy(name, spec("Deny", differs)));
  EXPECT_EQ(settle(decide(index, Ask().attributes()), object).kind, Kind::kDeny);
}

TEST(Access, AGrantIsItsRulesNarrowedByTheExpression) {
  auto granted = policy("p",
                        R"({"effect": "Allow",
              "expression": "request.verb == 'get' && request.resource == 'pods' && )"
                        R"(request.apiGroup == '' && request.subresource == ''"})")
                     ->granted();
  ASSERT_EQ(granted.size(), 1u);
  EXPECT_EQ(granted[0].verbs, std::vector<std::string>{"get"});
  EXPECT_EQ(granted[0].resources, std::vector<std::string>{"pods"});
  EXPECT_EQ(policy("p", R"({"effect":"Allow"})")->granted().size(), 2u);
}

// The index finds every policy that a search through all policies finds.
TEST(Access, WhoCanListsSubjectsOfPlainPoliciesAndTellsOfTheOthers) {
  auto who_can = [](const Index& index) {
    AllowedSubjects allowed;
    User nobody;
    add_allowed_by(index, Ask{.user = nobody}.attributes(), allowed);
    std::string out = allowed.incomplete ? "and others: " : "";
    for (const AllowedSubject& s : allowed.subjects)
      out += cat(s.kind, " ", s.namespace_name, "/", s.name, " by ", s.binding_kind, " ", s.binding,
                 " ", json::print(s.rule), "; ");
    for (const std::string& r : allowed.remarks) out += r;
    return out;
  };
  const char* rules = R"("rules":[{"verbs":["create"],"apiGroups":[""],"resources":["pods"]}])";
  PolicyPtr plain = policy(
      "plain",
      cat(R"({"effect":"Allow","subjects":[{"kind":"User","name":"u"},{"kind":"Group","name":"g"},)"
          R"({"kind":"ServiceAccount","name":"robot","namespace":"ns"}],)",
          rules, "}"));
  PolicyPtr everybody = policy("everybody", R"({"effect":"Allow"})", "ns");
  PolicyPtr elsewhere = policy("elsewhere", R"({"effect":"Deny"})", "other");
  PolicyPtr owners = policy("owners",
                            R"({"effect": "Allow",
          "expression": "request.userInfo.username == 'anna' && object.metadata.name == 'x'"})");
  PolicyPtr broken = policy("broken", R"({"effect":"Allow","expression":"no such thing"})");
  PolicyPtr never = policy("never", R"({"effect":"Deny","subjects":[{"kind":"User","name":"u"}]})");
  EXPECT_EQ(who_can(Index()), "");
  const std::string rule = R"({"apiGroups":[""],"resources":["pods"],"verbs":["create"]})";
  EXPECT_EQ(
      who_can(index_of({plain, elsewhere, broken})),
      cat("User /u by ClusterAccessPolicy plain ", rule, "; Group /g by ClusterAccessPolicy plain ",
          rule, "; ServiceAccount ns/robot by ClusterAccessPolicy plain ", rule, "; "));
  EXPECT_EQ(who_can(index_of({everybody})),
            "Group /system:authenticated by AccessPolicy everybody {}; Group "
            "/system:unauthenticated by AccessPolicy everybody {}; ");
  EXPECT_EQ(
      who_can(index_of({owners})),
      R"(and others: User /anna by ClusterAccessPolicy owners )"
      R"({"expression":"request.userInfo.username == 'anna' && object.metadata.name == 'x'"}; )"
      R"(ClusterAccessPolicy "owners" may allow this, depending on who asks, or for which object)");
  EXPECT_EQ(who_can(index_of({never})),
            R"(and others: ClusterAccessPolicy "never" may deny this, depending on who asks, )"
            R"(or for which object)");
}

TEST(Access, AFrozenOneDecidesByThePoliciesAsTheyWere) {
  Snapshot<Index> policies(std::make_shared<const Index>());
  AccessAuthorizer authorizer(policies);
  Ask ask;
  auto before = authorizer.frozen();
  Value all = *json::parse(R"({"metadata":{"name":"all"},"spec":{"effect":"Allow"}})");
  policies.set(
      std::make_shared<const Index>(index_of({std::make_shared<const Policy>("", "all", all)})));
  EXPECT_EQ(before->authorize(ask.attributes())->kind, Kind::kNoOpinion);
  EXPECT_TRUE(authorizer.authorize(ask.attributes())->allowed());
  EXPECT_TRUE(authorizer.frozen()->authorize(ask.attributes())->allowed());
}

TEST(Access, TheIndexFindsWhatAWalkFinds) {
  std::mt19937 random(7);
  auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  auto pick = [&](std::initializer_list<const char*> list) {
    return std::string(*(list.begin() + below(static_cast<int>(list.size()))));
  };
  std::vector<PolicyPtr> all;
  Index index;
  for (int i = 0; i < 400; ++i) {
    std::string spec = cat(R"({"effect":")", pick({"Allow", "Deny", "NoOpinion"}), "\"");
    if (below(2))
      spec += cat(R"(,"subjects":[{"kind":")", pick({"User", "Group"}), R"(","name":")",
                  pick({"alice", "bob", "dev", "ops"}), R"("}])");
    if (below(2))
      spec += cat(R"(,"rules":[{"verbs":["*"],"apiGroups":[""],"resources":[")",
                  pick({"pods", "secrets", "*", "pods/exec", "*/scale"}), R"("])",
                  below(3) ? "" : R"(,"resourceNames":["x","y"])", "}]");
    if (below(2))
      spec += cat(
          R"(,"expression":")",
          pick({"request.resource == 'pods'", "request.userInfo.username in ['alice', 'carol']",
                "request.name == 'x' && object.a == 1",
                "request.namespace == 'ns' || request.namespace == 'other'",
                "object.a ? request.name == 'x' : false", "1 == 2 ? true : request.verb == 'get'"}),
          "\"");
    all.push_back(policy(cat("p", i), spec + "}", below(3) ? "" : pick({"ns", "other"})));
    index.add(all.back());
  }
  for (int i = 0; i < 100; ++i) {
    std::size_t at = static_cast<std::size_t>(below(static_cast<int>(all.size())));
    Index before = index;
    index.remove(all[at]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
    EXPECT_EQ(before.size(), index.size() + 1);
  }
  for (int i = 0; i < 500; ++i) {
    Ask ask{
        .user = {.name = pick({"alice", "bob", "carol"}), .groups = {pick({"dev", "ops", "x"})}},
        .verb = pick({"get", "create"}),
        .resource = pick({"pods", "secrets"}),
        .subresource = pick({"", "exec", "scale"}),
        .space = pick({"", "ns", "other"}),
        .name = pick({"", "x", "z"})};
    Attributes a = ask.attributes();
    Index every;
    Matches none;
    // Without the index: the decision of each policy alone.
    bool denies = false;
    for (const PolicyPtr& p : all) {
      Index one;
      one.add(p);
      Index::Found found;
      one.find(a, found);
      Index::Found in_all;
      index.find(a, in_all);
      bool is_in = std::ranges::find(in_all, p.get()) != in_all.end();
      ASSERT_EQ(is_in, !found.empty());
      // A policy that selects the request but is not found must have no opinion.
      if (p->selects(a) && !is_in) {
        ASSERT_TRUE(p->program() != nullptr);
      }
      denies |= is_in && p->effect() == Policy::Effect::kDeny;
    }
    if (!denies) {
      EXPECT_NE(decide(index, a).kind, Kind::kDeny);
    }
  }
}

}  // namespace
}  // namespace cardea::authz::access
