#include "store/etcd/etcd_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <thread>

#include "base/strings.h"
#include "store/testing/fixtures.h"
#include "store/testing/real_etcd.h"
#include "store/testing/road.h"

namespace cardea::store {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class EtcdStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RealEtcd::is_installed()) GTEST_SKIP() << "there is no etcd";
    etcd_ = std::make_unique<RealEtcd>();
  }

  std::unique_ptr<Store> open(std::string endpoint = "",
                              milliseconds call_timeout = milliseconds(10'000)) {
    if (endpoint.empty()) endpoint = etcd_->endpoint();
    auto opened = open_etcd_store({.endpoints = {std::move(endpoint)},
                                   .marked = {"/registry/roles/"},
                                   .call_timeout = call_timeout});
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }

  static Revision write(Store& store, Txn txn) {
    auto answer = commit_sync(store, std::move(txn));
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? answer->revision : 0;
  }

  // What was refused while etcd was away works again some time after it came back.
  static Revision write_when_possible(Store& store, const Txn& txn) {
    for (;;) {
      auto answer = commit_sync(store, txn);
      if (answer) return answer->revision;
    }
  }

  std::unique_ptr<RealEtcd> etcd_;
};

TEST_F(EtcdStoreTest, EverythingIsThereAfterARestart) {
  auto store = open();
  write(*store, put("/registry/configmaps/a/b", "1"));
  write(*store, put("/a", "1"));
  write(*store, put("/a", "2"));
  store = open();
  EXPECT_EQ(store->current_revision(), 4);
  EXPECT_EQ(store->get("/registry/configmaps/a/b")->value(), "1");
  EXPECT_EQ(store->get("/a")->create_revision, 3);
  EXPECT_EQ(store->get("/a")->version, 2);
  Collector collector;
  auto old = store->watch("/", 2, collector.sink());
  ASSERT_FALSE(old) << "what was before is not known";
  EXPECT_EQ(old.error().reason, Reason::kExpired);
}

TEST_F(EtcdStoreTest, ManyRecordsAreLoadedInPages) {
  auto store = open();
  for (int i = 0; i < 30; ++i) {
    Txn txn;
    for (int n = 0; n < 100; ++n)
      txn.ops.push_back(Put{cat("/registry/things/", i, "-", n), std::string(1'000, 'x')});
    write(*store, std::move(txn));
  }
  auto second = open();
  EXPECT_EQ(second->count(keys_with_prefix("/registry/things/")), 3'000);
  EXPECT_EQ(second->current_revision(), store->current_revision());
}

TEST_F(EtcdStoreTest, OneServerReadsWhatAnotherAcknowledged) {
  auto a = open(), b = open();
  for (int i = 0; i < 50; ++i) {
    const Revision written = write(*a, put("/n", cat(i)));
    ASSERT_TRUE(refresh_sync(*b));
    EXPECT_EQ(b->get("/n")->value(), cat(i));
    EXPECT_GE(b->current_revision(), written);
    write(*b, put("/m", cat(i)));
    ASSERT_TRUE(refresh_sync(*a));
    EXPECT_EQ(a->get("/m")->value(), cat(i));
  }
}

TEST_F(EtcdStoreTest, AChangeOfOthersKeysDoesNotHoldReadsUp) {
  auto mine = open();
  auto others = open_etcd_store({.endpoints = {etcd_->endpoint()}, .prefix = "/others"});
  ASSERT_TRUE(others);
  write(*mine, put("/a", "1"));
  const Revision theirs = write(**others, put("/b", "1"));
  ASSERT_TRUE(refresh_sync(*mine));
  EXPECT_GE(mine->current_revision(), theirs);
  EXPECT_EQ(mine->get("/b"), nullptr);
  EXPECT_EQ(mine->get("/a")->value(), "1");
}

TEST_F(EtcdStoreTest, ACompareOfWhatAnotherServerChangedDoesNotHold) {
  auto a = open(), b = open();
  const Revision first = write(*a, put("/a", "1"));
  ASSERT_TRUE(refresh_sync(*b));
  write(*a, update("/a", first, "2"));
  auto late = commit_sync(*b, update("/a", first, "3"));
  ASSERT_TRUE(late);
  EXPECT_FALSE(late->succeeded);
  EXPECT_EQ(late->records.at(0)->value(), "2");
  EXPECT_EQ(b->get("/a")->value(), "2") << "the next attempt begins with what is there";
}

TEST_F(EtcdStoreTest, AllChangesOfATransactionComeInOneCall) {
  auto a = open(), b = open();
  std::vector<std::size_t> sizes;
  Revision last = 0;
  std::mutex lock;
  std::condition_variable changed;
  auto watch = b->watch("/k/", b->current_revision(), [&](std::span<const EventPtr> events) {
    std::lock_guard guard(lock);
    std::map<Revision, std::size_t> revisions;
    for (const EventPtr& event : events) ++revisions[event->revision];
    for (const auto& [revision, size] : revisions) {
      EXPECT_GT(revision, last) << "a revision in two calls";
      last = revision;
      sizes.push_back(size);
    }
    changed.notify_all();
  });
  ASSERT_TRUE(watch);
  for (int i = 0; i < 20; ++i) {
    Txn txn;
    for (int n = 0; n < 100; ++n) txn.ops.push_back(Put{cat("/k/", n), std::string(10'000, 'x')});
    write(*a, std::move(txn));
  }
  std::unique_lock guard(lock);
  changed.wait(guard, [&] { return sizes.size() == 20; });
  EXPECT_THAT(sizes, testing::Each(100u));
}

TEST_F(EtcdStoreTest, AWatchGoesOnWithoutAGapWhenTheConnectionIsLost) {
  Road road(etcd_->port());
  auto a = open(), b = open(road.endpoint());
  Collector mine, theirs;
  auto first = a->watch("/", 1, mine.sink());
  auto second = b->watch("/", 1, theirs.sink());
  for (int round = 0; round < 5; ++round) {
    write(*a, put("/a", cat(round)));
    road.close();
    // More than one answer of the watch can hold.
    for (int i = 0; i < 30; ++i) write(*a, put(cat("/large/", i), std::string(100'000, 'x')));
    write(*a, remove("/a"));
    road.open();
    const Revision last = write(*a, put("/b", cat(round)));
    theirs.wait_for(last);
  }
  EXPECT_EQ(theirs.text(), mine.text());
  EXPECT_EQ(b->current_revision(), a->current_revision());
}

TEST_F(EtcdStoreTest, WhatWasCompactedMeanwhileIsReadAgainAndTheDifferenceIsTold) {
  Road road(etcd_->port());
  auto a = open(), b = open(road.endpoint());
  write(*a, put("/same", "1"));
  write(*a, put("/changed", "1"));
  write(*a, put("/gone", "1"));
  const Revision seen = write(*a, put("/again", "1"));
  ASSERT_TRUE(refresh_sync(*b));
  Collector collector;
  auto watch = b->watch("/", seen, collector.sink());
  ASSERT_TRUE(watch);
  road.close();
  write(*a, put("/changed", "2"));
  const Revision changed = write(*a, put("/changed", "3"));
  write(*a, remove("/gone"));
  write(*a, remove("/again"));
  const Revision again = write(*a, put("/again", "2"));
  const Revision made = write(*a, put("/new", "1"));
  ASSERT_TRUE(compact_sync(*a, made));
  road.open();
  ASSERT_TRUE(refresh_sync(*b));
  EXPECT_EQ(text(b->range({.keys = {"/a", "/t"}})->records), "/again=2 /changed=3 /new=1 /same=1");
  EXPECT_EQ(collector.text(),
            cat("put /changed=3@", changed, " delete /again@", again - 1, " put /again=2@", again,
                " delete /gone@", made, " put /new=1@", made));
  auto old = b->watch("/", seen, [](std::span<const EventPtr>) {});
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().reason, Reason::kExpired);
  auto state = b->range({.keys = keys_with_prefix("/"), .at = changed});
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().reason, Reason::kExpired);
}

TEST_F(EtcdStoreTest, WhatNoMemberHasSeenWasNotStored) {
  auto store = open("", milliseconds(300));
  write(*store, put("/a", "1"));
  etcd_->kill();
  // Those that are lost with the connection come first.
  for (;;) {
    auto answer = commit_sync(*store, put("/a", "2"));
    ASSERT_FALSE(answer);
    if (answer.error().reason == Reason::kServiceUnavailable) break;
    EXPECT_EQ(answer.error().reason, Reason::kInternalError) << answer.error().message;
  }
  EXPECT_EQ(store->get("/a")->value(), "1") << "reads from memory go on";
  EXPECT_FALSE(refresh_sync(*store)) << "but nobody knows whether they are fresh";
  const auto known = store->fresh_as_of();
  etcd_->start();
  write_when_possible(*store, put("/a", "3"));
  EXPECT_EQ(store->get("/a")->value(), "3");
  while (!refresh_sync(*store)) {
  }
  EXPECT_GT(store->fresh_as_of(), known);
}

TEST_F(EtcdStoreTest, AnAnswerThatDoesNotComeLeavesTheOutcomeUnknownAndReadsTell) {
  auto store = open("", milliseconds(500));
  write(*store, put("/a", "1"));
  etcd_->pause();
  auto answer = commit_sync(*store, put("/a", "2"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, Reason::kInternalError);
  EXPECT_THAT(answer.error().message, HasSubstr("outcome unknown"));
  etcd_->resume();
  const Revision last = write_when_possible(*store, put("/b", "1"));
  const std::string_view value = store->get("/a")->value();
  EXPECT_TRUE(value == "1" || value == "2");
  auto second = open();
  EXPECT_EQ(second->get("/a")->value(), store->get("/a")->value());
  EXPECT_GE(second->current_revision(), last);
}

TEST_F(EtcdStoreTest, AcknowledgedWritesSurviveAKill) {
  auto store = open("", milliseconds(2'000));
  std::map<std::string, std::string> acknowledged;
  for (int round = 0; round < 4; ++round) {
    std::atomic<bool> is_over = false;
    std::thread killer;
    for (int i = 0; !is_over; ++i) {
      if (i == 100)
        killer = std::thread([&] {
          etcd_->kill();
          is_over = true;
        });
      const std::string key = cat("/k/", i % 50), value = cat(round, ".", i);
      auto answer = commit_sync(*store, put(key, value));
      if (answer) acknowledged[key] = value;
      // It is there with this value or the one before.
      else if (answer.error().reason == Reason::kInternalError)
        acknowledged.erase(key);
    }
    killer.join();
    etcd_->start();
    write_when_possible(*store, put("/last", cat(round)));
  }
  auto second = open();
  for (const auto& [key, value] : acknowledged) {
    EXPECT_EQ(second->get(key)->value(), value) << key;
    EXPECT_EQ(store->get(key)->value(), value) << key;
  }
}

TEST_F(EtcdStoreTest, AMemberThatIsGoneIsLeftForAnother) {
  Road road(etcd_->port());
  auto opened = open_etcd_store({.endpoints = {road.endpoint(), etcd_->endpoint()}});
  ASSERT_TRUE(opened);
  Store& store = **opened;
  write(store, put("/a", "1"));
  road.close();
  write_when_possible(store, put("/a", "2"));
  ASSERT_TRUE(refresh_sync(store));
  EXPECT_EQ(store.get("/a")->value(), "2");
}

TEST_F(EtcdStoreTest, WhatIsTooLargeForEtcdIsRefusedAsThat) {
  auto store = open();
  auto large = commit_sync(*store, put("/a", std::string(3 << 20, 'x')));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().reason, Reason::kRequestEntityTooLarge) << large.error().message;
  Txn many;
  for (int i = 0; i < 200; ++i) many.ops.push_back(Put{cat("/k/", i), "x"});
  auto refused = commit_sync(*store, std::move(many));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::kRequestEntityTooLarge) << refused.error().message;
  write(*store, put("/a", "1"));
}

TEST_F(EtcdStoreTest, AnEtcdWithoutSpaceStoresNothingAndSaysSo) {
  etcd_ = std::make_unique<RealEtcd>(std::vector<std::string>{"--quota-backend-bytes=2000000"});
  auto store = open();
  Result<Commit> answer = Commit{};
  for (int i = 0; answer && i < 100; ++i)
    answer = commit_sync(*store, put(cat("/k/", i), std::string(100'000, 'x')));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, Reason::kServiceUnavailable);
  EXPECT_THAT(answer.error().message, HasSubstr("nothing was stored"));
  EXPECT_THAT(answer.error().message, HasSubstr("space"));
  EXPECT_TRUE(refresh_sync(*store)) << "reads go on";
}

TEST_F(EtcdStoreTest, AWriteThatWasDecidedBeforeAMarkedChangeIsNotStored) {
  auto a = open(), b = open();
  const Revision before = b->marked_revision();
  const Revision role = write(*a, put("/registry/roles/x/y", "1"));
  ASSERT_TRUE(refresh_sync(*b));
  EXPECT_GT(b->marked_revision(), before);
  EXPECT_EQ(b->marked_revision(), role);
  auto write_if = [&](Revision mark) {
    auto answer = commit_sync(*b, {{{"/registry/configmaps/x/y", 0}, {std::string(kMarkKey), mark}},
                                   {Put{"/registry/configmaps/x/y", "1"}}});
    EXPECT_TRUE(answer);
    return answer && answer->succeeded;
  };
  const Revision gone = write(*a, remove("/registry/roles/x/y"));
  EXPECT_FALSE(write_if(role));
  EXPECT_EQ(b->get("/registry/configmaps/x/y"), nullptr);
  EXPECT_EQ(b->marked_revision(), gone) << "the next decision is made from what is known now";
  EXPECT_TRUE(write_if(gone));
}

// Others do not write the mark.
TEST_F(EtcdStoreTest, AWriteThatWasDecidedBeforeAGuardedChangeOfOthersIsNotStored) {
  auto opened = open_etcd_store({.endpoints = {etcd_->endpoint()},
                                 .marked = {"/registry/roles/", "/registry/guards/"},
                                 .guarded = {"/registry/guards/"}});
  auto other = open_etcd_store({.endpoints = {etcd_->endpoint()}});
  ASSERT_TRUE(opened && other);
  Store& store = **opened;
  auto write_if = [&](Revision mark) {
    auto answer = commit_sync(store, {{{"/registry/maps/x", 0}, {std::string(kMarkKey), mark}},
                                      {Put{"/registry/maps/x", "1"}}});
    EXPECT_TRUE(answer);
    if (answer && !answer->succeeded) {
      EXPECT_EQ(answer->records.size(), 2u);
      EXPECT_GT(answer->records.at(1)->mod_revision, mark) << "which says why";
    }
    return answer && answer->succeeded;
  };
  const Revision decided = store.marked_revision();
  const Revision changed = write(**other, put("/registry/guards/y", "1"));
  EXPECT_FALSE(write_if(decided));
  EXPECT_EQ(store.marked_revision(), changed);
  write(**other, put("/registry/maps/other", "1"));
  EXPECT_TRUE(write_if(changed)) << "what is not guarded changes nothing";
  write(**other, remove("/registry/guards/y"));
  ASSERT_TRUE(refresh_sync(store));
  EXPECT_GT(store.marked_revision(), changed) << "a deletion is known when it is seen";
}

// Values lie in etcd with a `!` in front.
class Exclaiming final : public EtcdEncoding {
 public:
  Place place_of(std::string_view key) const override {
    if (key.starts_with("/registry/foreign/")) return Place::kForeign;
    return key.starts_with("/registry/own/") || !key.starts_with("/registry/") ? Place::kOwn
                                                                               : Place::kShared;
  }
  Result<std::string> to_etcd(std::string_view key, std::string_view,
                              std::string_view value) const override {
    return cat(place_of(key) == Place::kShared ? "!" : "", value);
  }
  Result<std::string> from_etcd(std::string_view key, std::string_view,
                                std::string_view value) const override {
    if (place_of(key) == Place::kOwn) return std::string(value);
    if (!value.starts_with('!')) return fail(bad_request("it does not exclaim"));
    return std::string(value.substr(1));
  }
};

TEST_F(EtcdStoreTest, AnEncodingSaysWhereAndHowThingsLie) {
  auto plain = open();  // sees what lies in etcd
  auto opened = open_etcd_store(
      {.endpoints = {etcd_->endpoint()}, .encoding = std::make_shared<Exclaiming>()});
  ASSERT_TRUE(opened) << opened.error().message;
  Store& store = **opened;
  write(store, put("/registry/a/x", "1"));
  write(store, put("/registry/own/x", "2"));
  ASSERT_TRUE(refresh_sync(*plain));
  EXPECT_EQ(store.get("/registry/a/x")->value(), "1");
  EXPECT_EQ(store.get("/registry/own/x")->value(), "2");
  EXPECT_EQ(plain->get("/registry/a/x")->value(), "!1");
  EXPECT_EQ(plain->get("/registry/own/x"), nullptr) << "it lies elsewhere";
  EXPECT_FALSE(commit_sync(store, put("/registry/foreign/x", "3")));
  // What others write.
  write(*plain, put("/registry/own/y", "!4"));
  write(*plain, put("/registry/a/y", "damaged"));
  const Revision last = write(*plain, put("/registry/foreign/y", "!5"));
  ASSERT_TRUE(refresh_sync(store));
  EXPECT_GE(store.current_revision(), last) << "changes of others are not waited for";
  EXPECT_EQ(store.get("/registry/own/y"), nullptr);
  EXPECT_EQ(store.get("/registry/foreign/y"), nullptr);
  EXPECT_EQ(store.get("/registry/a/y")->value(), "") << "its bytes are shown to nobody";
  auto again = open_etcd_store(
      {.endpoints = {etcd_->endpoint()}, .encoding = std::make_shared<Exclaiming>()});
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->get("/registry/a/x")->value(), "1");
  EXPECT_EQ((*again)->get("/registry/a/y")->value(), "");
  EXPECT_EQ(plain->get("/registry/foreign/y")->value(), "!5") << "it is left alone";
}

// The same, by a helper that may be away, and with a key that may be old.
class Helped final : public EtcdEncoding {
 public:
  Place place_of(std::string_view key) const override { return exclaiming_.place_of(key); }
  Result<std::string> to_etcd(std::string_view key, std::string_view etcd_key,
                              std::string_view value) const override {
    return exclaiming_.to_etcd(key, etcd_key, value);
  }
  Result<std::string> from_etcd(std::string_view key, std::string_view etcd_key,
                                std::string_view value) const override {
    if (is_away && key == "/registry/a/helped")
      return fail(Error::of(Reason::kServiceUnavailable, "the helper is away"));
    return exclaiming_.from_etcd(key, etcd_key, value);
  }
  std::int64_t seal_of(std::string_view value) const override {
    return static_cast<std::int64_t>(value.size());
  }
  bool is_stale(std::string_view, std::int64_t seal) const override { return seal > 2; }

  mutable std::atomic<bool> is_away = false;

 private:
  Exclaiming exclaiming_;
};

TEST_F(EtcdStoreTest, WhatCannotBeReadYetIsWaitedFor) {
  auto helped = std::make_shared<Helped>();
  auto opened = open_etcd_store({.endpoints = {etcd_->endpoint()}, .encoding = helped});
  ASSERT_TRUE(opened) << opened.error().message;
  Store& store = **opened;
  helped->is_away = true;
  auto other = open_etcd_store(
      {.endpoints = {etcd_->endpoint()}, .encoding = std::make_shared<Exclaiming>()});
  ASSERT_TRUE(other);
  write(**other, put("/registry/a/helped", "1"));
  EXPECT_FALSE(refresh_sync(store)) << "it does not say that nothing was written";
  EXPECT_EQ(store.get("/registry/a/helped"), nullptr);
  while (!store.stats().trouble.contains("the helper is away")) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  // A server that starts now waits too, and gives up when its time is over.
  auto late = open_etcd_store(
      {.endpoints = {etcd_->endpoint()}, .start_timeout = milliseconds(1'500), .encoding = helped});
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("the helper is away"));
  std::thread returns([&] {
    std::this_thread::sleep_for(milliseconds(500));
    helped->is_away = false;
  });
  auto started = open_etcd_store({.endpoints = {etcd_->endpoint()}, .encoding = helped});
  returns.join();
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ((*started)->get("/registry/a/helped")->value(), "1");
  while (!refresh_sync(store)) {
  }
  EXPECT_EQ(store.get("/registry/a/helped")->value(), "1");
  EXPECT_EQ(store.stats().trouble, "");
}

TEST_F(EtcdStoreTest, RecordsKnowWhetherTheirKeyIsOld) {
  auto opened = open_etcd_store(
      {.endpoints = {etcd_->endpoint()}, .encoding = std::make_shared<Helped>()});
  ASSERT_TRUE(opened);
  Store& store = **opened;
  write(store, put("/registry/a/x", "1"));
  write(store, put("/registry/a/y", "12"));
  EXPECT_FALSE(store.is_stale(*store.get("/registry/a/x")));
  EXPECT_TRUE(store.is_stale(*store.get("/registry/a/y")));
  auto again = open_etcd_store(
      {.endpoints = {etcd_->endpoint()}, .encoding = std::make_shared<Helped>()});
  ASSERT_TRUE(again);
  EXPECT_TRUE((*again)->is_stale(*(*again)->get("/registry/a/y"))) << "also when it was loaded";
}

TEST_F(EtcdStoreTest, TheLayoutOfAnEarlierVersionIsRefused) {
  auto plain = open();
  write(*plain, put("/registry/roles/x/y", "1"));  // with the mark, as it did
  auto opened = open_etcd_store(
      {.endpoints = {etcd_->endpoint()}, .encoding = std::make_shared<Exclaiming>()});
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("the layout of an earlier version"));
}

TEST_F(EtcdStoreTest, ARevisionOfAnotherServerIsWaitedFor) {
  auto a = open(), b = open();
  const Revision written = write(*a, put("/a", "1"));
  std::promise<Result<void>> reached;
  b->reach(written, [&](Result<void> answer) { reached.set_value(std::move(answer)); });
  EXPECT_TRUE(reached.get_future().get());
  EXPECT_EQ(b->get("/a")->value(), "1");
  std::promise<Result<void>> never;
  b->reach(written + 100, [&](Result<void> answer) { never.set_value(std::move(answer)); });
  auto late = never.get_future().get();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().details->causes.at(0).reason, "ResourceVersionTooLarge");
}

TEST_F(EtcdStoreTest, OneServerCompactsForAll) {
  Road road(etcd_->port());
  auto away = open(road.endpoint());
  road.close();
  auto opened = open_etcd_store(
      {.endpoints = {etcd_->endpoint()}, .compaction_interval = milliseconds(50)});
  ASSERT_TRUE(opened);
  for (int i = 0; i < 20; ++i) write(**opened, put("/a", cat(i)));
  // Each turn is a revision. The second one compacts up to the first, and has done so before the
  // third.
  const Revision written = (*opened)->current_revision();
  while ((*opened)->current_revision() < written + 3) {
    std::this_thread::sleep_for(milliseconds(10));
    ASSERT_TRUE(refresh_sync(**opened));
  }
  road.open();
  while (!refresh_sync(*away)) {
  }
  EXPECT_EQ(away->get("/a")->value(), "19");
  EXPECT_GT(away->compacted_revision(), 20) << "history was gone";
}

TEST_F(EtcdStoreTest, LeasedKeysEndByThemselvesAndOthersStay) {
  auto opened = open_etcd_store({.endpoints = {etcd_->endpoint()},
                                 .leased = {{"/registry/events/", std::chrono::seconds(1)},
                                            {"/registry/long/", std::chrono::seconds(3'600)}}});
  ASSERT_TRUE(opened);
  Store& store = **opened;
  Collector collector;
  auto watch = store.watch("/registry/events/", 1, collector.sink());
  ASSERT_TRUE(watch);
  write(store, put("/registry/events/a/one", "1"));
  write(store, put("/registry/events/a/two", "2"));
  write(store, put("/registry/long/three", "3"));
  write(store, put("/registry/configmaps/a/four", "4"));
  while (collector.events().size() < 4) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(collector.events()[2]->type, EventType::kDelete);
  EXPECT_EQ(store.count(keys_with_prefix("/registry/events/")), 0);
  EXPECT_TRUE(store.get("/registry/long/three"));
  EXPECT_TRUE(store.get("/registry/configmaps/a/four"));
}

TEST_F(EtcdStoreTest, NobodyAnswersIsAClearError) {
  etcd_->kill();
  auto opened = open_etcd_store(
      {.endpoints = {etcd_->endpoint()}, .start_timeout = milliseconds(300)});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().reason, Reason::kServiceUnavailable);
  EXPECT_THAT(opened.error().message, HasSubstr("etcd is not reached"));
}

}  // namespace
}  // namespace cardea::store
