#include "authn/authenticator.h"

#include <gtest/gtest.h>

namespace cardea::authn {
namespace {

AuthenticatorChain chain() {
  std::vector<std::unique_ptr<Authenticator>> list;
  list.push_back(certificate_authenticator());
  auto tokens = token_file_authenticator("t1,alice,1001\nt2,bob,1002,\"dev, ops\"\n");
  EXPECT_TRUE(tokens);
  list.push_back(std::move(*tokens));
  list.push_back(anonymous_authenticator());
  return AuthenticatorChain(std::move(list));
}

TEST(Authentication, ACertificateNamesUserAndGroups) {
  CertificateIdentity id{"admin", {"system:masters"}, ""};
  auto user = chain().authenticate({.certificate = &id});
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "admin");
  EXPECT_EQ(user->groups, (std::vector<std::string>{"system:masters", "system:authenticated"}));
}

TEST(Authentication, AStaticTokenNamesUserAndGroups) {
  auto user = chain().authenticate({.authorization = "Bearer t2"});
  ASSERT_TRUE(user);
  EXPECT_EQ(user->groups, (std::vector<std::string>{"dev", "ops", "system:authenticated"}));
}

TEST(Authentication, AWrongTokenIsUnauthorizedAndNeverAnonymous) {
  EXPECT_EQ(chain().authenticate({.authorization = "Bearer wrong"}).error().reason, Reason::kUnauthorized);
}

TEST(Authentication, BasicAndEmptyBearerAreAnonymous) {
  for (auto header : {"", "Basic YTpi", "Bearer", "Bearer "})
    EXPECT_EQ(chain().authenticate({.authorization = header})->name, "system:anonymous") << header;
}

TEST(Authentication, ABrokenTokenFileIsAnError) {
  EXPECT_FALSE(token_file_authenticator("a,b\n"));
  EXPECT_FALSE(token_file_authenticator("a,b,\"c\n"));
}

}  // namespace
}  // namespace cardea::authn
