#include "authn/authenticator.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace cardea::authn {
namespace {

class Authentication : public ::testing::Test {
 protected:
  Authentication() {
    std::vector<std::shared_ptr<const Authenticator>> list;
    list.push_back(certificate_authenticator());
    auto tokens = token_file_authenticator("t1,alice,1001\nt2,bob,1002,\"dev, ops\"\n", {"api"});
    EXPECT_TRUE(tokens);
    list.push_back(std::move(*tokens));
    list.push_back(anonymous_authenticator());
    chain_ = std::make_unique<AuthenticatorChain>(std::move(list));
  }
  // No authenticator of this chain waits.
  Result<Identity> ask(const Credentials& credentials) const {
    return *chain_->decide(credentials);
  }

  std::unique_ptr<AuthenticatorChain> chain_;
};

TEST_F(Authentication, ACertificateNamesUserAndGroups) {
  CertificateIdentity id{"admin", {"system:masters"}, "ab", "u1", "CN=ca"};
  auto found = ask({.certificate = &id, .is_client = true});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->user.name, "admin");
  EXPECT_EQ(found->user.groups,
            (std::vector<std::string>{"system:masters", "system:authenticated"}));
  EXPECT_EQ(found->user.uid, "u1");
  EXPECT_EQ(found->credential_id, "X509SHA256=ab");
  EXPECT_EQ(found->issuer, "CN=ca");
}

TEST_F(Authentication, ACertificateThatNoClientCaSignedIsRefusedAndNeverAnonymous) {
  CertificateIdentity id{"admin", {"system:masters"}, "", "", ""};
  EXPECT_EQ(ask({.certificate = &id}).error().reason, Reason::kUnauthorized);
  // The certificate of a front proxy does not authenticate its own subject.
  EXPECT_FALSE(ask({.certificate = &id, .is_front_proxy = true}));
  // It has no effect on a valid token.
  EXPECT_EQ(ask({.certificate = &id, .token = "t1"})->user.name, "alice");
}

TEST_F(Authentication, ACertificateComesBeforeAToken) {
  CertificateIdentity id{"admin", {}, "", "", ""};
  for (auto token : {"t1", "wrong"})
    EXPECT_EQ(ask({.certificate = &id, .is_client = true, .token = token})->user.name, "admin");
}

TEST_F(Authentication, AStaticTokenIsForThisServerAlone) {
  std::vector<std::string> other = {"vault"}, both = {"vault", "api"};
  EXPECT_FALSE(ask({.token = "t1", .audiences = &other}));
  auto found = ask({.token = "t1", .audiences = &both});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->audiences, std::vector<std::string>{"api"});
}

TEST_F(Authentication, TheReasonIsToldApartFromTheAnswer) {
  std::string why;
  auto answer = *chain_->decide({.token = "wrong"}, &why);
  EXPECT_EQ(answer.error().message, "Unauthorized");
  EXPECT_EQ(why, "invalid bearer token");
}

TEST_F(Authentication, TheReasonNeverQuotesTheToken) {
  struct Talkative : Authenticator {
    std::optional<Outcome> authenticate(const Credentials& c) const override {
      return Outcome(fail(Error::of(Reason::kUnauthorized,
                                    "do not know " + std::string(c.token) + std::string(c.token))));
    }
  };
  AuthenticatorChain chain({std::make_shared<Talkative>()});
  std::string why;
  EXPECT_FALSE(*chain.decide({.token = "hunter2"}, &why));
  EXPECT_EQ(why, "[invalid bearer token, do not know (the token)(the token)]");
  EXPECT_FALSE(*chain.decide({.token = "token"}, &why));
}

TEST_F(Authentication, ARefusedTokenOfARequestIsNotedAndOneOfAReviewIsNot) {
  std::vector<std::string> noted;
  AuthenticatorChain chain({std::shared_ptr(anonymous_authenticator())}, {},
                           [&](std::string_view token, std::vector<std::string>& texts) {
                             noted.emplace_back(token);
                             texts = {"nobody signed it"};
                           });
  const http::Headers headers;
  std::string why;
  EXPECT_FALSE(*chain.decide({.token = "x", .headers = &headers}, &why));
  EXPECT_EQ(why, "[invalid bearer token, nobody signed it]");
  EXPECT_FALSE(*chain.decide({.token = "y", .headers = &headers})) << "also if nobody asks why";
  EXPECT_FALSE(*chain.decide({.token = "z"}, &why));
  EXPECT_EQ(why, "invalid bearer token");
  EXPECT_TRUE(*chain.decide({.headers = &headers}));
  EXPECT_EQ(noted, (std::vector<std::string>{"x", "y"}));
}

TEST_F(Authentication, TwoAuthorizationHeadersAreNoCredentials) {
  std::string storage;
  EXPECT_FALSE(
      request_token({{"Authorization", "Bearer t1"}, {"authorization", "Bearer t2"}}, storage));
  EXPECT_EQ(*request_token({{"Authorization", "bearer t1"}}, storage), "t1");
}

TEST_F(Authentication, AWebSocketBringsItsTokenAmongItsProtocols) {
  std::string storage;
  auto token = [&](std::string_view protocols) {
    return request_token({{"Connection", "keep-alive, Upgrade"},
                          {"Upgrade", "websocket"},
                          {"Sec-WebSocket-Protocol", protocols}},
                         storage);
  };
  const std::string t1 = "base64url.bearer.authorization.k8s.io.dDE";
  EXPECT_EQ(*token("v5.channel.k8s.io, " + t1), "t1");
  EXPECT_EQ(*token(t1 + ",a,b"), "t1");
  EXPECT_EQ(*token("a"), "");
  EXPECT_FALSE(token(t1)) << "no protocol is left for the answer";
  EXPECT_FALSE(token(cat("a, ", t1, ", base64url.bearer.authorization.k8s.io.dDI")));
  for (const std::string_view bad : {"***", "dDE=", "d D E", "_w", "+w"})
    EXPECT_FALSE(token(cat("a, base64url.bearer.authorization.k8s.io.", bad))) << bad;
  const http::Headers no_upgrade{{"Upgrade", "websocket"}, {"Sec-WebSocket-Protocol", "a, " + t1}};
  EXPECT_EQ(*request_token(no_upgrade, storage = ""), "");
}

TEST_F(Authentication, CredentialsAreTakenOffTheRequest) {
  http::Headers headers{{"Authorization", "Bearer t1"}, {"Accept", "*/*"}};
  chain_->forget(headers);
  EXPECT_FALSE(headers.has("authorization"));
  EXPECT_TRUE(headers.has("accept"));
  headers.add("Sec-WebSocket-Protocol", "a, base64url.bearer.authorization.k8s.io.dDE");
  headers.add("Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io.dDI,b");
  chain_->forget(headers);
  EXPECT_EQ(headers.get_all("sec-websocket-protocol"), (std::vector<std::string_view>{"a,b"}));
}

TEST_F(Authentication, AStaticTokenNamesUserAndGroups) {
  auto found = ask({.token = "t2"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->user.groups, (std::vector<std::string>{"dev", "ops", "system:authenticated"}));
}

TEST_F(Authentication, AWrongTokenIsUnauthorizedAndNeverAnonymous) {
  EXPECT_EQ(ask({.token = "wrong"}).error().reason, Reason::kUnauthorized);
}

TEST_F(Authentication, BasicAndEmptyBearerAreAnonymous) {
  for (auto header : {"", "Basic YTpi", "Bearer", "Bearer "})
    EXPECT_EQ(ask({.token = bearer_token(header)})->user.name, "system:anonymous") << header;
}

TEST_F(Authentication, ABrokenTokenFileIsAnError) {
  EXPECT_FALSE(token_file_authenticator("a,b\n"));
  EXPECT_FALSE(token_file_authenticator("a,b,\"c\n"));
}

}  // namespace
}  // namespace cardea::authn
