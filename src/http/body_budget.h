#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace cardea::http {

// How many bytes of request bodies are held: those that are being read, and those that handlers
// have not given back. One for each HTTP/2 connection, inside one for the whole server. Any thread.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t most, std::shared_ptr<BodyBudget> whole = nullptr)
      : most_(most), whole_(std::move(whole)) {}

  bool has_room(std::size_t bytes) const {
    return held_.load(std::memory_order_relaxed) + bytes <= most_ &&
           (!whole_ || whole_->has_room(bytes));
  }

 private:
  friend class BodyShare;
  void add(std::size_t bytes) {
    held_.fetch_add(bytes, std::memory_order_relaxed);
    if (whole_) whole_->add(bytes);
  }
  void remove(std::size_t bytes) {
    held_.fetch_sub(bytes, std::memory_order_relaxed);
    if (whole_) whole_->remove(bytes);
  }

  const std::size_t most_;
  const std::shared_ptr<BodyBudget> whole_;
  std::atomic<std::size_t> held_{0};
};

// The part of a budget that one body takes, until this is destroyed.
class BodyShare {
 public:
  BodyShare() = default;
  ~BodyShare() { give_back(); }
  BodyShare(const BodyShare&) = delete;
  BodyShare& operator=(const BodyShare&) = delete;

  // The body has this size now. Small ones are not counted: their number is bounded.
  void grow_to(std::size_t size, const std::shared_ptr<BodyBudget>& budget) {
    if (size < kCounted || size <= bytes_) return;
    if (!budget_) budget_ = budget;
    budget_->add(size - bytes_);
    bytes_ = size;
  }
  void give_back() {
    if (auto budget = std::move(budget_)) budget->remove(std::exchange(bytes_, 0));
  }

 private:
  static constexpr std::size_t kCounted = 64 * 1024;

  std::shared_ptr<BodyBudget> budget_;
  std::size_t bytes_ = 0;
};

}  // namespace cardea::http
