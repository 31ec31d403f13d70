#include "authn/jwt/key_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <thread>

#include "authn/testing/fake_issuers.h"
#include "authn/testing/shared_clock.h"

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
  std::shared_ptr<KeySource> source(std::chrono::milliseconds retry = 1h,
                                    std::chrono::milliseconds refetch = 1h) {
    return discovered_keys(loops_.at(0), issuer_, clock_,
                           {.issuer = "https://issuer/",
                            .discovery_url = {},
                            .retry = retry,
                            .refetch = refetch,
                            .metrics = {},
                            .log = {}});
  }
  bool has(const std::shared_ptr<KeySource>& source, const SigningKey& key) {
    auto keys = source->keys(clock_.now());
    return keys &&
           std::ranges::any_of(keys->keys, [&](const PublicKey& k) { return k.id() == key.id(); });
  }

  // Waits until the loop has done its tasks and the tasks that these posted: answers are posted to
  // the loop.
  void settle() {
    for (int i = 0; i < 10; ++i) {
      std::promise<void> done;
      loops_.at(0).post([&] { done.set_value(); });
      done.get_future().wait();
    }
  }

  SharedClock clock_{Time(std::chrono::seconds(1'800'000'000))};
  SigningKey first_ = *SigningKey::make_ec(), second_ = *SigningKey::make_ec();
  net::Loops loops_{1};
  std::shared_ptr<FakeIssuers> issuer_ = std::make_shared<FakeIssuers>(loops_.at(0));
};

TEST_F(KeySourceTest, FetchesKeysWhenTheyAreFirstNeededAndNotBefore) {
  auto keys = source();
  ASSERT_TRUE(wait(keys->ready()));
  EXPECT_EQ(keys->health(), "");
  EXPECT_EQ(keys->keys(clock_.now()), nullptr);
  EXPECT_EQ(issuer_->asked(kKeys), 0);
  EXPECT_TRUE(keys->may_refresh());
  ASSERT_TRUE(wait(keys->refresh()));
  EXPECT_TRUE(has(keys, first_));
  EXPECT_EQ(issuer_->asked(kDiscovery), 1);
}

TEST_F(KeySourceTest, FetchesAFewTimesInTheIntervalAndNoMore) {
  auto keys = source();
  ASSERT_TRUE(wait(keys->ready()));
  for (int i = 0; i < 50; ++i) (void)wait(keys->refresh());
  EXPECT_FALSE(keys->may_refresh());
  EXPECT_EQ(issuer_->asked(kKeys), 3);
  issuer_->serve(kKeys, FakeIssuers::key_set({&second_}));
  (void)wait(keys->refresh());
  EXPECT_FALSE(has(keys, second_));
}

TEST_F(KeySourceTest, ASecondRotationInTheIntervalIsServed) {
  auto keys = source();
  ASSERT_TRUE(wait(keys->ready()));
  ASSERT_TRUE(wait(keys->refresh()));
  issuer_->serve(kKeys, FakeIssuers::key_set({&second_}));
  ASSERT_TRUE(keys->may_refresh());
  ASSERT_TRUE(wait(keys->refresh()));
  EXPECT_TRUE(has(keys, second_));
  issuer_->serve(kKeys, FakeIssuers::key_set({&first_}));
  ASSERT_TRUE(keys->may_refresh());
  ASSERT_TRUE(wait(keys->refresh()));
  EXPECT_TRUE(has(keys, first_));
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
  // In this order: the keys are asked for again in the background without a pause.
  issuer_->serve(kKeys, "<html>maintenance</html>");
  issuer_->set_down(false);
  EXPECT_FALSE(wait(keys->refresh()));
  EXPECT_TRUE(has(keys, first_));
}

TEST_F(KeySourceTest, AnIssuerThatIsOfflineAtFirstIsFoundLater) {
  issuer_->set_down(true);
  auto keys = source(1ms);
  EXPECT_FALSE(wait(keys->ready()));
  EXPECT_EQ(
      keys->health(),
      "oidc: authenticator for issuer \"https://issuer/\" is not healthy: connection refused");
  EXPECT_FALSE(keys->may_refresh());
  EXPECT_EQ(wait(keys->refresh()).error().message, "oidc: authenticator not initialized");
  issuer_->set_down(false);
  while (!wait(keys->ready())) {
  }
  EXPECT_EQ(keys->health(), "");
}

TEST_F(KeySourceTest, AnIssuerThatSaysItIsAnotherIsNotHealthy) {
  issuer_->serve(kDiscovery, R"({"issuer":"https://issuer","jwks_uri":"https://issuer/keys"})");
  auto keys = source(1ms);  // the first answer may come before the wait begins
  EXPECT_FALSE(wait(keys->ready()));
  EXPECT_NE(keys->health().find(R"(oidc: issuer did not match the issuer returned by provider, )"
                                R"(expected "https://issuer/" got "https://issuer")"),
            std::string::npos);
}

TEST_F(KeySourceTest, KeysThatAreDueAreFetchedAgainInTheBackground) {
  auto keys = source(1h, 0ms);
  ASSERT_TRUE(wait(keys->ready()));
  ASSERT_TRUE(wait(keys->refresh()));
  issuer_->serve(kKeys, FakeIssuers::key_set({&second_}));
  clock_.advance(59min);
  EXPECT_TRUE(has(keys, first_));
  settle();
  EXPECT_EQ(issuer_->asked(kKeys), 1);
  clock_.advance(1min);
  EXPECT_TRUE(has(keys, first_)) << "nobody waits for it";
  settle();
  EXPECT_EQ(issuer_->asked(kKeys), 2);
  EXPECT_EQ(issuer_->asked(kDiscovery), 2) << "the keys may have moved";
  EXPECT_TRUE(has(keys, second_));
  EXPECT_FALSE(has(keys, first_)) << "it was withdrawn";
}

TEST_F(KeySourceTest, TheIssuersCacheHeadersSayWhenKeysAreDue) {
  for (auto [said, due] : {std::pair<std::string, std::chrono::minutes>{"max-age=600", 10min},
                           {"max-age=86400", 60min},
                           {"no-store", 1min},
                           {"max-age=1", 1min}}) {
    issuer_->serve(kKeys, FakeIssuers::key_set({&first_}), said);
    auto keys = source(1h, 0ms);
    ASSERT_TRUE(wait(keys->ready()));
    ASSERT_TRUE(wait(keys->refresh()));
    int before = issuer_->asked(kKeys);
    clock_.advance(due - 1s);
    EXPECT_TRUE(has(keys, first_));
    settle();
    EXPECT_EQ(issuer_->asked(kKeys), before) << said;
    clock_.advance(1s);
    EXPECT_TRUE(has(keys, first_));
    settle();
    EXPECT_EQ(issuer_->asked(kKeys), before + 1) << said;
  }
}

TEST_F(KeySourceTest, KeysServeThroughAnOutageButNotForever) {
  auto keys = source(1h, 0ms);
  ASSERT_TRUE(wait(keys->ready()));
  ASSERT_TRUE(wait(keys->refresh()));
  issuer_->set_down(true);
  clock_.advance(24h - 1s);
  EXPECT_TRUE(has(keys, first_));
  clock_.advance(1s);
  EXPECT_FALSE(has(keys, first_));
  EXPECT_TRUE(keys->may_refresh());
  EXPECT_FALSE(wait(keys->refresh()));
  EXPECT_FALSE(has(keys, first_));
  issuer_->set_down(false);
  while (!wait(keys->refresh())) {  // the fetch it joins may have begun during the outage
  }
  EXPECT_TRUE(has(keys, first_));
}

TEST_F(KeySourceTest, RenewedKeysAreNotCurrentUntilTheIssuerHasAnswered) {
  auto keys = source();  // fetching again is delayed by an hour, but a renewal is not
  ASSERT_TRUE(wait(keys->ready()));
  ASSERT_TRUE(wait(keys->refresh()));
  issuer_->serve(kKeys, FakeIssuers::key_set({&second_}));
  issuer_->hold();
  EXPECT_TRUE(keys->is_current());
  keys->renew();
  EXPECT_FALSE(keys->is_current());
  std::promise<Result<void>> told;
  spawn(keys->current(), [&](Result<void> outcome) { told.set_value(std::move(outcome)); });
  issuer_->let_go();
  EXPECT_TRUE(told.get_future().get());
  EXPECT_TRUE(keys->is_current());
  EXPECT_TRUE(has(keys, second_));
  EXPECT_FALSE(has(keys, first_));
}

TEST_F(KeySourceTest, AFetchThatBeganBeforeARenewalDoesNotStandForIt) {
  auto keys = source(1h, 0ms);
  ASSERT_TRUE(wait(keys->ready()));
  issuer_->hold();
  std::promise<Result<void>> early;
  spawn(keys->refresh(), [&](Result<void> outcome) { early.set_value(std::move(outcome)); });
  while (issuer_->asked(kKeys) == 0) std::this_thread::yield();
  keys->renew();
  while (issuer_->asked(kDiscovery) < 2) std::this_thread::yield();
  issuer_->let_go();
  EXPECT_TRUE(wait(keys->current()));
  EXPECT_EQ(issuer_->asked(kKeys), 2);
  EXPECT_TRUE(early.get_future().get());
}

TEST_F(KeySourceTest, OldKeysServeWhileARenewalFails) {
  auto keys = source();
  ASSERT_TRUE(wait(keys->ready()));
  ASSERT_TRUE(wait(keys->refresh()));
  issuer_->set_down(true);
  issuer_->hold();
  keys->renew();
  std::promise<Result<void>> told;
  spawn(keys->current(), [&](Result<void> outcome) { told.set_value(std::move(outcome)); });
  while (issuer_->asked(kDiscovery) < 2) std::this_thread::yield();
  issuer_->let_go();
  EXPECT_FALSE(told.get_future().get());
  EXPECT_TRUE(keys->is_current());
  EXPECT_TRUE(has(keys, first_));
}

TEST_F(KeySourceTest, ARenewalFollowsKeysThatHaveMoved) {
  auto keys = source();
  ASSERT_TRUE(wait(keys->ready()));
  ASSERT_TRUE(wait(keys->refresh()));
  issuer_->serve(kDiscovery, R"({"issuer":"https://issuer/","jwks_uri":"https://issuer/moved"})");
  issuer_->serve("https://issuer/moved", FakeIssuers::key_set({&second_}));
  keys->renew();
  EXPECT_TRUE(wait(keys->current()));
  EXPECT_TRUE(has(keys, second_));
  EXPECT_FALSE(has(keys, first_));
}

TEST_F(KeySourceTest, WhoeverWaitsIsToldWhenItEnds) {
  issuer_->hold();
  std::promise<Result<void>> told;
  auto keys = source();
  spawn(keys->ready(), [&](Result<void> outcome) { told.set_value(std::move(outcome)); });
  keys.reset();
  EXPECT_FALSE(told.get_future().get());
}

}  // namespace
}  // namespace cardea::authn
