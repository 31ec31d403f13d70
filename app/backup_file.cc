#include "app/backup_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/strings.h"

namespace cardea::app {

Result<NewFile> NewFile::make(const std::string& path) {
  struct stat there{};
  if (::lstat(path.c_str(), &there) == 0)
    return fail(bad_request(cat("`", path, "` is there already")));
  NewFile out(path, -1);
  // What an interrupted run has left is of no use. Whoever else owns a file of this name does not
  // get to read this one.
  ::unlink(out.partial().c_str());
  out.file_ = ::open(out.partial().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                     0600);
  if (out.file_ < 0) return fail(out.trouble("cannot make"));
  return out;
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

NewFile::~NewFile() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(partial().c_str());
}

Error NewFile::trouble(std::string_view what) const {
  return internal_error(cat(what, " `", path_, "`: ", std::strerror(errno)));
}

Result<void> NewFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(trouble("cannot write"));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> NewFile::finish() {
  if (::fsync(file_) != 0) return fail(trouble("cannot write"));
  // A link, unlike a rename, does not replace what came there meanwhile.
  if (::link(partial().c_str(), path_.c_str()) != 0) return fail(trouble("cannot make"));
  ::close(std::exchange(file_, -1));
  ::unlink(partial().c_str());
  const std::string
      folder = std::filesystem::absolute(path_).lexically_normal().parent_path().string();
  const int parent = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool is_synced = parent >= 0 && ::fsync(parent) == 0;
  if (parent >= 0) ::close(parent);
  if (!is_synced) return fail(trouble("cannot store the name of"));
  return {};
}

Result<FileParts> FileParts::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return fail(bad_request(cat("cannot read `", path, "`: ", std::strerror(errno))));
  return FileParts(path, file);
}

FileParts::FileParts(FileParts&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

FileParts::~FileParts() {
  if (file_ >= 0) ::close(file_);
}

Result<std::string> FileParts::next() {
  std::string out(1u << 20, '\0');
  for (;;) {
    const ssize_t size = ::read(file_, out.data(), out.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0)
      return fail(internal_error(cat("cannot read `", path_, "`: ", std::strerror(errno))));
    out.resize(static_cast<std::size_t>(size));
    return out;
  }
}

}  // namespace cardea::app
