#pragma once
#include <deque>
#include <map>

#include "http/exchange.h"
#include "rest/fairness/level.h"

namespace cardea::rest::fairness {

// The order in which requests run on one loop. A loop runs one request after the other, so those
// that have a seat still have to take turns: in each turn of the loop they get a few milliseconds,
// then the loop looks at its sockets, and what is exempt comes in between.
//
// Loop thread only, unless a function says otherwise.
class Lane {
 public:
  // In each turn of the loop; the last request that begins in it may take longer.
  static constexpr std::chrono::milliseconds kTurn{2};
  static constexpr int kRefusals = 32;

  explicit Lane(net::Loop& loop) : loop_(loop), timer_(loop, [this] { release_due(); }) {}

  net::Loop& loop() { return loop_; }

  // Whether a request may run without waiting for a turn.
  bool is_free(Time now) const { return later_.empty() && now - loop_.now() < kTurn; }
  // Runs `task` in its turn, never inside this call.
  void run_later(net::Callback task);
  // The same for the answer to a request that is refused: a few in each turn, after what runs. Who
  // asks again and again is slowed down by it, and cannot keep the loop busy with refusals.
  void refuse_later(net::Callback task);

  // Gives the seats back when `work.last` has passed. Any thread.
  void keep(Level& level, Queue* queue, const Work& work, Time now);
  // Gives back everything that is kept, and keeps nothing from now on.
  void stop();

 private:
  struct Kept {
    Level* level;
    Queue* queue;
    Work work;
  };
  void post_turn();
  void take_turn();
  void release_due();

  net::Loop& loop_;
  std::deque<net::Callback> later_, refused_;
  bool is_posted_ = false;
  std::multimap<Time, Kept> kept_;
  net::Timer timer_;
  bool is_stopped_ = false;
};

}  // namespace cardea::rest::fairness
