#include "feeds/uncovered_feed.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/strings.h"
#include "store/testing/memory_store.h"

namespace cardea::feeds {
namespace {

class UncoveredFeedTest : public ::testing::Test {
 protected:
  void put(std::string_view name, std::string value) {
    ASSERT_TRUE(store::commit_sync(
        *store_, {{}, {store::Put{cat(authz::fields::kUncoveredPrefix, name), std::move(value)}}}));
  }
  auto follow() {
    auto feed = UncoveredFeed::start(*store_);
    EXPECT_TRUE(feed);
    return std::move(*feed);
  }
  static constexpr std::string_view kSet = R"({"spec":{"uncoveredPermissions":["granular:x"]}})";

  SystemClock clock_;
  std::unique_ptr<store::Store> store_ = store::make_memory_store(clock_);
};

TEST_F(UncoveredFeedTest, ASetThatBecomesUnreadableStaysAsItWas) {
  auto feed = follow();
  put("a", std::string(kSet));
  put("a", "not JSON");
  EXPECT_TRUE(feed->current()->on("", "pods").verbs.verbs.contains("granular:x"));
  EXPECT_EQ(feed->current()->unread(), "");
}

TEST_F(UncoveredFeedTest, AnErrorIsNeverAnAllow) {
  put("a", "not JSON");
  put("b", R"({"metadata":{}})");
  auto feed = follow();
  EXPECT_EQ(feed->unreadable(), 2u);
  EXPECT_EQ(feed->current()->unread(), cat(authz::fields::kUncoveredPrefix, "b"));
  put("b", std::string(kSet));
  EXPECT_EQ(feed->current()->unread(), cat(authz::fields::kUncoveredPrefix, "a"));
  put("a", std::string(kSet));
  EXPECT_EQ(feed->current()->unread(), "");
}

}  // namespace
}  // namespace cardea::feeds
