#include "store/store.h"

#include <gtest/gtest.h>

#include "store/testing/engines.h"

namespace cardea::store {
namespace {

// The promises of every engine.
class StoreTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { open(); }

  void open() {
    store_.reset();
    auto opened = engine_.open(history_, clock_);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }

  Commit commit(Txn txn) {
    auto answer = commit_sync(*store_, std::move(txn));
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *answer : Commit{};
  }
  Revision write(Txn txn) {
    Commit done = commit(std::move(txn));
    EXPECT_TRUE(done.succeeded);
    return done.revision;
  }
  RangeResult range(std::string_view prefix, std::size_t limit = 0, Revision at = 0) {
    auto result = store_->range({keys_with_prefix(prefix), limit, at});
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : RangeResult{};
  }

  Engine engine_{GetParam()};
  TestClock clock_;
  HistoryOptions history_;
  std::unique_ptr<Store> store_;
};

INSTANTIATE_TEST_SUITE_P(Engines, StoreTest, testing::ValuesIn(Engine::names()),
                         [](const auto& info) { return info.param; });

TEST_P(StoreTest, AnEmptyStoreIsAtRevisionOne) {
  EXPECT_EQ(store_->current_revision(), 1);
  EXPECT_EQ(store_->get("/a"), nullptr);
  EXPECT_EQ(range("/").revision, 1);
  EXPECT_TRUE(range("/").records.empty());
}

TEST_P(StoreTest, AWriteIsVisibleWhenItIsAcknowledged) {
  EXPECT_EQ(write(put("/a", "1")), 2);
  RecordPtr record = store_->get("/a");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->key(), "/a");
  EXPECT_EQ(record->value(), "1");
  EXPECT_EQ(record->create_revision, 2);
  EXPECT_EQ(record->mod_revision, 2);
  EXPECT_EQ(record->version, 1);
  EXPECT_EQ(store_->current_revision(), 2);
}

TEST_P(StoreTest, AnUpdateKeepsTheCreateRevisionAndCountsVersions) {
  write(put("/a", "1"));
  write(put("/b", "1"));
  EXPECT_EQ(write(put("/a", "2")), 4);
  RecordPtr record = store_->get("/a");
  EXPECT_EQ(record->value(), "2");
  EXPECT_EQ(record->create_revision, 2);
  EXPECT_EQ(record->mod_revision, 4);
  EXPECT_EQ(record->version, 2);
}

TEST_P(StoreTest, ARecreatedKeyStartsOver) {
  write(put("/a", "1"));
  write(remove("/a"));
  EXPECT_EQ(store_->get("/a"), nullptr);
  write(put("/a", "2"));
  EXPECT_EQ(store_->get("/a")->create_revision, 4);
  EXPECT_EQ(store_->get("/a")->version, 1);
}

TEST_P(StoreTest, ValuesAreBytes) {
  std::string value("\0\xff{}\0", 5);
  write(put("/bytes", value));
  write(put("/empty", ""));
  write(put("/large", std::string(3 << 20, 'x')));
  open();
  if (GetParam() == "memory") return;
  EXPECT_EQ(store_->get("/bytes")->value(), value);
  EXPECT_EQ(store_->get("/empty")->value(), "");
  EXPECT_EQ(store_->get("/large")->value().size(), 3u << 20);
}

TEST_P(StoreTest, ATransactionIsOneRevision) {
  Commit done = commit({{}, {Put{"/a", "1"}, Put{"/b", "2"}, Delete{"/none"}}});
  EXPECT_TRUE(done.succeeded);
  EXPECT_EQ(done.revision, 2);
  ASSERT_EQ(done.records.size(), 3u);
  EXPECT_EQ(done.records[1]->value(), "2");
  EXPECT_EQ(done.records[2], nullptr);
  EXPECT_EQ(store_->get("/a")->mod_revision, 2);
  EXPECT_EQ(store_->get("/b")->mod_revision, 2);
}

TEST_P(StoreTest, ACompareThatDoesNotHoldWritesNothingAndShowsWhatIsThere) {
  write(put("/a", "1"));
  Commit done = commit({{{"/a", 7}, {"/b", 0}}, {Put{"/a", "2"}, Put{"/b", "2"}}});
  EXPECT_FALSE(done.succeeded);
  ASSERT_EQ(done.records.size(), 2u);
  EXPECT_EQ(done.records[0]->value(), "1");
  EXPECT_EQ(done.records[1], nullptr);
  EXPECT_EQ(store_->get("/a")->value(), "1");
  EXPECT_EQ(store_->current_revision(), 2);
}

TEST_P(StoreTest, ZeroMeansThatTheKeyMustNotExist) {
  EXPECT_TRUE(commit(create("/a", "1")).succeeded);
  EXPECT_FALSE(commit(create("/a", "2")).succeeded);
  EXPECT_TRUE(commit(update("/a", 2, "3")).succeeded);
  EXPECT_FALSE(commit(update("/a", 2, "4")).succeeded);
  EXPECT_EQ(store_->get("/a")->value(), "3");
}

TEST_P(StoreTest, DeletingNothingMakesNoRevision) {
  Commit done = commit(remove("/none"));
  EXPECT_TRUE(done.succeeded);
  EXPECT_EQ(done.revision, 1);
  EXPECT_EQ(store_->current_revision(), 1);
}

TEST_P(StoreTest, AMalformedTransactionIsRefused) {
  auto twice = commit_sync(*store_, {{}, {Put{"/a", "1"}, Delete{"/a"}}});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().reason, Reason::kBadRequest);
  auto empty = commit_sync(*store_, put("", "1"));
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().reason, Reason::kBadRequest);
}

TEST_P(StoreTest, ARangeIsOrderedByKeyAndKeepsToItsPrefix) {
  for (const char* key : {"/b/2", "/a/1", "/b/1", "/b0", "/b/10", "/c"}) write(put(key, "x"));
  EXPECT_EQ(text(range("/b/").records), "/b/1=x /b/10=x /b/2=x");
  EXPECT_EQ(store_->count(keys_with_prefix("/b/")), 3);
  EXPECT_EQ(store_->count(keys_with_prefix("/")), 6);
  EXPECT_EQ(store_->count(keys_with_prefix("/none/")), 0);
}

TEST_P(StoreTest, APrefixOfHighBytesEndsWhereItShould) {
  write(put("/a\xff", "1"));
  write(put("/a\xff\xff", "2"));
  write(put("/b", "3"));
  EXPECT_EQ(range("/a\xff").records.size(), 2u);
  EXPECT_EQ(store_->count(keys_with_prefix("\xff")), 0);
}

TEST_P(StoreTest, PagesOfOneStateFitTogetherWhileWritesGoOn) {
  for (int i = 0; i < 10; ++i) write(put("/k/" + std::to_string(i), "old"));
  RangeResult first = range("/k/", 4);
  EXPECT_TRUE(first.more);
  EXPECT_EQ(first.remaining, 6);
  write(put("/k/5", "new"));
  write(remove("/k/6"));
  write(put("/k/55", "new"));
  write(remove("/k/0"));
  std::string next = std::string(first.records.back()->key()) + '\0';
  auto second = store_->range({{next, keys_with_prefix("/k/").end}, 4, first.revision});
  ASSERT_TRUE(second);
  EXPECT_EQ(text(second->records), "/k/4=old /k/5=old /k/6=old /k/7=old");
  EXPECT_TRUE(second->more);
  EXPECT_EQ(second->remaining, 2);
  EXPECT_EQ(second->revision, first.revision);
  EXPECT_EQ(text(range("/k/5").records), "/k/5=new /k/55=new");
}

TEST_P(StoreTest, EveryPastStateCanBeReadUntilCompaction) {
  std::vector<std::string> states(2);
  auto remember = [&] { states.push_back(text(range("/").records)); };
  const char* steps[] = {"+a1", "+b1", "+a2", "-a", "+c1", "-b", "+a3", "+b2", "-c", "-a", "+a4"};
  for (std::string_view step : steps) {
    std::string key = "/" + std::string(step.substr(1, 1));
    write(step[0] == '+' ? put(key, std::string(step.substr(2))) : remove(key));
    remember();
  }
  for (Revision at = 2; at <= store_->current_revision(); ++at) {
    EXPECT_EQ(text(range("/", 0, at).records), states[static_cast<std::size_t>(at)]) << at;
  }
  EXPECT_EQ(text(range("/", 0, 1).records), "");
  ASSERT_TRUE(compact_sync(*store_, 7));
  for (Revision at = 7; at <= store_->current_revision(); ++at) {
    EXPECT_EQ(text(range("/", 0, at).records), states[static_cast<std::size_t>(at)]) << at;
  }
  auto older = store_->range({keys_with_prefix("/"), 0, 6});
  ASSERT_FALSE(older);
  EXPECT_EQ(older.error().reason, Reason::kExpired);
}

TEST_P(StoreTest, ARevisionInTheFutureIsAnErrorOfItsOwn) {
  auto result = store_->range({keys_with_prefix("/"), 0, 100});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, Reason::kTimeout);
  ASSERT_TRUE(result.error().details);
  EXPECT_EQ(result.error().details->causes.at(0).reason, "ResourceVersionTooLarge");
  auto compacted = compact_sync(*store_, 100);
  ASSERT_FALSE(compacted);
  EXPECT_EQ(compacted.error().reason, Reason::kBadRequest);
}

TEST_P(StoreTest, ALongRangeIsOneState) {
  constexpr int kKeys = 10'000;
  Txn all;
  for (int i = 0; i < kKeys; ++i) all.ops.push_back(Put{"/k/" + std::to_string(100'000 + i), "x"});
  write(std::move(all));
  EXPECT_EQ(range("/k/").records.size(), static_cast<std::size_t>(kKeys));
  RangeResult part = range("/k/", 9'000);
  EXPECT_EQ(part.records.size(), 9'000u);
  EXPECT_EQ(part.remaining, 1'000);
  EXPECT_EQ(store_->count(keys_with_prefix("/k/1")), kKeys);
  EXPECT_EQ(store_->count(keys_with_prefix("/k/1000")), 100);
}

TEST_P(StoreTest, AWatchReplaysThePastAndGoesOnWithoutAGap) {
  write(put("/a", "1"));
  write(put("/b", "1"));
  write(put("/a", "2"));
  Collector collector;
  auto watch = store_->watch("/a", 2, collector.sink());
  ASSERT_TRUE(watch);
  EXPECT_EQ(collector.text(), "put /a=2@4");
  write(remove("/a"));
  write(put("/b", "2"));
  write(put("/a", "3"));
  EXPECT_EQ(collector.text(), "put /a=2@4 delete /a@5 put /a=3@7");
  auto events = collector.events();
  EXPECT_EQ(events[0]->previous->value(), "1");
  EXPECT_EQ(events[1]->previous->value(), "2");
  EXPECT_EQ(events[2]->previous, nullptr);
}

TEST_P(StoreTest, AWatchFromTheFutureWaitsForIt) {
  Collector collector;
  auto watch = store_->watch("/", 3, collector.sink());
  ASSERT_TRUE(watch);
  for (const char* value : {"2", "3", "4", "5"}) write(put("/a", value));
  EXPECT_EQ(collector.text(), "put /a=4@4 put /a=5@5");
}

TEST_P(StoreTest, AWatchFromBeforeCompactionIsExpired) {
  for (int i = 0; i < 5; ++i) write(put("/a", std::to_string(i)));
  ASSERT_TRUE(compact_sync(*store_, 4));
  EXPECT_EQ(store_->compacted_revision(), 4);
  Collector collector;
  auto old = store_->watch("/", 3, collector.sink());
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().reason, Reason::kExpired);
  auto watch = store_->watch("/", 4, collector.sink());
  ASSERT_TRUE(watch);
  EXPECT_EQ(collector.text(), "put /a=3@5 put /a=4@6");
}

TEST_P(StoreTest, EventsAreSharedBetweenWatches) {
  Collector one, two;
  auto first = store_->watch("/a", 1, one.sink());
  auto second = store_->watch("/", 1, two.sink());
  write(put("/a", "1"));
  EXPECT_EQ(one.events().at(0).get(), two.events().at(0).get());
}

TEST_P(StoreTest, ADestroyedWatchIsSilent) {
  Collector collector;
  auto watch = store_->watch("/", 1, collector.sink());
  write(put("/a", "1"));
  watch->reset();
  write(put("/a", "2"));
  EXPECT_EQ(collector.text(), "put /a=1@2");
}

TEST_P(StoreTest, ASinkMayEndItsOwnWatch) {
  std::unique_ptr<Watch> watch;
  int calls = 0;
  auto opened = store_->watch("/", 1, [&](std::span<const EventPtr>) {
    ++calls;
    watch.reset();
  });
  watch = std::move(*opened);
  write(put("/a", "1"));
  write(put("/a", "2"));
  EXPECT_EQ(calls, 1);
}

TEST_P(StoreTest, AWatchMayOutliveItsStore) {
  Collector collector;
  auto watch = store_->watch("/", 1, collector.sink());
  write(put("/a", "1"));
  store_.reset();
  watch->reset();
  EXPECT_EQ(collector.events().size(), 1u);
}

TEST_P(StoreTest, HistoryIsKeptAsLongAsTheOptionSays) {
  write(put("/a", "1"));
  write(put("/a", "2"));
  clock_.advance(std::chrono::seconds(200));
  write(put("/a", "3"));
  clock_.advance(std::chrono::seconds(99));
  write(put("/b", "1"));
  EXPECT_EQ(store_->compacted_revision(), 0);
  clock_.advance(std::chrono::seconds(120));
  for (int i = 0; i < 10; ++i) write(put("/b", "2"));
  EXPECT_LE(store_->compacted_revision(), 3);
  clock_.advance(std::chrono::seconds(301));
  while (store_->compacted_revision() < 4) write(put("/b", "3"));
  EXPECT_EQ(store_->get("/a")->value(), "3");
}

TEST_P(StoreTest, TheLastStateExpiresToo) {
  Revision last = write(put("/a", "1"));
  auto tick = [&] { ASSERT_TRUE(compact_sync(*store_, 1)); };  // the store's thread has looked at
                                                               // the clock
  clock_.advance(std::chrono::seconds(6));  // it may have done so just before the write: times are
                                            // noted every 5 s
  tick();
  clock_.advance(std::chrono::seconds(61));
  tick();
  tick();
  Revision quiet = store_->current_revision();
  EXPECT_EQ(quiet, last + 1);
  EXPECT_TRUE(store_->range({.keys = keys_with_prefix("/a"), .at = last}));
  clock_.advance(std::chrono::seconds(301));
  tick();
  tick();
  auto expired = store_->range({.keys = keys_with_prefix("/a"), .at = last});
  ASSERT_FALSE(expired);
  EXPECT_EQ(expired.error().reason, Reason::kExpired);
  EXPECT_EQ(store_->get("/a")->value(), "1");
  EXPECT_EQ(store_->current_revision(), quiet) << "a quiet store stays quiet";
}

TEST_P(StoreTest, HistoryIsCutShortWhenItGrowsTooLarge) {
  history_.max_bytes = 1 << 20;
  open();
  for (int i = 0; i < 300; ++i) write(put("/a", std::string(10'000, 'x')));
  while (store_->stats().history_bytes > 1 << 20) write(put("/b", "x"));
  EXPECT_GT(store_->compacted_revision(), 1);
  EXPECT_EQ(store_->get("/a")->version, 300);
}

TEST_P(StoreTest, ADerivedValueIsKeptOnce) {
  struct Length : Derived {
    explicit Length(std::size_t n) : length(n) {}
    std::size_t length;
  };
  write(put("/a", "12345"));
  RecordPtr record = store_->get("/a");
  EXPECT_EQ(record->derived(), nullptr);
  const Derived* first = record->derive(std::make_unique<Length>(record->value().size()));
  EXPECT_EQ(record->derive(std::make_unique<Length>(0)), first);
  EXPECT_EQ(static_cast<const Length*>(store_->get("/a")->derived())->length, 5u);
}

}  // namespace
}  // namespace cardea::store
