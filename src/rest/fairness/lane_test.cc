#include "rest/fairness/lane.h"

#include <gtest/gtest.h>

#include <future>

namespace cardea::rest::fairness {
namespace {

TEST(FairnessLane, RunsWhatWaitsOnceAndInOrder) {
  net::Loops loops(1);
  Lane lane(loops.at(0));
  std::vector<int> ran;
  std::promise<void> done;
  loops.at(0).post([&] {
    for (int i = 0; i < 3; ++i)
      lane.run_later([&, i] {
        ran.push_back(i);
        // One that a task adds, also when the turn goes on to run it.
        lane.run_later([&, i] { ran.push_back(10 + i); });
      });
    lane.run_later([&] { lane.run_later([&] { lane.run_later([&] { done.set_value(); }); }); });
    EXPECT_TRUE(ran.empty());
    EXPECT_FALSE(lane.is_free(std::chrono::steady_clock::now()));
  });
  done.get_future().wait();
  std::promise<void> later;
  loops.at(0).post([&] {
    loops.at(0).post([&] { later.set_value(); });  // a turn after what was posted
  });
  later.get_future().wait();
  EXPECT_EQ(ran, (std::vector<int>{0, 1, 2, 10, 11, 12}));
}

TEST(FairnessLane, LetsTheLoopLookAtItsSocketsBetweenTurns) {
  net::Loops loops(1);
  net::Loop& loop = loops.at(0);
  Lane lane(loop);
  int ran = 0, ran_before_other = -1;
  std::promise<void> done;
  loop.post([&] {
    for (int i = 0; i < 50; ++i)
      lane.run_later([&] {
        const auto until = std::chrono::steady_clock::now() + Lane::kTurn;
        while (std::chrono::steady_clock::now() < until) {
        }
        if (++ran == 50) done.set_value();
      });
    loop.post([&] { ran_before_other = ran; });
  });
  done.get_future().wait();
  // Each of them takes a whole turn, so the other task comes after the first.
  EXPECT_EQ(ran_before_other, 1);
}

TEST(FairnessLane, KeepsSeatsForAsLongAsWatchersAreTold) {
  MetricRegistry metrics;
  net::Loops loops(1);
  Lane lane(loops.at(0));
  const Time now = std::chrono::steady_clock::now();
  Level level("l", now);
  level.configure({.name = "l"}, 0, now);
  level.set_limit(10, now);
  ASSERT_EQ(level.take(5, now), Level::Take::kTaken);
  const Work work{.seats = 1, .last_seats = 5, .last = std::chrono::hours(1)};
  lane.keep(level, nullptr, work, now);  // from another thread
  std::promise<void> stopped;
  loops.at(0).post([&] {
    EXPECT_EQ(level.numbers().seats_in_use, 5);
    lane.stop();
    stopped.set_value();
  });
  stopped.get_future().wait();
  EXPECT_EQ(level.numbers().seats_in_use, 0);
}

}  // namespace
}  // namespace cardea::rest::fairness
