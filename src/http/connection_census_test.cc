#include "http/connection_census.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <vector>

namespace cardea::http {
namespace {

// Its peer has no address, so it is not of this machine.
net::Socket strange() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  net::Socket other(ends[1]);
  return net::Socket(ends[0]);
}

TEST(ConnectionCensus, ClosesAtTheLimitAndOpensAgain) {
  std::vector<std::string> lines;
  Counter refused;
  ServerOptions options;
  options.max_connections = 2;
  options.warn = [&](const std::string& line) { lines.push_back(line); };
  options.refused_connections = &refused;
  auto census = std::make_shared<ConnectionCensus>(options);
  auto first = census->admit(strange());
  auto second = census->admit(strange());
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(census->admit(strange()));
  EXPECT_FALSE(census->admit(strange()));
  EXPECT_EQ(refused.value(), 2u);
  ASSERT_EQ(lines.size(), 1u);  // not one for each
  EXPECT_EQ(lines[0], "a connection was not accepted: there are 2 connections already");
  first.reset();
  EXPECT_TRUE(census->admit(strange()));
}

TEST(ConnectionCensus, WithoutLimitsEverybodyComesIn) {
  auto census = std::make_shared<ConnectionCensus>(ServerOptions{});
  std::vector<std::shared_ptr<void>> held;
  for (int i = 0; i < 100; ++i) held.push_back(census->admit(strange()));
  for (const auto& place : held) EXPECT_TRUE(place);
}

}  // namespace
}  // namespace cardea::http
