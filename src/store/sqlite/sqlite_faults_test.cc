#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <set>

#include "base/strings.h"
#include "store/sqlite/sqlite_store.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/fixtures.h"

namespace cardea::store {
namespace {

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

class SqliteFaults : public testing::Test {
 protected:
  void open() {
    store_.reset();
    auto opened = open_sqlite_store({directory_.path(), {}, disk_.vfs(), &clock_});
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }

  TemporaryDirectory directory_;
  TestClock clock_;
  FaultyDisk disk_;
  std::unique_ptr<Store> store_;
};

TEST_F(SqliteFaults, AFullDiskRefusesWritesAndNothingElse) {
  open();
  ASSERT_TRUE(commit_sync(*store_, put("/a", "1")));
  Collector collector;
  auto watch = store_->watch("/", 2, collector.sink());
  disk_.fail(1, ENOSPC, kForever, 1);
  for (int i = 0; i < 3; ++i) {
    auto answer = commit_sync(*store_, put("/a", "2"));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().reason, Reason::kServiceUnavailable);
    EXPECT_NE(answer.error().message.find("full"), std::string::npos) << answer.error().message;
  }
  EXPECT_EQ(store_->get("/a")->value(), "1");
  EXPECT_EQ(store_->current_revision(), 2);
  EXPECT_TRUE(collector.events().empty());
  disk_.heal();
  auto answer = commit_sync(*store_, put("/a", "3"));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->revision, 3);
  EXPECT_EQ(collector.text(), "put /a=3@3");
  open();
  EXPECT_EQ(store_->get("/a")->value(), "3");
}

TEST_F(SqliteFaults, AFailedSyncIsSettledBeforeTheNextWrite) {
  for (int n = 1; n < 12; ++n) {
    for (std::int64_t times : {std::int64_t{1}, std::int64_t{3}, kForever}) {
      open();
      std::string value = cat(n, "-", times);
      Revision before = store_->current_revision();
      disk_.fail(n, EIO, times, static_cast<std::uint64_t>(n));
      auto answer = commit_sync(*store_, put("/a", value));
      disk_.heal();
      auto after = commit_sync(*store_, put("/b", "x"));
      ASSERT_TRUE(after) << after.error().message;
      bool there = store_->get("/a") && store_->get("/a")->value() == value;
      if (answer) {
        EXPECT_TRUE(there);
      } else if (answer.error().reason == Reason::kServiceUnavailable) {
        EXPECT_FALSE(there);
      } else {
        EXPECT_EQ(answer.error().reason, Reason::kInternalError);
      }
      EXPECT_EQ(after->revision, before + (there ? 2 : 1));
      std::string memory = text(store_->range({keys_with_prefix("/")})->records);
      open();
      EXPECT_EQ(text(store_->range({keys_with_prefix("/")})->records), memory);
      EXPECT_EQ(store_->current_revision(), after->revision);
    }
  }
}

// A sweep moves rows. After it, whether it succeeded or not, memory must know their places.
TEST_F(SqliteFaults, AFailedSweepLosesNoRow) {
  constexpr int kKeys = 6'000;
  auto key = [](int i) { return cat("/registry/configmaps/default/name-", i); };
  int failures = 0;
  open();
  for (std::int64_t n : {3, 40, 300, 700, 1100, 1500}) {
    auto each = [&](auto op) {
      for (int i = 0; i < kKeys;) {
        Txn txn;
        for (int k = 0; k < 500 && i < kKeys; ++k, ++i) op(txn, i);
        auto answer = commit_sync(*store_, std::move(txn));
        ASSERT_TRUE(answer) << answer.error().message;
      }
    };
    each([&](Txn& txn, int i) { txn.ops.push_back(Put{key(i), std::string(700, 'a')}); });
    each([&](Txn& txn, int i) {
      if (i % 5 > 1) txn.ops.push_back(Delete{key(i)});
    });
    disk_.fail(n, EIO, 1, static_cast<std::uint64_t>(n));
    if (!compact_sync(*store_, store_->current_revision())) ++failures;
    disk_.heal();
    each([&](Txn& txn, int i) {
      if (i % 5 == 1) txn.ops.push_back(Put{key(i), cat(n, "-", i)});
      if (i % 5 == 0) txn.ops.push_back(Delete{key(i)});
    });
    std::string memory = text(store_->range({keys_with_prefix("/")})->records);
    open();
    EXPECT_EQ(text(store_->range({keys_with_prefix("/")})->records), memory);
  }
  EXPECT_GT(failures, 2);
}

// Random transactions on a disk that fails or loses power at random, compared with the answers that
// were given.
class Ordeal {
 public:
  explicit Ordeal(std::uint64_t seed) : random_(seed) {}

  void run() {
    for (int epoch = 0; epoch < 6 && !testing::Test::HasFailure(); ++epoch) {
      if (!open()) continue;
      check_reopened();
      arm();
      work();
      store_watch_.reset();
      store_.reset();
      check_answers();
      bool crashed = !disk_.powered();
      if (crashed || pick(3) == 0) disk_.restore_power(random_());
      disk_.heal();
    }
    if (testing::Test::HasFailure()) return;
    if (open()) check_reopened();
  }

 private:
  using Changes = std::set<std::string>;  // "put /a=1", "delete /a"
  struct Attempt {
    Changes puts;     // its certain effects
    Changes deletes;  // its effects if the keys exist
    Revision revision = 0;
    enum { kWaiting, kAcknowledged, kRefused, kUnknown } answer = kWaiting;
    bool seen = false;
  };

  std::uint64_t pick(std::uint64_t n) { return random_() % n; }

  bool open() {
    for (int attempt = 0;; ++attempt) {
      if (attempt == 0 && pick(6) == 0) arm();
      auto opened = open_sqlite_store({directory_.path(), {}, disk_.vfs(), &clock_});
      if (opened) {
        store_ = std::move(*opened);
        break;
      }
      if (attempt > 0) {
        ADD_FAILURE() << "does not open on a sound disk: " << opened.error().message;
        return false;
      }
      if (!disk_.powered()) disk_.restore_power(random_());
      disk_.heal();
    }
    return true;
  }

  void arm() {
    auto n = static_cast<std::int64_t>(1 + pick(pick(2) == 0 ? 20 : 300));
    auto times = pick(3) == 0 ? kForever : static_cast<std::int64_t>(1 + pick(8));
    switch (pick(4)) {
      case 0:
        return disk_.fail(n, ENOSPC, times, random_());
      case 1:
        return disk_.fail(n, EIO, times, random_());
      case 2:
        return disk_.cut_power(n);
      default:
        return;
    }
  }

  // The content of the file must be the published content, and whole transactions whose outcome was
  // unknown.
  void check_reopened() {
    Collector collector;
    auto watch = store_->watch("/", revision_, collector.sink());
    ASSERT_TRUE(watch) << watch.error().message;
    ASSERT_GE(store_->current_revision(), revision_) << "revisions went back";
    absorb(collector.events());
    EXPECT_EQ(store_->current_revision(), revision_);
    auto result = store_->range({keys_with_prefix("/"), 0, 0});
    ASSERT_TRUE(result);
    std::map<std::string, std::string> found;
    for (const RecordPtr& record : result->records) {
      found[std::string(record->key())] = describe(*record);
    }
    EXPECT_EQ(found, state_);
    watch->reset();
    live_.clear();
    auto live = store_->watch("/", revision_, [this](std::span<const EventPtr> events) {
      std::lock_guard guard(lock_);
      live_.insert(live_.end(), events.begin(), events.end());
    });
    ASSERT_TRUE(live);
    store_watch_ = std::move(*live);
  }

  static std::string describe(const Record& record) {
    return cat(record.value().substr(0, 16), " created ", record.create_revision, " modified ",
               record.mod_revision, " version ", record.version);
  }

  void absorb(const std::vector<EventPtr>& events) {
    for (std::size_t i = 0; i < events.size();) {
      Revision revision = events[i]->revision;
      EXPECT_EQ(revision, revision_ + 1) << "a gap or a duplicate";
      revision_ = revision;
      Changes puts, deletes;
      for (; i < events.size() && events[i]->revision == revision; ++i) {
        const Event& event = *events[i];
        std::string key(event.record->key());
        EXPECT_EQ(event.previous ? describe(*event.previous) : "",
                  state_.contains(key) ? state_[key] : "");
        if (event.type == EventType::kPut) {
          puts.insert(cat(key, "=", event.record->value().substr(0, 16)));
          state_[key] = describe(*event.record);
        } else {
          deletes.insert(key);
          state_.erase(key);
        }
      }
      history_[revision] = {puts, deletes};
    }
  }

  Txn make(Attempt& attempt) {
    Txn txn;
    std::set<std::string> keys;
    for (std::uint64_t ops = 1 + pick(4) / 3 * pick(5), i = 0; i < ops; ++i) {
      std::string key = cat("/k/", pick(40));
      if (!keys.insert(key).second) continue;
      if (pick(4) == 0) {
        RecordPtr now = store_->get(key);
        txn.compares.push_back({key, now && pick(4) != 0 ? now->mod_revision : 0});
      }
      if (pick(4) == 0) {
        attempt.deletes.insert(key);
        txn.ops.push_back(Delete{key});
      } else {
        std::string value = cat("v", ++values_, ".");
        value.resize(std::max<std::size_t>(16, pick(pick(10) == 0 ? 30'000 : 2'000)), '.');
        attempt.puts.insert(cat(key, "=", value.substr(0, 16)));
        txn.ops.push_back(Put{key, value});
      }
    }
    return txn;
  }

  void work() {
    for (std::uint64_t burst = 0, bursts = 2 + pick(40); burst < bursts; ++burst) {
      std::vector<std::shared_ptr<Attempt>> together;
      for (std::uint64_t i = 0, n = 1 + pick(12); i < n; ++i) {
        auto attempt = std::make_shared<Attempt>();
        Txn txn = make(*attempt);
        together.push_back(attempt);
        attempts_.push_back(attempt);
        store_->commit(std::move(txn), [this, attempt](Result<Commit> answer) {
          std::lock_guard guard(lock_);
          if (answer) {
            attempt->answer = answer->succeeded ? Attempt::kAcknowledged : Attempt::kRefused;
            attempt->revision = answer->revision;
          } else {
            bool unknown = answer.error().reason == Reason::kInternalError;
            EXPECT_TRUE(unknown || answer.error().reason == Reason::kServiceUnavailable);
            attempt->answer = unknown ? Attempt::kUnknown : Attempt::kRefused;
          }
          answered_.notify_all();
        });
      }
      {
        std::unique_lock guard(lock_);
        answered_.wait(guard, [&] {
          return std::all_of(together.begin(), together.end(), [](const auto& attempt) {
            return attempt->answer != Attempt::kWaiting;
          });
        });
      }
      if (pick(12) == 0)
        (void)compact_sync(*store_,
                           store_->current_revision() - static_cast<Revision>(pick(5) / 2));
      if (pick(30) == 0) disk_.heal();
    }
  }

  void check_answers() {
    absorb(live_);
    live_.clear();
    std::map<std::string, Attempt*> by_put;
    for (const auto& attempt : attempts_) {
      for (const std::string& put : attempt->puts) by_put[put] = attempt.get();
    }
    for (const auto& attempt : attempts_) {
      if (attempt->answer != Attempt::kAcknowledged) continue;
      auto at = history_.find(attempt->revision);
      if (attempt->puts.empty()) continue;  // it may have had nothing to delete
      ASSERT_TRUE(at != history_.end()) << "an acknowledged write is missing";
      EXPECT_EQ(at->second.first, attempt->puts) << "at " << attempt->revision;
    }
    std::set<Attempt*> happened;
    for (const auto& [revision, changes] : history_) {
      if (changes.first.empty()) continue;
      Attempt* attempt = by_put[*changes.first.begin()];
      ASSERT_TRUE(attempt != nullptr);
      EXPECT_TRUE(happened.insert(attempt).second) << "a write happened twice";
      EXPECT_EQ(changes.first, attempt->puts) << "half a transaction";
      EXPECT_TRUE(std::includes(attempt->deletes.begin(), attempt->deletes.end(),
                                changes.second.begin(), changes.second.end()));
      EXPECT_NE(attempt->answer, Attempt::kRefused) << "a refused write happened";
    }
  }

  std::mt19937_64 random_;
  TemporaryDirectory directory_;
  TestClock clock_;
  FaultyDisk disk_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Watch> store_watch_;

  std::mutex lock_;
  std::condition_variable answered_;
  std::vector<EventPtr> live_;

  std::vector<std::shared_ptr<Attempt>> attempts_;
  std::uint64_t values_ = 0;
  Revision revision_ = 1;                     // the last one that was published or found
  std::map<std::string, std::string> state_;  // at that revision
  std::map<Revision, std::pair<Changes, Changes>> history_;  // puts and deletes of each revision
};

// CARDEA_FAULT_ROUNDS sets the number of rounds, CARDEA_FAULT_SEED the seed.
TEST(SqliteOrdeal, AcknowledgedWritesSurviveAndTheOthersHappenWhollyOrNotAtAll) {
  const char* rounds = std::getenv("CARDEA_FAULT_ROUNDS");
  const char* first = std::getenv("CARDEA_FAULT_SEED");
  std::uint64_t seed = first ? std::strtoull(first, nullptr, 10) : 1;
  for (int round = 0, n = rounds ? std::atoi(rounds) : 40; round < n; ++round, ++seed) {
    SCOPED_TRACE(cat("CARDEA_FAULT_ROUNDS=1 CARDEA_FAULT_SEED=", seed));
    Ordeal(seed).run();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace cardea::store
