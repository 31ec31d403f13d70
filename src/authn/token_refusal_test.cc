#include "authn/token_refusal.h"

#include <gtest/gtest.h>

#include "authn/jwt/jwt.h"
#include "base/strings.h"

namespace cardea::authn {
namespace {

std::string reason_of(const std::string& header, const std::string& claims = "{}") {
  const auto jwt = parse_jwt(cat(base64_url(header), ".", base64_url(claims), ".", "AAAA"));
  EXPECT_FALSE(jwt.has_value()) << header;
  return jwt ? "" : std::string(kTokenRefusals[refusal_reason(jwt.error().message)]);
}

TEST(TokenRefusal, EveryStrangeTokenHasItsReason) {
  EXPECT_EQ(reason_of(R"({"alg":"none"})"), "unsigned");
  EXPECT_EQ(reason_of(R"({})"), "unsigned");
  EXPECT_EQ(reason_of(R"({"alg":"RS256","crit":["x"]})"), "critical_header");
  EXPECT_EQ(reason_of(R"({"alg":"RS256","alg":"ES256"})"), "duplicate_name");
  EXPECT_EQ(reason_of(R"({"alg":"RS256"})", R"({"sub":"a","sub":"b"})"), "duplicate_name");
  EXPECT_EQ(reason_of(R"({"alg":"RS256","zip":"DEF"})"), "encoding");
  EXPECT_EQ(reason_of(R"({"alg":"RS256","jwk":{}})"), "key_in_header");
  EXPECT_EQ(reason_of(R"({"alg":"RS256","kid":null})"), "key_id");
  EXPECT_EQ(reason_of(R"([])"), "malformed");
  EXPECT_EQ(kTokenRefusals[refusal_reason(parse_jwt("x").error().message)], "unknown");
  EXPECT_EQ(kTokenRefusals[refusal_reason(
                parse_jwt(std::string(kMaxTokenBytes + 1, 'a')).error().message)],
            "oversized");
}

TEST(TokenRefusal, ARulesOwnMessageIsAboutClaims) {
  EXPECT_EQ(kTokenRefusals[refusal_reason("validation expression 'x' failed: not you")], "claims");
  EXPECT_EQ(kTokenRefusals[refusal_reason("oidc: verify token: oidc: token is expired (Token)")],
            "expired");
}

TEST(TokenRefusal, TextsForTheLogHaveNoValuesOfClaims) {
  EXPECT_EQ(without_claims(R"(oidc: expected audience "a" got ["secret"])"),
            R"(oidc: expected audience "a")");
  EXPECT_EQ(without_claims("oidc: required claim hd value does not match. Got = secret, want = x"),
            "oidc: required claim hd value does not match");
  EXPECT_EQ(without_claims("validation expression 'x' failed: you got it wrong"),
            "validation expression 'x' failed: you got it wrong");
}

}  // namespace
}  // namespace cardea::authn
