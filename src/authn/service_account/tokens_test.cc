#include "authn/service_account/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "authn/jwt/jwt.h"
#include "authn/testing/shared_clock.h"
#include "base/strings.h"
#include "base/time_parse.h"
#include "json/parse.h"
#include "json/print.h"
#include "store/testing/memory_store.h"

namespace cardea::authn {
namespace {

using json::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const SigningKey& first_key() {
  static const SigningKey key = *SigningKey::make_rsa();
  return key;
}
const SigningKey& other_key() {
  static const SigningKey key = *SigningKey::make_ec();
  return key;
}

class ServiceAccountTokensTest : public ::testing::Test {
 protected:
  ServiceAccountTokensTest() {
    put("/registry/serviceaccounts/ns/sa", object("sa", "u1"));
    put("/registry/pods/ns/p", object("p", "u2"));
    put("/registry/minions/n", object("n", "u3"));
    put("/registry/secrets/ns/s", object("s", "u4"));
  }

  static Value object(std::string_view name, std::string_view uid) {
    return Value::object({{"metadata", Value::object({{"name", name}, {"uid", uid}})}});
  }
  void put(std::string key, const Value& object) {
    ASSERT_TRUE(
        store::commit_sync(*store_, {{}, {store::Put{std::move(key), json::print(object)}}}));
  }
  void remove(std::string key) {
    ASSERT_TRUE(store::commit_sync(*store_, {{}, {store::Delete{std::move(key)}}}));
  }

  ServiceAccountClaims plain() const {
    return {.namespace_name = "ns", .account = {"sa", "u1"}, .audiences = {"api"}};
  }
  std::string issue(const ServiceAccountClaims& claims) const {
    return tokens_->issue(claims)->token;
  }
  // The answer, or the error.
  std::string ask(std::string_view token,
                  const std::vector<std::string>* audiences = nullptr) const {
    auto outcome = *authenticator_->authenticate({.token = token, .audiences = audiences});
    if (!outcome) return outcome.error().message;
    return *outcome ? (*outcome)->user.name : "not mine";
  }
  std::string signed_token(const Value& claims, const SigningKey& key = first_key(),
                           std::string_view alg = "") const {
    Value header = Value::object(
        {{"alg", alg.empty() ? algorithm_name(key.algorithm()) : alg}, {"kid", key.id()}});
    std::string token = cat(base64_url(json::print(header)), ".", base64_url(json::print(claims)));
    return cat(token, ".", base64_url(*key.sign(key.algorithm(), token)));
  }
  static Value claims_of(std::string_view token) { return parse_jwt(token)->claims; }

  static constexpr auto kSa = "system:serviceaccount:ns:sa";
  SharedClock clock_{std::chrono::system_clock::from_time_t(1'800'000'000)};
  SystemRandom random_;
  std::unique_ptr<store::Store> store_ = store::make_memory_store(clock_);
  std::shared_ptr<const ServiceAccountTokens> tokens_ = std::make_shared<ServiceAccountTokens>(
      ServiceAccountOptions{.issuers = {"https://one", "https://two"},
                            .audiences = {"api", "api2"},
                            .jwks_uri = "https://one/keys"},
      first_key(), std::vector<PublicKey>(), clock_, random_);
  std::unique_ptr<Authenticator> authenticator_ = service_account_authenticator(tokens_, *store_,
                                                                                clock_);
};

TEST_F(ServiceAccountTokensTest, ATokenNamesAccountGroupsAndWhatItIsBoundTo) {
  auto claims = plain();
  claims.pod = {"p", "u2"};
  claims.node = {"n", "u3"};
  auto outcome = *authenticator_->authenticate({.token = issue(claims)});
  ASSERT_TRUE(outcome && *outcome) << outcome.error().message;
  const Identity& who = **outcome;
  EXPECT_EQ(who.user.name, kSa);
  EXPECT_EQ(who.user.uid, "u1");
  EXPECT_THAT(who.user.groups, ElementsAre("system:serviceaccounts", "system:serviceaccounts:ns"));
  auto extra = [&](const std::string& key) {
    return who.user.extra.at("authentication.kubernetes.io/" + key);
  };
  EXPECT_THAT(extra("pod-name"), ElementsAre("p"));
  EXPECT_THAT(extra("pod-uid"), ElementsAre("u2"));
  EXPECT_THAT(extra("node-name"), ElementsAre("n"));
  EXPECT_THAT(extra("node-uid"), ElementsAre("u3"));
  EXPECT_THAT(extra("credential-id"), ElementsAre(who.credential_id));
  EXPECT_THAT(who.credential_id, HasSubstr("JTI="));
  EXPECT_EQ(who.issuer, "https://one");
  EXPECT_EQ(who.key_id, first_key().id());
  EXPECT_THAT(who.audiences, ElementsAre("api"));
}

TEST_F(ServiceAccountTokensTest, DeletingWhatATokenIsBoundToRevokesItWithTheNextRequest) {
  struct Case {
    std::optional<ObjectRef> ServiceAccountClaims::* bond;
    ObjectRef ref;
    std::string key;
  };
  const Case kCases[] = {{&ServiceAccountClaims::pod, {"p", "u2"}, "/registry/pods/ns/p"},
                         {&ServiceAccountClaims::node, {"n", "u3"}, "/registry/minions/n"},
                         {&ServiceAccountClaims::secret, {"s", "u4"}, "/registry/secrets/ns/s"}};
  for (const Case& c : kCases) {
    auto claims = plain();
    claims.*c.bond = c.ref;
    std::string token = issue(claims);
    EXPECT_EQ(ask(token), kSa);
    EXPECT_EQ(ask(token), kSa);
    remove(c.key);
    EXPECT_EQ(ask(token), "service account token has been invalidated");
    put(c.key, object(c.ref.name, "another"));
    EXPECT_THAT(ask(token), HasSubstr("UID (another) does not match"));
    put(c.key, object(c.ref.name, c.ref.uid));
    EXPECT_EQ(ask(token), kSa);
  }
}

TEST_F(ServiceAccountTokensTest, DeletingTheAccountRevokesAllItsTokens) {
  std::string token = issue(plain());
  EXPECT_EQ(ask(token), kSa);
  remove("/registry/serviceaccounts/ns/sa");
  EXPECT_EQ(ask(token), "serviceaccounts \"sa\" not found");
  put("/registry/serviceaccounts/ns/sa", object("sa", "u9"));
  EXPECT_EQ(ask(token), "service account UID (u9) does not match claim (u1)");
}

TEST_F(ServiceAccountTokensTest, WhatIsBeingDeletedKeepsItsTokenUntilItsGraceIsOver) {
  auto claims = plain();
  claims.pod = {"p", "u2"};
  std::string token = issue(claims);
  Value pod = object("p", "u2");
  pod.member("metadata").set("deletionTimestamp", rfc3339(clock_.now() + std::chrono::seconds(30)));
  put("/registry/pods/ns/p", pod);
  EXPECT_EQ(ask(token), kSa);
  clock_.advance(std::chrono::seconds(30));
  EXPECT_EQ(ask(token), "service account token has been invalidated");
}

TEST_F(ServiceAccountTokensTest, TheNodeOfABoundPodIsToldButNotAskedFor) {
  auto claims = plain();
  claims.pod = {"p", "u2"};
  claims.node = {"gone", ""};
  auto outcome = *authenticator_->authenticate({.token = issue(claims)});
  ASSERT_TRUE(outcome && *outcome);
  EXPECT_FALSE((*outcome)->user.extra.contains("authentication.kubernetes.io/node-uid"));
}

TEST_F(ServiceAccountTokensTest, ATokenForOthersIsNotForUs) {
  auto claims = plain();
  claims.audiences = {"vault", "backup"};
  std::string token = issue(claims);
  EXPECT_EQ(
      ask(token),
      R"(token audiences ["vault" "backup"] is invalid for the target audiences ["api" "api2"])");
  std::vector<std::string> asked = {"backup", "x"};
  auto outcome = *authenticator_->authenticate({.token = token, .audiences = &asked});
  ASSERT_TRUE(outcome && *outcome);
  EXPECT_THAT((*outcome)->audiences, ElementsAre("backup"));
  // The result for one set of audiences is not used for another.
  EXPECT_THAT(ask(token), HasSubstr("is invalid for"));
}

TEST_F(ServiceAccountTokensTest, TimesAreHeldAgainstTheClockWithEveryRequest) {
  std::string token = issue(plain());
  EXPECT_EQ(ask(token), kSa);
  clock_.advance(std::chrono::seconds(3600));
  EXPECT_EQ(ask(token), kSa);
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(ask(token), "service account token has expired");
  clock_.advance(std::chrono::seconds(-7200));
  EXPECT_EQ(ask(token), "service account token is not valid yet");
}

TEST_F(ServiceAccountTokensTest, AnErrorIsNeverAnAllow) {
  const Value good = claims_of(issue(plain()));
  auto with = [&](std::string_view key, Value value) {
    Value claims = good;
    if (value.is_null())
      claims.erase(key);
    else
      claims.set(key, std::move(value));
    return ask(signed_token(claims));
  };
  EXPECT_EQ(ask(signed_token(good)), kSa);
  EXPECT_EQ(with("iss", "https://two"), kSa);
  EXPECT_EQ(with("iss", "https://three"), "not mine");
  EXPECT_EQ(with("iss", Value()), "not mine");
  EXPECT_EQ(with("sub", "system:serviceaccount:kube-system:admin"), "sub claim is invalid");
  EXPECT_EQ(with("sub", 7), "the claim `sub` is not a string");
  EXPECT_EQ(with("exp", Value()), "the token has no expiry");
  EXPECT_EQ(with("exp", "never"), "the claim `exp` is not a number");
  EXPECT_EQ(with("aud", Value()),
            R"(token audiences [] is invalid for the target audiences ["api" "api2"])");
  EXPECT_EQ(with("aud", Value::array({1})), "the claim `aud` is not a list of strings");
  EXPECT_EQ(with("kubernetes.io", Value()), "the token names no service account");
  EXPECT_EQ(with("kubernetes.io", Value::object({{"namespace", 1}})),
            "the claim `namespace` is not a string");
  Value no_uid = good["kubernetes.io"];
  no_uid.set("pod", Value::object({{"name", "p"}}));
  EXPECT_EQ(with("kubernetes.io", no_uid), "the claim about a pod has no uid");
}

TEST_F(ServiceAccountTokensTest, OnlyOurKeysSignOurTokens) {
  const Value good = claims_of(issue(plain()));
  std::string why = "the signature of the service account token is not by one of our keys";
  EXPECT_EQ(ask(signed_token(good, other_key())), why);
  std::string token = issue(plain());
  token[token.size() - 8] = token[token.size() - 8] == 'A' ? 'B' : 'A';
  EXPECT_EQ(ask(token), why);
  // Another algorithm with the same key is refused too: the sender cannot choose the algorithm.
  EXPECT_EQ(ask(signed_token(good, first_key(), "PS256")), why);
  EXPECT_EQ(ask(signed_token(good, first_key(), "HS256")), why);
  EXPECT_EQ(ask(signed_token(good, first_key(), "none")), "not mine");
  for (std::string_view text : {"", ".", "a.b.c", "abc", "..", "eyJhbGciOiJSUzI1NiJ9.e30."})
    EXPECT_EQ(ask(text), "not mine") << text;
  EXPECT_EQ(ask(std::string(20'000, 'a')), "not mine");
}

TEST_F(ServiceAccountTokensTest, FurtherKeysAreAccepted) {
  auto both = std::make_shared<ServiceAccountTokens>(
      tokens_->options(), first_key(), std::vector<PublicKey>{other_key()}, clock_, random_);
  auto reader = service_account_authenticator(both, *store_, clock_);
  const Value good = claims_of(issue(plain()));
  for (const SigningKey* key : {&first_key(), &other_key()}) {
    auto outcome = *reader->authenticate({.token = signed_token(good, *key)});
    ASSERT_TRUE(outcome && *outcome);
    EXPECT_EQ((*outcome)->key_id, key->id());
  }
  auto keys = parse_key_set(both->key_set_document());
  ASSERT_TRUE(keys);
  EXPECT_EQ((*keys)->keys.size(), 2u);
  auto document = json::parse(both->discovery_document());
  EXPECT_EQ((*document)["issuer"].as_string(), "https://one");
  EXPECT_EQ((*document)["jwks_uri"].as_string(), "https://one/keys");
  EXPECT_EQ((*document)["id_token_signing_alg_values_supported"], Value::array({"ES256", "RS256"}));
}

TEST_F(ServiceAccountTokensTest, OnlyMountedTokensForThisServerAreExtended) {
  auto lifetime = [&](const ServiceAccountClaims& claims) {
    Value c = claims_of(issue(claims));
    return std::pair(c["exp"].as_int() - c["iat"].as_int(), c["kubernetes.io"].has("warnafter"));
  };
  auto claims = plain();
  claims.lifetime = 3607;
  EXPECT_EQ(lifetime(claims), std::pair(std::int64_t(3607), false));
  claims.pod = {"p", "u2"};
  EXPECT_EQ(lifetime(claims), std::pair(std::int64_t(365 * 24 * 3600), true));
  EXPECT_EQ(tokens_->issue(claims)->expires, 1'800'000'000 + 3607);
  std::string token = issue(claims);
  auto annotations = [&] {
    return (**authenticator_->authenticate({.token = token}))->annotations;
  };
  EXPECT_TRUE(annotations().empty());
  clock_.advance(std::chrono::seconds(3610));
  ASSERT_EQ(annotations().size(), 1u);
  EXPECT_EQ(annotations()[0].second,
            "subject: system:serviceaccount:ns:sa, seconds after warning threshold: 3");
  claims.audiences = {"vault"};
  EXPECT_EQ(lifetime(claims), std::pair(std::int64_t(3607), false));
}

TEST_F(ServiceAccountTokensTest, ATokenThatLiesInASecretIsGoodWhileTheSecretHoldsIt) {
  Value claims = Value::object({{"iss", kLegacyIssuer},
                                {"sub", kSa},
                                {"kubernetes.io/serviceaccount/namespace", "ns"},
                                {"kubernetes.io/serviceaccount/secret.name", "s"},
                                {"kubernetes.io/serviceaccount/service-account.name", "sa"},
                                {"kubernetes.io/serviceaccount/service-account.uid", "u1"}});
  std::string token = signed_token(claims);
  EXPECT_EQ(ask(token), "Token does not match server's copy");
  Value secret = object("s", "u4");
  secret.set("data", Value::object({{"token", base64(token)}}));
  put("/registry/secrets/ns/s", secret);
  EXPECT_EQ(ask(token), kSa);
  std::vector<std::string> asked = {"vault"};
  EXPECT_THAT(ask(token, &asked), HasSubstr("is invalid for"));
  secret.member("metadata")
      .set("labels", Value::object({{"kubernetes.io/legacy-token-invalid-since", "2026-01-01"}}));
  put("/registry/secrets/ns/s", secret);
  EXPECT_THAT(ask(token), HasSubstr("marked invalid"));
  remove("/registry/secrets/ns/s");
  EXPECT_EQ(ask(token), "Token has been invalidated");
  claims.set("sub", "system:serviceaccount:ns:other");
  EXPECT_EQ(ask(signed_token(claims)), "sub claim is invalid");
  claims.erase("kubernetes.io/serviceaccount/secret.name");
  EXPECT_EQ(ask(signed_token(claims)), "secretName claim is missing");
}

}  // namespace
}  // namespace cardea::authn
