#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "authz/request_info.h"

namespace cardea::rest::fairness {

// How many watch what, to know how many a write tells. A table of counters without locks: two
// collections that fall on one counter are counted together, so that it may say too much and never
// too little. Any thread.
class WatchCounts {
 public:
  // One watcher, as long as it lives.
  class Watcher {
   public:
    Watcher() = default;
    explicit Watcher(std::atomic<std::int64_t>& counter) : counter_(&counter) {
      counter.fetch_add(1, std::memory_order_relaxed);
    }
    Watcher(Watcher&& other) noexcept : counter_(std::exchange(other.counter_, nullptr)) {}
    Watcher& operator=(Watcher&& other) noexcept {
      std::swap(counter_, other.counter_);
      return *this;
    }
    ~Watcher() {
      if (counter_) counter_->fetch_sub(1, std::memory_order_relaxed);
    }

   private:
    std::atomic<std::int64_t>* counter_ = nullptr;
  };

  Watcher add(const authz::RequestInfo& info);
  // Those of the object, of its namespace, and of all namespaces.
  std::int64_t told_of(const authz::RequestInfo& info) const;

 private:
  static constexpr std::size_t kCounters = 4096;
  static std::size_t place(const authz::RequestInfo& info, std::string_view space,
                           std::string_view name);

  std::unique_ptr<std::atomic<std::int64_t>[]>
      counters_ = std::make_unique<std::atomic<std::int64_t>[]>(kCounters);
};

}  // namespace cardea::rest::fairness
