#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "authz/authorizer.h"
#include "authz/evaluation.h"
#include "base/strings.h"

namespace cardea::authz {
namespace {

using Kind = Decision::Kind;
using Effect = Condition::Effect;

template <typename T>
T run(Task<T> task) {
  std::optional<T> value;
  spawn(std::move(task), [&](T v) { value.emplace(std::move(v)); });
  return std::move(*value);
}

const User kJane{.name = "jane"};

// A world in which every condition has an outcome: the value of one bit of the "object", or an
// error.
struct World {
  unsigned object = 0;
};

// The text of a condition is the bit that it reads, or `!` for an error.
class Looks : public ConditionEvaluator {
 public:
  explicit Looks(const World& world, bool only_transparent = false)
      : world_(world), only_transparent_(only_transparent) {}
  Truth truth(const Condition& c, std::string& error) override {
    if (only_transparent_ && c.type != "transparent") return Truth::kUnevaluatable;
    if (c.text == "!") {
      error = "boom";
      return Truth::kError;
    }
    return (world_.object >> (c.text[0] - '0')) & 1 ? Truth::kTrue : Truth::kFalse;
  }

 private:
  const World& world_;
  bool only_transparent_;
};

// The failure of an authorizer between the phases.
enum class Fault { kNone, kErrs, kLies, kVanishes };

// Gives the answer of the test, at once or after waiting, and evaluates its conditions in `world`.
class Told : public Authorizer {
 public:
  Told(std::string name, Decision decision, const World& world, bool waits = false,
       Fault fault = Fault::kNone)
      : name_(std::move(name)),
        decision_(std::move(decision)),
        world_(world),
        waits_(waits),
        fault_(fault) {}
  std::string_view name() const override { return name_; }
  std::optional<Decision> authorize(const Attributes&) const override {
    if (waits_) return std::nullopt;
    ++asked;
    return decision_;
  }
  Task<Decision> authorize_waiting(Attributes) const override {
    ++asked;
    co_return decision_;
  }
  Task<Decision> evaluate(std::shared_ptr<const Conditions> conditions,
                          const ConditionData&) const override {
    co_return settled(Decision::conditional(std::move(conditions)));
  }
  // As far as this can be told early: by the conditions that are transparent.
  Decision narrowed(std::shared_ptr<const Conditions> conditions,
                    const Attributes&) const override {
    if (fault_ == Fault::kLies) return Decision::allow("trust me");
    if (fault_ != Fault::kNone) return Decision::conditional(std::move(conditions));
    Looks looks(world_, true);
    return partially_evaluated(Decision::conditional(std::move(conditions)), looks);
  }
  Decision settled(const Decision& open) const {
    if (fault_ == Fault::kErrs) return Decision::no_opinion({}, "timed out");
    if (fault_ == Fault::kLies) return Decision::allow("trust me");
    Looks looks(world_);
    return partially_evaluated(open, looks);
  }
  // The answer if the object had been known at once.
  Decision alone() const {
    if (decision_.kind != Kind::kConditional) return decision_;
    Decision d = settled(decision_);
    return allows(possible_outcomes(decision_), d.kind) ? d : failed(decision_, "excluded");
  }
  const Decision& first() const { return decision_; }
  Fault fault() const { return fault_; }
  mutable int asked = 0;

 private:
  std::string name_;
  Decision decision_;
  const World& world_;
  bool waits_;
  Fault fault_;
};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

  Decision set() {
    Conditions::Set set;
    int n = 1 + below(4);
    for (int i = 0; i < n; ++i) {
      std::string text = below(6) == 0 ? std::string("!") : std::to_string(below(4));
      set.conditions.push_back({.effect = static_cast<Effect>(below(3)),
                                .id = cat("c", i),
                                .type = below(2) ? "transparent" : "opaque",
                                .text = text});
    }
    if (below(8) == 0) set.failure_mode = Conditions::FailureMode::kNoOpinion;
    return conditional_on(std::move(set));
  }
  Decision decision(int depth = 0) {
    switch (below(depth > 1 ? 8 : 9)) {
      case 0:
        return Decision::allow("a");
      case 1:
        return Decision::deny("d");
      case 2:
      case 3:
        return Decision::no_opinion();
      case 8: {
        Conditions::Chain chain;
        int n = 1 + below(3);
        for (int i = 0; i < n; ++i) chain.push_back({cat("n", i), decision(depth + 1)});
        return fold(std::move(chain));
      }
      default:
        return set();
    }
  }

 private:
  std::mt19937 random_;
};

using List = std::vector<std::shared_ptr<const Authorizer>>;

Decision two_phases(const List& list, Asking asking) {
  Chain chain(list);
  Chain::Verdict v = run(chain.authorize(Attributes(kJane), asking));
  EXPECT_EQ(v.permit.has_value(), possible_outcomes(v.decision).allow);
  if (v.decision.kind != Kind::kConditional) return v.decision;
  Decision d = run(chain.evaluate(v.decision, {}));
  EXPECT_NE(d.kind, Kind::kConditional);
  EXPECT_TRUE(allows(possible_outcomes(v.decision), d.kind));
  return d;
}

// With a step between them, in which a part is known.
Kind three_phases(const List& list, Asking asking) {
  Chain chain(list);
  Chain::Verdict v = run(chain.authorize(Attributes(kJane), asking));
  if (v.decision.kind != Kind::kConditional) return v.decision.kind;
  Decision left = run(chain.narrow(v.decision, Attributes(kJane)));
  EXPECT_TRUE(!possible_outcomes(left).allow || possible_outcomes(v.decision).allow);
  return left.kind == Kind::kConditional ? run(chain.evaluate(left, {})).kind : left.kind;
}

Kind one_phase(const std::vector<std::shared_ptr<const Told>>& told) {
  for (const auto& t : told)
    if (Decision d = t->alone(); d.kind != Kind::kNoOpinion) return d.kind;
  return Kind::kNoOpinion;
}

// CARDEA_CONDITION_CASES sets the length of the run, CARDEA_CONDITION_SEED its beginning.
std::uint64_t of_environment(const char* name, std::uint64_t otherwise) {
  const char* asked = std::getenv(name);
  return asked ? std::strtoull(asked, nullptr, 10) : otherwise;
}
const std::uint64_t kCases = of_environment("CARDEA_CONDITION_CASES", 100'000);
const std::uint64_t kSeed = of_environment("CARDEA_CONDITION_SEED", 1);

TEST(Chain, TwoPhasesGiveWhatOneGivesInRandomChainsWithFaults) {
  Generator g(static_cast<unsigned>(kSeed));
  World world;
  std::uint64_t conditional = 0;
  for (std::uint64_t i = 0; i < kCases; ++i) {
    world.object = static_cast<unsigned>(g.below(16));
    std::vector<std::shared_ptr<const Told>> told;
    List list;
    int n = g.below(5);
    for (int k = 0; k < n; ++k) {
      Fault fault = g.below(10) == 0 ? static_cast<Fault>(1 + g.below(2)) : Fault::kNone;
      told.push_back(
          std::make_shared<Told>(cat("a", k), g.decision(), world, g.below(3) == 0, fault));
      list.push_back(told.back());
      conditional += told.back()->first().kind == Kind::kConditional;
    }
    Kind want = one_phase(told);
    ASSERT_EQ(two_phases(list, Asking::kConditionsAware).kind, want) << i;
    ASSERT_EQ(two_phases(list, Asking::kConditionsAwareAtOnce).kind, want) << i;
    ASSERT_EQ(three_phases(list, Asking::kConditionsAware), want) << i;
    ASSERT_EQ(three_phases(list, Asking::kConditionsAwareAtOnce), want) << i;

    // A caller that cannot take conditions gets Allow only if every object would get it, and Deny
    // if one object would get it.
    Kind unaware = run(Chain(list).authorize(Attributes(kJane))).decision.kind;
    if (unaware == Kind::kAllow) {
      ASSERT_EQ(want, Kind::kAllow) << i;
    }
    if (want == Kind::kDeny) {
      ASSERT_NE(unaware, Kind::kAllow) << i;
    }

    // An additional authorizer without an opinion changes nothing, nor does a chain inside the
    // chain.
    List more = list;
    more.insert(more.begin() + g.below(n + 1),
                std::make_shared<Told>("idle", Decision::no_opinion(), world));
    ASSERT_EQ(two_phases(more, Asking::kConditionsAware).kind, want) << i;
    if (n > 1) {
      int from = g.below(n - 1), to = from + 1 + g.below(n - from);
      List inner(list.begin() + from, list.begin() + to), outer(list.begin(), list.begin() + from);
      outer.push_back(nested("inner", std::make_shared<const Chain>(inner)));
      outer.insert(outer.end(), list.begin() + to, list.end());
      ASSERT_EQ(two_phases(outer, Asking::kConditionsAware).kind, want) << i;
    }
  }
  EXPECT_GT(conditional, kCases / 2);
}

TEST(Evaluation, PartOfItAndThenTheRestGivesWhatAllOfItGives) {
  Generator g(static_cast<unsigned>(kSeed + 1));
  World world;
  for (std::uint64_t i = 0; i < kCases; ++i) {
    Decision d = g.decision();
    world.object = static_cast<unsigned>(g.below(16));
    Looks all(world), some(world, true);
    Decision want = partially_evaluated(d, all);
    ASSERT_NE(want.kind, Kind::kConditional);
    Decision partly = partially_evaluated(d, some);
    ASSERT_TRUE(!possible_outcomes(partly).allow || possible_outcomes(d).allow);
    Decision got = partially_evaluated(partly, all);
    ASSERT_EQ(got.kind, want.kind) << i;
    ASSERT_TRUE(allows(possible_outcomes(d), got.kind)) << i;
  }
}

Decision on(Effect effect, std::string text = "0") {
  return conditional_on({.conditions = {{.effect = effect, .id = "c", .text = std::move(text)}}});
}

TEST(Chain, AnAuthorizerThatHasToWaitIsAskedOnlyWhenItComesToThat) {
  World world;
  auto first = std::make_shared<Told>("first", on(Effect::kAllow), world);
  auto second = std::make_shared<Told>("second", Decision::allow("later"), world, true);
  Chain chain({first, second});
  auto verdict = chain.decide(Attributes(kJane), Asking::kConditionsAware);
  ASSERT_TRUE(verdict && verdict->permit && verdict->permit->is_conditional());
  world.object = 1;
  EXPECT_EQ(run(chain.evaluate(verdict->decision, {})).kind, Kind::kAllow);
  EXPECT_EQ(second->asked, 0);
  world.object = 0;
  EXPECT_EQ(run(chain.evaluate(verdict->decision, {})).reason.text(), "later");
  EXPECT_EQ(second->asked, 1);
}

TEST(Chain, NarrowingAsksNobodyWhoMayNotBeNeeded) {
  World world;
  auto first = std::make_shared<Told>(
      "first",
      conditional_on(
          {.conditions =
               {{.effect = Effect::kNoOpinion, .id = "early", .type = "transparent", .text = "1"},
                {.effect = Effect::kAllow, .id = "late", .text = "0"}}}),
      world);
  auto second = std::make_shared<Told>("second", Decision::allow("later"), world, true);
  Chain chain({first, second});
  auto verdict = chain.decide(Attributes(kJane), Asking::kConditionsAware);
  ASSERT_TRUE(verdict);
  // It is open what the first says.
  EXPECT_EQ(run(chain.narrow(verdict->decision, Attributes(kJane))).kind, Kind::kConditional);
  EXPECT_EQ(second->asked, 0);
  // It has no opinion, whatever the object is.
  world.object = 2;
  EXPECT_EQ(run(chain.narrow(verdict->decision, Attributes(kJane))).reason.text(), "later");
  EXPECT_EQ(second->asked, 1);
}

TEST(Chain, WhoCanAnswerAtOnceIsAskedWhenThatLeavesNoCondition) {
  World world;
  Chain chain({std::make_shared<Told>("first", on(Effect::kAllow), world),
               std::make_shared<Told>("second", Decision::allow("bare"), world)});
  auto verdict = chain.decide(Attributes(kJane), Asking::kConditionsAware);
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->decision.allowed());
  EXPECT_EQ(verdict->decision.reason.text(), "bare");
}

TEST(Chain, WhatCanOnlyBeDeniedHasNoPermit) {
  World world;
  Chain chain({std::make_shared<Told>("first", on(Effect::kDeny), world)});
  auto verdict = chain.decide(Attributes(kJane), Asking::kConditionsAware);
  ASSERT_TRUE(verdict);
  EXPECT_FALSE(verdict->permit);
}

TEST(Chain, AnAuthorizerThatIsGoneFailsClosed) {
  World world;
  Chain before({std::make_shared<Told>("gone", on(Effect::kDeny, "1"), world),
                std::make_shared<Told>("later", Decision::allow(), world)});
  auto verdict = before.decide(Attributes(kJane), Asking::kConditionsAware);
  Chain after({std::make_shared<Told>("later", Decision::allow(), world)});
  Decision d = run(after.evaluate(verdict->decision, {}));
  EXPECT_EQ(d.kind, Kind::kDeny);
  EXPECT_FALSE(d.error.empty());
}

TEST(Chain, NamesThatDoNotTellAuthorizersApartFailClosed) {
  World world;
  for (std::string name : {"same", "", "No Name"}) {
    Chain chain({std::make_shared<Told>("same", on(Effect::kAllow, "1"), world),
                 std::make_shared<Told>(name, on(Effect::kDeny, "2"), world)});
    auto verdict = chain.decide(Attributes(kJane), Asking::kConditionsAware);
    ASSERT_TRUE(verdict) << name;
    EXPECT_EQ(verdict->decision.kind, Kind::kDeny) << name;
    EXPECT_FALSE(verdict->decision.error.empty()) << name;
    EXPECT_FALSE(verdict->permit) << name;
  }
}

TEST(Conditions, LimitsAreForSetsThatAreSent) {
  Conditions::Set set{
      .conditions = {{.effect = Effect::kAllow, .id = "a"}, {.effect = Effect::kDeny, .id = "b"}}};
  EXPECT_EQ(conditional_on(set, Author::kOwnChecked).kind, Kind::kConditional);
  Conditions::Set twice = set, many = set, long_text = set, described = set;
  twice.conditions[1].id = "a";
  for (std::size_t i = 2; i <= kMostConditions; ++i)
    many.conditions.push_back({.effect = Effect::kAllow, .id = cat("more-", i)});
  long_text.conditions[0].text.assign(kLongestCondition + 1, 'x');
  described.conditions[0].description.assign(kLongestDescription + 1, 'x');
  EXPECT_EQ(conditional_on(twice, Author::kOwnChecked).kind, Kind::kDeny);
  for (const Conditions::Set& large : {many, long_text, described}) {
    EXPECT_EQ(conditional_on(large, Author::kOwnChecked).kind, Kind::kConditional);
    for (Author author : {Author::kOwn, Author::kThirdParty}) {
      Decision d = conditional_on(large, author);
      EXPECT_EQ(d.kind, Kind::kDeny);
      EXPECT_FALSE(d.error.empty());
    }
  }
}

TEST(Conditions, IdsOfKubernetesAreNotForOthers) {
  Conditions::Set set{.conditions = {{.effect = Effect::kAllow, .id = "k8s.io/x"}}};
  EXPECT_EQ(conditional_on(set).kind, Kind::kConditional);
  EXPECT_EQ(conditional_on(set, Author::kThirdParty).kind, Kind::kNoOpinion);
  set.conditions.push_back({.effect = Effect::kDeny, .id = "fine"});
  EXPECT_EQ(conditional_on(set, Author::kThirdParty).kind, Kind::kDeny);
}

TEST(Conditions, LengthsAreOfBytes) {
  std::string two_bytes = "\xc3\xa9";
  std::string description;
  for (int i = 0; i < 512; ++i) description += two_bytes;
  Conditions::Set set{
      .conditions = {{.effect = Effect::kAllow, .id = "x", .description = description}}};
  EXPECT_EQ(conditional_on(set, Author::kThirdParty).kind, Kind::kConditional);
  set.conditions[0].description += "!";
  EXPECT_EQ(conditional_on(set, Author::kThirdParty).kind, Kind::kNoOpinion);
}

TEST(Evaluation, TheFailureModeOfAWebhookDecidesAboutErrorsInDenyConditions) {
  World world;
  Looks looks(world);
  Conditions::Set set{.conditions = {{.effect = Effect::kDeny, .id = "d", .text = "!"},
                                     {.effect = Effect::kAllow, .id = "a", .text = "0"}}};
  EXPECT_EQ(evaluated(set, looks).kind, Kind::kDeny);
  set.failure_mode = Conditions::FailureMode::kNoOpinion;
  Decision d = evaluated(set, looks);
  EXPECT_EQ(d.kind, Kind::kNoOpinion);
  EXPECT_FALSE(d.error.empty());
}

TEST(Evaluation, TellsTheIdAndDescriptionOfWhatDecided) {
  World world{.object = 1};
  Looks looks(world);
  Conditions::Set set{
      .conditions = {
          {.effect = Effect::kDeny, .id = "d", .text = "0", .description = "not on Mondays"}}};
  EXPECT_EQ(evaluated(set, looks).reason.text(),
            "condition \"d\" (not on Mondays) denied the request");
  world.object = 0;
  set.conditions[0].effect = Effect::kAllow;
  EXPECT_EQ(evaluated(set, looks).reason.text(),
            "no condition allowed the request: \"d\" (not on Mondays)");
}

}  // namespace
}  // namespace cardea::authz
