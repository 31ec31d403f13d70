#pragma once
#include <chrono>
#include <memory>

#include "base/task.h"
#include "net/loop.h"

namespace cardea::net {

// Waits on the loop's thread, where the coroutine has to be already, and goes on there.
inline cardea::Task<bool> pause(Loop& loop, std::chrono::milliseconds delay) {
  std::shared_ptr<Timer> timer;
  bool over = co_await await_callback<bool>([&loop, &timer, delay](auto done) {
    timer = std::make_shared<Timer>(loop, [done]() mutable { done(true); });
    timer->start(delay);
  });
  loop.bury(std::move(timer));  // it is the one that fires
  co_return over;
}

}  // namespace cardea::net
