#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/task.h"
#include "http/exchange.h"

namespace cardea::rest {

// Bounds how much of something is under way: for each name, and in all. Those who come when it is
// full wait, and get their turn in the order in which they came; a name that is full does not hold
// up the others. Shared between threads.
class Turns {
 public:
  struct Limits {
    std::size_t of_name;
    std::size_t in_all;
    std::size_t waiting;  // who comes when so many wait is refused
  };
  explicit Turns(Limits limits) : limits_(limits) {}

  // While it lives, the turn is taken. The Turns outlive it.
  class Turn {
   public:
    Turn() = default;
    Turn(Turn&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)), name_(std::move(other.name_)) {}
    Turn& operator=(Turn&& other) noexcept {
      std::swap(turns_, other.turns_);
      std::swap(name_, other.name_);
      return *this;
    }
    ~Turn() {
      if (turns_) turns_->give_back(name_);
    }

   private:
    friend class Turns;
    Turn(Turns& turns, std::string name) : turns_(&turns), name_(std::move(name)) {}
    Turns* turns_ = nullptr;
    std::string name_;
  };

  // The turn, or an error when there is none within `patience`. Continues on the loop of the
  // caller; a caller without a loop is refused instead of waiting.
  Task<Result<Turn>> take(std::string name, std::chrono::milliseconds patience);

 private:
  struct Waiter;
  using WaiterPtr = std::shared_ptr<Waiter>;
  struct Name {
    std::size_t running = 0;
    std::deque<WaiterPtr> waiting = {};  // some of them may have given up
  };

  // With mutex_ held.
  bool take_now(const std::string& name);
  WaiterPtr next();

  void give_back(const std::string& name);
  void give_up(const WaiterPtr& waiter);

  const Limits limits_;
  std::mutex mutex_;
  std::map<std::string, Name> names_;  // guarded by mutex_, as is all that follows
  std::size_t running_ = 0, waiting_ = 0;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace cardea::rest
