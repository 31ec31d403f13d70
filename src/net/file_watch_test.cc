#include "net/file_watch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>

namespace cardea::net {
namespace {

namespace fs = std::filesystem;

// The reports of the watch, one text or "error" each. The test waits for them and does not sleep.
class Told {
 public:
  void add(std::string what) {
    std::lock_guard lock(mutex_);
    all_.push_back(std::move(what));
    changed_.notify_all();
  }
  std::string at(std::size_t index) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return all_.size() > index; });
    return all_[index];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> all_;
};

class FileWatchTest : public ::testing::Test {
 protected:
  FileWatchTest() {
    char name[] = "file_watch_XXXXXX";
    folder_ = fs::absolute(::mkdtemp(name));
  }
  ~FileWatchTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(path(name)) << text;
  }
  FileWatch::Changed tell() {
    return [this](Result<std::vector<std::string>> texts) {
      told_.add(texts ? (*texts)[0] : "error");
    };
  }

  fs::path folder_;
  Told told_;
};

TEST_F(FileWatchTest, TellsWhenAFileIsWritten) {
  write("a", "one");
  FileWatch watch(std::chrono::hours(1));
  watch.watch_texts({path("a")}, {"one"}, tell());
  write("a", "two");
  // Opening for writing truncates the file; whether the watch sees the empty file depends on
  // timing.
  std::size_t i = told_.at(0).empty() ? 1 : 0;
  EXPECT_EQ(told_.at(i), "two");
}

TEST_F(FileWatchTest, TellsWhatChangedBeforeItWasWatched) {
  write("a", "two");
  FileWatch watch(std::chrono::hours(1));
  watch.watch_texts({path("a")}, {"one"}, tell());
  EXPECT_EQ(told_.at(0), "two");
}

TEST_F(FileWatchTest, ARenameOverTheFileCounts) {
  write("a", "one");
  FileWatch watch(std::chrono::hours(1));
  watch.watch_texts({path("a")}, {""}, tell());
  EXPECT_EQ(told_.at(0), "one");
  write("b", "two");
  fs::rename(path("b"), path("a"));
  EXPECT_EQ(told_.at(1), "two");
}

TEST_F(FileWatchTest, TheSwappedLinkOfAMountedVolumeCounts) {
  fs::create_directory(folder_ / "v1");
  fs::create_directory(folder_ / "v2");
  write("v1/a", "one");
  write("v2/a", "two");
  fs::create_symlink("v1", folder_ / "..data");
  fs::create_symlink("..data/a", folder_ / "a");
  FileWatch watch(std::chrono::hours(1));
  watch.watch_texts({path("a")}, {""}, tell());
  EXPECT_EQ(told_.at(0), "one");
  fs::create_symlink("v2", folder_ / "..data_tmp");
  fs::rename(folder_ / "..data_tmp", folder_ / "..data");
  EXPECT_EQ(told_.at(1), "two");
}

TEST_F(FileWatchTest, AFileThatVanishesIsAnErrorAndComesBack) {
  write("a", "one");
  FileWatch watch(std::chrono::hours(1));
  watch.watch_texts({path("a")}, {""}, tell());
  EXPECT_EQ(told_.at(0), "one");
  fs::remove(path("a"));
  EXPECT_EQ(told_.at(1), "error");
  write("b", "two");
  fs::rename(path("b"), path("a"));
  EXPECT_EQ(told_.at(2), "two");
}

TEST_F(FileWatchTest, WithoutNewsItLooksAgainAtEveryPoll) {
  FileWatch watch(std::chrono::milliseconds(1));
  watch.watch({path("a")}, [this] { told_.add("looked"); });
  EXPECT_EQ(told_.at(3), "looked");
}

}  // namespace
}  // namespace cardea::net
