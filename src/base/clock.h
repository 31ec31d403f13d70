#pragma once
#include <chrono>
#include <string>

namespace cardea {

// Time as the program sees it, so that a test can hold it still. Shared between threads.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::system_clock::time_point now() const = 0;
};

class SystemClock : public Clock {
 public:
  std::chrono::system_clock::time_point now() const override {
    return std::chrono::system_clock::now();
  }
};

class FakeClock : public Clock {
 public:
  explicit FakeClock(std::chrono::system_clock::time_point start) : now_(start) {}
  std::chrono::system_clock::time_point now() const override { return now_; }
  void advance(std::chrono::system_clock::duration by) { now_ += by; }

 private:
  std::chrono::system_clock::time_point now_;
};

std::string rfc3339(std::chrono::system_clock::time_point at);        // 2026-01-31T12:00:00Z
std::string rfc3339_micro(std::chrono::system_clock::time_point at);  // 2026-01-31T12:00:00.000000Z

}  // namespace cardea
