#include "rest/conversion/turns.h"

#include <functional>

namespace cardea::rest {

// Whoever takes it out of the queue, or marks it, calls `done`.
struct Turns::Waiter {
  std::string name;
  net::Loop& loop;
  std::function<void(bool)> done;
  std::uint64_t ticket = 0;
  bool is_waiting = false;                      // guarded by the mutex of the turns
  std::unique_ptr<net::Timer> timer = nullptr;  // on `loop`
};

bool Turns::take_now(const std::string& name) {
  Name& of_name = names_[name];
  if (running_ >= limits_.in_all || of_name.running >= limits_.of_name || !of_name.waiting.empty())
    return false;
  ++of_name.running;
  ++running_;
  return true;
}

// Of those who may begin now, the one who has waited longest.
Turns::WaiterPtr Turns::next() {
  if (running_ >= limits_.in_all) return nullptr;
  Name* first = nullptr;
  for (auto at = names_.begin(); at != names_.end();) {
    Name& name = at->second;
    while (!name.waiting.empty() && !name.waiting.front()->is_waiting) name.waiting.pop_front();
    if (name.running == 0 && name.waiting.empty()) {
      at = names_.erase(at);
      continue;
    }
    const bool may = !name.waiting.empty() && name.running < limits_.of_name;
    if (may && (!first || name.waiting.front()->ticket < first->waiting.front()->ticket))
      first = &name;
    ++at;
  }
  if (!first) return nullptr;
  WaiterPtr out = std::move(first->waiting.front());
  first->waiting.pop_front();
  out->is_waiting = false;
  --waiting_;
  ++first->running;
  ++running_;
  return out;
}

Task<Result<Turns::Turn>> Turns::take(std::string name, std::chrono::milliseconds patience) {
  net::Loop* loop = net::Loop::current();
  bool is_taken = false, waits = false;
  {
    std::lock_guard lock(mutex_);
    is_taken = take_now(name);
    waits = !is_taken && loop && waiting_ < limits_.waiting;
  }
  if (!is_taken && !waits)
    co_return fail(Error::of(Reason::kTooManyRequests, "too many are waiting already"));
  if (waits)
    is_taken = co_await await_callback<bool>([&](auto done) {
      auto waiter = std::make_shared<Waiter>(Waiter{name, *loop, done});
      waiter->timer = std::make_unique<net::Timer>(*loop, [this, weak = std::weak_ptr(waiter)] {
        if (auto w = weak.lock()) give_up(w);
      });
      waiter->timer->start(patience);
      std::lock_guard lock(mutex_);
      // Somebody may have ended meanwhile.
      if (take_now(name)) {
        loop->post([waiter] {
          waiter->timer->cancel();
          waiter->done(true);
        });
        return;
      }
      waiter->ticket = ++last_ticket_;
      waiter->is_waiting = true;
      ++waiting_;
      names_[name].waiting.push_back(waiter);
    });
  if (!is_taken)
    co_return fail(Error::of(Reason::kTimeout, "too many are under way, and none ended in time"));
  co_return Turn(*this, std::move(name));
}

void Turns::give_back(const std::string& name) {
  WaiterPtr waiter;
  {
    std::lock_guard lock(mutex_);
    --names_[name].running;
    --running_;
    waiter = next();
  }
  if (!waiter) return;
  // The loop has the last hold on the timer, which is its own.
  net::Loop& loop = waiter->loop;
  loop.post([waiter = std::move(waiter)] {
    waiter->timer->cancel();
    waiter->done(true);
  });
}

void Turns::give_up(const WaiterPtr& waiter) {
  {
    std::lock_guard lock(mutex_);
    if (!std::exchange(waiter->is_waiting, false)) return;  // its turn is on its way
    --waiting_;
  }
  // The timer must not destroy itself.
  waiter->loop.post([waiter] { waiter->done(false); });
}

}  // namespace cardea::rest
