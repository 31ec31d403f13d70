#include "impersonation/impersonation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "authz/cel_conditions.h"
#include "base/strings.h"

namespace cardea::impersonation {
namespace {

using authz::Attributes;
using authz::Decision;
using authz::User;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Allows = std::function<bool(const Attributes&)>;

std::string shown(const Attributes& a) {
  return cat(a.verb, " ", a.api_group, "/", a.is_resource_request ? a.resource : a.path,
             a.subresource.empty() ? "" : "/", a.subresource, " ", a.namespace_name, "/", a.name);
}

// Allows the requests that a function allows, and keeps the questions. If it must be waited for, it
// does not answer at once.
class Listed : public authz::Authorizer {
 public:
  explicit Listed(Allows allows, bool waits = false) : allows_(std::move(allows)), waits_(waits) {}
  std::string_view name() const override { return "listed"; }
  std::optional<Decision> authorize(const Attributes& a) const override {
    if (waits_) return std::nullopt;
    return decide(a);
  }
  Task<Decision> authorize_waiting(Attributes a) const override { co_return decide(a); }
  const std::vector<std::string>& asked() const { return asked_; }
  const std::vector<User>& users() const { return users_; }

 private:
  Decision decide(const Attributes& a) const {
    asked_.push_back(shown(a));
    users_.push_back(a.user);
    if (a.name == "broken") return Decision::no_opinion("why", "out of order");
    return allows_(a) ? Decision::allow() : Decision::no_opinion();
  }
  Allows allows_;
  bool waits_;
  mutable std::vector<std::string> asked_;
  mutable std::vector<User> users_;
};

struct Outcome {
  Result<User> user;
  Mode mode;
  std::vector<std::string> asked;
  std::vector<User> senders;
};

const authz::RequestInfo& listing_pods() {
  static const authz::RequestInfo info = *authz::parse_request_info(
      "GET", "/api/v1/namespaces/ns/pods", "");
  return info;
}

Outcome attempt(Allows allows, User asked,
                User sender = {.name = "bob", .groups = {"system:authenticated"}},
                Attempt::Rules rules = Attempt::Rules::kConstrained, bool waits = false) {
  auto listed = std::make_shared<Listed>(std::move(allows), waits);
  auto chain = std::make_shared<authz::Chain>(
      std::vector<std::shared_ptr<const authz::Authorizer>>{listed});
  Impersonator impersonator(rules);
  Attempt attempt(sender, std::move(asked), listing_pods(), rules);
  if (!impersonator.advance(*chain, attempt, authz::Asking::kFolded)) {
    bool done = false;
    spawn(impersonator.finish(chain, attempt, authz::Asking::kFolded), [&](bool) { done = true; });
    EXPECT_TRUE(done);
  }
  Result<User> user = impersonator.outcome(attempt);
  return {std::move(user), attempt.mode(), listed->asked(), listed->users()};
}

bool everything(const Attributes&) {
  return true;
}
bool nothing(const Attributes&) {
  return false;
}
bool legacy_only(const Attributes& a) {
  return a.verb == "impersonate";
}

const User kPlain{.name = "jane"};

TEST(Impersonation, AsksForTheActionThenForEveryPart) {
  User asked{
      .name = "jane", .uid = "7", .groups = {"b", "a"}, .extra = {{"acme.io/k", {"v", "w"}}}};
  Outcome o = attempt(everything, asked);
  ASSERT_TRUE(o.user);
  EXPECT_EQ(o.mode, Mode::kUserInfo);
  EXPECT_THAT(o.asked,
              ElementsAre("impersonate-on:user-info:list /pods ns/",
                          "impersonate:user-info authentication.k8s.io/users /jane",
                          "impersonate:user-info authentication.k8s.io/uids /7",
                          "impersonate:user-info authentication.k8s.io/groups /b",
                          "impersonate:user-info authentication.k8s.io/groups /a",
                          "impersonate:user-info authentication.k8s.io/userextras/acme.io/k /v",
                          "impersonate:user-info authentication.k8s.io/userextras/acme.io/k /w"));
  EXPECT_THAT(o.user->groups, ElementsAre("b", "a", "system:authenticated"));
}

TEST(Impersonation, NeedsThePermissionForEveryPart) {
  User asked{.name = "jane", .uid = "7", .groups = {"team"}, .extra = {{"acme.io/k", {"view"}}}};
  for (std::string_view left_out : {"pods", "users", "uids", "groups", "userextras"}) {
    EXPECT_FALSE(
        attempt(
            [&](const Attributes& a) { return a.verb != "impersonate" && a.resource != left_out; },
            asked)
            .user)
        << left_out;
    if (left_out != "pods") {
      EXPECT_FALSE(
          attempt([&](const Attributes& a) { return legacy_only(a) && a.resource != left_out; },
                  asked)
              .user)
          << left_out;
    }
  }
  EXPECT_TRUE(attempt(legacy_only, asked).user);
}

TEST(Impersonation, FallsBackToTheVerbImpersonate) {
  User asked{.name = "jane", .uid = "7", .groups = {"g"}, .extra = {{"k", {"v"}}}};
  Outcome o = attempt(legacy_only, asked);
  ASSERT_TRUE(o.user);
  EXPECT_EQ(o.mode, Mode::kLegacy);
  EXPECT_EQ(constraint(o.mode), "");
  EXPECT_THAT(o.asked,
              ElementsAre("impersonate-on:user-info:list /pods ns/", "impersonate /users /jane",
                          "impersonate authentication.k8s.io/uids /7", "impersonate /groups /g",
                          "impersonate authentication.k8s.io/userextras/k /v"));
}

TEST(Impersonation, NeverPutsMoreThanNineQuestionsAboutAUserOfThreeGroups) {
  std::size_t most = 0;
  for (std::size_t groups = 0; groups <= 3; ++groups)
    for (std::string_view name :
         {"jane", "system:node:n1", "system:serviceaccount:ns:sa", "system:node:Bad_Name"})
      // Each question may be the one that is refused.
      for (std::size_t refused = 0; refused < 16; ++refused)
        for (std::size_t also = 0; also < 16; ++also) {
          User asked{.name = std::string(name)};
          for (std::size_t i = 0; i < groups; ++i) asked.groups.push_back(cat("g", i));
          User sender{.name = "system:serviceaccount:ns:agent",
                      .extra = {{"authentication.kubernetes.io/node-name", {"n1"}}}};
          std::size_t count = 0;
          Outcome o = attempt(
              [&](const Attributes&) { return ++count, count - 1 != refused && count - 1 != also; },
              asked, sender);
          most = std::max(most, o.asked.size());
        }
  EXPECT_EQ(most, 9u);
}

TEST(Impersonation, TellsTheFirstRefusalAndNeverThatOfTheOldVerb) {
  EXPECT_EQ(attempt(nothing, kPlain).user.error().message,
            "pods is forbidden: User \"bob\" cannot impersonate-on:user-info:list resource "
            "\"pods\" in API group \"\" in the namespace \"ns\"");
  EXPECT_EQ(attempt([](const Attributes& a) { return a.verb.starts_with("impersonate-on:"); },
                    {.name = "system:node:n1"})
                .user.error()
                .message,
            "nodes.authentication.k8s.io \"n1\" is forbidden: User \"bob\" cannot "
            "impersonate:arbitrary-node resource \"nodes\" in API group "
            "\"authentication.k8s.io\" at the cluster scope");
  // For a node with a group only the old verb remains.
  EXPECT_EQ(attempt(nothing, {.name = "system:node:n1", .groups = {"g"}}).user.error().message,
            "users \"system:node:n1\" is forbidden: User \"bob\" cannot impersonate resource "
            "\"users\" in API group \"\" at the cluster scope");
}

TEST(Impersonation, TellsWhoHoldsTheOldVerbWhichPartIsMissing) {
  auto all_but_extra = [](const Attributes& a) {
    return a.verb == "impersonate" && a.resource != "userextras";
  };
  User asked{.name = "jane", .groups = {"g"}, .extra = {{"a.io/scope", {"view"}}}};
  Outcome o = attempt(all_but_extra, asked);
  ASSERT_FALSE(o.user);
  EXPECT_THAT(o.user.error().message, HasSubstr("impersonate-on:user-info:list"));
  ASSERT_EQ(o.user.error().details->causes.size(), 1u);
  EXPECT_THAT(o.user.error().details->causes[0].message,
              HasSubstr("resource \"userextras/a.io/scope\" in API group "
                        "\"authentication.k8s.io\", name \"view\""));
  // Somebody without the verb for that user learns nothing more.
  EXPECT_THAT(attempt(nothing, asked).user.error().details->causes, IsEmpty());
}

TEST(Impersonation, AnErrorIsNeverAnAllow) {
  Outcome o = attempt(everything, {.name = "broken"});
  ASSERT_FALSE(o.user);
  EXPECT_THAT(o.user.error().message, HasSubstr("at the cluster scope: out of order: why"));
}

TEST(Impersonation, WaitsForAuthorizersThatHaveToBeWaitedFor) {
  User asked{.name = "jane", .groups = {"a", "b"}};
  Outcome o = attempt(everything, asked, {.name = "bob"}, Attempt::Rules::kConstrained, true);
  ASSERT_TRUE(o.user);
  EXPECT_EQ(o.asked.size(), 4u);
  EXPECT_FALSE(attempt(nothing, asked, {.name = "bob"}, Attempt::Rules::kConstrained, true).user);
}

TEST(Impersonation, OfTheOwnNodeIsAskedForAnyNodeInTheNameOfARewrittenSender) {
  User sender{.name = "system:serviceaccount:ns:agent",
              .uid = "u",
              .groups = {"g"},
              .extra = {{"z", {"1"}}, {"authentication.kubernetes.io/node-name", {"n1"}}}};
  auto of_own = [](const Attributes& a) { return a.verb.contains("associated-node"); };
  Outcome o = attempt(of_own, {.name = "system:node:n1"}, sender);
  ASSERT_TRUE(o.user);
  EXPECT_EQ(o.mode, Mode::kAssociatedNode);
  EXPECT_THAT(o.asked, ElementsAre("impersonate-on:associated-node:list /pods ns/",
                                   "impersonate:associated-node authentication.k8s.io/nodes /*"));
  for (const User& asking : o.senders) {
    EXPECT_EQ(asking.name, sender.name);
    EXPECT_EQ(asking.uid, "u");
    ASSERT_EQ(asking.extra.size(), 1u);
    EXPECT_THAT(asking.extra.at("authentication.kubernetes.io/associated-node-keys"),
                ElementsAre("authentication.kubernetes.io/node-name", "z"));
  }
  EXPECT_EQ(o.user->name, "system:node:n1");
  EXPECT_THAT(o.user->groups, ElementsAre("system:nodes", "system:authenticated"));
  EXPECT_THAT(o.user->extra, IsEmpty());

  EXPECT_FALSE(attempt(of_own, {.name = "system:node:n2"}, sender).user);
  EXPECT_FALSE(attempt(of_own, {.name = "system:node:n1", .groups = {"g"}}, sender).user);
  User two = sender, human = sender, none = sender;
  two.extra["authentication.kubernetes.io/node-name"].push_back("n1");
  human.name = "bob";
  none.extra.clear();
  for (const User& other : {two, human, none})
    EXPECT_FALSE(attempt(of_own, {.name = "system:node:n1"}, other).user) << other.name;
}

TEST(Impersonation, RefusesWhatNoConstrainedModeMayAskFor) {
  auto constrained = [](const Attributes& a) { return a.verb != "impersonate"; };
  auto why = [&](User asked) {
    return attempt(constrained, std::move(asked)).user.error().message;
  };
  EXPECT_EQ(why({.name = "a", .groups = {"g", "system:masters"}}),
            "groups.authentication.k8s.io \"system:masters\" is forbidden: User \"bob\" cannot "
            "impersonate:user-info resource \"groups\" in API group "
            "\"authentication.k8s.io\" at the cluster scope: impersonating the system:masters "
            "group is not allowed");
  EXPECT_EQ(why({.name = "a", .groups = {"system:masters", ""}}),
            "groups.authentication.k8s.io is forbidden: User \"bob\" cannot impersonate:user-info "
            "resource \"groups\" in API group "
            "\"authentication.k8s.io\" at the cluster scope: impersonating the empty string group "
            "is not allowed");
  EXPECT_THAT(why({.name = "a", .extra = {{"scopes", {"x"}}}}),
              HasSubstr("extra.key: Invalid value: \"scopes\": must be a domain-prefixed path"));
  EXPECT_THAT(why({.name = "a", .extra = {{"", {"x"}}}}),
              HasSubstr("the empty string key in extra"));
  EXPECT_THAT(why({.name = "a", .extra = {{"a.io/K", {"x"}}}}),
              HasSubstr("a non-lowercase key in extra is not allowed: \"a.io/K\""));
  EXPECT_THAT(why({.name = "a", .extra = {{"a.io/k", {"x", ""}}}}),
              HasSubstr("the empty string value in extra"));
  // The old verb applies to all of them.
  EXPECT_TRUE(
      attempt(legacy_only,
              {.name = "a", .groups = {"system:masters", ""}, .extra = {{"", {""}}, {"K", {""}}}})
          .user);
}

TEST(Impersonation, ProbesForEverythingFromFourPartsOn) {
  User many{
      .name = "a", .groups = {"1", "2", "3", "4"}, .extra = {{"a.io/k", {"1", "2", "3", "4"}}}};
  Outcome all = attempt(everything, many);
  EXPECT_THAT(all.asked,
              ElementsAre("impersonate-on:user-info:list /pods ns/",
                          "impersonate:user-info authentication.k8s.io/users /a",
                          "impersonate:user-info authentication.k8s.io/groups /*",
                          "impersonate:user-info authentication.k8s.io/userextras/* /*"));
  Outcome each = attempt([](const Attributes& a) { return a.name != "*"; }, many);
  EXPECT_TRUE(each.user);
  EXPECT_EQ(each.asked.size(), 2u + 5u + 5u);
}

// Denies one name, and has no opinion about anything else.
class DeniesName : public authz::Authorizer {
 public:
  explicit DeniesName(std::string name) : denied_(std::move(name)) {}
  std::string_view name() const override { return "denies"; }
  bool may_deny() const override { return true; }
  std::optional<Decision> authorize(const Attributes& a) const override {
    return a.name == denied_ ? Decision::deny("not this") : Decision::no_opinion();
  }

 private:
  std::string denied_;
};

TEST(Impersonation, ADeniedNameIsRefusedAmongManyThatAProbeAllows) {
  const User sender{.name = "bob"};
  const User many{
      .name = "a", .groups = {"1", "2", "3", "4"}, .extra = {{"a.io/k", {"5", "6", "7", "8"}}}};
  // One authorizer allows every name; the other allows only a question about `*`, like
  // `resourceNames: ["*"]`.
  for (Allows allows : {Allows(everything), Allows([](const Attributes& a) {
                          return a.name == "*" ||
                                 (a.resource != "groups" && a.resource != "userextras");
                        })})
    for (std::string denied : {"3", "7", "9"})
      for (bool waits : {false, true}) {
        auto chain = std::make_shared<authz::Chain>(
            std::vector<std::shared_ptr<const authz::Authorizer>>{
                std::make_shared<DeniesName>(denied), std::make_shared<Listed>(allows, waits)});
        Impersonator impersonator(Attempt::Rules::kConstrained);
        Attempt attempt(sender, many, listing_pods(), Attempt::Rules::kConstrained);
        if (!impersonator.advance(*chain, attempt, authz::Asking::kFolded))
          spawn(impersonator.finish(chain, attempt, authz::Asking::kFolded), [](bool) {});
        EXPECT_EQ(impersonator.outcome(attempt).has_value(), denied == "9") << denied << waits;
      }
}

TEST(Impersonation, OfTenThousandGroupsCostsTheFirstRefusalAlone) {
  User many{.name = "a"};
  for (int i = 0; i < 10'000; ++i) many.groups.push_back(cat("g", i));
  EXPECT_EQ(attempt(nothing, many).asked.size(), 2u);
  EXPECT_EQ(attempt([](const Attributes& a) { return a.resource != "groups"; }, many).asked.size(),
            4u + 2u);
  Outcome o = attempt(everything, many);
  EXPECT_EQ(o.asked.size(), 3u);
  EXPECT_EQ(o.user->groups.size(), 10'001u);
}

TEST(Impersonation, GivesTheGroupsThatANameBringsAlong) {
  auto groups = [](User asked, Allows allows = everything) {
    return attempt(std::move(allows), std::move(asked)).user->groups;
  };
  EXPECT_THAT(groups({.name = "jane"}), ElementsAre("system:authenticated"));
  EXPECT_THAT(groups({.name = "system:anonymous"}), ElementsAre("system:unauthenticated"));
  EXPECT_THAT(groups({.name = "system:anonymous", .groups = {"system:authenticated"}}),
              ElementsAre("system:authenticated", "system:unauthenticated"));
  EXPECT_THAT(groups({.name = "jane", .groups = {"system:unauthenticated"}}),
              ElementsAre("system:unauthenticated"));
  EXPECT_THAT(
      groups({.name = "system:serviceaccount:ns:sa"}),
      ElementsAre("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"));
  EXPECT_THAT(groups({.name = "system:serviceaccount:ns:sa", .groups = {"g"}}),
              ElementsAre("g", "system:authenticated"));
  EXPECT_THAT(groups({.name = "system:serviceaccount:bad"}), ElementsAre("system:authenticated"));
  EXPECT_THAT(groups({.name = "system:node:n1"}),
              ElementsAre("system:nodes", "system:authenticated"));
  EXPECT_THAT(groups({.name = "system:node:n1"}, legacy_only), ElementsAre("system:authenticated"));
}

TEST(Impersonation, WithoutModesAsksAsItAlwaysDid) {
  User asked{.name = "jane", .uid = "7", .groups = {"g"}, .extra = {{"k", {"v"}}}};
  Outcome o = attempt(everything, asked, {.name = "bob"}, Attempt::Rules::kLegacyOnly);
  ASSERT_TRUE(o.user);
  EXPECT_THAT(o.asked, ElementsAre("impersonate /users /jane", "impersonate /groups /g",
                                   "impersonate authentication.k8s.io/userextras/k /v",
                                   "impersonate authentication.k8s.io/uids /7"));
  EXPECT_FALSE(attempt([](const Attributes& a) { return a.verb != "impersonate"; }, kPlain,
                       {.name = "bob"}, Attempt::Rules::kLegacyOnly)
                   .user);
}

// Allows everything on one condition in CEL, which is evaluated like the conditions of webhooks.
class OnCondition : public authz::Authorizer {
 public:
  explicit OnCondition(std::string text) : text_(std::move(text)) {}
  std::string_view name() const override { return "on-condition"; }
  std::optional<Decision> authorize(const Attributes&) const override {
    authz::Conditions::Set set;
    set.conditions.push_back({.effect = authz::Condition::Effect::kAllow,
                              .id = "c",
                              .type = std::string(authz::kCelType),
                              .text = text_});
    return authz::conditional_on(std::move(set));
  }
  Task<Decision> evaluate(std::shared_ptr<const authz::Conditions> conditions,
                          const authz::ConditionData& data) const override {
    authz::SecondaryChecks checks(data.authorizer, data.user);
    authz::CelConditions in_cel(data, checks);
    co_return authz::partially_evaluated(Decision::conditional(std::move(conditions)), in_cel);
  }

 private:
  std::string text_;
};

TEST(Impersonation, SettlesConditionsAgainstTheRequestToBe) {
  auto allows = [](std::string text, User asked,
                   authz::Asking asking = authz::Asking::kConditionsAware) {
    auto chain = std::make_shared<authz::Chain>(
        std::vector<std::shared_ptr<const authz::Authorizer>>{
            std::make_shared<OnCondition>(std::move(text))});
    Impersonator impersonator;
    User sender{.name = "bob"};
    Attempt attempt(sender, std::move(asked), listing_pods());
    if (!impersonator.advance(*chain, attempt, asking))
      spawn(impersonator.finish(chain, attempt, asking), [](bool) {});
    return impersonator.outcome(attempt).has_value();
  };
  User with_group{.name = "jane", .uid = "7", .groups = {"g"}, .extra = {{"acme.io/k", {"v"}}}};
  EXPECT_TRUE(
      allows("impersonatedRequest.verb == 'list' && impersonatedRequest.resource == 'pods' && "
             "impersonatedRequest.namespace == 'ns' && impersonatedRequest.apiGroup == ''",
             kPlain));
  EXPECT_FALSE(allows("impersonatedRequest.verb == 'get'", kPlain));
  EXPECT_TRUE(
      allows("'g' in impersonatedRequest.userInfo.groups && impersonatedRequest.userInfo.uid == "
             "'7' && impersonatedRequest.userInfo.extra['acme.io/k'] == ['v']",
             with_group));
  EXPECT_FALSE(allows("'g' in impersonatedRequest.userInfo.groups", kPlain));
  EXPECT_FALSE(allows("impersonatedRequest.nothing", kPlain));
  EXPECT_FALSE(allows("object.spec == 1", kPlain));
  // A caller that cannot take conditions gets a refusal.
  EXPECT_FALSE(allows("true", kPlain, authz::Asking::kFolded));
  EXPECT_TRUE(allows("true", kPlain));
}

// Allows what a function allows, and the rest on conditions that nobody can evaluate early.
class PerhapsElse : public authz::Authorizer {
 public:
  PerhapsElse(Allows allows, Allows perhaps, bool may_deny)
      : allows_(std::move(allows)), perhaps_(std::move(perhaps)), may_deny_(may_deny) {}
  std::string_view name() const override { return "perhaps"; }
  std::optional<Decision> authorize(const Attributes& a) const override {
    if (allows_(a)) return Decision::allow("at once");
    if (!perhaps_(a)) return Decision::no_opinion();
    using Effect = authz::Condition::Effect;
    authz::Conditions::Set set{.conditions = {{.effect = Effect::kAllow, .id = "c"}}};
    if (may_deny_) set.conditions.push_back({.effect = Effect::kDeny, .id = "d"});
    return authz::conditional_on(std::move(set));
  }
  Task<Decision> evaluate(std::shared_ptr<const authz::Conditions>,
                          const authz::ConditionData&) const override {
    co_return Decision::no_opinion();
  }
  bool may_deny() const override { return may_deny_; }

 private:
  Allows allows_, perhaps_;
  bool may_deny_;
};

struct Opened {
  bool is_allowed = false;
  Mode mode = Mode::kLegacy;
  std::vector<std::string> open;
  std::string granted;
};

Opened attempt_open(Allows allows, Allows perhaps, User asked, bool may_stay_open = true,
                    bool may_deny = false, Attempt::Rules rules = Attempt::Rules::kConstrained) {
  auto chain = std::make_shared<authz::Chain>(std::vector<std::shared_ptr<const authz::Authorizer>>{
      std::make_shared<PerhapsElse>(std::move(allows), std::move(perhaps), may_deny)});
  Impersonator impersonator(rules);
  User sender{.name = "bob"};
  Attempt attempt(sender, std::move(asked), listing_pods(), rules);
  attempt.may_stay_open(may_stay_open);
  if (!impersonator.advance(*chain, attempt, authz::Asking::kConditionsAware))
    spawn(impersonator.finish(chain, attempt, authz::Asking::kConditionsAware), [](bool) {});
  Opened out{.is_allowed = attempt.is_allowed(), .mode = attempt.mode()};
  auto open = open_impersonation(attempt, chain);
  if (open)
    for (const OpenQuestion& q : open->questions)
      out.open.push_back(cat(shown(q.asked->get()), q.only_denials_refuse ? " unless denied" : ""));
  out.granted = attempt.granted().text();
  if (open) {
    EXPECT_EQ(open->request->get().user.name, attempt.asked().name);
    EXPECT_EQ(open->request->get().verb, "list");
    EXPECT_EQ(open->questions[0].asked->get().user.name, "bob");
  }
  EXPECT_EQ(impersonator.outcome(attempt).has_value(), out.is_allowed);
  return out;
}

TEST(Impersonation, KeepsTheQuestionsThatDependOnTheObject) {
  Opened o = attempt_open([](const Attributes& a) { return a.resource == "pods"; }, everything,
                          {.name = "jane", .groups = {"g"}});
  EXPECT_TRUE(o.is_allowed);
  EXPECT_EQ(o.mode, Mode::kUserInfo);
  EXPECT_THAT(o.open, ElementsAre("impersonate:user-info authentication.k8s.io/users /jane",
                                  "impersonate:user-info authentication.k8s.io/groups /g"));
  EXPECT_FALSE(attempt_open(nothing, everything, kPlain, false).is_allowed)
      << "nobody will know the object";
  EXPECT_FALSE(attempt_open(nothing, everything, kPlain, true, false, Attempt::Rules::kLegacyOnly)
                   .is_allowed)
      << "before there were modes, nothing was open";
}

TEST(Impersonation, PrefersAModeThatDoesNotDependOnTheObject) {
  Opened o = attempt_open(legacy_only, everything, kPlain);
  EXPECT_EQ(o.mode, Mode::kLegacy);
  EXPECT_THAT(o.open, IsEmpty());
  EXPECT_EQ(o.granted, "at once");
  // Otherwise the first that may become allowed, and nothing of the others.
  o = attempt_open(nothing, everything, kPlain);
  EXPECT_EQ(o.mode, Mode::kUserInfo);
  EXPECT_THAT(o.open, ElementsAre("impersonate-on:user-info:list /pods ns/",
                                  "impersonate:user-info authentication.k8s.io/users /jane"));
  o = attempt_open([](const Attributes& a) { return a.resource == "pods"; },
                   [](const Attributes& a) { return a.verb == "impersonate"; }, kPlain);
  EXPECT_EQ(o.mode, Mode::kLegacy);
  EXPECT_THAT(o.open, ElementsAre("impersonate /users /jane"));
}

TEST(Impersonation, AnOpenProbeIsFollowedByTheQuestionsThatItStandsFor) {
  const User many{.name = "jane", .groups = {"a", "b", "c", "d"}};
  auto but_groups = [](const Attributes& a) { return a.resource != "groups"; };
  Opened o = attempt_open(but_groups, everything, many);
  EXPECT_THAT(o.open, ElementsAre("impersonate:user-info authentication.k8s.io/groups /a",
                                  "impersonate:user-info authentication.k8s.io/groups /b",
                                  "impersonate:user-info authentication.k8s.io/groups /c",
                                  "impersonate:user-info authentication.k8s.io/groups /d"));
  // All groups are allowed, and one may be denied.
  o = attempt_open([](const Attributes& a) { return a.name != "c"; }, everything, many, true, true);
  EXPECT_TRUE(o.is_allowed);
  EXPECT_THAT(o.open,
              ElementsAre("impersonate:user-info authentication.k8s.io/groups /c unless denied"));
}

TEST(Impersonation, ReadsNamesByWhatTheyAreNotByHowTheyBegin) {
  EXPECT_EQ(target_of("system:node:n1").kind, Target::Kind::kNode);
  EXPECT_EQ(target_of("system:serviceaccount:ns:sa.x").kind, Target::Kind::kServiceAccount);
  for (std::string_view name :
       {"system:node:", "system:node:Bad_Name", "system:node:a:b", "system:serviceaccount:ns",
        "system:serviceaccount:ns:", "system:serviceaccount::sa", "system:serviceaccount:a:b:c",
        "system:serviceaccount:NS:sa", "SYSTEM:node:n1", " system:node:n1"})
    EXPECT_EQ(target_of(name).kind, Target::Kind::kUser) << name;
}

TEST(Impersonation, CountsAttemptsAndQuestions) {
  MetricRegistry registry;
  Impersonator impersonator(Attempt::Rules::kConstrained, &registry);
  for (bool allowed : {true, false}) {
    auto listed = std::make_shared<Listed>(allowed ? legacy_only : nothing);
    authz::Chain chain({listed});
    User sender{.name = "bob"};
    Attempt attempt(sender, kPlain, listing_pods());
    ASSERT_TRUE(impersonator.advance(chain, attempt, authz::Asking::kFolded));
    EXPECT_EQ(impersonator.outcome(attempt).has_value(), allowed);
  }
  std::string text = registry.print();
  for (const char* line :
       {"apiserver_impersonation_attempts_total{mode=\"legacy\",decision=\"allowed\"} 1",
        "apiserver_impersonation_attempts_total{mode=\"\",decision=\"denied\"} 1",
        "apiserver_impersonation_authorization_attempts_total{mode=\"user-info\",decision="
        "\"denied\"} 2",
        "apiserver_impersonation_authorization_attempts_total{mode=\"legacy\",decision=\"allowed\"}"
        " 1",
        "apiserver_impersonation_authorization_attempts_total{mode=\"legacy\",decision=\"denied\"} "
        "1",
        "apiserver_impersonation_attempts_duration_seconds_bucket",
        "apiserver_impersonation_authorization_attempts_duration_seconds_bucket"})
    EXPECT_THAT(text, HasSubstr(line));
  MetricRegistry none;
  Impersonator legacy(Attempt::Rules::kLegacyOnly, &none);
  EXPECT_EQ(none.print(), "");
}

}  // namespace
}  // namespace cardea::impersonation
