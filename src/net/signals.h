#pragma once
#include <initializer_list>
#include <memory>

#include "net/loop.h"

namespace cardea::net {

// Takes some signals (SIGINT, SIGTERM, SIGHUP) away from their default handling and delivers them as
// ordinary calls. Make it on the main thread before any other thread starts: threads inherit what is
// blocked.
class Signals {
 public:
  explicit Signals(std::initializer_list<int> numbers);
  ~Signals();  // the signals stay blocked

  int wait();  // blocks the calling thread until one arrives and returns its number
  // Calls back on the loop's thread for each one. The loop is running, and outlives this.
  void deliver(Loop& loop, std::move_only_function<void(int)> callback);

 private:
  class Reader;
  int fd_ = -1;
  std::shared_ptr<Reader> reader_;
};

}  // namespace cardea::net
