#include "authn/authenticator.h"

#include <gtest/gtest.h>

namespace cardea::authn {
namespace {

class Authentication : public ::testing::Test {
 protected:
  Authentication() {
    std::vector<std::shared_ptr<const Authenticator>> list;
    list.push_back(certificate_authenticator());
    auto tokens = token_file_authenticator("t1,alice,1001\nt2,bob,1002,\"dev, ops\"\n");
    EXPECT_TRUE(tokens);
    list.push_back(std::move(*tokens));
    list.push_back(anonymous_authenticator());
    chain_ = std::make_unique<AuthenticatorChain>(std::move(list));
  }
  // Nobody in this chain waits.
  Result<Identity> ask(const Credentials& credentials) const { return *chain_->decide(credentials); }

  std::unique_ptr<AuthenticatorChain> chain_;
};

TEST_F(Authentication, ACertificateNamesUserAndGroups) {
  CertificateIdentity id{"admin", {"system:masters"}, ""};
  auto found = ask({.certificate = &id});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->user.name, "admin");
  EXPECT_EQ(found->user.groups, (std::vector<std::string>{"system:masters", "system:authenticated"}));
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
