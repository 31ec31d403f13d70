#include "audit/log_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "audit/backups.h"
#include "base/strings.h"
#include "base/time_parse.h"

namespace cardea::audit {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::chrono::system_clock::time_point at(std::string_view text) {
  return to_time_point(*parse_rfc3339(text));
}

struct Folder {
  fs::path path = fs::path(testing::TempDir()) /
                  cat("audit-log-", testing::UnitTest::GetInstance()->current_test_info()->name());
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string log() const { return (path / "audit.log").string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(path))
      out.push_back(entry.path().filename().string());
    std::ranges::sort(out);
    return out;
  }
  void make(std::string_view name, std::string_view text = "x\n") const {
    std::ofstream(path / name) << text;
  }
};

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(LogSink, AppendsLinesToAFileThatIsItsOwnersAlone) {
  Folder folder;
  folder.make("audit.log", "old\n");
  FakeClock clock(at("2026-11-15T16:00:00Z"));
  fs::remove(folder.log());
  {
    auto sink = make_log_sink({.path = folder.log()}, clock, {});
    ASSERT_TRUE(sink.has_value());
    std::string events[] = {"a", "b"};
    ASSERT_TRUE((*sink)->write(events).has_value());
  }
  auto sink = make_log_sink({.path = folder.log()}, clock, {});
  std::string events[] = {"c"};
  ASSERT_TRUE((*sink)->write(events).has_value());
  EXPECT_EQ(text_of(folder.log()), "a\nb\nc\n");
  struct stat found{};
  ASSERT_EQ(::stat(folder.log().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

TEST(LogSink, PutsAFileThatWouldGrowTooLargeAsideUnderTheTime) {
  Folder folder;
  FakeClock clock(at("2026-11-15T16:00:00.123Z"));
  auto sink = make_log_sink({.path = folder.log(), .max_bytes = 10}, clock, {});
  std::string event[] = {"12345678"};
  ASSERT_TRUE((*sink)->write(event).has_value());
  ASSERT_TRUE((*sink)->write(event).has_value());
  ASSERT_TRUE((*sink)->write(event).has_value());  // within the same millisecond: the name is in
                                                   // use
  sink->reset();
  EXPECT_THAT(folder.names(), ElementsAre("audit-2026-11-15T16-00-00.123.log",
                                          "audit-2026-11-15T16-00-00.124.log", "audit.log"));
  for (const std::string& name : folder.names())
    EXPECT_EQ(text_of(folder.path / name), "12345678\n");
}

TEST(LogSink, AnEventLargerThanAFileStillGetsOne) {
  Folder folder;
  FakeClock clock(at("2026-11-15T16:00:00Z"));
  auto sink = make_log_sink({.path = folder.log(), .max_bytes = 4}, clock, {});
  std::string event[] = {"12345678"};
  ASSERT_TRUE((*sink)->write(event).has_value());
  EXPECT_EQ(text_of(folder.log()), "12345678\n");
}

TEST(LogSink, AFullDiskIsAnError) {
  FakeClock clock(at("2026-11-15T16:00:00Z"));
  auto sink = make_log_sink({.path = "/dev/full"}, clock, {});
  ASSERT_TRUE(sink.has_value());
  std::string event[] = {"a"};
  auto written = (*sink)->write(event);
  ASSERT_FALSE(written.has_value());
  EXPECT_THAT(written.error().message, HasSubstr("No space left on device"));
}

TEST(LogSink, ALineThatDoesNotFitIsTakenBack) {
  Folder folder;
  FakeClock clock(at("2026-11-15T16:00:00Z"));
  auto sink = make_log_sink({.path = folder.log()}, clock, {});
  std::string whole[] = {"1234"}, half[] = {"abcdefghij"};
  ASSERT_TRUE((*sink)->write(whole).has_value());
  // The file may not grow beyond eight bytes: a write of eleven bytes stops after three.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 8;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  auto written = (*sink)->write(half);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, ignored);
  EXPECT_FALSE(written.has_value());
  EXPECT_EQ(text_of(folder.log()), "1234\n");
  ASSERT_TRUE((*sink)->write(whole).has_value());
  EXPECT_EQ(text_of(folder.log()), "1234\n1234\n");
}

TEST(LogSink, WhatCannotBeOpenedIsAnErrorAtOnce) {
  FakeClock clock(at("2026-11-15T16:00:00Z"));
  auto sink = make_log_sink({.path = testing::TempDir()}, clock, {});
  EXPECT_FALSE(sink.has_value());
}

TEST(Backups, OnlyTheNewestStayAndOtherFilesAreLeftAlone) {
  Folder folder;
  for (std::string_view name :
       {"audit-2026-11-10T00-00-00.000.log", "audit-2026-11-11T00-00-00.000.log.gz",
        "audit-2026-11-12T00-00-00.000.log", "audit-notes.log", "other-2026-11-10T00-00-00.000.log",
        "audit.log"})
    folder.make(name);
  EXPECT_TRUE(keep_backups(folder.log(), {.max_backups = 2}, at("2026-11-15T00:00:00Z")).empty());
  EXPECT_THAT(folder.names(), ElementsAre("audit-2026-11-11T00-00-00.000.log.gz",
                                          "audit-2026-11-12T00-00-00.000.log", "audit-notes.log",
                                          "audit.log", "other-2026-11-10T00-00-00.000.log"));
}

TEST(Backups, TheOldGoByTheTimeInTheirNames) {
  Folder folder;
  for (std::string_view name :
       {"audit-2026-11-10T00-00-00.000.log", "audit-2026-11-14T00-00-00.000.log"})
    folder.make(name);
  EXPECT_TRUE(keep_backups(folder.log(), {.max_age_days = 2}, at("2026-11-15T00:00:00Z")).empty());
  EXPECT_THAT(folder.names(), ElementsAre("audit-2026-11-14T00-00-00.000.log"));
}

TEST(Backups, AreCompressedWhole) {
  Folder folder;
  folder.make("audit-2026-11-14T00-00-00.000.log", std::string(200'000, 'x') + "\n");
  EXPECT_TRUE(keep_backups(folder.log(), {.compresses = true}, at("2026-11-15T00:00:00Z")).empty());
  EXPECT_THAT(folder.names(), ElementsAre("audit-2026-11-14T00-00-00.000.log.gz"));
  std::string packed = text_of(folder.path / "audit-2026-11-14T00-00-00.000.log.gz");
  EXPECT_LT(packed.size(), 2000u);
  EXPECT_EQ(packed.substr(0, 2), "\x1f\x8b");
}

}  // namespace
}  // namespace cardea::audit
