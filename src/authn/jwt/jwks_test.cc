#include "authn/jwt/jwks.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::authn {
namespace {

const SigningKey& rsa() {
  static const SigningKey key = *SigningKey::make_rsa();
  return key;
}
const SigningKey& ec(int bits) {
  static const SigningKey p256 = *SigningKey::make_ec(256), p384 = *SigningKey::make_ec(384),
                          p521 = *SigningKey::make_ec(521);
  return bits == 256 ? p256 : bits == 384 ? p384 : p521;
}

std::vector<Algorithm> all_algorithms() {
  std::vector<Algorithm> all;
  for (int i = 0; i < kAlgorithmCount; ++i) all.push_back(static_cast<Algorithm>(i));
  return all;
}
const SigningKey& key_for(Algorithm algorithm) {
  for (int bits : {256, 384, 521})
    if (ec(bits).fits(algorithm)) return ec(bits);
  return rsa();
}

TEST(Signature, EveryAlgorithmVerifiesWhatItSigned) {
  for (Algorithm algorithm : all_algorithms()) {
    const SigningKey& key = key_for(algorithm);
    for (int round = 0; round < 20; ++round) {  // r and s of different lengths
      auto signature = key.sign(algorithm, "data");
      ASSERT_TRUE(signature);
      EXPECT_TRUE(key.verify(algorithm, "data", *signature)) << algorithm_name(algorithm);
      EXPECT_FALSE(key.verify(algorithm, "Data", *signature));
      std::string changed = *signature;
      changed[changed.size() / 2] ^= 1;
      EXPECT_FALSE(key.verify(algorithm, "data", changed));
      EXPECT_FALSE(key.verify(algorithm, "data", signature->substr(1)));
      EXPECT_FALSE(key.verify(algorithm, "data", ""));
    }
    EXPECT_FALSE(key.verify(algorithm, "data", std::string(2 * 66, '\0')));
  }
}

TEST(Signature, NoAlgorithmAcceptsAnotherOnesSignature) {
  for (Algorithm made : all_algorithms()) {
    const SigningKey& key = key_for(made);
    auto signature = key.sign(made, "data");
    for (Algorithm claimed : all_algorithms())
      for (const SigningKey* other : {&rsa(), &ec(256), &ec(384), &ec(521)})
        EXPECT_EQ(other->verify(claimed, "data", *signature), claimed == made && other == &key)
            << algorithm_name(made) << " as " << algorithm_name(claimed);
  }
}

TEST(Signature, NamesAreExact) {
  EXPECT_EQ(algorithm_named("ES512"), Algorithm::kEs512);
  for (const char* name : {"HS256", "none", "rs256", "EdDSA", "RS1", "", "ES256K"})
    EXPECT_FALSE(algorithm_named(name)) << name;
}

TEST(SigningKey, IsReadFromItsOwnPem) {
  for (const SigningKey* key : {&rsa(), &ec(256), &ec(521)}) {
    auto again = SigningKey::parse(key->pem());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->id(), key->id());
    auto publics = parse_public_keys(cat("text\n", key->pem(), rsa().pem()));
    ASSERT_TRUE(publics);
    EXPECT_EQ(publics->size(), 2u);
    EXPECT_EQ((*publics)[0].id(), key->id());
  }
  EXPECT_FALSE(SigningKey::parse("nonsense"));
  EXPECT_FALSE(parse_public_keys("nonsense"));
  EXPECT_FALSE(SigningKey::make_rsa(1024)) << "too short";
}

TEST(Jwk, GoesThereAndBack) {
  for (const SigningKey* key : {&rsa(), &ec(256), &ec(384), &ec(521)}) {
    const json::Value jwk = jwk_from_key(*key, algorithm_name(key->algorithm()));
    auto back = key_from_jwk(jwk);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->id(), key->id());
    EXPECT_EQ(back->derived_id(), key->derived_id());
    EXPECT_TRUE(back->verify(key->algorithm(), "data", *key->sign(key->algorithm(), "data")));
  }
}

TEST(Jwk, NumbersThatMakeNoKeyAreRefused) {
  json::Value point = jwk_from_key(ec(256), "ES256");
  point.set("y", point["x"]);
  EXPECT_FALSE(key_from_jwk(point)) << "not on the curve";
  point.set("crv", "secp256k1");
  EXPECT_FALSE(key_from_jwk(point));
  for (auto [member, value] :
       {std::pair{"n", "AQAB"}, {"e", "AQ"}, {"e", "Ag"}, {"e", "AQAAAAAAAAAB"}, {"n", "!"}}) {
    json::Value jwk = jwk_from_key(rsa(), "");
    jwk.set(member, value);
    EXPECT_FALSE(key_from_jwk(jwk)) << member << value;
  }
}

TEST(KeySet, OneBadKeyDoesNotSpoilTheOthers) {
  json::Value set = json::Value::object(
      {{"keys",
        json::Value::array(
            {jwk_from_key(rsa(), "RS256"), json::Value::object({{"kty", "oct"}, {"k", "AAAA"}}),
             json::Value::object({{"kty", "OKP"}, {"crv", "Ed25519"}, {"kid", "e"}}), 7})}});
  auto keys = parse_key_set(json::print(set));
  ASSERT_TRUE(keys);
  EXPECT_EQ((*keys)->keys.size(), 1u);
  EXPECT_EQ((*keys)->skipped.size(), 3u);
  EXPECT_FALSE(parse_key_set("{}"));
  EXPECT_FALSE(parse_key_set("[]"));
  EXPECT_FALSE(parse_key_set(R"({"keys":{}})"));
  EXPECT_FALSE(parse_key_set("<html>"));
}

TEST(KeySet, FindsTheKeyByItsIdOrTriesAll) {
  KeySet set;
  set.keys = {ec(256), *SigningKey::make_ec(256)};
  const std::string input = cat(base64_url(R"({"alg":"ES256"})"), ".", base64_url("{}"));
  const std::string token = cat(input, ".", base64_url(*ec(256).sign(Algorithm::kEs256, input)));
  auto jwt = parse_jwt(token);
  ASSERT_TRUE(jwt);
  EXPECT_EQ(set.verifier_of(*jwt, Algorithm::kEs256), &set.keys[0]);
  jwt->key_id = set.keys[1].id();
  EXPECT_EQ(set.verifier_of(*jwt, Algorithm::kEs256), nullptr);
  jwt->key_id = set.keys[0].id();
  EXPECT_EQ(set.verifier_of(*jwt, Algorithm::kEs256), &set.keys[0]);
}

}  // namespace
}  // namespace cardea::authn
