#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace cardea::net {

// Reports changes of files, so that certificates and configuration are loaded without a
// restart.
//
// One thread waits for notifications of the kernel (inotify, on the folders of the files: a
// rename over the file and the changed link of a mounted volume count) and also checks every
// `poll`. Callbacks come on that thread, one at a time, and may block it: they may read files
// and build objects from them.
class FileWatch {
 public:
  using Look = std::move_only_function<void()>;
  // The texts, in the order of the paths, or why one of them cannot be read.
  using Changed = std::move_only_function<void(Result<std::vector<std::string>>)>;

  explicit FileWatch(std::chrono::milliseconds poll = std::chrono::minutes(1));
  ~FileWatch();  // waits for a callback that runs; none comes afterwards
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // Calls `look` whenever one of the files may have changed, at every poll, and once right after
  // this call. It may be called when nothing changed: the callback compares. Any thread; a path
  // may not exist yet.
  void watch(std::vector<std::string> paths, Look look);

  // Calls `changed` when the text of one of the files differs from the last reported one; `known`
  // are the texts that the caller has already. A file that cannot be read is reported once, until
  // it can be read again or fails in another way.
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
