#include "app/known_resources.h"

#include <gtest/gtest.h>

namespace cardea::app {
namespace {

TEST(KnownResources, AFileThatIsNotThereDescribesNothing) {
  KnownResources known;
  EXPECT_FALSE(known.add_file("no/such/file"));
  EXPECT_FALSE(read_input("no/such/file"));
}

}  // namespace
}  // namespace cardea::app
