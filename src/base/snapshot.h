#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace cardea {

// The current state of something that many threads read and few change: an immutable T, replaced as
// a whole. Reading costs one atomic load while nothing changes: each thread keeps a reference of
// its own to the state of each holder, and renews it when the holder's version has moved.
template <typename T>
class Snapshot {
 public:
  // So many holders of one type each have their own place in every thread. With more of them some
  // share a place, and a thread that asks two of these in turn renews its reference each time.
  static constexpr std::size_t kPlaces = 64;

  explicit Snapshot(std::shared_ptr<const T> first = nullptr) : current_(std::move(first)) {}
  ~Snapshot() { Places::give_back(place_); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // Any thread. The reference stays good until this thread asks a Snapshot<T> again; copy it to
  // keep it longer, across a wait above all.
  const std::shared_ptr<const T>& get() const {
    thread_local std::array<Seen, kPlaces> seen;
    Seen& mine = seen[place_];
    if (mine.version != version_.load(std::memory_order_acquire)) renew(mine);
    return mine.state;
  }

  // The version changes before this returns: every later call, on any thread, gets `next` or a
  // later one.
  void set(std::shared_ptr<const T> next) {
    std::shared_ptr<const T> last;  // destroyed outside the lock
    std::lock_guard lock(mutex_);
    last = std::exchange(current_, std::move(next));
    version_.store(next_version(), std::memory_order_release);
  }

  // How often a thread had to renew its reference: once for each thread and state, unless places
  // are shared.
  std::uint64_t renewals() const {
    std::lock_guard lock(mutex_);
    return renewals_;
  }

 private:
  struct Seen {
    std::uint64_t version = 0;
    std::shared_ptr<const T> state;
  };

  // Which places are taken, and by how many holders. Only making and destroying a holder comes
  // here.
  class Places {
   public:
    static std::size_t take() {
      std::lock_guard lock(mutex_);
      auto least = std::ranges::min_element(holders_);
      ++*least;
      return static_cast<std::size_t>(least - holders_.begin());
    }
    static void give_back(std::size_t place) {
      std::lock_guard lock(mutex_);
      --holders_[place];
    }

   private:
    static inline constinit std::mutex mutex_;
    static inline constinit std::array<std::size_t, kPlaces> holders_{};
  };

  void renew(Seen& mine) const {
    std::shared_ptr<const T> last;  // destroyed outside the lock
    std::lock_guard lock(mutex_);
    last = std::exchange(mine.state, current_);
    mine.version = version_.load(std::memory_order_relaxed);
    ++renewals_;
  }

  // Never the same twice in a process, so that one thread's reference cannot be taken for another
  // holder's.
  static std::uint64_t next_version() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  const std::size_t place_ = Places::take();
  mutable std::mutex mutex_;
  mutable std::uint64_t renewals_ = 0;
  std::shared_ptr<const T> current_;
  std::atomic<std::uint64_t> version_{next_version()};
};

}  // namespace cardea
