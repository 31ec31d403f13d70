#include "base/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/strings.h"

namespace cardea {
namespace {

class LogTest : public ::testing::Test {
 protected:
  LogTest() { EXPECT_EQ(::pipe(pipe_), 0); }
  ~LogTest() override {
    ::close(pipe_[0]);
    if (pipe_[1] >= 0) ::close(pipe_[1]);
  }
  Log log(LogFormat format, LogLevel most = LogLevel::kInfo) {
    return Log(clock_, format, most, pipe_[1]);
  }
  // The text that was written; nothing can be written afterwards.
  std::string written() {
    ::close(pipe_[1]);
    pipe_[1] = -1;
    std::string out;
    char buffer[4096];
    for (ssize_t n; (n = ::read(pipe_[0], buffer, sizeof buffer)) > 0;)
      out.append(buffer, static_cast<std::size_t>(n));
    return out;
  }

  FakeClock clock_{std::chrono::sys_days{std::chrono::year{2026} / 1 / 31} +
                   std::chrono::microseconds(42)};
  int pipe_[2] = {-1, -1};
};

TEST_F(LogTest, ALineHasTimeLevelMessageAndFields) {
  log(LogFormat::kText).write(LogLevel::kWarning, "careful", {{"user", "a b"}, {"status", "403"}});
  EXPECT_EQ(written(), "2026-01-31T00:00:00.000042Z warning careful user=\"a b\" status=\"403\"\n");
}

TEST_F(LogTest, OrIsAJsonObject) {
  log(LogFormat::kJson).write(LogLevel::kError, "a \"b\"", {{"path", "/x\\y"}});
  EXPECT_EQ(written(),
            "{\"time\":\"2026-01-31T00:00:00.000042Z\",\"level\":\"error\",\"message\":\"a "
            "\\\"b\\\"\",\"path\":\"/x\\\\y\"}\n");
}

TEST_F(LogTest, NobodyElseWritesLines) {
  for (std::string forged : {"x\n2026 error y\r\x01\x7f\u00e9", "x\n\xff"})
    for (LogFormat format : {LogFormat::kText, LogFormat::kJson})
      log(format).write(LogLevel::kInfo, forged, {{"k", forged}});
  std::string text = written();
  EXPECT_EQ(std::ranges::count(text, '\n'), 4) << text;
  for (char c : text)
    EXPECT_TRUE(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)) << text;
  for (std::string_view part : {" info x\\n2026 error y\\x0d\\x01\\x7f\u00e9 k=\"x\\n2026",
                                "\"message\":\"x\\n2026 error y\\u000d\\u0001\\u007f\u00e9\"",
                                " info x\\n\\xff k=", "\"message\":\"x\\n\\u00ff\""})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

TEST_F(LogTest, WhatIsBelowTheLevelIsNotWritten) {
  Log quiet = log(LogFormat::kText, LogLevel::kWarning);
  quiet.write(LogLevel::kInfo, "no");
  EXPECT_FALSE(quiet.has(LogLevel::kDebug));
  EXPECT_EQ(quiet.lines(LogLevel::kInfo), nullptr);
  quiet.lines(LogLevel::kError)("yes");
  EXPECT_EQ(written(), "2026-01-31T00:00:00.000042Z error yes\n");
}

TEST_F(LogTest, LinesOfSeveralThreadsDoNotMix) {
  Log shared = log(LogFormat::kText);
  std::vector<std::thread> threads;
  for (char c : {'a', 'b', 'c', 'd'})
    threads.emplace_back([&shared, c] {
      for (int i = 0; i < 20; ++i) shared.write(LogLevel::kInfo, std::string(200, c));
    });
  for (std::thread& t : threads) t.join();
  std::string text = written();
  for (std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    std::string_view message = line.substr(line.rfind(' ') + 1);
    EXPECT_EQ(message, std::string(200, message[0]));
  }
  EXPECT_EQ(std::ranges::count(text, '\n'), 80);
}

}  // namespace
}  // namespace cardea
