#include "rest/write/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <type_traits>

namespace cardea::rest {
namespace {

using testing::ElementsAre;

std::vector<std::string_view> steps_of(WriteKind kind) {
  std::vector<std::string_view> out;
  for (const Step& step : steps())
    if (step.is_of(kind)) out.push_back(step.name);
  return out;
}

constexpr WriteKind kKinds[] = {WriteKind::kCreate,   WriteKind::kUpdate, WriteKind::kPart,
                                WriteKind::kFollowUp, WriteKind::kDelete, WriteKind::kEviction};

// A verb without a proof cannot commit: only the Settlement makes the proof, and the store that
// verbs see is read-only.
static_assert(!std::is_default_constructible_v<Settled>);
static_assert(std::is_const_v<std::remove_reference_t<decltype(Services::store)>>);
static_assert(
    !std::is_invocable_v<decltype(&Commits::commit), Commits, store::Txn, store::Store::Done>);

TEST(Steps, TakeEachKindOfWriteToACommit) {
  EXPECT_THAT(steps_of(WriteKind::kCreate),
              ElementsAre("take", "judge new", "own", "own (webhook)", "review", "mutate",
                          "judge mutation", "name", "guard", "allocate", "prepare", "judge storage",
                          "validate", "refuse", "warn", "settle", "own again", "commit new"));
  EXPECT_THAT(steps_of(WriteKind::kUpdate),
              ElementsAre("read", "read (webhook)", "change", "change (webhook)", "judge", "own",
                          "own (webhook)", "review", "mutate", "judge mutation", "guard",
                          "allocate", "prepare", "judge storage", "count generation", "validate",
                          "refuse", "warn", "settle", "own again", "commit"));
  EXPECT_THAT(steps_of(WriteKind::kDelete),
              ElementsAre("read", "read (webhook)", "check", "guard deletion", "mutate deletion",
                          "settle deletion", "hold", "commit deletion"));
  for (WriteKind kind : kKinds) EXPECT_TRUE(steps_of(kind).back().starts_with("commit"));
}

TEST(Steps, SettleEveryWriteThatWasNotAdmittedBefore) {
  for (WriteKind kind : kKinds) {
    const bool settles = std::ranges::any_of(
        steps_of(kind), [](std::string_view name) { return name.starts_with("settle"); });
    EXPECT_EQ(settles, kind != WriteKind::kFollowUp && kind != WriteKind::kEviction);
  }
}

TEST(Steps, EitherWaitOrDoNot) {
  for (const Step& step : steps()) {
    EXPECT_NE(step.now == nullptr, step.later == nullptr) << step.name;
    EXPECT_EQ(step.kinds.size(), std::size(kKinds)) << step.name;
  }
}

}  // namespace
}  // namespace cardea::rest
