#pragma once
#include <chrono>
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
  // The same for at most this long; 0 when none arrived.
  int wait_for(std::chrono::nanoseconds longest);

 private:
  int fd_ = -1;
};

}  // namespace cardea::net
