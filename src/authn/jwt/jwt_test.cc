#include "authn/jwt/jwt.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace cardea::authn {
namespace {

std::string token_of(std::string_view header, std::string_view payload,
                     std::string_view signature = "sig") {
  return cat(base64_url(header), ".", base64_url(payload), ".", base64_url(signature));
}
std::string refusal(std::string_view token) {
  auto jwt = parse_jwt(token);
  return jwt ? "" : jwt.error().message;
}

constexpr std::string_view kHeader = R"({"alg":"RS256","kid":"k"})";

TEST(Jwt, IsTakenApart) {
  const std::string token = token_of(kHeader, R"({"iss":"https://a","n":1})", "\x01\x02");
  auto jwt = parse_jwt(token);
  ASSERT_TRUE(jwt) << jwt.error().message;
  EXPECT_EQ(jwt->algorithm, "RS256");
  EXPECT_EQ(jwt->key_id, "k");
  EXPECT_EQ(jwt->issuer(), "https://a");
  EXPECT_EQ(jwt->signature, "\x01\x02");
  EXPECT_EQ(jwt->signing_input, token.substr(0, token.rfind('.')));
}

TEST(Jwt, RefusesWhatIsNotCompact) {
  for (const char* text :
       {"", ".", "..", "...", "a.b", "a.b.c", R"({"payload":"e30","signatures":[{},{}]})"})
    EXPECT_NE(refusal(text), "") << text;
  const std::string good = token_of(kHeader, "{}");
  EXPECT_EQ(refusal(good), "");
  EXPECT_NE(refusal(good + ".x"), "");
  EXPECT_NE(refusal(good + "="), "");
  EXPECT_NE(refusal(good.substr(0, good.rfind('.') + 1)), "") << "an empty signature";
  EXPECT_NE(refusal(" " + good), "");
}

TEST(Jwt, RefusesTokensOverSixteenKibibytes) {
  const std::string large = token_of(kHeader,
                                     cat(R"({"x":")", std::string(kMaxTokenBytes, 'y'), R"("})"));
  EXPECT_NE(refusal(large).find("too large"), std::string::npos);
}

TEST(Jwt, RefusesHeadersThatChooseHowTheyAreChecked) {
  for (const char* header :
       {R"({})", R"({"alg":"none"})", R"({"alg":"NONE"})", R"({"alg":""})", R"({"alg":1})",
        R"({"alg":["RS256"]})", R"({"alg":"RS256","crit":["exp"]})", R"({"alg":"RS256","crit":[]})",
        R"({"alg":"RS256","b64":false})", R"({"alg":"RS256","zip":"DEF"})",
        R"({"alg":"RS256","jwk":{"kty":"RSA"}})", R"({"alg":"RS256","kid":7})",
        R"({"alg":"RS256","alg":"RS256"})", R"([1])", R"("x")"})
    EXPECT_NE(refusal(token_of(header, "{}")), "") << header;
}

TEST(Jwt, RefusesMembersThatAppearTwice) {
  EXPECT_NE(refusal(token_of(kHeader, R"({"sub":"a","sub":"b"})")), "");
  EXPECT_NE(refusal(token_of(kHeader, R"({"a":{"sub":"a","sub":"b"}})")), "");
  EXPECT_NE(refusal(token_of(kHeader, R"({"sub":"a","\u0073ub":"b"})")), "");
}

TEST(Jwt, RefusalsShowNothingOfTheToken) {
  for (const std::string& token :
       {token_of("{\"alg\":\"RS256\" SECRET}", "{}"), token_of(kHeader, "SECRET"),
        token_of(kHeader, R"({"SECRET":1,"SECRET":2})")})
    EXPECT_EQ(refusal(token).find("SECRET"), std::string::npos) << refusal(token);
}

TEST(Base64Url, LeavesOneSpellingPerValue) {
  EXPECT_EQ(base64_url("\xfb\xff"), "-_8");
  EXPECT_EQ(base64_url_decode("-_8"), "\xfb\xff");
  for (const char* wrong : {"a", "-_9", "-_8=", "+/8", "YQ==", "Y Q", "YR"})
    EXPECT_FALSE(base64_url_decode(wrong)) << wrong;
}

}  // namespace
}  // namespace cardea::authn
