#include "base/snapshot.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <thread>

namespace cardea {
namespace {

std::shared_ptr<const std::string> state(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

TEST(Snapshot, IsReadAgainOnlyWhenItHasChanged) {
  Snapshot<std::string> holder(state("first"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*holder.get(), "first");
  EXPECT_EQ(holder.renewals(), 1u);
  holder.set(state("second"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*holder.get(), "second");
  EXPECT_EQ(holder.renewals(), 2u);
}

TEST(Snapshot, TwoHoldersOfOneTypeDoNotEvictEachOther) {
  Snapshot<std::string> mutating(state("mutating")), validating(state("validating"));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(*mutating.get(), "mutating");
    EXPECT_EQ(*validating.get(), "validating");
  }
  EXPECT_EQ(mutating.renewals(), 1u);
  EXPECT_EQ(validating.renewals(), 1u);
}

TEST(Snapshot, EachThreadRenewsForItself) {
  Snapshot<std::string> a(state("a")), b(state("b"));
  for (int i = 0; i < 3; ++i)
    std::thread([&] {
      for (int j = 0; j < 10; ++j) EXPECT_EQ(*a.get() + *b.get(), "ab");
    }).join();
  EXPECT_EQ(a.renewals(), 3u);
  EXPECT_EQ(b.renewals(), 3u);
}

TEST(Snapshot, AHolderInThePlaceOfADestroyedOneShowsItsOwnState) {
  for (int i = 0; i < 200; ++i) {
    Snapshot<std::string> holder(state(std::to_string(i)));
    EXPECT_EQ(*holder.get(), std::to_string(i));
  }
}

TEST(Snapshot, HoldersThatCameAndWentTakeNoPlaceFromThoseThatStay) {
  Snapshot<std::string> first(state("first"));
  for (int i = 0; i < 200; ++i) Snapshot<std::string> passing(state("passing"));
  Snapshot<std::string> second(state("second"));
  for (int i = 0; i < 10; ++i) EXPECT_NE(*first.get(), *second.get());
  EXPECT_EQ(first.renewals() + second.renewals(), 2u);
}

TEST(Snapshot, MoreHoldersThanPlacesStillShowTheirOwnStates) {
  std::deque<Snapshot<std::string>> holders;
  for (std::size_t i = 0; i < 3 * Snapshot<std::string>::kPlaces; ++i)
    holders.emplace_back(state(std::to_string(i)));
  for (int round = 0; round < 3; ++round)
    for (std::size_t i = 0; i < holders.size(); ++i)
      EXPECT_EQ(*holders[i].get(), std::to_string(i));
}

}  // namespace
}  // namespace cardea
