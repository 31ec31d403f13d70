#include "rest/at_rest/node_port_range.h"

#include <gtest/gtest.h>

#include <vector>

namespace cardea::rest {
namespace {

// As kube-apiserver 1.36.3 leaves it in etcd when no port is given out.
constexpr std::string_view kEmpty(
    "k8s\0\n\x15\n\x02v1\x12\x0fRangeAllocation\x12!\n\x10\n\0\x12\0\x1a\0\"\0*\0002\0008\0B\0"
    "\x12\x0b"
    "30000-32767\x1a\0\x1a\0\"\0",
    66);

std::vector<std::int64_t> ports_in(const NodePortRange& range) {
  std::vector<std::int64_t> out;
  range.each([&out](std::int64_t port) { out.push_back(port); });
  return out;
}

TEST(NodePortRange, IsWrittenAsKubernetesWritesIt) {
  EXPECT_EQ(NodePortRange::to_etcd(NodePortRange(30000, 32767).stored()).value(), kEmpty);
  auto read = NodePortRange::read(NodePortRange::from_etcd(kEmpty).value());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->text(), "30000-32767");
  EXPECT_TRUE(ports_in(*read).empty());
}

TEST(NodePortRange, KeepsWhichPortsAreTaken) {
  NodePortRange range(30000, 32767);
  for (std::int64_t port : {30000, 30007, 30008, 31234, 32767}) range.set(port, true);
  range.set(30007, false);
  const std::string there = NodePortRange::to_etcd(range.stored()).value();
  auto read = NodePortRange::read(NodePortRange::from_etcd(there).value());
  ASSERT_TRUE(read);
  EXPECT_EQ(ports_in(*read), (std::vector<std::int64_t>{30000, 30008, 31234, 32767}));
  EXPECT_FALSE(read->has(29999));
  EXPECT_FALSE(read->has(32768));
  for (std::int64_t port : {30000, 30008, 31234, 32767}) read->set(port, false);
  EXPECT_EQ(NodePortRange::to_etcd(read->stored()).value(), kEmpty);
}

TEST(NodePortRange, TheLowestPortIsTheLowestBitOfANumber) {
  NodePortRange range(30000, 32767);
  range.set(30001, true);
  range.set(30008, true);
  EXPECT_NE(range.stored().find(R"("data":"AQI=")"), std::string::npos) << range.stored();
}

TEST(NodePortRange, BadBytesAreAnError) {
  for (std::size_t cut = 0; cut < kEmpty.size() - 4; ++cut)
    EXPECT_FALSE(NodePortRange::from_etcd(kEmpty.substr(0, cut))) << cut;
  for (std::string_view text : {"", "{}", R"({"kind":"RangeAllocation","range":"1-2-3","data":""})",
                                R"({"kind":"RangeAllocation","range":"5-4","data":""})",
                                R"({"kind":"RangeAllocation","range":"1-70000","data":""})",
                                R"({"kind":"RangeAllocation","range":"1-8","data":"AQEB"})"})
    EXPECT_FALSE(NodePortRange::read(text)) << text;
}

}  // namespace
}  // namespace cardea::rest
