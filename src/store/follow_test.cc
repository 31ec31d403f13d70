#include "store/follow.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "base/snapshot.h"
#include "base/strings.h"
#include "store/testing/fixtures.h"
#include "store/testing/memory_store.h"

namespace cardea::store {
namespace {

using Numbers = std::map<std::string, std::int64_t, std::less<>>;

// Numbers by key. A value that is not a number leaves the old number; an equal value is not a
// change.
class NumberFold {
 public:
  explicit NumberFold(std::vector<std::string> prefixes) : prefixes_(std::move(prefixes)) {}

  std::vector<std::string> prefixes() const { return prefixes_; }
  Folded change(std::string_view key, const Record* before, const Record* after) {
    // The previous value in a report must be the value of the report before.
    auto at = next_.find(key);
    if (before && parse_int(before->value()))
      CARDEA_CHECK(at != next_.end() && at->second == parse_int(before->value()));
    if (!after) {
      if (at != next_.end()) next_.erase(at);
      return Folded::kChanged;
    }
    auto number = parse_int(after->value());
    if (!number) return Folded::kUnreadable;
    if (at != next_.end() && at->second == *number) return Folded::kSame;
    next_.insert_or_assign(std::string(key), *number);
    return Folded::kChanged;
  }
  void publish() { numbers_.set(std::make_shared<const Numbers>(next_)); }
  const Snapshot<Numbers>& snapshot() const { return numbers_; }

 private:
  std::vector<std::string> prefixes_;
  Numbers next_;
  Snapshot<Numbers> numbers_;
};
using NumberFeed = Follower<NumberFold>;

// A store in which a write happens between the read of a range and the watch of it.
class Overtaken : public Store {
 public:
  explicit Overtaken(Store& inner) : inner_(inner) {}
  std::function<void()> before_watch = [] {};
  int watches = 0;

  RecordPtr get(std::string_view key) const override { return inner_.get(key); }
  Result<RangeResult> range(const RangeQuery& query) const override { return inner_.range(query); }
  std::int64_t count(const KeyRange& keys) const override { return inner_.count(keys); }
  Revision current_revision() const override { return inner_.current_revision(); }
  Revision compacted_revision() const override { return inner_.compacted_revision(); }
  void commit(Txn txn, Done done) override { inner_.commit(std::move(txn), std::move(done)); }
  Result<std::unique_ptr<Watch>> watch(std::string prefix, Revision from, Sink sink) override {
    ++watches;
    before_watch();
    return inner_.watch(std::move(prefix), from, std::move(sink));
  }
  void compact(Revision revision, Compacted done) override {
    inner_.compact(revision, std::move(done));
  }
  StoreStats stats() const override { return inner_.stats(); }

 private:
  Store& inner_;
};

class FollowerTest : public ::testing::Test {
 protected:
  Revision put(std::string key, std::string value) {
    auto done = commit_sync(*store_, {{}, {Put{std::move(key), std::move(value)}}});
    EXPECT_TRUE(done && done->succeeded);
    return done->revision;
  }
  Revision erase(std::string key) {
    auto done = commit_sync(*store_, {{}, {Delete{std::move(key)}}});
    EXPECT_TRUE(done && done->succeeded);
    return done->revision;
  }
  std::unique_ptr<NumberFeed> follow(std::vector<std::string> prefixes) {
    return NumberFeed::start(*store_, std::move(prefixes)).value();
  }

  TestClock clock_;
  std::unique_ptr<Store> store_ = make_memory_store(clock_);
};

TEST_F(FollowerTest, KnowsEverythingWhenItIsStarted) {
  put("/a/1", "1");
  put("/b/1", "2");
  Revision last = put("/c/1", "3");
  auto feed = follow({"/a/", "/b/"});
  EXPECT_EQ(*feed->current(), (Numbers{{"/a/1", 1}, {"/b/1", 2}}));
  EXPECT_EQ(feed->revision(), last);
}

TEST_F(FollowerTest, OfNothingHasAnEmptyStateAndNotNone) {
  auto feed = follow({"/a/"});
  ASSERT_NE(feed->current(), nullptr);
  EXPECT_TRUE(feed->current()->empty());
}

TEST_F(FollowerTest, ShowsAWriteBeforeItIsAcknowledged) {
  auto feed = follow({"/a/", "/b/"});
  for (int i = 0; i < 100; ++i) {
    Revision written = put(i % 2 ? "/a/x" : "/b/x", cat(i));
    EXPECT_EQ(feed->current()->find(i % 2 ? "/a/x" : "/b/x")->second, i);
    EXPECT_EQ(feed->revision(), written);
  }
  erase("/a/x");
  EXPECT_EQ(*feed->current(), (Numbers{{"/b/x", 98}}));
}

TEST_F(FollowerTest, ShowsAllOfOneTransactionAtOnce) {
  auto feed = follow({"/a/"});
  auto before = feed->current();
  ASSERT_TRUE(commit_sync(*store_, {{}, {Put{"/a/1", "1"}, Put{"/a/2", "2"}, Put{"/z", "3"}}}));
  EXPECT_EQ(*feed->current(), (Numbers{{"/a/1", 1}, {"/a/2", 2}}));
  EXPECT_TRUE(before->empty());  // a reader keeps the state that it holds
}

TEST_F(FollowerTest, PublishesNothingWhenNothingChanges) {
  put("/a/1", "1");
  auto feed = follow({"/a/"});
  auto before = feed->current();
  Revision written = put("/a/1", "1");
  EXPECT_EQ(feed->current(), before);
  EXPECT_EQ(feed->revision(), written);
}

TEST_F(FollowerTest, IsNotStoppedByAnObjectThatCannotBeRead) {
  put("/a/1", "1");
  put("/a/2", "two");
  put("/a/3", "3");
  auto feed = follow({"/a/"});
  EXPECT_EQ(*feed->current(), (Numbers{{"/a/1", 1}, {"/a/3", 3}}));
  EXPECT_EQ(feed->unreadable(), 1u);
  ASSERT_TRUE(commit_sync(*store_, {{}, {Put{"/a/1", "one"}, Put{"/a/3", "4"}}}));
  EXPECT_EQ(*feed->current(), (Numbers{{"/a/1", 1}, {"/a/3", 4}}));
  EXPECT_EQ(feed->unreadable(), 2u);
  put("/a/2", "2");
  EXPECT_EQ(feed->current()->size(), 3u);
}

TEST_F(FollowerTest, TakesWhatIsWrittenBetweenReadingAndWatching) {
  put("/a/1", "1");
  Overtaken store(*store_);
  store.before_watch = [&] {
    put("/a/1", "2");
    put("/a/2", "3");
  };
  auto feed = NumberFeed::start(store, std::vector<std::string>{"/a/"}).value();
  EXPECT_EQ(*feed->current(), (Numbers{{"/a/1", 2}, {"/a/2", 3}}));
  EXPECT_EQ(store.watches, 1);
}

TEST_F(FollowerTest, ReadsAgainWhenACompactionOvertakesIt) {
  for (const char* name : {"changed", "gone", "kept"}) put(cat("/a/", name), "1");
  Overtaken store(*store_);
  store.before_watch = [&] {
    if (store.watches > 1) return;
    put("/a/changed", "2");
    put("/a/added", "3");
    erase("/a/gone");
    ASSERT_TRUE(compact_sync(*store_, store_->current_revision()));
  };
  auto feed = NumberFeed::start(store, std::vector<std::string>{"/a/"}).value();
  EXPECT_EQ(store.watches, 2);
  EXPECT_EQ(*feed->current(), (Numbers{{"/a/added", 3}, {"/a/changed", 2}, {"/a/kept", 1}}));
  EXPECT_EQ(feed->revision(), store_->current_revision());
  put("/a/kept", "9");
  EXPECT_EQ(feed->current()->at("/a/kept"), 9);
}

TEST_F(FollowerTest, DoesNotStartWhenItIsOvertakenForever) {
  Overtaken store(*store_);
  store.before_watch = [&] {
    put("/a/1", cat(store.watches));
    ASSERT_TRUE(compact_sync(*store_, store_->current_revision()));
  };
  auto feed = NumberFeed::start(store, std::vector<std::string>{"/a/"});
  ASSERT_FALSE(feed);
  EXPECT_EQ(feed.error().reason, Reason::kExpired);
}

TEST_F(FollowerTest, GoesOnAfterACompaction) {
  auto feed = follow({"/a/"});
  put("/a/1", "1");
  put("/a/1", "2");
  ASSERT_TRUE(compact_sync(*store_, store_->current_revision()));
  put("/a/1", "3");
  EXPECT_EQ(feed->current()->at("/a/1"), 3);
}

TEST_F(FollowerTest, SeveralFollowOneStoreAndGoWhenTheyLike) {
  auto first = follow({"/a/"}), both = follow({"/a/", "/b/"});
  put("/a/1", "1");
  put("/b/1", "2");
  EXPECT_EQ(first->current()->size(), 1u);
  EXPECT_EQ(both->current()->size(), 2u);
  first.reset();
  put("/a/2", "3");
  EXPECT_EQ(both->current()->size(), 3u);
}

// For the thread sanitizer: several writers and readers, and followers that start and stop.
TEST_F(FollowerTest, IsInStepWhileManyWriteAndRead) {
  constexpr int kWriters = 3, kWrites = 200, kLate = 20;
  auto feed = follow({"/a/", "/b/"});
  std::atomic<bool> is_over = false;
  std::vector<std::jthread> threads;
  for (int w = 0; w < kWriters; ++w)
    threads.emplace_back([&, w] {
      for (int i = 1; i <= kWrites; ++i) {
        std::string key = cat(i % 2 ? "/a/" : "/b/", w);
        Revision written = put(key, cat(i));
        EXPECT_EQ(feed->current()->find(key)->second, i);
        EXPECT_GE(feed->revision(), written);
      }
    });
  std::jthread reader([&] {
    while (!is_over) {
      std::int64_t sum = 0;
      for (const auto& [key, number] : *feed->current()) sum += number;
      EXPECT_LE(sum, kWriters * (kWrites + kWrites - 1) + kLate);
    }
  });
  for (int i = 0; i < kLate; ++i) {
    auto late = follow({"/b/", "/a/"});
    std::string key = cat("/a/late", i);
    put(key, "1");
    EXPECT_TRUE(late->current()->contains(key));
  }
  threads.clear();
  is_over = true;
  auto fresh = follow({"/a/", "/b/"});
  EXPECT_EQ(*fresh->current(), *feed->current());
}

}  // namespace
}  // namespace cardea::store
