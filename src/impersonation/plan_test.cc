#include "impersonation/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/strings.h"
#include "impersonation/impersonation.h"

namespace cardea::impersonation {
namespace {

using authz::Attributes;
using authz::Decision;
using authz::User;
using testing::ElementsAre;

using Answer = std::function<Decision(const Attributes&)>;

class Answering : public authz::Authorizer {
 public:
  explicit Answering(Answer answer) : answer_(std::move(answer)) {}
  std::string_view name() const override { return "answering"; }
  std::optional<Decision> authorize(const Attributes& a) const override { return answer_(a); }

 private:
  Answer answer_;
};

std::shared_ptr<const authz::Chain> chain_of(Answer answer) {
  return std::make_shared<authz::Chain>(std::vector<std::shared_ptr<const authz::Authorizer>>{
      std::make_shared<Answering>(std::move(answer))});
}

const authz::RequestInfo kListingPods = *authz::parse_request_info(
    "GET", "/api/v1/namespaces/ns/pods", "");
const User kBob{.name = "bob", .groups = {"system:authenticated"}};

std::vector<PlannedMode> planned(std::shared_ptr<const authz::Chain> chain, User asked,
                                 Attempt::Rules rules = Attempt::Rules::kConstrained) {
  std::vector<PlannedMode> out;
  spawn(plan(std::move(chain), kBob, std::move(asked), kListingPods, rules,
             authz::Asking::kConditionsAware),
        [&](std::vector<PlannedMode> modes) { out = std::move(modes); });
  return out;
}

std::vector<std::string> shown(const PlannedMode& mode) {
  std::vector<std::string> out;
  for (const PlannedQuestion& q : mode.questions)
    out.push_back(cat(q.verb, " ", q.resource, q.subresource.empty() ? "" : "/", q.subresource, " ",
                      q.name, q.decision.allowed() ? " yes" : " no"));
  return out;
}

TEST(ImpersonationPlan, HasAllQuestionsOfAllModesAlsoAfterARefusal) {
  auto modes = planned(chain_of([](const Attributes& a) {
                         return a.resource == "uids" ? Decision::allow() : Decision::no_opinion();
                       }),
                       {.name = "jane", .uid = "7", .groups = {"g"}, .extra = {{"a.io/k", {"v"}}}});
  ASSERT_EQ(modes.size(), 2u);
  EXPECT_EQ(modes[0].mode, Mode::kUserInfo);
  EXPECT_THAT(
      shown(modes[0]),
      ElementsAre("impersonate-on:user-info:list pods  no", "impersonate:user-info users jane no",
                  "impersonate:user-info uids 7 yes", "impersonate:user-info groups g no",
                  "impersonate:user-info userextras/a.io/k v no"));
  EXPECT_EQ(modes[1].mode, Mode::kLegacy);
  EXPECT_THAT(shown(modes[1]),
              ElementsAre("impersonate users jane no", "impersonate uids 7 yes",
                          "impersonate groups g no", "impersonate userextras/a.io/k v no"));
  EXPECT_FALSE(modes[0].is_allowed() || modes[1].is_allowed());
}

TEST(ImpersonationPlan, SaysWhatNoConstrainedModeMayAskFor) {
  auto modes = planned(chain_of([](const Attributes&) { return Decision::allow(); }),
                       {.name = "jane", .groups = {"system:masters"}});
  ASSERT_EQ(modes.size(), 2u);
  EXPECT_FALSE(modes[0].is_allowed());
  EXPECT_EQ(modes[0].flaw, "impersonating the system:masters group is not allowed");
  EXPECT_TRUE(modes[1].is_allowed());
}

TEST(ImpersonationPlan, AKeyWithoutValuesAsksForNothing) {
  auto modes = planned(chain_of([](const Attributes&) { return Decision::allow(); }),
                       {.name = "jane", .extra = {{"a.io/k", {}}, {"a.io/l", {"v"}}}});
  ASSERT_EQ(modes.size(), 2u);
  EXPECT_EQ(modes[0].flaw, "impersonating empty values in extra is not allowed");
  EXPECT_THAT(shown(modes[1]),
              ElementsAre("impersonate users jane yes", "impersonate userextras/a.io/l v yes"));
}

TEST(ImpersonationPlan, AnErrorIsNeverAnAllow) {
  auto broken = [](const Attributes&) { return Decision::no_opinion("", "out of order"); };
  for (const PlannedMode& mode : planned(chain_of(broken), {.name = "jane"}))
    EXPECT_FALSE(mode.is_allowed());
  auto allowed_with_an_error = [](const Attributes&) {
    Decision out = Decision::allow();
    out.error = "out of order";
    return out;
  };
  for (const PlannedMode& mode :
       planned(chain_of(allowed_with_an_error), {.name = "jane"}, Attempt::Rules::kLegacyOnly))
    EXPECT_FALSE(mode.is_allowed());
}

// The first mode that the plan allows is the one that a request gets, and none where it gets none.
TEST(ImpersonationPlan, AgreesWithTheDecision) {
  std::mt19937 random(7);
  auto flip = [&](int of) { return std::uniform_int_distribution<>(1, of)(random) == 1; };
  const char* const kNames[] = {"jane", "system:node:n1", "system:serviceaccount:ns:till"};
  int allowed = 0;
  for (int round = 0; round < 3'000; ++round) {
    User asked{.name = kNames[round % 3]};
    if (flip(3)) asked.uid = "7";
    if (flip(2))
      for (int i = flip(2) ? 5 : 2; i > 0; --i) asked.groups.push_back(cat("g", i));
    if (flip(8)) asked.groups.emplace_back("system:masters");
    if (flip(3)) asked.extra["a.io/k"] = {"v", "w"};
    if (flip(6)) asked.extra["a.io/l"] = {"1", "2", "3", "4"};
    const int strictness = 2 + round % 9;
    const bool denies = flip(2);
    const unsigned salt = random();
    auto chain = chain_of([=](const Attributes& a) {
      std::size_t number = std::hash<std::string>()(
          cat(a.verb, "|", a.resource, "|", a.subresource, "|", a.name, salt));
      if (denies && number % 29 == 0) return Decision::deny("no");
      return number % static_cast<unsigned>(strictness) ? Decision::allow()
                                                        : Decision::no_opinion();
    });
    auto rules = flip(4) ? Attempt::Rules::kLegacyOnly : Attempt::Rules::kConstrained;
    Attempt attempt(kBob, asked, kListingPods, rules);
    ASSERT_TRUE(Impersonator(rules).advance(*chain, attempt, authz::Asking::kFolded));
    const PlannedMode* first = nullptr;
    auto modes = planned(chain, asked, rules);
    for (const PlannedMode& mode : modes)
      if (!first && mode.is_allowed()) first = &mode;
    ASSERT_EQ(first != nullptr, attempt.is_allowed()) << round;
    if (first) ASSERT_EQ(first->mode, attempt.mode()) << round;
    allowed += first != nullptr;
  }
  EXPECT_GT(allowed, 300);
  EXPECT_LT(allowed, 2'700);
}

}  // namespace
}  // namespace cardea::impersonation
