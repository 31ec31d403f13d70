#include "rest/memory_budget.h"

#include <gtest/gtest.h>

#include <vector>

namespace cardea::rest {
namespace {

authz::User user(std::string name) {
  return {.name = std::move(name)};
}

TEST(MemoryBudget, BoundsOneUserAndAllOfThem) {
  auto budget = std::make_shared<MemoryBudget>(100, 250);
  const authz::User admin{.name = "admin", .groups = {"system:masters"}};
  std::vector<std::shared_ptr<void>> held;
  held.push_back(budget->take(user("jane"), 60));
  EXPECT_TRUE(held.back());
  EXPECT_FALSE(budget->take(user("jane"), 60));
  held.push_back(budget->take(user("joe"), 90));
  held.push_back(budget->take(user("eve"), 90));
  EXPECT_TRUE(held[1] && held[2]);
  EXPECT_FALSE(budget->take(user("mallory"), 20));
  EXPECT_TRUE(budget->take(admin, 20));
  EXPECT_EQ(budget->held(), 240u);
  held.clear();
  EXPECT_EQ(budget->held(), 0u);
  EXPECT_TRUE(budget->take(user("mallory"), 20));
}

TEST(MemoryBudget, OneLargeAnswerIsPossible) {
  auto budget = std::make_shared<MemoryBudget>(100, 250);
  auto large = budget->take(user("jane"), 1000);
  EXPECT_TRUE(large);
  EXPECT_FALSE(budget->take(user("jane"), 1));
  EXPECT_FALSE(budget->take(user("joe"), 1));
}

}  // namespace
}  // namespace cardea::rest
