#pragma once
#include <string>

#include "base/result.h"

namespace cardea::store {

// Keeps a second process out of a data directory, for as long as it lives. The system lets go of it
// when the process dies, however it dies.
class DirectoryLock {
 public:
  static Result<DirectoryLock> take(const std::string& directory);  // makes the directory when
                                                                    // missing
  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept : file_(other.file_) { other.file_ = -1; }
  DirectoryLock& operator=(DirectoryLock&&) = delete;

  // Makes an empty file that nobody else can read, unless it exists. SQLite gives the files beside
  // it the same permissions.
  Result<void> make_private_file(const std::string& path) const;

 private:
  explicit DirectoryLock(int file) : file_(file) {}
  int file_;
};

}  // namespace cardea::store
