#include "store/backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "base/strings.h"
#include "store/testing/memory_store.h"

namespace cardea::store {
namespace {

using testing::HasSubstr;

class Backup : public testing::Test {
 protected:
  Revision put(const std::string& key, const std::string& value) {
    auto done = commit_sync(*store_, {.compares = {}, .ops = {Put{key, value}}});
    EXPECT_TRUE(done);
    return done ? done->revision : 0;
  }

  std::string backup(std::size_t part = 1000) {
    auto snapshot = take_snapshot(*store_);
    EXPECT_TRUE(snapshot);
    BackupEncoder encoder(std::move(*snapshot), 1'700'000'000);
    std::string out;
    for (std::string next; !(next = encoder.next(part)).empty(); out += next)
      EXPECT_LE(next.size(), part);
    return out;
  }

  // Reads bytes in parts, and keeps what they hold.
  Result<BackupFacts> read(std::string_view bytes, std::size_t part = 7) {
    found_.clear();
    BackupDecoder decoder([this](const BackupRecord& r) -> Result<void> {
      found_.push_back(
          cat(r.key, "=", r.value, "@", r.create_revision, "/", r.mod_revision, "/", r.version));
      return {};
    });
    for (; !bytes.empty(); bytes.remove_prefix(std::min(part, bytes.size())))
      if (auto ok = decoder.add(bytes.substr(0, part)); !ok) return fail(ok.error());
    return decoder.finish();
  }

  SystemClock clock_;
  std::unique_ptr<Store> store_ = make_memory_store(clock_);
  std::vector<std::string> found_;
};

TEST_F(Backup, HasEveryLiveRecordWithItsRevisions) {
  put("/b", "first");
  put("/a", "");
  put("/b", "second");
  put("/gone", "x");
  ASSERT_TRUE(commit_sync(*store_, {.compares = {}, .ops = {Delete{"/gone"}}}));
  put("/c", std::string("\0\xff\n", 3));
  const std::string bytes = backup();
  for (std::size_t part : {1u, 7u, 100'000u}) {
    auto facts = read(bytes, part);
    ASSERT_TRUE(facts) << facts.error().message;
    EXPECT_EQ(facts->revision, store_->current_revision());
    EXPECT_EQ(facts->records, 3u);
    EXPECT_EQ(facts->seconds, 1'700'000'000);
    EXPECT_EQ(facts->sha256.size(), 64u);
    EXPECT_THAT(found_,
                testing::ElementsAre("/a=@3/3/1", "/b=second@2/4/2",
                                     cat("/c=", std::string_view("\0\xff\n", 3), "@7/7/1")));
  }
}

TEST_F(Backup, OfAnEmptyStoreIsOneToo) {
  auto facts = read(backup());
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->records, 0u);
  EXPECT_EQ(facts->revision, 1);
}

TEST_F(Backup, IsTheSameWhateverThePartsAreThatItIsMadeIn) {
  for (int i = 0; i < 300; ++i) put(cat("/x/", i), std::string(static_cast<std::size_t>(i), 'v'));
  put("/x/large", std::string(100'000, 'l'));
  const std::string whole = backup(1u << 20);
  for (std::size_t part : {1u, 64u, 5'000u}) EXPECT_EQ(backup(part), whole);
}

TEST_F(Backup, ThatIsCutOffAnywhereIsRefused) {
  for (int i = 0; i < 5; ++i) put(cat("/x/", i), "value");
  const std::string bytes = backup();
  ASSERT_TRUE(read(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(read(bytes.substr(0, size), 64)) << size;
  EXPECT_FALSE(read(bytes + "x"));
}

TEST_F(Backup, InWhichAnyBitIsWrongIsRefused) {
  for (int i = 0; i < 3; ++i) put(cat("/x/", i), "value");
  const std::string bytes = backup();
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string wrong = bytes;
      wrong[at] = static_cast<char>(wrong[at] ^ (1 << bit));
      EXPECT_FALSE(read(wrong, 64)) << at << " " << bit;
    }
}

TEST_F(Backup, OfALaterFormatIsRefusedByItsNumber) {
  std::string bytes = backup();
  bytes[21] = 2;
  auto facts = read(bytes);
  ASSERT_FALSE(facts);
  EXPECT_THAT(facts.error().message, HasSubstr("format 2"));
  facts = read("kind: List\nitems: []\n");
  ASSERT_FALSE(facts);
  EXPECT_THAT(facts.error().message, HasSubstr("not a backup"));
}

TEST_F(Backup, ShowsOneMomentWhileOthersWrite) {
  // Each transaction moves one unit between two accounts: every moment has the same sum.
  for (int i = 0; i < 40; ++i) put(cat("/account/", 100 + i), "1000");
  std::atomic<bool> stop{false};
  std::atomic<Revision> acknowledged{0};
  std::thread writer([&] {
    for (int n = 0; !stop; ++n) {
      const std::string from = cat("/account/", 100 + n % 40),
                        to = cat("/account/", 100 + n * 7 % 40);
      if (from == to) continue;
      const int a = std::stoi(std::string(store_->get(from)->value()));
      const int b = std::stoi(std::string(store_->get(to)->value()));
      auto done = commit_sync(
          *store_, {.compares = {},
                    .ops = {Put{from, std::to_string(a - 1)}, Put{to, std::to_string(b + 1)}}});
      if (done) acknowledged = done->revision;
    }
  });
  for (int i = 0; i < 50; ++i) {
    const Revision before = acknowledged;
    auto snapshot = take_snapshot(*store_);
    ASSERT_TRUE(snapshot);
    EXPECT_GE(snapshot->revision, before);
    int sum = 0;
    for (const RecordPtr& r : snapshot->records) sum += std::stoi(std::string(r->value()));
    EXPECT_EQ(sum, 40'000);
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace cardea::store
