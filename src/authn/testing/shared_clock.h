#pragma once
#include <atomic>

#include "base/clock.h"

namespace cardea::authn {

// A clock that a test moves while other threads read it.
class SharedClock : public Clock {
 public:
  explicit SharedClock(std::chrono::system_clock::time_point start)
      : now_(start.time_since_epoch().count()) {}
  std::chrono::system_clock::time_point now() const override {
    return std::chrono::system_clock::time_point(std::chrono::system_clock::duration(now_.load()));
  }
  void advance(std::chrono::system_clock::duration by) { now_ += by.count(); }

 private:
  std::atomic<std::chrono::system_clock::rep> now_;
};

}  // namespace cardea::authn
