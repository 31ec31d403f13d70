#pragma once
#include <initializer_list>

namespace cardea::net {

// Takes some signals (SIGINT, SIGTERM, SIGHUP) away from their default handling, for a main thread
// that waits for them while the loops work. Make it before any other thread starts: threads inherit
// what is blocked. The signals stay blocked when it is gone.
class Signals {
 public:
  explicit Signals(std::initializer_list<int> numbers);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int wait();  // blocks the calling thread until one arrives and returns its number

 private:
  int fd_ = -1;
};

}  // namespace cardea::net
