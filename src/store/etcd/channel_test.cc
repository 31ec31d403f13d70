#include "store/etcd/channel.h"

#include <gtest/gtest.h>

#include "store/etcd/messages.h"

namespace cardea::store::etcd {
namespace {

TEST(EtcdErrors, EachMeansWhatTheStoreSaysItMeans) {
  struct Row {
    int status;
    const char* message;
    Reason read, write;
  };
  // The texts are etcd's.
  constexpr Reason kUnsure = Reason::kInternalError, kNothing = Reason::kServiceUnavailable;
  const Row rows[] = {
      {11, "etcdserver: mvcc: required revision has been compacted", Reason::kExpired,
       Reason::kExpired},
      {11, "etcdserver: mvcc: required revision is a future revision", Reason::kBadRequest,
       Reason::kBadRequest},
      {8, "etcdserver: mvcc: database space exceeded", kNothing, kNothing},
      {8, "etcdserver: too many requests", Reason::kTooManyRequests, Reason::kTooManyRequests},
      {8, "grpc: received message larger than max (3 vs. 2)", Reason::kRequestEntityTooLarge,
       Reason::kRequestEntityTooLarge},
      {3, "etcdserver: request is too large", Reason::kRequestEntityTooLarge,
       Reason::kRequestEntityTooLarge},
      {3, "etcdserver: too many operations in txn request", Reason::kRequestEntityTooLarge,
       Reason::kRequestEntityTooLarge},
      {3, "etcdserver: duplicate key given in txn request", Reason::kBadRequest,
       Reason::kBadRequest},
      {3, "etcdserver: user name is empty", kNothing, kNothing},
      {7, "etcdserver: permission denied", kNothing, kNothing},
      {16, "etcdserver: invalid auth token", kNothing, kNothing},
      {14, "etcdserver: no leader", kNothing, kNothing},
      {14, "etcdserver: unhealthy cluster", kNothing, kNothing},
      {14, "etcdserver: leader changed", kNothing, kUnsure},
      {14, "etcdserver: request timed out", kNothing, kUnsure},
      {14, "etcdserver: request timed out, possibly due to previous leader failure", kNothing,
       kUnsure},
      {14, "etcdserver: request timed out, possibly due to connection lost", kNothing, kUnsure},
      {14, "etcdserver: server stopped", kNothing, kUnsure},
      {15, "etcdserver: corrupt cluster", kNothing, kUnsure},
      {4, "context deadline exceeded", kNothing, kUnsure},
      {1, "context canceled", kNothing, kUnsure},
      {2, "", kNothing, kUnsure},
      {13, "stream terminated", kNothing, kUnsure},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(error_of(row.status, row.message, Asked::kRead).reason, row.read) << row.message;
    EXPECT_EQ(error_of(row.status, row.message, Asked::kWrite).reason, row.write) << row.message;
  }
}

TEST(EtcdFrames, MessagesAreFoundHoweverTheBytesCome) {
  const std::string bytes = framed("one") + framed("") + framed(std::string(70'000, 'x'));
  for (std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, bytes.size()}) {
    Frames frames(1 << 20);
    std::vector<std::size_t> sizes;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      frames.add(std::string_view(bytes).substr(at, step));
      std::string_view message;
      while (frames.next(message)) sizes.push_back(message.size());
    }
    EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 0, 70'000})) << step;
    EXPECT_FALSE(frames.malformed());
  }
  Frames small(2);
  small.add(framed("one"));
  std::string_view message;
  EXPECT_FALSE(small.next(message));
  EXPECT_TRUE(small.malformed());
}

TEST(EtcdKeys, LieWhereKubernetesHasThem) {
  const KeySpace keys("/registry/");
  EXPECT_EQ(keys.to_etcd("/registry/pods/a/b"), "/registry/pods/a/b");
  EXPECT_EQ(keys.to_etcd("/cardea/quiet"), "/registry/_cardea//cardea/quiet");
  EXPECT_EQ(keys.from_etcd("/registry/pods/a/b"), "/registry/pods/a/b");
  EXPECT_EQ(keys.from_etcd("/registry/_cardea//cardea/quiet"), "/cardea/quiet");
  EXPECT_EQ(keys.from_etcd("/other/pods"), "");
  const KeySpace mine("mine");
  EXPECT_EQ(mine.to_etcd("/registry/pods/a/b"), "/mine/pods/a/b");
  EXPECT_EQ(mine.from_etcd("/mine/pods/a/b"), "/registry/pods/a/b");
}

TEST(EtcdMessages, GarbageIsAnErrorAndNothingElse) {
  const KeySpace keys("/registry");
  const std::string whole = txn_request({{{"/a", 1}}, {Put{"/a", "1"}, Delete{"/b"}}}, keys);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const std::string_view part = std::string_view(whole).substr(0, size);
    (void)read_txn(part, keys, 1);
    (void)read_range(part, keys);
    (void)read_watch(part, keys);
    (void)read_status(part);
    EXPECT_FALSE(read_revision(std::string(size, '\xff')));
  }
}

TEST(EtcdVersions, ProgressIsTrustedSinceItIsTrue) {
  for (const char* good : {"3.4.31", "3.5.13", "3.5.21", "3.6.0", "3.6.0-rc.1", "4.0.0"})
    EXPECT_TRUE(has_true_progress(good)) << good;
  for (const char* bad : {"3.4.23", "3.4.30", "3.5.12", "3.3.99", "", "x"})
    EXPECT_FALSE(has_true_progress(bad)) << bad;
}

}  // namespace
}  // namespace cardea::store::etcd
