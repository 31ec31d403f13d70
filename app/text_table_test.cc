#include "app/text_table.h"

#include <gtest/gtest.h>

namespace cardea::app {
namespace {

TEST(TextTable, MakesColumnsAsWideAsTheirCells) {
  TextTable table({"NAME", "VERB"});
  EXPECT_TRUE(table.is_empty());
  table.add({"jürgen-long", "get"});
  table.add({"x", ""});
  EXPECT_EQ(table.text(), "NAME         VERB\njürgen-long  get\nx\n");
}

TEST(TextTable, LetsNoNameWriteElsewhereOnTheScreen) {
  TextTable table({"NAME"});
  table.add(
      {"eve\x1b[2J\r\n\xc2\x9b"
       "5m"});
  EXPECT_EQ(table.text(), "NAME\neve?[2J???5m\n");
}

}  // namespace
}  // namespace cardea::app
