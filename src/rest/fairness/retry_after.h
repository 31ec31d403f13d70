#pragma once
#include <cstdint>
#include <deque>

namespace cardea::rest::fairness {

// After how many seconds a refused client should come again: twice as many when refusals go on, one
// less when they become rare.
class RetryAfter {
 public:
  // Counts a refusal, and says what to tell this client.
  std::int64_t refuse(std::int64_t second);

 private:
  struct Second {
    std::int64_t at, refused;
  };
  void reconsider(std::int64_t now);

  std::deque<Second> past_;
  Second current_{0, 0};
  std::int64_t seconds_ = 1, raised_at_ = 0;
};

}  // namespace cardea::rest::fairness
