#include "authn/jwt/freshness.h"

#include <gtest/gtest.h>

namespace cardea::authn {
namespace {

using namespace std::chrono_literals;

TEST(Freshness, IsWhatTheHeadersSay) {
  EXPECT_EQ(lifetime_of({}), std::nullopt);
  EXPECT_EQ(lifetime_of({{"Cache-Control", "public, max-age=21600, must-revalidate"}}), 6h);
  EXPECT_EQ(lifetime_of({{"Cache-Control", "max-age=60, s-maxage=120"}}), 120s);
  EXPECT_EQ(lifetime_of({{"Cache-Control", "public"}, {"Cache-Control", "Max-Age=60"}}), 60s);
  EXPECT_EQ(lifetime_of({{"Cache-Control", "no-store"}}), 0s);
  EXPECT_EQ(lifetime_of({{"Cache-Control", "no-cache, max-age=60"}}), 0s);
  EXPECT_EQ(lifetime_of({{"Date", "Sun, 06 Nov 1994 08:49:37 GMT"},
                         {"Expires", "Sun, 06 Nov 1994 09:49:37 GMT"}}),
            1h);
  EXPECT_EQ(lifetime_of({{"Date", "Sun, 06 Nov 1994 08:49:37 GMT"},
                         {"Expires", "Sat, 05 Nov 1994 08:49:37 GMT"}}),
            0s);
  EXPECT_EQ(lifetime_of({{"Cache-Control", "max-age=60"}, {"Expires", "0"}}), 60s);
}

TEST(Freshness, WhatCannotBeReadIsNoLongLife) {
  EXPECT_EQ(lifetime_of({{"Cache-Control", "max-age=soon"}}), 0s);
  EXPECT_EQ(lifetime_of({{"Cache-Control", "max-age=-5"}}), 0s);
  EXPECT_EQ(lifetime_of({{"Cache-Control", "max-age=99999999999999999999999"}}), 0s);
  EXPECT_EQ(lifetime_of({{"Expires", "0"}}), 0s);
  EXPECT_EQ(lifetime_of({{"Expires", "Sun, 99 Nov 1994 08:49:37 GMT"},
                         {"Date", "Sun, 06 Nov 1994 08:49:37 GMT"}}),
            0s);
}

}  // namespace
}  // namespace cardea::authn
