#include "authn/key_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "authn/fake_issuers.h"

namespace cardea::authn {
namespace {

using namespace std::chrono_literals;

template <typename T>
T wait(Task<T> task) {
  std::promise<T> answer;
  spawn(std::move(task), [&](T value) { answer.set_value(std::move(value)); });
  return answer.get_future().get();
}

class KeySourceTest : public ::testing::Test {
 protected:
  static constexpr const char* kDiscovery = "https://issuer/.well-known/openid-configuration";
  static constexpr const char* kKeys = "https://issuer/keys";

  KeySourceTest() {
    issuer_->serve(kDiscovery, R"({"issuer":"https://issuer/","jwks_uri":"https://issuer/keys"})");
    issuer_->serve(kKeys, FakeIssuers::key_set({&first_}));
  }
  std::shared_ptr<KeySource> source(std::chrono::milliseconds retry = 1h, std::chrono::milliseconds refetch = 1h) {
    return discovered_keys(loops_.at(0), issuer_, clock_,
                           {.issuer = "https://issuer/",
                            .discovery_url = {},
                            .retry = retry,
                            .refetch = refetch,
                            .metrics = {},
                            .log = {}});
  }
  static bool has(const std::shared_ptr<KeySource>& source, const SigningKey& key) {
    auto keys = source->keys();
    return keys && std::ranges::any_of(keys->keys, [&](const PublicKey& k) { return k.id() == key.id(); });
  }

  SystemClock clock_;
  SigningKey first_ = *SigningKey::make_ec(), second_ = *SigningKey::make_ec();
  net::Loops loops_{1};
  std::shared_ptr<FakeIssuers> issuer_ = std::make_shared<FakeIssuers>(loops_.at(0));
};

TEST_F(KeySourceTest, FetchesKeysWhenTheyAreFirstNeededAndNotBefore) {
  auto keys = source();
  ASSERT_TRUE(wait(keys->ready()));
  EXPECT_EQ(keys->health(), "");
  EXPECT_EQ(keys->keys(), nullptr);
  EXPECT_EQ(issuer_->asked(kKeys), 0);
  EXPECT_TRUE(keys->may_refresh());
  ASSERT_TRUE(wait(keys->refresh()));
  EXPECT_TRUE(has(keys, first_));
  EXPECT_EQ(issuer_->asked(kDiscovery), 1);
}

TEST_F(KeySourceTest, FetchesAtMostOnceInTheInterval) {
  auto keys = source();
  ASSERT_TRUE(wait(keys->ready()));
  ASSERT_TRUE(wait(keys->refresh()));
  issuer_->serve(kKeys, FakeIssuers::key_set({&second_}));
  EXPECT_FALSE(keys->may_refresh());
  for (int i = 0; i < 50; ++i) (void)wait(keys->refresh());
  EXPECT_EQ(issuer_->asked(kKeys), 1);
  EXPECT_FALSE(has(keys, second_));
}

TEST_F(KeySourceTest, SeesRotatedKeysAfterTheInterval) {
  auto keys = source(1h, 0ms);
  ASSERT_TRUE(wait(keys->ready()));
  ASSERT_TRUE(wait(keys->refresh()));
  issuer_->serve(kKeys, FakeIssuers::key_set({&second_}));
  ASSERT_TRUE(wait(keys->refresh()));
  EXPECT_TRUE(has(keys, second_));
  EXPECT_FALSE(has(keys, first_));
}

TEST_F(KeySourceTest, KeepsTheLastGoodKeysThroughAnOutage) {
  auto keys = source(1h, 0ms);
  ASSERT_TRUE(wait(keys->ready()));
  ASSERT_TRUE(wait(keys->refresh()));
  issuer_->set_down(true);
  EXPECT_FALSE(wait(keys->refresh()));
  EXPECT_TRUE(has(keys, first_));
  issuer_->set_down(false);
  issuer_->serve(kKeys, "<html>maintenance</html>");
  EXPECT_FALSE(wait(keys->refresh()));
  EXPECT_TRUE(has(keys, first_));
}

TEST_F(KeySourceTest, AnIssuerThatIsOfflineAtFirstIsFoundLater) {
  issuer_->set_down(true);
  auto keys = source(1ms);
  EXPECT_FALSE(wait(keys->ready()));
  EXPECT_EQ(keys->health(), "oidc: authenticator for issuer \"https://issuer/\" is not healthy: connection refused");
  EXPECT_FALSE(keys->may_refresh());
  EXPECT_EQ(wait(keys->refresh()).error().message, "oidc: authenticator not initialized");
  issuer_->set_down(false);
  while (!wait(keys->ready())) {
  }
  EXPECT_EQ(keys->health(), "");
}

TEST_F(KeySourceTest, AnIssuerThatSaysItIsAnotherIsNotHealthy) {
  issuer_->serve(kDiscovery, R"({"issuer":"https://issuer","jwks_uri":"https://issuer/keys"})");
  auto keys = source();
  EXPECT_FALSE(wait(keys->ready()));
  EXPECT_NE(keys->health().find(R"(oidc: issuer did not match the issuer returned by provider, expected "https://issuer/" got "https://issuer")"), std::string::npos);
}

TEST_F(KeySourceTest, WhoeverWaitsIsToldWhenItEnds) {
  issuer_->set_down(true);
  std::promise<Result<void>> told;
  auto keys = source();
  (void)wait(keys->ready());
  spawn(keys->ready(), [&](Result<void> outcome) { told.set_value(std::move(outcome)); });
  keys.reset();
  EXPECT_FALSE(told.get_future().get());
}

}  // namespace
}  // namespace cardea::authn
