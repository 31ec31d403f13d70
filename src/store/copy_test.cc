#include "store/copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/strings.h"
#include "store/testing/memory_store.h"

namespace cardea::store {
namespace {

using testing::HasSubstr;

class Copy : public testing::Test {
 protected:
  void put(Store& store, const std::string& key, const std::string& value) {
    ASSERT_TRUE(commit_sync(store, {.compares = {}, .ops = {Put{key, value}}}));
  }
  void fill(Store& store, int records) {
    for (int i = 0; i < records; ++i) put(store, cat("/registry/x/", i), std::string(100, 'v'));
  }
  std::int64_t size(const Store& store) { return store.count({}); }

  SystemClock clock_;
  std::unique_ptr<Store> from_ = make_memory_store(clock_), to_ = make_memory_store(clock_);
};

TEST_F(Copy, HasEveryRecordAndNothingElse) {
  fill(*from_, 1'203);
  put(*from_, "/registry/large", std::string(2u << 20, 'l'));
  put(*from_, "/registry/binary", std::string("\0\xff\n", 3));
  put(*from_, "/cardea/mark", "of the engine");
  auto copied = copy_store(*from_, *to_, {.left_out = {"/cardea/mark"}, .progress = {}});
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->records, 1'205u);
  EXPECT_EQ(copied->written, 1'205u);
  EXPECT_EQ(size(*to_), 1'205);
  EXPECT_EQ(to_->get("/registry/binary")->value(), std::string_view("\0\xff\n", 3));
  EXPECT_EQ(to_->get("/cardea/mark"), nullptr);
  EXPECT_FALSE(is_half_copied(*to_));
}

TEST_F(Copy, OfAnEmptyStoreIsEmpty) {
  auto copied = copy_store(*from_, *to_, {});
  ASSERT_TRUE(copied);
  EXPECT_EQ(copied->records, 0u);
  EXPECT_EQ(size(*to_), 0);
}

TEST_F(Copy, IntoAStoreWithObjectsIsRefusedAndChangesNothing) {
  fill(*from_, 3);
  put(*to_, "/registry/mine", "precious");
  auto copied = copy_store(*from_, *to_, {});
  ASSERT_FALSE(copied);
  EXPECT_THAT(copied.error().message, HasSubstr("not empty: it has `/registry/mine`"));
  EXPECT_EQ(size(*to_), 1);
  EXPECT_FALSE(is_half_copied(*to_));
}

TEST_F(Copy, ThatWasInterruptedGoesOn) {
  fill(*from_, 200);
  struct Stop {};
  auto interrupt = [](std::uint64_t done, std::uint64_t) {
    if (done == 150) throw Stop{};
  };
  EXPECT_THROW((void)copy_store(*from_, *to_, {.left_out = {}, .progress = interrupt}), Stop);
  EXPECT_TRUE(is_half_copied(*to_));
  EXPECT_LT(size(*to_), 200);
  auto source = copy_store(*to_, *make_memory_store(clock_), {});
  ASSERT_FALSE(source);  // half a copy is nothing to copy from
  auto copied = copy_store(*from_, *to_, {});
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->records, 200u);
  EXPECT_LT(copied->written, 200u);
  EXPECT_FALSE(is_half_copied(*to_));
}

TEST_F(Copy, OfAnotherStoreDoesNotGoOn) {
  fill(*from_, 10);
  struct Stop {};
  auto interrupt = [](std::uint64_t, std::uint64_t) { throw Stop{}; };
  EXPECT_THROW((void)copy_store(*from_, *to_, {.left_out = {}, .progress = interrupt}), Stop);
  put(*from_, "/registry/new", "x");
  auto copied = copy_store(*from_, *to_, {});
  ASSERT_FALSE(copied);
  EXPECT_THAT(copied.error().message, HasSubstr("a copy of another store was begun"));
}

TEST_F(Copy, ThatDiffersIsAnError) {
  fill(*from_, 10);
  auto meddle = [this](std::uint64_t done, std::uint64_t) {
    if (done == 5) put(*to_, "/registry/stranger", "x");
  };
  auto copied = copy_store(*from_, *to_, {.left_out = {}, .progress = meddle});
  ASSERT_FALSE(copied);
  EXPECT_THAT(copied.error().message, HasSubstr("the copy differs"));
  EXPECT_TRUE(is_half_copied(*to_));
}

}  // namespace
}  // namespace cardea::store
