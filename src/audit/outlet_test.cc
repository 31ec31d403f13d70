#include "audit/outlet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>

#include "audit/auditor.h"
#include "base/strings.h"
#include "json/parse.h"

namespace cardea::audit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

EventPtr event(std::string id, Level level = Level::kMetadata) {
  auto arrival = std::make_shared<Arrival>();
  arrival->audit_id = std::move(id);
  arrival->level = level;
  auto out = std::make_shared<Event>();
  out->arrival = std::move(arrival);
  return out;
}

// Keeps the events, and waits or fails if the test says so.
struct Kept {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> ids;
  std::vector<std::size_t> batches;
  bool is_open = true, fails = false, is_cancelled = false;
  int waiting = 0;

  void open() {
    std::lock_guard lock(mutex);
    is_open = true;
    changed.notify_all();
  }
  // Waits until a thread is inside the sink. Events that are added after that wait in the queue.
  void until_waiting(int n = 1) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return waiting >= n; });
  }
};

class FakeSink : public Sink {
 public:
  explicit FakeSink(Kept& kept) : kept_(kept) {}
  Result<void> write(std::span<const std::string> events) override {
    std::unique_lock lock(kept_.mutex);
    ++kept_.waiting;
    kept_.changed.notify_all();
    kept_.changed.wait(lock, [&] { return kept_.is_open || kept_.is_cancelled; });
    --kept_.waiting;
    if (kept_.fails || kept_.is_cancelled) return fail(internal_error("no space left"));
    kept_.batches.push_back(events.size());
    for (const std::string& text : events)
      kept_.ids.emplace_back((*json::parse(text))["auditID"].as_string());
    return {};
  }
  void cancel() override {
    std::lock_guard lock(kept_.mutex);
    kept_.is_cancelled = true;
    kept_.changed.notify_all();
  }

 private:
  Kept& kept_;
};

struct Scene {
  MetricRegistry metrics;
  Kept kept;
  std::mutex mutex;
  std::vector<std::string> lines;

  std::unique_ptr<Outlet> outlet(OutletOptions options) {
    options.name = "log";
    return std::make_unique<Outlet>(options, std::make_unique<FakeSink>(kept), metrics,
                                    [this](const std::string& line) {
                                      std::lock_guard lock(mutex);
                                      lines.push_back(line);
                                    });
  }
  std::uint64_t errors(std::string plugin) {
    return metrics.counter({"apiserver_audit_error_total", ""}, {{"plugin", std::move(plugin)}})
        .value();
  }
};

constexpr std::chrono::minutes kLong{1};

TEST(Outlet, WritesEverythingInOrderBeforeItStops) {
  Scene s;
  auto outlet = s.outlet({.max_batch = 7});
  std::vector<std::string> expected;
  for (int i = 0; i < 1000; ++i) {
    expected.push_back(std::to_string(i));
    outlet->put(event(expected.back()), {});
  }
  outlet->stop(kLong);
  EXPECT_EQ(s.kept.ids, expected);
  for (std::size_t n : s.kept.batches) EXPECT_LE(n, 7u);
  EXPECT_EQ(s.errors("buffered"), 0u);
}

TEST(Outlet, CountsAndTellsWhatDoesNotFitAndNeverWaits) {
  Scene s;
  s.kept.is_open = false;
  auto outlet = s.outlet({.buffer_size = 3, .max_batch = 1});
  outlet->put(event("0"), {});
  s.kept.until_waiting();
  for (int i = 1; i <= 5; ++i) outlet->put(event(std::to_string(i)), {});
  EXPECT_EQ(s.errors("buffered"), 2u);
  s.kept.open();
  outlet->stop(kLong);
  EXPECT_THAT(s.kept.ids, ElementsAre("0", "1", "2", "3"));
  ASSERT_FALSE(s.lines.empty());
  EXPECT_THAT(s.lines[0],
              HasSubstr("1 event lost by the log backend (buffered): the queue is full"));
}

TEST(Outlet, BoundsTheMemoryOfWhatWaits) {
  Scene s;
  s.kept.is_open = false;
  auto outlet = s.outlet({.buffer_bytes = 10'000, .max_batch = 1});
  outlet->put(event("0"), {});
  s.kept.until_waiting();
  for (int i = 1; i <= 3; ++i) {
    Event large = *event(std::to_string(i));
    large.request_bytes = 4000;
    outlet->put(std::make_shared<Event>(large), {});
  }
  EXPECT_EQ(s.errors("buffered"), 2u);
  s.kept.open();
  outlet->stop(kLong);
}

TEST(Outlet, CountsWhatTheSinkDoesNotTakeAndGoesOn) {
  Scene s;
  s.kept.fails = true;
  auto outlet = s.outlet({.max_batch = 1});
  std::latch failed(2);
  for (int i = 0; i < 2; ++i)
    outlet->put(event("lost"), [&](bool written) {
      EXPECT_FALSE(written);
      failed.count_down();
    });
  failed.wait();
  {
    std::lock_guard lock(s.kept.mutex);
    s.kept.fails = false;
  }
  outlet->put(event("kept"), {});
  outlet->stop(kLong);
  EXPECT_THAT(s.kept.ids, ElementsAre("kept"));
  EXPECT_EQ(s.errors("log"), 2u);
  EXPECT_THAT(s.lines.at(0), HasSubstr("no space left"));
}

TEST(Outlet, AtTheEndWhatASinkHoldsUpIsCountedAsLost) {
  Scene s;
  s.kept.is_open = false;
  auto outlet = s.outlet({.max_batch = 1});
  outlet->put(event("0"), {});
  s.kept.until_waiting();
  outlet->put(event("1"), {});
  outlet->put(event("2"), {});
  outlet->stop(std::chrono::milliseconds(1));
  EXPECT_EQ(s.errors("log") + s.errors("buffered"), 3u);
  outlet->put(event("late"), {});
  EXPECT_EQ(s.errors("log") + s.errors("buffered"), 4u);
}

TEST(Outlet, ABatchWaitsUntilItIsFull) {
  Scene s;
  auto outlet = s.outlet({.max_batch = 3, .max_wait = std::chrono::hours(1)});
  std::latch written(3);
  for (int i = 0; i < 3; ++i) outlet->put(event("x"), [&](bool) { written.count_down(); });
  written.wait();
  EXPECT_THAT(s.kept.batches, ElementsAre(3u));
  outlet->put(event("y"), {});
  outlet->stop(kLong);
  EXPECT_THAT(s.kept.batches, ElementsAre(3u, 1u));
}

TEST(Outlet, TooLongAnEventLosesItsObjectsOrIsCounted) {
  Scene s;
  auto outlet = s.outlet({.truncates = true, .max_event_bytes = 600, .max_batch_bytes = 100'000});
  Event large = *event("large", Level::kRequest),
        hopeless = *event(std::string(1000, 'x'), Level::kRequest);
  large.has_request_object = true;
  large.request_object = json::Value(std::string(1000, 'y'));
  outlet->put(std::make_shared<Event>(large), {});
  outlet->put(std::make_shared<Event>(hopeless), {});
  outlet->stop(kLong);
  EXPECT_THAT(s.kept.ids, ElementsAre("large"));
  EXPECT_EQ(s.errors("truncate"), 1u);
}

TEST(Outlet, ManyThreadsPutAndNothingIsLostInSilence) {
  Scene s;
  auto outlet = s.outlet({.buffer_size = 50, .max_batch = 10, .threads = 3});
  {
    std::vector<std::jthread> clients;
    for (int t = 0; t < 4; ++t)
      clients.emplace_back([&] {
        for (int i = 0; i < 500; ++i) outlet->put(event("x"), {});
      });
  }
  outlet->stop(kLong);
  EXPECT_EQ(s.kept.ids.size() + s.errors("buffered"), 2000u);
}

Auditor auditor_with(Scene& s, OutletOptions options) {
  std::vector<std::unique_ptr<Outlet>> outlets;
  outlets.push_back(s.outlet(options));
  return Auditor(
      *Policy::load("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]"),
      std::move(outlets), s.metrics);
}

TEST(Auditor, AStrictOutletThatFailsSaysNo) {
  for (Mode mode : {Mode::kBlocking, Mode::kBlockingStrict}) {
    Scene s;
    s.kept.fails = true;
    Auditor auditor = auditor_with(s, {.mode = mode});
    std::latch told(1);
    bool kept = false;
    auditor.record(event("x"), [&](bool ok) {
      kept = ok;
      told.count_down();
    });
    told.wait();
    EXPECT_EQ(kept, mode == Mode::kBlocking);
    EXPECT_TRUE(auditor.blocks());
  }
}

TEST(Auditor, ABatchOutletIsNotWaitedFor) {
  Scene s;
  s.kept.is_open = false;
  Auditor auditor = auditor_with(s, {});
  bool told = false;
  auditor.record(event("x"), [&](bool ok) { told = ok; });
  EXPECT_TRUE(told);
  s.kept.open();
  auditor.stop(kLong);
  EXPECT_EQ(s.metrics.counter({"apiserver_audit_event_total", ""}).value(), 1u);
}

}  // namespace
}  // namespace cardea::audit
