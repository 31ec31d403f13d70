#include "app/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace cardea::app {
namespace {

const std::vector<std::string> kKnown{"serve", "can-i", "who-can", "version"};

TEST(Nearest, IsTheWordWithTheFewestChanges) {
  EXPECT_EQ(nearest("sevre", kKnown), "serve");
  EXPECT_EQ(nearest("server", kKnown), "serve");
  EXPECT_EQ(nearest("cani", kKnown), "can-i");
  EXPECT_EQ(nearest("whocan", kKnown), "who-can");
}

TEST(Nearest, IsNothingWhenNoWordIsClose) {
  EXPECT_EQ(nearest("frobnicate", kKnown), "");
  EXPECT_EQ(nearest("", kKnown), "");
  EXPECT_EQ(nearest(std::string(100'000, 's'), kKnown), "");
  EXPECT_EQ(did_you_mean("x", {}), "");
}

TEST(Nearest, IsAsked) {
  EXPECT_EQ(did_you_mean("verson", kKnown), "; did you mean `version`");
}

}  // namespace
}  // namespace cardea::app
