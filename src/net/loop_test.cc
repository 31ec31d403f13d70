#include "net/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <future>
#include <thread>

#include "net/signals.h"
#include "net/watchdog.h"

namespace cardea::net {
namespace {

using std::chrono::milliseconds;

TEST(Loop, RunsTasksOfOneThreadInTheOrderTheyWerePosted) {
  Loop loop;
  std::vector<int> seen;
  for (int i = 0; i < 100; ++i) loop.post([&seen, i] { seen.push_back(i); });
  loop.stop();
  loop.run();
  ASSERT_EQ(seen.size(), 100u);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

TEST(Loop, RunsEveryTaskOfManyThreads) {
  Loops loops(1);
  std::atomic<int> ran{0};
  std::promise<void> all;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i)
        loops.at(0).post([&] {
          if (++ran == 4000) all.set_value();
        });
    });
  for (auto& thread : threads) thread.join();
  all.get_future().wait();
  loops.stop();
  EXPECT_EQ(ran, 4000);
}

TEST(Loop, TakesUpWhatIsPostedWhileALongQueueIsWorkedOff) {
  Loop loop;
  std::promise<void> begun;
  std::promise<void> go;
  loop.post([&] {
    begun.set_value();
    go.get_future().wait();
  });
  for (int i = 0; i < 600; ++i) loop.post([] {});  // more than the tasks of one turn
  std::thread thread([&] { loop.run(); });
  begun.get_future().wait();
  loop.stop();  // is itself a task, posted while the queue above is being processed
  go.set_value();
  thread.join();
}

TEST(Loop, ATaskPostedFromTheLoopRunsAfterTheCurrentOne) {
  Loop loop;
  std::vector<std::string> seen;
  loop.post([&] {
    EXPECT_TRUE(loop.in_loop());
    loop.post([&] {
      seen.push_back("inner");
      loop.stop();
    });
    seen.push_back("outer");
  });
  loop.run();
  EXPECT_FALSE(loop.in_loop());
  EXPECT_THAT(seen, ::testing::ElementsAre("outer", "inner"));
}

TEST(Loop, KeepsWhatIsBuriedUntilTheTurnIsOver) {
  Loop loop;
  auto thing = std::make_shared<int>(1);
  std::weak_ptr<int> watch = thing;
  bool alive_in_turn = false;
  loop.post([&] {
    loop.bury(std::move(thing));
    alive_in_turn = !watch.expired();
  });
  loop.stop();
  loop.run();
  EXPECT_TRUE(alive_in_turn);
  EXPECT_TRUE(watch.expired());
}

TEST(Timer, TimersFireInTheOrderOfTheirDeadlines) {
  Loop loop;
  std::vector<int> seen;
  std::vector<std::unique_ptr<Timer>> timers;
  for (int i : {5, 1, 4, 2, 3, 8, 7, 6}) {
    timers.push_back(std::make_unique<Timer>(loop, [&seen, &loop, i] {
      seen.push_back(i);
      if (i == 8) loop.stop();
    }));
    timers.back()->start(milliseconds(i));
  }
  loop.run();
  EXPECT_THAT(seen, ::testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(Timer, ACancelledTimerDoesNotFireAndARenewedOneFiresOnce) {
  Loop loop;
  int cancelled = 0;
  int renewed = 0;
  Timer first(loop, [&] { ++cancelled; });
  Timer second(loop, [&] { ++renewed; });
  Timer end(loop, [&] { loop.stop(); });
  first.start(milliseconds(1));
  second.start(milliseconds(1));
  second.start(milliseconds(3));
  end.start(milliseconds(10));
  first.cancel();
  EXPECT_FALSE(first.pending());
  loop.run();
  EXPECT_EQ(cancelled, 0);
  EXPECT_EQ(renewed, 1);
}

TEST(Timer, ATimerMayBeMovedCloserAndStartedAgainFromItsCallback) {
  Loop loop;
  int fired = 0;
  Timer* self = nullptr;
  Timer timer(loop, [&] {
    if (++fired == 3) return loop.stop();
    self->start(milliseconds(0));
  });
  self = &timer;
  timer.start(std::chrono::hours(1));
  timer.start(milliseconds(1));
  loop.run();
  EXPECT_EQ(fired, 3);
}

TEST(Signals, ArriveWhereTheyAreWaitedFor) {
  Signals signals({SIGUSR1, SIGUSR2});
  ::kill(::getpid(), SIGUSR2);
  EXPECT_EQ(signals.wait(), SIGUSR2);
  ::kill(::getpid(), SIGUSR1);
  EXPECT_EQ(signals.wait(), SIGUSR1);
}

}  // namespace
TEST(Loop, TellsOfACallbackThatHeldIt) {
  Loops loops(1);
  std::promise<std::string> told;
  watch_over(loops.at(0), milliseconds(20),
             [&](std::chrono::nanoseconds took, std::string_view what) {
               EXPECT_GE(took, milliseconds(30));
               told.set_value(std::string(what));
             });
  loops.at(0).post([] { WorkNote::of_this_thread().set({"GET", "/quick"}); });
  loops.at(0).post([] {
    WorkNote::of_this_thread().set({"POST", "/slow", "of", "jane"});
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < milliseconds(30)) {
    }
  });
  EXPECT_EQ(told.get_future().get(), "POST /slow of jane");
}

// A timer that starts after a long callback of the same turn has its whole time.
TEST(Loop, TimersStartWhenTheyAreStarted) {
  Loop loop;
  SteadyTime started, rang;
  std::unique_ptr<Timer> timer;
  loop.post([&] {
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < milliseconds(50)) {
    }
  });
  loop.post([&] {
    started = std::chrono::steady_clock::now();
    timer = std::make_unique<Timer>(loop, [&] {
      rang = std::chrono::steady_clock::now();
      loop.stop();
    });
    timer->start(milliseconds(40));
  });
  loop.run();
  EXPECT_GE(rang - started, milliseconds(39));
  timer.reset();
}

}  // namespace cardea::net
