#include "net/file_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "base/strings.h"

namespace cardea::net {
namespace {

namespace fs = std::filesystem;

// Not IN_MODIFY: a file is looked at when its writer is done with it.
constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE |
                                  IN_DELETE | IN_ATTRIB | IN_ONLYDIR;

void drain(int fd) {
  alignas(8) char events[4096];
  while (::read(fd, events, sizeof events) > 0) {
  }
}

}  // namespace

Result<std::string> read_whole_file(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string text;
  ssize_t got = fd < 0 ? -1 : 1;
  while (got > 0) {
    char part[16384];
    got = ::read(fd, part, sizeof part);
    if (got > 0) text.append(part, static_cast<std::size_t>(got));
  }
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (got < 0) return fail(bad_request(cat("cannot read `", path, "`: ", std::strerror(error))));
  return text;
}

class FileWatch::Thread {
 public:
  explicit Thread(std::chrono::milliseconds poll) : poll_(poll) {
    wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    inotify_fd_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);  // without one (too many users)
                                                              // polling remains
    CARDEA_CHECK(wake_fd_ >= 0);
    thread_ = std::thread([this] { run(); });
  }

  ~Thread() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake();
    thread_.join();
    ::close(wake_fd_);
    if (inotify_fd_ >= 0) ::close(inotify_fd_);
  }

  void add(std::vector<std::string> paths, Look look) {
    {
      std::lock_guard lock(mutex_);
      added_.push_back({std::move(paths), std::move(look)});
    }
    wake();
  }

  void wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] auto written = ::write(wake_fd_, &one, sizeof one);
  }

 private:
  struct Entry {
    std::vector<std::string> paths;
    Look look;
  };

  void run() {
    while (take_added()) {
      // Watched before it is looked at, so that no change falls between the two.
      watch_folders();
      for (Entry& entry : entries_) entry.look();
      pollfd fds[] = {{wake_fd_, POLLIN, 0}, {inotify_fd_, POLLIN, 0}};
      ::poll(fds, inotify_fd_ >= 0 ? 2 : 1, static_cast<int>(poll_.count()));
      drain(wake_fd_);
      if (inotify_fd_ >= 0) drain(inotify_fd_);
    }
  }

  bool take_added() {
    std::lock_guard lock(mutex_);
    for (Entry& entry : added_) entries_.push_back(std::move(entry));
    added_.clear();
    return !stopping_;
  }

  // Adding a folder again is a no-op for the kernel; a folder that was replaced gets its watch
  // back.
  void watch_folders() {
    if (inotify_fd_ < 0) return;
    std::set<std::string> folders;
    for (const Entry& entry : entries_)
      for (const std::string& path : entry.paths) {
        std::error_code ignored;
        folders.insert(fs::absolute(path, ignored).parent_path().string());
        if (fs::path real = fs::canonical(path, ignored); !real.empty())
          folders.insert(real.parent_path().string());
      }
    for (const std::string& folder : folders)
      ::inotify_add_watch(inotify_fd_, folder.c_str(), kEvents);
  }

  const std::chrono::milliseconds poll_;
  int wake_fd_ = -1;
  int inotify_fd_ = -1;
  std::vector<Entry> entries_;  // the thread's own
  std::mutex mutex_;
  std::vector<Entry> added_;  // guarded by mutex_
  bool stopping_ = false;     // guarded by mutex_
  std::thread thread_;
};

FileWatch::FileWatch(std::chrono::milliseconds poll) : thread_(std::make_unique<Thread>(poll)) {}
FileWatch::~FileWatch() = default;

void FileWatch::watch(std::vector<std::string> paths, Look look) {
  thread_->add(std::move(paths), std::move(look));
}
void FileWatch::look() {
  thread_->wake();
}

void FileWatch::watch_texts(std::vector<std::string> paths, std::vector<std::string> known,
                            Changed changed) {
  auto look = [paths, known = std::move(known), error = std::string(),
               changed = std::move(changed)]() mutable {
    std::vector<std::string> texts;
    for (const std::string& path : paths) {
      auto text = read_whole_file(path);
      if (!text) {
        if (text.error().message == error) return;
        error = text.error().message;
        return changed(fail(text.error()));
      }
      texts.push_back(std::move(*text));
    }
    error.clear();
    if (texts == known) return;
    known = texts;
    changed(std::move(texts));
  };
  thread_->add(std::move(paths), std::move(look));
}

}  // namespace cardea::net
