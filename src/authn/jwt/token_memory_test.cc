#include "authn/jwt/token_memory.h"

#include <gtest/gtest.h>

#include <thread>

namespace cardea::authn {
namespace {

TEST(TokenMemory, EachThreadAndEachHolderRemembersForItself) {
  TokenMemory<int> one, two;
  one.keep("t", 1);
  ASSERT_NE(one.find("t"), nullptr);
  EXPECT_EQ(*one.find("t"), 1);
  EXPECT_EQ(two.find("t"), nullptr);
  std::thread([&] { EXPECT_EQ(one.find("t"), nullptr); }).join();
  one.forget("t");
  EXPECT_EQ(one.find("t"), nullptr);
}

TEST(TokenMemory, ATokenTakesThePlaceOfAnother) {
  TokenMemory<int> memory(1);
  memory.keep("a", 1);
  memory.keep("b", 2);
  EXPECT_EQ(memory.find("a"), nullptr);
  EXPECT_EQ(*memory.find("b"), 2);
}

TEST(TokenMemory, WhatAHolderRememberedGoesWithIt) {
  auto value = std::make_shared<int>(1);
  {
    TokenMemory<std::shared_ptr<int>> memory;
    memory.keep("t", value);
    EXPECT_EQ(value.use_count(), 2);
  }
  TokenMemory<std::shared_ptr<int>> next;
  EXPECT_EQ(next.find("t"), nullptr);
  EXPECT_EQ(value.use_count(), 1);
}

}  // namespace
}  // namespace cardea::authn
