#include "http/proxy_dialer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "net/loop.h"

namespace cardea::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Proxy, IsReadFromItsUrl) {
  const auto plain = parse_proxy("proxy.example.com:3128");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->name(), "proxy.example.com:3128");
  EXPECT_FALSE(plain->tls);
  EXPECT_EQ(plain->authorization, "");
  const auto full = parse_proxy("https://a%40b:c%3Ad@[::1]/");
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_EQ(full->name(), "[::1]:443");
  EXPECT_TRUE(full->tls);
  EXPECT_EQ(full->authorization, "Basic YUBiOmM6ZA==");
}

TEST(Proxy, AWrongUrlIsRefusedWithoutItsPassword) {
  for (const char* text : {"socks5://u:geheim@a:1", "http://u:geheim@", "http://u:geheim@a:0",
                           "http://u:geheim%zz@a:1", "http://u:geheim@a b"}) {
    const auto proxy = parse_proxy(text);
    ASSERT_FALSE(proxy) << text;
    EXPECT_THAT(proxy.error().message, Not(HasSubstr("geheim"))) << text;
  }
}

Result<net::Socket> dial_through(ProxyDialer& dialer, const std::string& host,
                                 net::Dialer::Admits admits = {}) {
  net::Loops loops{1};
  std::promise<Result<net::Socket>> dialed;
  dialer.dial(
      loops.at(0), host, 443,
      [&](Result<net::Socket> socket) { dialed.set_value(std::move(socket)); }, std::move(admits));
  return dialed.get_future().get();
}

TEST(ProxyDialer, AsksForNothingThatIsNotAPlainHost) {
  ProxyDialer dialer(Proxy{.host = "127.0.0.1", .port = 1});
  for (const char* host : {"a\r\nX: y", "a b", "a/b", "", "a:b", "[::1]", "u@a"}) {
    const auto socket = dial_through(dialer, host);
    ASSERT_FALSE(socket) << host;
    EXPECT_EQ(socket.error().message, "address not allowed") << host;
  }
}

TEST(ProxyDialer, AddressesAreAdmittedBeforeTheProxyIsAsked) {
  ProxyDialer dialer(Proxy{.host = "127.0.0.1", .port = 1});
  const auto none = [](const std::string&) { return false; };
  for (const char* host : {"169.254.169.254", "::1", "localhost", "LOCALHOST.", "a.localhost"})
    EXPECT_EQ(dial_through(dialer, host, none).error().message, "address not allowed") << host;
  const auto socket = dial_through(dialer, "10.0.0.1", [](const std::string&) { return true; });
  ASSERT_FALSE(socket);
  EXPECT_THAT(socket.error().message, HasSubstr("proxy `127.0.0.1:1`: "));
}

}  // namespace
}  // namespace cardea::http
