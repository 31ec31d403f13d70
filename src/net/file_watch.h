#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace cardea::net {

// Tells when files change, so that certificates and configuration are taken over without a restart.
//
// One thread waits for the kernel's word (inotify, on the folders the files lie in: a rename over
// the file and the swapped link of a mounted volume count) and looks again every `poll` in any
// case. Callbacks come on that thread, one at a time, and may block it: reading files and building
// what is made of them belongs there.
class FileWatch {
 public:
  using Look = std::move_only_function<void()>;
  // The texts, in the order of the paths, or why one of them cannot be read.
  using Changed = std::move_only_function<void(Result<std::vector<std::string>>)>;

  explicit FileWatch(std::chrono::milliseconds poll = std::chrono::minutes(1));
  ~FileWatch();  // waits for a callback that runs; none comes afterwards
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // Calls `look` whenever something may have happened to one of the files, at every poll, and once
  // right after this call. It may come when nothing changed: whoever looks compares. Any thread; a
  // path may not exist yet.
  void watch(std::vector<std::string> paths, Look look);

  // Calls `changed` when the text of one of the files differs from what it was told last; `known`
  // are the texts the caller has already. A file that cannot be read is told once, until it can be
  // read again or fails otherwise.
  void watch_texts(std::vector<std::string> paths, std::vector<std::string> known, Changed changed);

  // Looks at everything now, on the thread. Any thread.
  void look();

 private:
  class Thread;
  std::unique_ptr<Thread> thread_;
};

// A whole file.
Result<std::string> read_whole_file(const std::string& path);

}  // namespace cardea::net
