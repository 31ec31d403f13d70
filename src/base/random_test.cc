#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>
#include <thread>
#include <vector>

namespace cardea {
namespace {

TEST(SystemRandom, GivesNoNumberTwiceToAnyThread) {
  constexpr std::size_t kEach = 1000;
  std::vector<std::vector<std::uint64_t>> drawn(4);
  {
    std::vector<std::jthread> threads;
    for (auto& numbers : drawn)
      threads.emplace_back([&numbers] {
        SystemRandom random;
        for (std::size_t i = 0; i < kEach; ++i) numbers.push_back(random.next());
      });
  }
  std::set<std::uint64_t> all;
  for (const auto& numbers : drawn) all.insert(numbers.begin(), numbers.end());
  EXPECT_EQ(all.size(), drawn.size() * kEach);
}

TEST(SystemRandom, SetsEveryBitAboutAsOftenAsNot) {
  SystemRandom random;
  std::uint64_t ones = 0;
  for (int i = 0; i < 10'000; ++i) ones += static_cast<std::uint64_t>(std::popcount(random.next()));
  EXPECT_NEAR(static_cast<double>(ones) / 640'000, 0.5, 0.01);
}

TEST(Uid, IsOfVersionFour) {
  SystemRandom random;
  std::string uid = make_uid(random);
  ASSERT_EQ(uid.size(), 36u);
  EXPECT_EQ(uid[14], '4');
  EXPECT_NE(std::string("89ab").find(uid[19]), std::string::npos);
}

}  // namespace
}  // namespace cardea
