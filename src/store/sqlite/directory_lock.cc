#include "store/sqlite/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/strings.h"

namespace cardea::store {
namespace {

// The name of a new directory must survive a power failure as well as what will be in it.
bool sync_parent(const std::string& directory) {
  std::string
      parent = std::filesystem::absolute(directory).lexically_normal().parent_path().string();
  int file = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return false;
  bool synced = ::fsync(file) == 0;
  ::close(file);
  return synced;
}

}  // namespace

Result<DirectoryLock> DirectoryLock::take(const std::string& directory) {
  auto trouble = [&](std::string_view what) {
    return fail(internal_error(cat(what, " `", directory, "`: ", std::strerror(errno))));
  };
  // The data may contain secrets: only its owner can read it.
  if (::mkdir(directory.c_str(), 0700) == 0) {
    if (!sync_parent(directory)) return trouble("cannot make the directory");
  } else if (errno != EEXIST) {
    return trouble("cannot make the directory");
  }
  int file = ::open((directory + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return trouble("cannot use the directory");
  DirectoryLock lock(file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return trouble("cannot lock the directory");
    return fail(Error::of(Reason::kConflict,
                          cat("the directory `", directory, "` is in use by another process")));
  }
  return lock;
}

Result<void> DirectoryLock::make_private_file(const std::string& path) const {
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return fail(internal_error(cat("cannot open `", path, "`: ", std::strerror(errno))));
  ::close(file);
  return {};
}

DirectoryLock::~DirectoryLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace cardea::store
