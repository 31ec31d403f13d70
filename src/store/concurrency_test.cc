#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/strings.h"
#include "store/testing/engines.h"

namespace cardea::store {
namespace {

constexpr int kCounters = 64;
constexpr std::string_view kPrefix = "/registry/counters/";

std::string counter(std::uint64_t i) {
  return cat(kPrefix, i % kCounters);
}

// Every transaction adds one to one counter, so in each state the sum of the counters is the
// revision.
class ConcurrencyTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto opened = engine_.open({}, clock_);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }

  void increment(const std::string& key) {
    for (;;) {
      RecordPtr now = store_->get(key);
      std::int64_t value = now ? *parse_int(now->value()) : 0;
      auto answer = commit_sync(*store_, update(key, now ? now->mod_revision : 0, cat(value + 1)));
      ASSERT_TRUE(answer) << answer.error().message;
      if (!answer->succeeded) continue;
      // A client reads its own writes.
      EXPECT_GE(store_->get(key)->mod_revision, answer->revision);
      return;
    }
  }

  static std::int64_t sum(const std::vector<RecordPtr>& records) {
    std::int64_t total = 0;
    for (const RecordPtr& record : records) total += *parse_int(record->value());
    return total;
  }

  void read_a_state() {
    auto all = store_->range({keys_with_prefix(kPrefix)});
    ASSERT_TRUE(all);
    EXPECT_EQ(sum(all->records), all->revision - 1);
  }

  void read_pages() {
    KeyRange keys = keys_with_prefix(kPrefix);
    std::int64_t total = 0;
    Revision at = 0;
    for (;;) {
      auto page = store_->range({keys, 7, at});
      if (!page) {
        EXPECT_EQ(page.error().reason, Reason::kExpired);
        return;
      }
      at = page->revision;
      total += sum(page->records);
      if (!page->more) break;
      EXPECT_GT(page->remaining, 0);
      keys.start = std::string(page->records.back()->key()) + '\0';
    }
    EXPECT_EQ(total, at - 1);
  }

  // Watches from an earlier to a later revision, and must see every revision once.
  void watch_for_a_while(std::mt19937_64& random) {
    std::mutex lock;
    std::condition_variable changed;
    Revision from = std::max<Revision>(
        1, store_->current_revision() - static_cast<Revision>(random() % 40));
    Revision seen = from;
    Revision until = from + 1 + static_cast<Revision>(random() % 80);
    auto watch = store_->watch(std::string(kPrefix), from, [&](std::span<const EventPtr> events) {
      std::lock_guard guard(lock);
      for (const EventPtr& event : events) {
        EXPECT_EQ(event->revision, seen + 1);
        std::int64_t before = event->previous ? *parse_int(event->previous->value()) : 0;
        EXPECT_EQ(*parse_int(event->record->value()), before + 1);
        seen = event->revision;
      }
      changed.notify_all();
    });
    if (!watch) {
      EXPECT_EQ(watch.error().reason, Reason::kExpired);
      return;
    }
    std::unique_lock guard(lock);
    changed.wait(guard, [&] { return seen >= until || finished_; });
    guard.unlock();
    watch->reset();
  }

  Engine engine_{GetParam()};
  TestClock clock_;
  std::unique_ptr<Store> store_;
  std::atomic<bool> finished_{false};
};

INSTANTIATE_TEST_SUITE_P(Engines, ConcurrencyTest, testing::ValuesIn(Engine::names()),
                         [](const auto& info) { return info.param; });

TEST_P(ConcurrencyTest, WritersReadersAndWatchersAgree) {
  constexpr int kWriters = 6;
  constexpr int kWrites = 400;
  Collector whole;
  auto watch = store_->watch("/", 1, whole.sink());
  ASSERT_TRUE(watch);

  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i) {
    others.emplace_back([&] {
      while (!finished_) {
        read_a_state();
        read_pages();
      }
    });
    others.emplace_back([&, i] {
      std::mt19937_64 random(static_cast<std::uint64_t>(i));
      while (!finished_) watch_for_a_while(random);
    });
  }
  others.emplace_back([&] {
    while (!finished_) {
      Revision now = store_->current_revision();
      EXPECT_TRUE(compact_sync(*store_, std::max<Revision>(1, now - 30)));
      EXPECT_EQ(store_->count(keys_with_prefix("/none/")), 0);
      (void)store_->stats();
    }
  });
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, i] {
      std::mt19937_64 random(static_cast<std::uint64_t>(100 + i));
      for (int n = 0; n < kWrites; ++n) increment(counter(random()));
    });
  }
  for (auto& thread : writers) thread.join();
  finished_ = true;
  // Wakes the watchers that wait for more events: one more change for each key prefix.
  ASSERT_TRUE(commit_sync(
      *store_, {{}, {Put{counter(0), cat(*parse_int(store_->get(counter(0))->value()) + 1)}}}));
  for (auto& thread : others) thread.join();

  constexpr Revision kLast = 1 + kWriters * kWrites + 1;
  EXPECT_EQ(store_->current_revision(), kLast);
  auto events = whole.events();
  ASSERT_EQ(events.size(), static_cast<std::size_t>(kLast - 1));
  for (std::size_t i = 0; i < events.size(); ++i)
    EXPECT_EQ(events[i]->revision, static_cast<Revision>(i) + 2);
}

TEST_P(ConcurrencyTest, AWatchIsSilentOnceItIsGoneEvenWhenItGoesDuringDelivery) {
  std::thread writer([&] {
    for (std::uint64_t i = 0; !finished_; ++i) increment(counter(i));
  });
  for (int i = 0; i < 500; ++i) {
    auto alive = std::make_unique<std::atomic<bool>>(true);
    auto watch = store_->watch(
        "/registry/", store_->current_revision(),
        [flag = alive.get()](std::span<const EventPtr>) { EXPECT_TRUE(*flag); });
    ASSERT_TRUE(watch);
    watch->reset();
    // A late call would use freed memory, and the sanitizers would report it.
    *alive = false;
    alive.reset();
  }
  finished_ = true;
  writer.join();
}

TEST_P(ConcurrencyTest, ThousandsOfPrefixesAreEachServedTheirOwn) {
  constexpr int kPrefixes = 2000;
  std::vector<int> calls(kPrefixes, 0);
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < kPrefixes; ++i) {
    auto watch = store_->watch(
        cat("/ns/", i, "/"), 1, [&calls, i](std::span<const EventPtr> events) {
          for (const EventPtr& event : events) {
            EXPECT_TRUE(event->record->key().starts_with(cat("/ns/", i, "/")));
            ++calls[static_cast<std::size_t>(i)];
          }
        });
    ASSERT_TRUE(watch);
    watches.push_back(std::move(*watch));
  }
  for (int i = 0; i < kPrefixes; i += 10) {
    ASSERT_TRUE(commit_sync(*store_, put(cat("/ns/", i, "/a"), "x")));
  }
  for (int i = 0; i < kPrefixes; ++i)
    EXPECT_EQ(calls[static_cast<std::size_t>(i)], i % 10 == 0 ? 1 : 0);
}

}  // namespace
}  // namespace cardea::store
