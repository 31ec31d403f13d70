#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/result.h"
#include "base/strings.h"

namespace cardea {
namespace {

TEST(Strings, QuotesAsGoDoes) {
  EXPECT_EQ(quoted("a\"b\\\n\x01 \xc3\xa9"), "\"a\\\"b\\\\\\n\\x01 \xc3\xa9\"");
}

TEST(Strings, RefusesOverlongUtf8AndSurrogates) {
  EXPECT_TRUE(is_valid_utf8("\xf0\x9f\x98\x80"));
  EXPECT_FALSE(is_valid_utf8("\xc0\x80"));
  EXPECT_FALSE(is_valid_utf8("\xed\xa0\x80"));
  EXPECT_FALSE(is_valid_utf8("\xe2\x82"));
}

TEST(Strings, Base64GoesRoundAndRefusesGarbage) {
  for (std::string text : {"", "a", "ab", "abc", "abcd"})
    EXPECT_EQ(base64_decode(base64(text)), text);
  EXPECT_FALSE(base64_decode("a==="));
  EXPECT_FALSE(base64_decode("ab=c"));
  EXPECT_FALSE(base64_decode("abc"));
}

TEST(Strings, DecodesPercentEscapes) {
  EXPECT_EQ(percent_decode("a%2Fb"), "a/b");
  EXPECT_FALSE(percent_decode("%2"));
  EXPECT_FALSE(percent_decode("%zz"));
}

TEST(Clock, PrintsUtc) {
  auto at = std::chrono::system_clock::time_point(std::chrono::microseconds(1'000'001));
  EXPECT_EQ(rfc3339(at), "1970-01-01T00:00:01Z");
  EXPECT_EQ(rfc3339_micro(at), "1970-01-01T00:00:01.000001Z");
}

TEST(Error, EveryReasonHasAStatus) {
  EXPECT_EQ(http_status(Reason::kNotFound), 404);
  EXPECT_EQ(reason_name(Reason::kConflict), "Conflict");
}

}  // namespace
}  // namespace cardea
