#include "app/progress.h"

#include <gtest/gtest.h>

namespace cardea::app {
namespace {

using std::chrono::milliseconds;
using Unit = Progress::Unit;

struct Told {
  std::string text;
  std::function<void(const std::string&)> write() {
    return [this](const std::string& part) { text += part + "|"; };
  }
};

TEST(Progress, SaysNothingAboutWorkThatIsDoneInAMoment) {
  for (bool is_terminal : {true, false}) {
    Told told;
    const Progress::Time start{};
    {
      Progress progress("loading", Unit::kRecords, is_terminal, start, told.write());
      progress.show(10, 20, start + milliseconds(900));
    }
    EXPECT_EQ(told.text, "") << is_terminal;
  }
}

TEST(Progress, WritesOneLineOverOnATerminalAndLeavesNothingBehind) {
  Told told;
  const Progress::Time start{};
  {
    Progress progress("copying", Unit::kRecords, true, start, told.write());
    progress.show(10, 40, start + milliseconds(1000));
    progress.show(11, 40, start + milliseconds(1100));  // too soon
    progress.show(40, 40, start + milliseconds(1200));
  }
  EXPECT_EQ(told.text,
            "\r\x1b[Kcopying: 10 of 40 records, 25 %|"
            "\r\x1b[Kcopying: 40 of 40 records, 100 %|\r\x1b[K|");
}

TEST(Progress, IsALineNowAndThenElsewhere) {
  Told told;
  const Progress::Time start{};
  {
    Progress progress("loading the store", Unit::kBytes, false, start, told.write());
    progress.show(1, 100'000'000, start + milliseconds(9'999));
    progress.show(25'500'000, 100'000'000, start + milliseconds(10'000));
    progress.show(30'000'000, 100'000'000, start + milliseconds(12'000));
    progress.show(120'000'000, 100'000'000, start + milliseconds(20'000));
    progress.show(7, 0, start + milliseconds(30'000));
  }
  EXPECT_EQ(told.text,
            "loading the store: 25.5 MB of 100.0 MB, 25 %|"
            "loading the store: 120.0 MB of 120.0 MB, 100 %|loading the store: 0.0 MB|");
}

}  // namespace
}  // namespace cardea::app
