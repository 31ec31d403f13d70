#include "rest/fairness/lane.h"

namespace cardea::rest::fairness {

namespace {

void run_first(std::deque<net::Callback>& tasks) {
  net::Callback task = std::move(tasks.front());
  tasks.pop_front();
  task();
}

}  // namespace

void Lane::run_later(net::Callback task) {
  later_.push_back(std::move(task));
  post_turn();
}

void Lane::refuse_later(net::Callback task) {
  refused_.push_back(std::move(task));
  post_turn();
}

void Lane::post_turn() {
  if (std::exchange(is_posted_, true)) return;
  loop_.post([this] { take_turn(); });
}

void Lane::take_turn() {
  const Time began = std::chrono::steady_clock::now();
  // What is added meanwhile comes behind those that are there.
  while (!later_.empty()) {
    run_first(later_);
    if (std::chrono::steady_clock::now() - began >= kTurn) break;
  }
  for (int i = 0; i < kRefusals && !refused_.empty(); ++i) run_first(refused_);
  is_posted_ = false;
  if (!later_.empty() || !refused_.empty()) post_turn();
}

void Lane::keep(Level& level, Queue* queue, const Work& work, Time now) {
  if (!loop_.in_loop())
    return loop_.post([this, &level, queue, work, now] { keep(level, queue, work, now); });
  if (is_stopped_) return level.give_back(queue, work, now);
  kept_.emplace(now + work.last, Kept{&level, queue, work});
  if (!timer_.pending()) timer_.start(std::chrono::ceil<std::chrono::milliseconds>(work.last));
}

void Lane::release_due() {
  const Time now = std::chrono::steady_clock::now();
  while (!kept_.empty() && (is_stopped_ || kept_.begin()->first <= now)) {
    const Kept kept = kept_.begin()->second;
    kept_.erase(kept_.begin());
    kept.level->give_back(kept.queue, kept.work, now);
  }
  if (kept_.empty()) return;
  timer_.start(std::chrono::ceil<std::chrono::milliseconds>(kept_.begin()->first - now));
}

void Lane::stop() {
  is_stopped_ = true;
  timer_.cancel();
  release_due();
}

}  // namespace cardea::rest::fairness
