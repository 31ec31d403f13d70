#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace cardea {

// The current state of something that many threads read and few change: an immutable T, replaced as a whole.
// Reading costs one atomic load while nothing changes: each thread keeps a reference of its own and renews it
// when the version has moved.
template <typename T>
class Snapshot {
 public:
  explicit Snapshot(std::shared_ptr<const T> first = nullptr) : current_(std::move(first)) {}
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // Any thread. The reference stays good until this thread asks a Snapshot<T> again; copy it to keep it longer,
  // across a wait above all.
  const std::shared_ptr<const T>& get() const {
    thread_local std::uint64_t seen_version = 0;
    thread_local std::shared_ptr<const T> seen;
    if (seen_version != version_.load(std::memory_order_acquire)) {
      std::lock_guard lock(mutex_);
      seen = current_;
      seen_version = version_.load(std::memory_order_relaxed);
    }
    return seen;
  }

  // The version moves before this returns: whoever asks afterwards, on any thread, gets `next` or a later one.
  void set(std::shared_ptr<const T> next) {
    std::shared_ptr<const T> last;  // destroyed outside the lock
    std::lock_guard lock(mutex_);
    last = std::exchange(current_, std::move(next));
    version_.store(next_version(), std::memory_order_release);
  }

 private:
  // Never the same twice in a process, so that one thread's reference cannot be taken for another holder's.
  static std::uint64_t next_version() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  mutable std::mutex mutex_;
  std::shared_ptr<const T> current_;
  std::atomic<std::uint64_t> version_{next_version()};
};

}  // namespace cardea
