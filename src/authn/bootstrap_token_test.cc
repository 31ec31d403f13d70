#include "authn/bootstrap_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "authn/testing/shared_clock.h"
#include "base/strings.h"
#include "base/time_parse.h"
#include "json/print.h"
#include "store/testing/memory_store.h"

namespace cardea::authn {
namespace {

using json::Value;
using ::testing::ElementsAre;

constexpr std::string_view kToken = "abcdef.0123456789abcdef";

class BootstrapTokenTest : public ::testing::Test {
 protected:
  BootstrapTokenTest() { keep(good()); }

  // A Secret as kubeadm makes it.
  static Value good() {
    Value secret = Value::object(
        {{"type", "bootstrap.kubernetes.io/token"},
         {"metadata", Value::object({{"name", "bootstrap-token-abcdef"}})}});
    set(secret, "token-id", "abcdef");
    set(secret, "token-secret", "0123456789abcdef");
    set(secret, "usage-bootstrap-authentication", "true");
    return secret;
  }
  static void set(Value& secret, std::string_view key, std::string_view value) {
    secret.member("data").set(key, base64(value));
  }
  void keep(const Value& secret) {
    ASSERT_TRUE(store::commit_sync(
        *store_, {{},
                  {store::Put{"/registry/secrets/kube-system/bootstrap-token-abcdef",
                              json::print(secret)}}}));
  }
  std::optional<Identity> ask(std::string_view token,
                              const std::vector<std::string>* audiences = nullptr) {
    auto outcome = authenticator_->authenticate({.token = token, .audiences = audiences});
    EXPECT_TRUE(outcome.has_value());
    EXPECT_TRUE(outcome->has_value()) << "a token that is not known is no error";
    return **outcome;
  }
  bool is_known(const Value& secret) {
    keep(secret);
    return ask(kToken).has_value();
  }

  FakeClock clock_{to_time_point(*parse_rfc3339("2026-06-01T12:00:00Z"))};
  std::unique_ptr<store::Store> store_ = store::make_memory_store(clock_);
  std::unique_ptr<Authenticator> authenticator_ = bootstrap_token_authenticator(*store_, clock_,
                                                                                {"api"});
};

TEST_F(BootstrapTokenTest, TheUserIsNamedAfterTheToken) {
  auto identity = ask(kToken);
  ASSERT_TRUE(identity.has_value());
  EXPECT_EQ(identity->user.name, "system:bootstrap:abcdef");
  EXPECT_THAT(identity->user.groups, ElementsAre("system:bootstrappers"));
  EXPECT_EQ(identity->authenticator, "bootstrap-token");
}

TEST_F(BootstrapTokenTest, GroupsOfTheSecretAreAddedAndSorted) {
  Value secret = good();
  set(secret, "auth-extra-groups", "system:bootstrappers:z,system:bootstrappers:kubeadm:default");
  keep(secret);
  EXPECT_THAT(ask(kToken)->user.groups,
              ElementsAre("system:bootstrappers", "system:bootstrappers:kubeadm:default",
                          "system:bootstrappers:z"));
}

TEST_F(BootstrapTokenTest, ATokenNeverBringsAnotherGroup) {
  for (std::string_view group :
       {"system:masters", "system:bootstrappers:", "system:bootstrappers:A",
        "system:bootstrappersx", "system:bootstrappers:a,system:masters", "system:bootstrappers:a-",
        ","}) {
    Value secret = good();
    set(secret, "auth-extra-groups", group);
    EXPECT_FALSE(is_known(secret)) << group;
  }
}

TEST_F(BootstrapTokenTest, AnotherSecretOrFormIsNotKnown) {
  for (std::string_view token :
       {"abcdef.0123456789abcdeF", "abcdef.0123456789abcdee", "abcdeg.0123456789abcdef", "abcdef.",
        "abcdef0123456789abcdef", "abcdef.0123456789abcdef0", "", "../../x.0123456789abcdef",
        "abcde/.0123456789abcdef"})
    EXPECT_FALSE(ask(token).has_value()) << token;
}

TEST_F(BootstrapTokenTest, TheSecretMustFitInEverything) {
  Value secret = good();
  EXPECT_TRUE(is_known(secret));
  secret.set("type", "Opaque");
  EXPECT_FALSE(is_known(secret)) << "type";
  secret = good();
  set(secret, "token-id", "abcdeg");
  EXPECT_FALSE(is_known(secret)) << "id";
  secret = good();
  set(secret, "usage-bootstrap-authentication", "false");
  EXPECT_FALSE(is_known(secret)) << "usage";
  secret = good();
  secret.member("data").erase("usage-bootstrap-authentication");
  EXPECT_FALSE(is_known(secret)) << "no usage";
  secret = good();
  secret.member("metadata").set("deletionTimestamp", "2026-06-01T12:00:00Z");
  EXPECT_FALSE(is_known(secret)) << "being deleted";
  secret = good();
  secret.member("data").set("token-secret", "not base64!");
  EXPECT_FALSE(is_known(secret)) << "damaged";
}

TEST_F(BootstrapTokenTest, AnExpirationEndsIt) {
  Value secret = good();
  set(secret, "expiration", "2026-06-01T12:00:10Z");
  EXPECT_TRUE(is_known(secret));
  clock_.advance(std::chrono::seconds(10));
  EXPECT_FALSE(ask(kToken).has_value());
  set(secret, "expiration", "next week");
  EXPECT_FALSE(is_known(secret)) << "an expiration that cannot be read has passed";
  secret.member("data").set("expiration", "not base64!");
  EXPECT_FALSE(is_known(secret)) << "nor one that is damaged";
}

TEST_F(BootstrapTokenTest, DeletingTheSecretRevokesTheToken) {
  ASSERT_TRUE(ask(kToken).has_value());
  ASSERT_TRUE(store::commit_sync(
      *store_, {{}, {store::Delete{"/registry/secrets/kube-system/bootstrap-token-abcdef"}}}));
  EXPECT_FALSE(ask(kToken).has_value());
}

TEST_F(BootstrapTokenTest, ItIsATokenForThisServerOnly) {
  const std::vector<std::string> ours{"api", "x"}, others{"x"};
  EXPECT_THAT(ask(kToken, &ours)->audiences, ElementsAre("api"));
  EXPECT_FALSE(ask(kToken, &others).has_value());
}

}  // namespace
}  // namespace cardea::authn
