#include "catalog/ignored_fields.h"

#include <gtest/gtest.h>

namespace cardea::catalog {
namespace {

schema::FieldSet restored(std::string_view resource, std::string_view subresource, bool is_create) {
  static const auto catalog = Catalog::builtin();
  return ignored_fields(*catalog->find("", "v1", resource), subresource, is_create).reset;
}

const schema::FieldPath kStatus{"f:status"}, kSpec{"f:spec"};

TEST(IgnoredFields, AreTheStatusOfAnObjectExceptThroughStatus) {
  EXPECT_TRUE(restored("pods", "", false).has(kStatus));
  EXPECT_FALSE(restored("pods", "status", false).has(kStatus));
  EXPECT_TRUE(restored("pods", "status", false).has(kSpec));
  EXPECT_TRUE(restored("namespaces", "finalize", false).has(kStatus));
  EXPECT_TRUE(restored("configmaps", "", false).empty());
}

TEST(IgnoredFields, AreTheStatusOfANewObjectUnlessItBringsOne) {
  EXPECT_TRUE(restored("pods", "", true).has(kStatus));
  EXPECT_FALSE(restored("nodes", "", true).has(kStatus));
}

}  // namespace
}  // namespace cardea::catalog
