#pragma once
#include <string>

#include "base/result.h"

namespace cardea::store {

// Keeps other processes out of a data directory, for as long as it lives. The system releases
// the lock when the process ends, for any reason.
class DirectoryLock {
 public:
  static Result<DirectoryLock> take(const std::string& directory);  // makes the directory when
                                                                    // missing
  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept : file_(other.file_) { other.file_ = -1; }
  DirectoryLock& operator=(DirectoryLock&&) = delete;

  // Makes an empty file that only its owner can read, unless it exists. SQLite gives the files
  // beside it the same permissions.
  Result<void> make_private_file(const std::string& path) const;

 private:
  explicit DirectoryLock(int file) : file_(file) {}
  int file_;
};

}  // namespace cardea::store
