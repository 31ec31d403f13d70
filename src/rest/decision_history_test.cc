#include "rest/decision_history.h"

#include <gtest/gtest.h>

#include <thread>

#include "authz/testing/allocations.h"
#include "base/strings.h"

namespace cardea::rest {
namespace {

DecisionFacts facts(std::string_view user, Outcome outcome = Outcome::kAllowed) {
  return {.outcome = outcome, .code = 200, .verb = "get", .resource = "pods", .user = user};
}

std::vector<std::string> users(const DecisionHistory& history, std::uint64_t before = UINT64_MAX) {
  std::vector<std::string> out;
  history.read(before, [&](const KeptDecision& kept) {
    out.emplace_back(kept.text(KeptDecision::kUser));
    return true;
  });
  return out;
}

TEST(DecisionHistory, KeepsTheLastOfEachSortNewestFirst) {
  DecisionHistory history(2);
  history.record(facts("refused", Outcome::kDenied));
  for (const char* user : {"a", "b", "c"}) history.record(facts(user));
  EXPECT_EQ(users(history), (std::vector<std::string>{"c", "b", "refused"}));
  EXPECT_EQ(users(history, 4), (std::vector<std::string>{"b", "refused"}));
  EXPECT_EQ(history.find(1)->outcome, Outcome::kDenied);
  EXPECT_FALSE(history.find(2)) << "it was pushed out";
  EXPECT_FALSE(history.find(0));
  EXPECT_FALSE(history.find(5));
}

TEST(DecisionHistory, CutsLongTextsAtAWholeCharacterAndSaysSo) {
  DecisionHistory history(1);
  std::string name;
  for (int i = 0; i < 1000; ++i) name += "ä";
  const std::vector<std::string> groups(100, std::string(1000, 'g'));
  DecisionFacts long_ones = facts(name, Outcome::kDenied);
  long_ones.verb = long_ones.group = long_ones.version = long_ones.resource = name;
  long_ones.subresource = long_ones.namespace_name = long_ones.name = long_ones.path = name;
  long_ones.impersonator = long_ones.reason = name;
  long_ones.groups = groups;
  history.record(long_ones);
  const KeptDecision kept = *history.find(1);
  EXPECT_TRUE(kept.is_cut);
  std::size_t all = 0;
  for (int i = 0; i < KeptDecision::kTexts; ++i) {
    const std::string_view text = kept.text(static_cast<KeptDecision::Text>(i));
    EXPECT_TRUE(text.ends_with("ä…")) << i << " " << text;
    all += text.size();
  }
  for (std::string_view group : kept.groups()) {
    EXPECT_TRUE(group.ends_with("…"));
    all += group.size();
  }
  EXPECT_LE(all, KeptDecision::kBytes);

  const std::vector<std::string> few = {"dev", "system:authenticated"};
  DecisionFacts short_ones = facts("jane", Outcome::kDenied);
  short_ones.groups = few;
  history.record(short_ones);
  EXPECT_FALSE(history.find(2)->is_cut);
  EXPECT_EQ(history.find(2)->groups(), (std::vector<std::string_view>{"dev", few[1]}));
}

TEST(DecisionHistory, RecordsWithoutAllocating) {
  DecisionHistory history(16);
  const DecisionFacts one = facts("jane");
  const long before = authz::counted_allocations();
  for (int i = 0; i < 100; ++i) history.record(one);
  EXPECT_EQ(authz::counted_allocations(), before);
}

// Also for the thread sanitizer.
TEST(DecisionHistory, IsReadWhileItIsWritten) {
  DecisionHistory history(4);
  std::vector<std::jthread> writers;
  for (const char* user : {"aaaa", "bbbbbbbb"})
    writers.emplace_back([&history, user] {
      for (int i = 0; i < 20'000; ++i) {
        DecisionFacts one = facts(user);
        one.name = user;
        history.record(one);
      }
    });
  for (int i = 0; i < 200; ++i) {
    std::uint64_t last = UINT64_MAX;
    history.read(UINT64_MAX, [&](const KeptDecision& kept) {
      EXPECT_EQ(kept.text(KeptDecision::kUser), kept.text(KeptDecision::kName));
      EXPECT_LT(kept.number, last);
      last = kept.number;
      return true;
    });
  }
}

}  // namespace
}  // namespace cardea::rest
