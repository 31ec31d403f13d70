#pragma once
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "base/result.h"

namespace cardea {

// A computation that may wait. It starts when it is awaited, and continues on the thread that
// completes what it waits for. Named functions only, parameters by value; name an awaited
// answer before testing it.
template <typename T>
class [[nodiscard]] Task {
 public:
  struct promise_type {
    std::optional<T> value;
    std::coroutine_handle<> waiter = std::noop_coroutine();

    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct Resume {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
          return self.promise().waiter;
        }
        void await_resume() noexcept {}
      };
      return Resume{};
    }
    template <typename U>
    void return_value(U&& v) {
      value.emplace(std::forward<U>(v));
    }
    void unhandled_exception() { std::terminate(); }  // exceptions do not cross a room's door
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiter) noexcept {
    handle_.promise().waiter = waiter;
    return handle_;
  }
  T await_resume() { return std::move(*handle_.promise().value); }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

namespace detail {
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};
}  // namespace detail

// Runs `task` now, up to where it first waits, and gives its value to `done` when it is there.
template <typename T, typename Done>
detail::Detached spawn(Task<T> task, Done done) {
  T value = co_await task;
  done(std::move(value));
}

// Waits for something that answers by callback: `start` is called with a function that takes the
// answer once, from any thread; the coroutine continues on that thread.
template <typename T, typename Start>
auto await_callback(Start start) {
  struct Awaiter {
    Start start;
    std::optional<T> value;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self) {
      // The callback may come, and the frame with this Awaiter be gone, before start() returns.
      Start begin = std::move(start);
      begin([this, self](T answer) {
        value.emplace(std::move(answer));
        self.resume();
      });
    }
    T await_resume() { return std::move(*value); }
  };
  return Awaiter{std::move(start), std::nullopt};
}

}  // namespace cardea
