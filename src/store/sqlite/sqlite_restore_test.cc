#include "store/sqlite/sqlite_restore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/strings.h"
#include "store/sqlite/sqlite_store.h"
#include "store/testing/fixtures.h"

namespace cardea::store {
namespace {

using testing::HasSubstr;

class Restore : public testing::Test {
 protected:
  std::unique_ptr<Store> open(const std::string& directory) {
    auto store = open_sqlite_store({.directory = directory, .history = {}, .vfs = {}});
    EXPECT_TRUE(store) << store.error().message;
    return store ? std::move(*store) : nullptr;
  }
  void put(Store& store, const std::string& key, const std::string& value) {
    ASSERT_TRUE(commit_sync(store, {.compares = {}, .ops = {Put{key, value}}}));
  }
  std::string backup(const Store& store) {
    auto snapshot = take_snapshot(store);
    EXPECT_TRUE(snapshot);
    BackupEncoder encoder(std::move(*snapshot), 1);
    std::string out;
    for (std::string part; !(part = encoder.next(1000)).empty();) out += part;
    return out;
  }
  Result<Restored> restore(const std::string& directory, std::string bytes, bool replace = false) {
    return restore_sqlite_store(directory, replace, [&]() -> Result<std::string> {
      std::string part = bytes.substr(0, 100);
      bytes.erase(0, part.size());
      return part;
    });
  }
  std::string folder(const std::string& name) { return scratch_.path(name); }

  TemporaryDirectory scratch_;
};

TEST_F(Restore, GivesBackWhatWasThere) {
  Revision revision = 0;
  std::string bytes;
  {
    auto store = open(folder("a"));
    for (int i = 0; i < 200; ++i) put(*store, cat("/x/", i), std::string(500, 'v'));
    put(*store, "/x/7", "changed");
    revision = store->current_revision();
    bytes = backup(*store);
  }
  auto restored = restore(folder("b"), bytes);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->backup.records, 200u);
  auto store = open(folder("b"));
  EXPECT_EQ(store->count({}), 200);
  EXPECT_EQ(store->get("/x/7")->value(), "changed");
  EXPECT_EQ(store->get("/x/7")->mod_revision, revision);
  EXPECT_EQ(store->get("/x/7")->version, 2);
  put(*store, "/x/7", "again");
  EXPECT_EQ(store->get("/x/7")->mod_revision, restored->revision + 1);
  struct stat file{};
  ASSERT_EQ(::stat((folder("b") + "/cardea.db").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
}

TEST_F(Restore, ExpiresEveryRevisionThatAClientMayRemember) {
  std::string bytes;
  Revision lost = 0;
  {
    auto store = open(folder("a"));
    put(*store, "/x/1", "v");
    bytes = backup(*store);
    for (int i = 0; i < 50; ++i) put(*store, "/x/1", cat("lost ", i));
    lost = store->current_revision();
  }
  auto restored = restore(folder("a"), bytes, true);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_GT(restored->revision, lost);
  auto store = open(folder("a"));
  EXPECT_EQ(store->current_revision(), restored->revision);
  EXPECT_EQ(store->get("/x/1")->value(), "v");
  for (Revision from : {Revision{2}, lost - 1, lost, lost + 1000, restored->revision - 1}) {
    auto watch = store->watch("/x/", from, [](std::span<const EventPtr>) {});
    ASSERT_FALSE(watch) << from;
    EXPECT_EQ(watch.error().reason, Reason::kExpired);
  }
  EXPECT_TRUE(store->watch("/x/", restored->revision, [](std::span<const EventPtr>) {}));
  // What was written with a lost revision in hand does not fit any more.
  auto stale = commit_sync(*store, {.compares = {{"/x/1", lost}}, .ops = {Put{"/x/1", "stale"}}});
  ASSERT_TRUE(stale);
  EXPECT_FALSE(stale->succeeded);
}

TEST_F(Restore, LeavesEverythingAsItIsWhenTheBackupIsDamaged) {
  std::string bytes;
  {
    auto store = open(folder("a"));
    for (int i = 0; i < 20; ++i) put(*store, cat("/x/", i), "v");
    bytes = backup(*store);
    put(*store, "/x/present", "v");
  }
  std::string wrong = bytes;
  wrong[wrong.size() / 2] ^= 1;
  for (const std::string& bad : {wrong, bytes.substr(0, bytes.size() - 1), std::string("no")}) {
    EXPECT_FALSE(restore(folder("a"), bad, true));
    auto store = open(folder("a"));
    EXPECT_NE(store->get("/x/present"), nullptr);
    EXPECT_FALSE(std::filesystem::exists(folder("a") + "/restoring.db"));
  }
}

TEST_F(Restore, ReplacesNothingUnlessToldTo) {
  std::string bytes;
  {
    auto store = open(folder("a"));
    bytes = backup(*store);
    put(*store, "/x/present", "v");
    auto in_use = restore(folder("a"), bytes, true);
    ASSERT_FALSE(in_use);
    EXPECT_THAT(in_use.error().message, HasSubstr("another process"));
  }
  auto refused = restore(folder("a"), bytes);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("already"));
  EXPECT_NE(open(folder("a"))->get("/x/present"), nullptr);
}

TEST_F(Restore, ReplacesADatabaseThatCannotBeRead) {
  std::string bytes;
  {
    auto store = open(folder("a"));
    put(*store, "/x/1", "v");
    bytes = backup(*store);
  }
  std::filesystem::resize_file(folder("a") + "/cardea.db", 5000);
  ASSERT_TRUE(restore(folder("a"), bytes, true));
  EXPECT_EQ(open(folder("a"))->get("/x/1")->value(), "v");
}

}  // namespace
}  // namespace cardea::store
