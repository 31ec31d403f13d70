#include "crypto/digest.h"

#include <gtest/gtest.h>

namespace cardea::crypto {
namespace {

// The examples of FIPS 180-4.
TEST(Digest, IsThatOfTheStandard) {
  EXPECT_EQ(lower_hex(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(upper_hex(sha512("abc")),
            "DDAF35A193617ABACC417349AE20413112E6FA4E89A97EA20A9EEEE64B55D39A"
            "2192992A274FC1A836BA3C23A3FEEBBD454D4423643CE80E2A9AC94FA54CA49F");
}

TEST(Digest, HasANameForMetrics) {
  EXPECT_EQ(sha256_name("abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_name(""), "");
}

}  // namespace
}  // namespace cardea::crypto
