#include "authn/request_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cardea::authn {
namespace {

using ::testing::ElementsAre;

class RequestHeader : public ::testing::Test {
 protected:
  std::optional<Identity> ask(const http::Headers& headers, bool is_front_proxy = true,
                              std::vector<std::string> names = {}) {
    options_.allowed_names = std::move(names);
    auto outcome = *request_header_authenticator(options_)->authenticate(
        {.certificate = &proxy_,
         .is_client = !is_front_proxy,
         .is_front_proxy = is_front_proxy,
         .headers = &headers});
    refused_ = !outcome;
    return outcome ? *outcome : std::nullopt;
  }

  CertificateIdentity proxy_{"aggregator", {"system:masters"}, "", "", ""};
  RequestHeaderOptions options_{
      {"X-Remote-User"}, {"X-Remote-Uid"}, {"X-Remote-Group"}, {"X-Remote-Extra-"}, {}};
  bool refused_ = false;
};

TEST_F(RequestHeader, AFrontProxySpeaksForAnother) {
  auto who = ask({{"x-remote-user", "jane"},
                  {"X-Remote-Uid", "7"},
                  {"X-Remote-Group", "dev"},
                  {"X-REMOTE-GROUP", "ops"},
                  {"X-Remote-Extra-Acme.com%2fProject", "p1"},
                  {"X-Remote-Extra-acme.com%2Fproject", "p2"}});
  ASSERT_TRUE(who);
  EXPECT_EQ(who->user.name, "jane");
  EXPECT_EQ(who->user.uid, "7");
  EXPECT_THAT(who->user.groups, ElementsAre("dev", "ops"));
  EXPECT_THAT(who->user.extra.at("acme.com/project"), ElementsAre("p1", "p2"));
  EXPECT_EQ(who->authenticator, "request-header");
}

TEST_F(RequestHeader, FromAnybodyElseTheHeadersMeanNothing) {
  EXPECT_FALSE(ask({{"X-Remote-User", "jane"}}, false));
  EXPECT_FALSE(refused_);
  http::Headers headers{{"X-Remote-User", "jane"}};
  auto outcome = *request_header_authenticator(options_)->authenticate({.headers = &headers});
  EXPECT_TRUE(outcome && !*outcome);
}

TEST_F(RequestHeader, AProxyOfAnotherNameIsRefused) {
  EXPECT_FALSE(ask({{"X-Remote-User", "jane"}}, true, {"front"}));
  EXPECT_TRUE(refused_);
  EXPECT_TRUE(ask({{"X-Remote-User", "jane"}}, true, {"front", "aggregator"}));
}

TEST_F(RequestHeader, AProxyThatNamesNobodyIsNotRecognised) {
  EXPECT_FALSE(ask({{"X-Remote-Group", "system:masters"}}));
  EXPECT_FALSE(refused_);
}

TEST_F(RequestHeader, TheHeadersAreTakenOffTheRequestWhoeverSentThem) {
  http::Headers headers{{"X-Remote-User", "jane"},
                        {"x-remote-extra-a", "b"},
                        {"X-Remote-Group", "g"},
                        {"Accept", "*/*"}};
  strip_request_headers(options_, headers);
  EXPECT_EQ(headers.count(), 1u);
  EXPECT_TRUE(headers.has("accept"));
}

}  // namespace
}  // namespace cardea::authn
