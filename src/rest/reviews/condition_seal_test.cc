#include "rest/reviews/condition_seal.h"

#include <gtest/gtest.h>

#include "authz/wire/decision_json.h"
#include "authz/wire/sealed_text.h"
#include "base/strings.h"

namespace cardea::rest {
namespace {

using authz::Condition;
using authz::Conditions;
using authz::Decision;
using authz::wire::kSealedType;

const ConditionSeal::Time kNow{std::chrono::seconds(1'800'000'000)};

authz::User alice() {
  return {.name = "alice", .uid = "1", .groups = {"b", "a"}, .extra = {{"k", {"v"}}}};
}

Condition opaque(Condition::Effect effect = Condition::Effect::kAllow) {
  return {.effect = effect, .id = "example.com/c", .type = "example.com/t", .text = "policy16"};
}

Decision set_of(std::vector<Condition> conditions) {
  return authz::conditional_on({.conditions = std::move(conditions)});
}

class Named : public authz::Authorizer {
 public:
  Named(std::string name, std::string type) : name_(std::move(name)), type_(std::move(type)) {}
  std::string_view name() const override { return name_; }
  std::string_view type() const override { return type_; }
  std::optional<Decision> authorize(const authz::Attributes&) const override { return Decision(); }

 private:
  std::string name_, type_;
};

// What is asked first, and what comes back later, with one of the two changed by a test.
struct Exchange {
  explicit Exchange(std::string secret = "secret") : seal(std::move(secret)), question(who) {
    question.is_resource_request = true;
    question.verb = "create";
    question.api_version = "v1";
    question.resource = "configmaps";
    question.namespace_name = "default";
    data = {.operation = "CREATE",
            .version = "v1",
            .kind = "ConfigMap",
            .resource = "configmaps",
            .namespace_name = "default",
            .name = "x",
            .user = &who};
  }

  Decision sealed(const Decision& d) const { return seal.seal(d, chain, "asker", question, kNow); }
  Condition sent() const {
    Decision d = sealed(authz::fold({{"hook", set_of({opaque()})}}));
    return (*d.conditions->chain())[0].decision.conditions->set()->conditions[0];
  }
  Result<Condition> back(const Condition& c, ConditionSeal::Time now = kNow) const {
    return seal.open(c, author, asker, data, now);
  }

  ConditionSeal seal;
  authz::Chain chain{{std::make_shared<Named>("hook", "Webhook"),
                      std::make_shared<Named>("front", "Webhook"),
                      std::make_shared<Named>("other", "Other")}};
  authz::User who = alice();
  authz::Attributes question;
  authz::ConditionData data;
  std::string author = "hook", asker = "asker";
};

TEST(ConditionSeal, OpensWhatItSealed) {
  Exchange e;
  const Condition sent = e.sent();
  EXPECT_EQ(sent.type, kSealedType);
  EXPECT_EQ(sent.id, "example.com/c");
  auto inside = e.back(sent);
  ASSERT_TRUE(inside) << inside.error().message;
  EXPECT_EQ(inside->type, "example.com/t");
  EXPECT_EQ(inside->text, "policy16");
  // Another server may tell the groups in another order.
  std::ranges::reverse(e.who.groups);
  EXPECT_TRUE(e.back(sent));
}

TEST(ConditionSeal, AnErrorIsNeverAnAllow) {
  const Condition sent = Exchange().sent();
  const struct {
    const char* what;
    void (*change)(Exchange&, Condition&);
  } kChanges[] = {
      {"user", [](Exchange& e, Condition&) { e.who.name = "bob"; }},
      {"uid", [](Exchange& e, Condition&) { e.who.uid = "2"; }},
      {"groups", [](Exchange& e, Condition&) { e.who.groups.push_back("c"); }},
      {"extra", [](Exchange& e, Condition&) { e.who.extra["k"] = {"w"}; }},
      {"no user", [](Exchange& e, Condition&) { e.data.user = nullptr; }},
      {"asker", [](Exchange& e, Condition&) { e.asker = "another"; }},
      {"author", [](Exchange& e, Condition&) { e.author = "hook.inner"; }},
      {"group", [](Exchange& e, Condition&) { e.data.group = "apps"; }},
      {"version", [](Exchange& e, Condition&) { e.data.version = "v2"; }},
      {"resource", [](Exchange& e, Condition&) { e.data.resource = "secrets"; }},
      {"subresource", [](Exchange& e, Condition&) { e.data.subresource = "status"; }},
      {"namespace", [](Exchange& e, Condition&) { e.data.namespace_name = "other"; }},
      {"operation", [](Exchange& e, Condition&) { e.data.operation = "UPDATE"; }},
      {"no operation", [](Exchange& e, Condition&) { e.data.operation = ""; }},
      {"effect", [](Exchange&, Condition& c) { c.effect = Condition::Effect::kNoOpinion; }},
      {"id", [](Exchange&, Condition& c) { c.id = "example.com/d"; }},
      {"text", [](Exchange&, Condition& c) { c.text.replace(c.text.size() - 4, 1, "7"); }},
      {"code", [](Exchange&, Condition& c) { c.text[0] = c.text[0] == 'A' ? 'B' : 'A'; }},
      {"no text", [](Exchange&, Condition& c) { c.text.clear(); }},
      {"nonsense", [](Exchange&, Condition& c) { c.text = "AAAA.[1,2,3,4,5]"; }},
  };
  for (const auto& row : kChanges) {
    Exchange e;
    Condition c = sent;
    row.change(e, c);
    EXPECT_FALSE(e.back(c)) << row.what;
  }
  EXPECT_FALSE(Exchange("another secret").back(sent));
}

TEST(ConditionSeal, IsAboutOneObjectIfTheQuestionWas) {
  Exchange e;
  e.question.name = "x";
  const Condition sent = e.sent();
  EXPECT_TRUE(e.back(sent));
  e.data.name = "y";
  EXPECT_FALSE(e.back(sent));
}

TEST(ConditionSeal, Ages) {
  Exchange e;
  const Condition sent = e.sent();
  EXPECT_TRUE(e.back(sent, kNow + ConditionSeal::kLifetime));
  EXPECT_FALSE(e.back(sent, kNow + ConditionSeal::kLifetime + std::chrono::seconds(1)));
  EXPECT_FALSE(e.back(sent, kNow - std::chrono::hours(1)));
}

TEST(ConditionSeal, AnUpdateMayTurnOutToCreate) {
  Exchange e;
  e.question.verb = "update";
  EXPECT_TRUE(e.back(e.sent()));
  e.question.verb = "delete";
  EXPECT_FALSE(e.back(e.sent()));
}

TEST(ConditionSeal, LeavesCelReadable) {
  Exchange e;
  Condition cel = opaque(Condition::Effect::kDeny);
  cel.id = "example.com/cel";
  cel.type = authz::kCelType;
  cel.text = "object.a == 1";
  Decision d = e.sealed(authz::fold({{"hook", set_of({cel, opaque()})}}));
  const auto& conditions = (*d.conditions->chain())[0].decision.conditions->set()->conditions;
  EXPECT_EQ(conditions[0].text, "object.a == 1");
  EXPECT_EQ(conditions[0].type, authz::kCelType);
  EXPECT_EQ(conditions[1].type, kSealedType);
}

TEST(ConditionSeal, IsForConditionsOfWebhooks) {
  Exchange e;
  Decision d = e.sealed(authz::fold({{"other", set_of({opaque()})}}));
  const auto& conditions = (*d.conditions->chain())[0].decision.conditions->set()->conditions;
  EXPECT_EQ(conditions[0].type, "example.com/t");
}

// A server between two others: what it got sealed it seals again.
TEST(ConditionSeal, HoldsSealsOfOthers) {
  Exchange first, second("another secret");
  second.author = "front.hook";
  Decision inner = first.sealed(authz::fold({{"hook", set_of({opaque()})}}));
  Decision outer = second.sealed(authz::fold({{"front", inner}}));
  json::Value list = authz::wire::as_list(outer);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["authorizerName"].as_string(), "front.hook");
  Condition sent = opaque();
  sent.type = kSealedType;
  sent.text = list[0]["conditions"][0]["condition"].as_string();
  auto once = second.back(sent);
  ASSERT_TRUE(once) << once.error().message;
  auto twice = first.back(*once);
  ASSERT_TRUE(twice) << twice.error().message;
  EXPECT_EQ(twice->text, "policy16");
}

}  // namespace
}  // namespace cardea::rest
