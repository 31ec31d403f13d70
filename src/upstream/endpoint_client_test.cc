#include "upstream/endpoint_client.h"

#include <gtest/gtest.h>

namespace cardea::upstream {
namespace {

using namespace std::chrono_literals;

class FixedRandom : public Random {
 public:
  explicit FixedRandom(std::uint64_t value) : value_(value) {}
  std::uint64_t next() override { return value_; }

 private:
  std::uint64_t value_;
};

TEST(EndpointCall, GoesToTheServerUnderTheNameOfItsCertificate) {
  Endpoint endpoint{.server = "https://10.0.0.1:6443/clusters/a", .tls_server_name = "api.test"};
  http::Call call{.url = endpoint.server + "/api/v1?limit=1"};
  address(call, endpoint, "");
  EXPECT_EQ(call.url, "https://api.test:6443/clusters/a/api/v1?limit=1");
  EXPECT_EQ(call.connect_host, "10.0.0.1");
  EXPECT_EQ(call.connect_port, 6443);
  EXPECT_FALSE(call.headers.has("authorization"));
}

TEST(EndpointCall, BringsTheTokenOfNowOrTheUser) {
  Endpoint endpoint{.server = "https://a.test/", .token = "first"};
  http::Call renewed{.url = endpoint.server};
  address(renewed, endpoint, "second");
  EXPECT_EQ(renewed.url, "https://a.test/");
  EXPECT_EQ(renewed.headers.get("authorization"), "Bearer second");
  Endpoint known{.server = "https://a.test/", .username = "jane", .password = "secret"};
  http::Call basic{.url = known.server};
  address(basic, known, known.token);
  EXPECT_EQ(basic.headers.get("authorization"), "Basic amFuZTpzZWNyZXQ=");
}

TEST(EndpointCall, IsTriedAgainLaterEachTime) {
  FixedRandom none(0), most(999);
  EXPECT_EQ(wait_after(1, 100ms, none), 100ms);
  EXPECT_EQ(wait_after(2, 100ms, none), 150ms);
  EXPECT_EQ(wait_after(3, 100ms, none), 225ms);
  EXPECT_EQ(wait_after(1, 1000ms, most), 1199ms);
}

}  // namespace
}  // namespace cardea::upstream
