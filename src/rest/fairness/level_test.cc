#include "rest/fairness/level.h"

#include <gtest/gtest.h>

#include <deque>

#include "rest/fairness/dealer.h"

namespace cardea::rest::fairness {
namespace {

using namespace std::chrono_literals;

struct Asking final : Waiter {
  bool has_begun = false;
  const Time* clock = nullptr;
  Time began = {};
  void begin() override {
    has_begun = true;
    if (clock) began = *clock;
  }
};

// A level, and time that passes when the test says so.
class World {
 public:
  explicit World(LevelSpec spec, int limit) : level("tenants", now) {
    level.configure(spec, 10, now);
    level.set_limit(limit, now);
    flow = &level.flow("tenants", "", "", metrics);
  }

  struct Request {
    Work work;
    std::unique_ptr<Asking> asking = {};
    Time began = {};
    bool runs = false, is_refused = false;
  };

  // As rest/fairness/gate.cc does it.
  Request& ask(std::string_view who, Work work = {}) {
    Request& r = requests.emplace_back(Request{work});
    r.asking = std::make_unique<Asking>();
    r.asking->flow = flow;
    r.asking->work = work;
    r.asking->clock = &now;
    if (level.take(work.most(), now) == Level::Take::kTaken) {
      r.runs = true;
    } else {
      auto outcome = level.wait(*r.asking, flow_hash(1, "tenants", who), now);
      r.runs = outcome == Level::Wait::kBegins;
      r.is_refused = outcome == Level::Wait::kFull || outcome == Level::Wait::kNoSeat;
    }
    if (r.runs) r.began = now;
    return r;
  }
  bool runs(Request& r) {
    if (!r.runs && r.asking->has_begun) {
      r.runs = true;
      r.began = r.asking->began;
    }
    return r.runs;
  }
  void end(Request& r) {
    Queue* queue = Level::queue_of(*r.asking);
    level.end(queue, r.work, r.began, now);
    level.give_back(queue, r.work, now);
  }

  MetricRegistry metrics;
  Time now{};
  Level level;
  Flow* flow;
  std::deque<Request> requests;
};

LevelSpec queues(std::uint32_t count, std::uint32_t hand, std::uint32_t length) {
  return {.name = "tenants", .queues = count, .hand_size = hand, .queue_length = length};
}

TEST(FairnessLevel, LetsRequestsRunAsLongAsThereAreSeats) {
  World w(queues(8, 2, 10), 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(w.ask("jane").runs);
  World::Request& fourth = w.ask("jane");
  EXPECT_FALSE(w.runs(fourth));
  w.end(w.requests[0]);
  EXPECT_TRUE(w.runs(fourth));
}

TEST(FairnessLevel, ALevelWithoutQueuesRefusesAtOnce) {
  World w({.name = "tenants"}, 1);
  EXPECT_TRUE(w.ask("jane").runs);
  EXPECT_TRUE(w.ask("jane").is_refused);
  w.end(w.requests[0]);
  EXPECT_TRUE(w.ask("jane").runs);
}

TEST(FairnessLevel, ExemptNeverWaits) {
  World w({.name = "exempt", .is_exempt = true}, 0);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(w.ask("admin").runs);
  Asking asking;
  asking.flow = w.flow;
  EXPECT_EQ(w.level.wait(asking, 0, w.now), Level::Wait::kBegins);
}

TEST(FairnessLevel, AFullQueueRefuses) {
  World w(queues(1, 1, 2), 1);
  EXPECT_TRUE(w.ask("jane").runs);
  EXPECT_FALSE(w.ask("jane").is_refused);
  EXPECT_FALSE(w.ask("jane").is_refused);
  EXPECT_TRUE(w.ask("jane").is_refused);
  EXPECT_EQ(w.level.numbers().waiting, 2u);
}

TEST(FairnessLevel, OneFlowCannotFillTheQueuesOfAnother) {
  World w(queues(64, 2, 3), 1);
  w.ask("flood");
  for (int i = 0; i < 100; ++i) w.ask("flood");
  EXPECT_TRUE(w.ask("flood").is_refused);
  EXPECT_FALSE(w.ask("jane").is_refused);
  EXPECT_EQ(w.level.numbers().waiting, 2u * 3 + 1);
}

TEST(FairnessLevel, TwoFlowsGetTheSameHoweverManyEachAsksFor) {
  World w(queues(64, 1, 1000), 4);
  for (int i = 0; i < 400; ++i) w.ask("flood");
  std::vector<World::Request*> jane;
  for (int i = 0; i < 40; ++i) jane.push_back(&w.ask("jane"));
  // Each request takes ten milliseconds.
  for (int round = 0; round < 30; ++round) {
    w.now += 10ms;
    std::vector<World::Request*> running;
    for (World::Request& r : w.requests)
      if (r.asking && w.runs(r)) running.push_back(&r);
    for (World::Request* r : running) {
      w.end(*r);
      r->asking.reset();
    }
  }
  // 30 rounds of 4 are 120, half of them for each: all 40 of jane's are done.
  int done = 0;
  for (World::Request* r : jane) done += r->asking == nullptr;
  EXPECT_EQ(done, 40);
}

TEST(FairnessLevel, AWideFlowGetsFewerTurns) {
  World w(queues(64, 1, 1000), 4);
  w.ask("other", {.seats = 4});
  std::vector<World::Request*> wide, narrow;
  for (int i = 0; i < 100; ++i) wide.push_back(&w.ask("wide", {.seats = 4}));
  for (int i = 0; i < 400; ++i) narrow.push_back(&w.ask("narrow"));
  for (int round = 0; round < 40; ++round) {
    w.now += 3ms;
    std::vector<World::Request*> running;
    for (World::Request& r : w.requests)
      if (r.asking && w.runs(r)) running.push_back(&r);
    for (World::Request* r : running) {
      w.end(*r);
      r->asking.reset();
    }
  }
  auto done = [](const std::vector<World::Request*>& list) {
    return std::ranges::count_if(list, [](World::Request* r) { return !r->asking; });
  };
  // As many seats for each, so a fourth of the requests.
  EXPECT_NEAR(static_cast<double>(done(narrow)), 4.0 * static_cast<double>(done(wide)), 8.0);
  for (World::Request& r : w.requests)
    if (r.asking && !w.runs(r)) w.level.leave(*r.asking, Level::Leaving::kGone, w.now);
}

TEST(FairnessLevel, ARequestLargerThanTheLevelGetsItForItself) {
  World w(queues(8, 2, 10), 2);
  World::Request& small = w.ask("jane");
  World::Request& large = w.ask("jane", {.seats = 5});
  EXPECT_FALSE(w.runs(large));
  w.end(small);
  EXPECT_TRUE(w.runs(large));
  World::Request& next = w.ask("jane");
  EXPECT_FALSE(w.runs(next));
  w.end(large);
  EXPECT_TRUE(w.runs(next));
}

TEST(FairnessLevel, WhoLeavesFreesItsPlace) {
  World w(queues(1, 1, 1), 1);
  w.ask("jane");
  World::Request& waits = w.ask("jane");
  EXPECT_TRUE(w.ask("jane").is_refused);
  EXPECT_TRUE(w.level.leave(*waits.asking, Level::Leaving::kGone, w.now));
  EXPECT_FALSE(waits.asking->has_begun);
  World::Request& next = w.ask("jane");
  EXPECT_FALSE(next.is_refused);
  w.end(w.requests[0]);
  EXPECT_TRUE(w.runs(next));
  // Too late to leave: it runs.
  EXPECT_FALSE(w.level.leave(*next.asking, Level::Leaving::kTooLate, w.now));
  EXPECT_EQ(w.level.numbers().gone, 1u);
}

TEST(FairnessLevel, MoreSeatsLetWaitingRequestsBegin) {
  World w(queues(8, 2, 10), 1);
  w.ask("jane");
  World::Request &a = w.ask("jane"), &b = w.ask("john");
  w.level.set_limit(3, w.now);
  EXPECT_TRUE(w.runs(a));
  EXPECT_TRUE(w.runs(b));
}

TEST(FairnessLevel, ALevelThatIsUsedIsNotRetired) {
  World w(queues(8, 2, 10), 1);
  w.ask("jane");
  EXPECT_FALSE(w.level.retire());
  w.end(w.requests[0]);
  EXPECT_TRUE(w.level.retire());
  EXPECT_EQ(w.level.take(1, w.now), Level::Take::kRetired);
  EXPECT_EQ(w.level.numbers().seats_in_use, 0);
  Asking asking;
  asking.flow = w.flow;
  EXPECT_EQ(w.level.wait(asking, 0, w.now), Level::Wait::kRetired);
}

TEST(FairnessLevel, DemandIsWhatRunsAndWhatWaits) {
  World w(queues(8, 2, 10), 1);
  w.level.take_demand(w.now);
  w.ask("jane");
  w.ask("jane", {.seats = 3});
  w.now += 10s;
  const Demand::Figures demand = w.level.take_demand(w.now);
  EXPECT_EQ(demand.highest, 4);
  EXPECT_DOUBLE_EQ(demand.average, 4);
  EXPECT_DOUBLE_EQ(demand.deviation, 0);
  w.level.leave(*w.requests[1].asking, Level::Leaving::kGone, w.now);
}

TEST(FairnessLevel, RetryAfterGrowsWhileRefusalsGoOn) {
  RetryAfter r;
  std::int64_t told = 1;
  for (int second = 100; second < 200; ++second)
    for (int i = 0; i < 200; ++i) told = r.refuse(second);
  EXPECT_EQ(told, 32);
  for (int second = 1000; second < 5000; second += 40) told = r.refuse(second);
  EXPECT_EQ(told, 1);
}

TEST(FairnessDealer, DealsDifferentQueues) {
  std::array<std::uint32_t, kMostCards> cards;
  std::vector<int> seen(16);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto hand = deal(flow_hash(7, "s", std::to_string(i)), 16, 4, cards);
    ASSERT_EQ(hand.size(), 4u);
    for (std::size_t k = 0; k < hand.size(); ++k) {
      ASSERT_LT(hand[k], 16u);
      if (k > 0) ASSERT_LT(hand[k - 1], hand[k]);
      ++seen[hand[k]];
    }
  }
  for (int count : seen) EXPECT_NEAR(count, 250, 60);
}

}  // namespace
}  // namespace cardea::rest::fairness
