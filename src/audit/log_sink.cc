#include "audit/log_sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>

#include "audit/backups.h"
#include "base/strings.h"

namespace cardea::audit {
namespace {

Error failure(std::string_view what, const std::string& path, int error) {
  return internal_error(cat("cannot ", what, " `", path, "`: ", std::strerror(error)));
}

class LogSink : public Sink {
 public:
  LogSink(LogSinkOptions options, const cardea::Clock& clock, Outlet::Log log)
      : options_(std::move(options)),
        clock_(clock),
        log_(std::move(log)),
        to_stdout_(options_.path == "-") {
    if (!to_stdout_) keeper_ = std::jthread([this] { keep(); });
  }
  ~LogSink() override {
    {
      std::lock_guard lock(mutex_);
      ends_ = true;
      changed_.notify_all();
    }
    if (keeper_.joinable()) keeper_.join();
    if (fd_ >= 0 && !to_stdout_) ::close(fd_);
  }

  Result<void> open() {
    if (to_stdout_) {
      fd_ = STDOUT_FILENO;
      return {};
    }
    fd_ = ::open(options_.path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd_ < 0) return fail(failure("open", options_.path, errno));
    struct stat found{};
    is_file_ = ::fstat(fd_, &found) == 0 && S_ISREG(found.st_mode);
    size_ = is_file_ ? static_cast<std::uint64_t>(found.st_size) : 0;
    return {};
  }

  Result<void> write(std::span<const std::string> events) override {
    std::string lines;
    for (const std::string& event : events) {
      lines += event;
      lines += '\n';
    }
    if (fd_ < 0)
      if (auto ok = open(); !ok) return ok;
    if (is_file_ && options_.max_bytes && size_ > 0 && size_ + lines.size() > options_.max_bytes)
      if (auto ok = rotate(); !ok) return ok;
    return append(lines);
  }

 private:
  Result<void> append(std::string_view lines) {
    // What could not be taken back last time at least does not run into what comes now.
    std::string mended;
    if (is_torn_) lines = mended = cat("\n", lines);
    std::uint64_t written = 0;
    while (written < lines.size()) {
      ssize_t n = ::write(fd_, lines.data() + written, lines.size() - written);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        int error = n < 0 ? errno : EIO;
        if (written > 0) is_torn_ = !is_file_ || ::ftruncate(fd_, static_cast<off_t>(size_)) != 0;
        if (is_torn_) size_ += written;
        return fail(failure("write to", options_.path, error));
      }
      written += static_cast<std::uint64_t>(n);
    }
    is_torn_ = false;
    size_ += written;
    return {};
  }

  Result<void> rotate() {
    std::string backup = backup_name(options_.path, clock_.now());
    // A file that is too large is better than events that are nowhere.
    if (::rename(options_.path.c_str(), backup.c_str()) != 0 && errno != ENOENT) {
      if (log_) log_(cat("audit: ", failure("rename", options_.path, errno).message));
      return {};
    }
    ::close(fd_);
    fd_ = -1;
    is_torn_ = false;
    if (auto ok = open(); !ok) return ok;
    std::lock_guard lock(mutex_);
    has_work_ = true;
    changed_.notify_all();
    return {};
  }

  // Looks after the old files: compressing a large one takes longer than events should wait.
  void keep() {
    std::unique_lock lock(mutex_);
    has_work_ = true;  // there may be some from before
    for (;;) {
      changed_.wait(lock, [this] { return has_work_ || ends_; });
      if (!has_work_) return;
      has_work_ = false;
      lock.unlock();
      BackupRules rules{options_.max_backups, options_.max_age_days, options_.compresses};
      for (const std::string& problem : keep_backups(options_.path, rules, clock_.now()))
        if (log_) log_(cat("audit: ", problem));
      lock.lock();
    }
  }

  const LogSinkOptions options_;
  const cardea::Clock& clock_;
  const Outlet::Log log_;
  const bool to_stdout_;
  int fd_ = -1;
  bool is_file_ = false;
  bool is_torn_ = false;  // the file does not end with a whole line
  std::uint64_t size_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_work_ = false, ends_ = false;  // guarded by mutex_
  std::jthread keeper_;
};

}  // namespace

Result<std::unique_ptr<Sink>> make_log_sink(LogSinkOptions options, const cardea::Clock& clock,
                                            Outlet::Log log) {
  if (options.path != "-")
    if (auto folder = std::filesystem::path(options.path).parent_path(); !folder.empty()) {
      std::error_code made;
      std::filesystem::create_directories(folder, made);
      if (made)
        return fail(internal_error(cat("cannot make `", folder.string(), "`: ", made.message())));
    }
  auto sink = std::make_unique<LogSink>(std::move(options), clock, std::move(log));
  if (auto ok = sink->open(); !ok) return fail(ok.error());
  return sink;
}

}  // namespace cardea::audit
