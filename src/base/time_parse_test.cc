#include "base/time_parse.h"

#include <gtest/gtest.h>

namespace cardea {
namespace {

std::string read(std::string_view text) {
  auto t = parse_rfc3339(text);
  return t ? print_rfc3339(*t) : t.error().message;
}
std::string read_micro(std::string_view text) {
  auto t = parse_rfc3339_micro(text);
  return t ? print_rfc3339_micro(*t) : t.error().message;
}
std::string read_duration(std::string_view text) {
  auto d = parse_duration(text);
  return d ? print_duration(*d) : d.error().message;
}

TEST(TimeParse, PrintsInUtcToTheSecond) {
  EXPECT_EQ(read("2020-01-01T00:00:00Z"), "2020-01-01T00:00:00Z");
  EXPECT_EQ(read("2020-01-01T00:00:00.987654321+02:00"), "2019-12-31T22:00:00Z");
  EXPECT_EQ(read("1600-02-29T23:59:59-01:30"), "1600-03-01T01:29:59Z");
  EXPECT_EQ(read("2020-01-01T1:00:00Z"), "2020-01-01T01:00:00Z");
  EXPECT_TRUE(parse_rfc3339("0001-01-01T00:00:00Z")->is_zero());
}

TEST(TimeParse, MicroTimeWantsSixDigits) {
  EXPECT_EQ(read_micro("2020-01-01T00:00:00.123456+02:00"), "2019-12-31T22:00:00.123456Z");
  EXPECT_EQ(read_micro("2020-01-01T00:00:00Z"),
            R"(parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": )"
            R"(cannot parse "Z" as ".000000")");
  EXPECT_EQ(read_micro("2020-01-01T00:00:00.1234567Z"),
            R"(parsing time "2020-01-01T00:00:00.1234567Z" as "2006-01-02T15:04:05.000000Z07:00": )"
            R"(cannot parse "7Z" as "Z07:00")");
}

TEST(TimeParse, NamesTheElementThatIsWrong) {
  EXPECT_EQ(read("x"),
            R"(parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006")");
  EXPECT_EQ(read("2020-01-01"),
            R"(parsing time "2020-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T")");
  EXPECT_EQ(read("2020-13-01T00:00:00Z"),
            R"(parsing time "2020-13-01T00:00:00Z": month out of range)");
  EXPECT_EQ(read("2021-02-29T00:00:00Z"),
            R"(parsing time "2021-02-29T00:00:00Z": day out of range)");
  EXPECT_EQ(read("2020-01-01T00:00:00Zx"),
            R"(parsing time "2020-01-01T00:00:00Zx": extra text: "x")");
  EXPECT_EQ(read("2020-01-01T00:00:00"),
            R"(parsing time "2020-01-01T00:00:00" as "2006-01-02T15:04:05Z07:00": )"
            R"(cannot parse "" as "Z07:00")");
}

TEST(TimeParse, ConvertsToTheClockAndBack) {
  auto t = parse_rfc3339("2020-01-01T00:00:00.5Z").value();
  EXPECT_EQ(to_timestamp(to_time_point(t)), t);
  auto far = parse_rfc3339("9999-01-01T00:00:00Z").value();
  EXPECT_EQ(to_time_point(far), std::chrono::system_clock::time_point::max());
}

TEST(Duration, ReadsAndPrintsAsGoDoes) {
  constexpr std::pair<const char*, const char*> kCases[] = {
      {"1h30m", "1h30m0s"},
      {"-1.5s", "-1.5s"},
      {"300ms", "300ms"},
      {"1.5us", "1.5\u00b5s"},
      {"0", "0s"},
      {"3.7h", "3h42m0s"},
      {"+3m", "3m0s"},
      {"1000000ns", "1ms"},
      {"1.0000000001s", "1s"},
      {"1\u00b5s", "1\u00b5s"},
      {"-2562047h47m16.854775808s", "-2562047h47m16.854775808s"},
      {"5", "time: missing unit in duration \"5\""},
      {"5x", "time: unknown unit \"x\" in duration \"5x\""},
      {"", "time: invalid duration \"\""},
      {".s", "time: invalid duration \".s\""},
      {"2562047h47m16.854775808s", "time: invalid duration \"2562047h47m16.854775808s\""},
  };
  for (auto [text, expected] : kCases) EXPECT_EQ(read_duration(text), expected) << text;
}

}  // namespace
}  // namespace cardea
