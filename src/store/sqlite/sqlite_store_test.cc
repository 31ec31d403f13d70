#include "store/sqlite/sqlite_store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "base/strings.h"
#include "store/testing/fixtures.h"

namespace cardea::store {
namespace {

class SqliteStoreTest : public testing::Test {
 protected:
  void SetUp() override { open(); }
  void open() {
    store_.reset();
    auto opened = open_sqlite_store({directory_.path(), history_, "", &clock_});
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }
  Revision write(Txn txn) {
    auto answer = commit_sync(*store_, std::move(txn));
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? answer->revision : 0;
  }
  // Of the database; not what is kept for deletions on a full disk.
  std::uint64_t file_size() const {
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path()))
      if (entry.path().filename() != "reserve") bytes += entry.file_size();
    return bytes;
  }

  TemporaryDirectory directory_;
  TestClock clock_;
  HistoryOptions history_;
  std::unique_ptr<Store> store_;
};

TEST_F(SqliteStoreTest, EverythingIsThereAfterARestart) {
  write(put("/a", "1"));
  write(put("/b", "1"));
  write(put("/a", "2"));
  write(remove("/b"));
  write(put("/b", "2"));
  Collector before;
  auto watch = store_->watch("/", 1, before.sink());
  watch->reset();
  open();
  EXPECT_EQ(store_->current_revision(), 6);
  EXPECT_EQ(text(store_->range({keys_with_prefix("/")})->records), "/a=2 /b=2");
  EXPECT_EQ(store_->get("/a")->create_revision, 2);
  EXPECT_EQ(store_->get("/a")->mod_revision, 4);
  EXPECT_EQ(store_->get("/a")->version, 2);
  EXPECT_EQ(store_->get("/b")->create_revision, 6);
  EXPECT_EQ(text(store_->range({keys_with_prefix("/"), 0, 3})->records), "/a=1 /b=1");
  EXPECT_EQ(text(store_->range({keys_with_prefix("/"), 0, 5})->records), "/a=2");
  Collector after;
  watch = store_->watch("/", 1, after.sink());
  EXPECT_EQ(after.text(), before.text());
  auto events = after.events();
  EXPECT_EQ(events[2]->previous->value(), "1");
  EXPECT_EQ(events[3]->previous->value(), "1");
  EXPECT_EQ(events[4]->previous, nullptr);
  EXPECT_EQ(write(put("/c", "1")), 7);
}

TEST_F(SqliteStoreTest, WhoeverWaitsForALoadIsToldHowFarItIs) {
  Txn many;
  for (int i = 0; i < 10'000; ++i)
    many.ops.push_back(Put{cat("/k", std::to_string(i)), std::string(100, 'x')});
  write(std::move(many));
  store_.reset();
  std::vector<std::uint64_t> done;
  std::uint64_t all = 0;
  auto opened = open_sqlite_store({.directory = directory_.path(),
                                   .history = history_,
                                   .vfs = "",
                                   .clock = &clock_,
                                   .progress = [&](std::uint64_t bytes, std::uint64_t of) {
                                     done.push_back(bytes);
                                     all = of;
                                   }});
  ASSERT_TRUE(opened) << opened.error().message;
  ASSERT_EQ(done.size(), 2u);
  EXPECT_GT(done[0], 400'000u);
  EXPECT_GT(done[1], done[0]);
  EXPECT_GT(all, done[1]);
}

TEST_F(SqliteStoreTest, RevisionsDoNotGoBackWhenTheLastChangeIsForgotten) {
  write(put("/a", "1"));
  write(remove("/a"));
  ASSERT_TRUE(compact_sync(*store_, 3));
  open();
  EXPECT_EQ(store_->current_revision(), 3);
  EXPECT_EQ(store_->compacted_revision(), 3);
  EXPECT_EQ(write(put("/a", "1")), 4);
}

TEST_F(SqliteStoreTest, HistoryAgesAcrossRestarts) {
  write(put("/a", "1"));
  write(put("/a", "2"));
  write(put("/b", "1"));
  clock_.advance(std::chrono::seconds(200));
  open();
  write(put("/a", "3"));
  clock_.advance(std::chrono::seconds(150));
  while (store_->compacted_revision() == 0) write(put("/b", "2"));
  EXPECT_LT(store_->compacted_revision(), 5);
}

TEST_F(SqliteStoreTest, ASecondOwnerIsToldThatTheDirectoryIsInUse) {
  auto second = open_sqlite_store({directory_.path(), history_, "", &clock_});
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("in use by another process"), std::string::npos);
}

TEST_F(SqliteStoreTest, NobodyElseMayReadTheFiles) {
  write(put("/registry/secrets/default/a", "secret"));
  using std::filesystem::perms;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    EXPECT_EQ(entry.status().permissions() & (perms::group_all | perms::others_all), perms::none)
        << entry.path();
  }
}

TEST_F(SqliteStoreTest, AForeignFileIsNotTouched) {
  store_.reset();
  std::string path = directory_.path("other");
  std::filesystem::create_directory(path);
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open((path + "/cardea.db").c_str(), &raw), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(raw, "CREATE TABLE t(x)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(raw);
  auto opened = open_sqlite_store({path, history_, "", &clock_});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("is not a database of Cardea"), std::string::npos);

  path = directory_.path("garbage");
  std::filesystem::create_directory(path);
  std::ofstream(path + "/cardea.db") << std::string(10'000, 'x');
  opened = open_sqlite_store({path, history_, "", &clock_});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("not a database"), std::string::npos)
      << opened.error().message;
}

TEST_F(SqliteStoreTest, AMissingParentDirectoryIsAClearError) {
  auto opened = open_sqlite_store({directory_.path("none/data"), history_, "", &clock_});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("No such file"), std::string::npos);
}

TEST_F(SqliteStoreTest, AcknowledgedWritesSurviveAKill) {
  store_.reset();
  std::mt19937_64 random(1);
  Revision acknowledged = 1;
  for (int round = 0; round < 8; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    pid_t child = ::fork();
    if (child == 0) {
      auto store = open_sqlite_store({directory_.path(), history_, "", &clock_});
      for (;;) {
        if (!store) ::_exit(1);
        std::string name = cat("/k/", random() % 500);
        auto answer = commit_sync(**store, {{}, {Put{name, std::string(random() % 5000, 'x')}}});
        if (!answer || ::write(ends[1], &answer->revision, sizeof(Revision)) < 0) ::_exit(1);
      }
    }
    ::close(ends[1]);
    for (std::uint64_t n = 1 + random() % 400; n > 0; --n) {
      Revision revision = 0;
      ASSERT_EQ(::read(ends[0], &revision, sizeof revision), static_cast<ssize_t>(sizeof revision));
      EXPECT_EQ(revision, acknowledged + 1);
      acknowledged = revision;
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    Revision revision = 0;
    while (::read(ends[0], &revision, sizeof revision) == static_cast<ssize_t>(sizeof revision))
      acknowledged = revision;
    ::close(ends[0]);
    open();
    EXPECT_GE(store_->current_revision(), acknowledged);
    EXPECT_LE(store_->current_revision(), acknowledged + 1);
    acknowledged = store_->current_revision();
    Collector collector;
    auto watch = store_->watch("/", 1, collector.sink());
    ASSERT_TRUE(watch);
    EXPECT_EQ(collector.events().size(), static_cast<std::size_t>(acknowledged - 1));
    watch->reset();
    store_.reset();
  }
}

// The limit for the file: twice the live data, plus the history that is kept, plus a small
// constant.
class SqliteSpaceTest : public SqliteStoreTest, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(ValueSizes, SqliteSpaceTest, testing::Values(100, 1300, 4200, 6000));

TEST_P(SqliteSpaceTest, AfterCompactionTheFileIsAtMostTwiceTheLiveData) {
  constexpr std::uint64_t kFixed = 1 << 20;
  const std::size_t size = static_cast<std::size_t>(GetParam());
  const int keys = static_cast<int>(std::min<std::size_t>(6'000, 2'000'000 / size));
  auto key = [](int i) { return "/registry/configmaps/default/name-" + std::to_string(i); };
  auto write_all = [&](char fill, int step) {
    for (int i = 0; i < keys;) {
      Txn txn;
      for (int n = 0; n < 100 && i < keys; ++n, i += step)
        txn.ops.push_back(Put{key(i), std::string(size, fill)});
      write(std::move(txn));
    }
  };
  for (char round = 'a'; round < 'e'; ++round) write_all(round, 1);
  ASSERT_TRUE(compact_sync(*store_, store_->current_revision()));
  StoreStats stats = store_->stats();
  EXPECT_EQ(stats.history_bytes, 0u);
  EXPECT_LE(file_size(), 2 * stats.live_bytes + kFixed);

  // Two of three keys are deleted, in all parts of the file.
  for (int i = 0; i < keys;) {
    Txn txn;
    for (int n = 0; n < 100 && i < keys; ++n, ++i) {
      if (i % 3 != 0) txn.ops.push_back(Delete{key(i)});
    }
    write(std::move(txn));
  }
  ASSERT_TRUE(compact_sync(*store_, store_->current_revision()));
  stats = store_->stats();
  EXPECT_LE(file_size(), 2 * stats.live_bytes + kFixed);

  write_all('z', 3);
  open();
  EXPECT_EQ(store_->stats().live_bytes, stats.live_bytes);
  EXPECT_EQ(store_->get(key(3))->value(), std::string(size, 'z'));
}

TEST_F(SqliteStoreTest, RowsBetweenHolesAreSweptTogether) {
  constexpr int kKeys = 12'000;
  auto key = [](int i) { return cat("/registry/configmaps/default/name-", i); };
  auto each = [&](auto wanted, auto op) {
    for (int i = 0; i < kKeys;) {
      Txn txn;
      for (int n = 0; n < 200 && i < kKeys; ++n, ++i) {
        if (wanted(i)) txn.ops.push_back(op(i));
      }
      write(std::move(txn));
    }
  };
  auto kept = [](int i) { return i % 5 < 2; };
  each([](int) { return true; }, [&](int i) -> Op { return Put{key(i), std::string(700, 'a')}; });
  each([&](int i) { return !kept(i); }, [&](int i) -> Op { return Delete{key(i)}; });
  ASSERT_TRUE(compact_sync(*store_, store_->current_revision()));
  EXPECT_LE(file_size(), 2 * store_->stats().live_bytes + (1 << 20));

  // Every moved row is still found: by an update, by a deletion, and at the next start.
  each([&](int i) { return kept(i) && i % 2 == 0; },
       [&](int i) -> Op { return Put{key(i), cat(i)}; });
  each([&](int i) { return kept(i) && i % 3 == 0; }, [&](int i) -> Op { return Delete{key(i)}; });
  std::string before = text(store_->range({keys_with_prefix("/")})->records);
  open();
  EXPECT_EQ(text(store_->range({keys_with_prefix("/")})->records), before);
  EXPECT_EQ(store_->get(key(10))->value(), "10");
  EXPECT_EQ(store_->get(key(0)), nullptr);
}

}  // namespace
}  // namespace cardea::store
