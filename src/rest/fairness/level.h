#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "authz/request_info.h"
#include "authz/user.h"
#include "base/metrics.h"
#include "rest/fairness/demand.h"
#include "rest/fairness/retry_after.h"
#include "rest/fairness/rules.h"
#include "rest/fairness/work.h"

namespace cardea::rest::fairness {

class Level;

// The requests of one FlowSchema in its level: what clients are told of it, and the numbers of
// /metrics. Lives as long as its level.
struct Flow {
  Level& level;
  const std::string schema, schema_uid, level_uid;

  Counter& dispatched;    // brought up to date when it is shown
  Histogram& run_time;    // of requests that end
  Histogram& watch_time;  // of watches, until they have begun
  Histogram& waited;      // of requests that waited and then ran
  Histogram& in_vain;     // of those that did not
  CountHistogram& seats;  // of requests whose work was estimated
  CountHistogram& watchers;
  CountHistogram& queue_length;
  Counter &refused_full, &refused_no_seat, &refused_late;

  // Requests that run in the lower half, and the seats they hold in the upper one.
  alignas(64) std::atomic<std::uint64_t> running{0};
  std::atomic<std::int64_t> waiting{0}, waiting_seats{0};

  // How many requests have run, of all flows with the same names.
  std::uint64_t ended() const;
};

// A request that waits in a queue. Its owner keeps it in place until `begin` was called or
// Level::leave has said yes.
class Waiter {
 public:
  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  Flow* flow = nullptr;
  Work work;
  std::string_view flow_name;                // of its schema's flows
  const authz::RequestInfo* info = nullptr;  // for people who look at queues
  const authz::User* user = nullptr;

  // It has its seats. Called once, from any thread, without locks.
  virtual void begin() = 0;

 protected:
  ~Waiter() = default;

 private:
  friend class Level;
  struct Queue* queue_ = nullptr;
  Waiter *before_ = nullptr, *after_ = nullptr;  // in its queue
  Waiter* next_ = nullptr;                       // among those that are about to begin
  double arrived_at_ = 0;                        // in virtual time
  Time arrived_;
  bool is_waiting_ = false;
};

// One queue of a level. Its place among the others is a point in virtual time, which passes as fast
// as each of the queues that are in use is served: the queue whose next request would be done first
// is next, so that no queue gets more than its share for long.
struct Queue {
  explicit Queue(std::uint32_t i) : index(i) {}

  std::uint32_t index;
  double next_start = 0;  // when its next request begins, in virtual time
  Waiter *first = nullptr, *last = nullptr;
  std::size_t length = 0;
  std::uint64_t waiting_seats = 0, waiting_first_seats = 0;
  double waiting_work = 0;
  std::uint32_t running = 0, held_seats = 0;
  std::uint64_t last_turn = 0;  // of two that are equal the one that waited longer is next

  bool is_active() const { return length > 0 || running > 0; }
};

// A priority level: seats, and queues for requests that have to wait for one. A state machine
// without clock and I/O.
//
// Any thread may call it. As long as nobody waits, taking and giving back a seat is an atomic
// addition each; queues, virtual time and the lock come into play when the seats are taken.
class Level {
 public:
  Level(std::string name, Time now) : name_(std::move(name)), demand_(now), synced_(now) {}
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

  const std::string& name() const { return name_; }
  bool is_exempt() const { return is_exempt_.load(std::memory_order_relaxed); }
  // The most seats that one request may ask for; 0: no limit.
  std::uint32_t most_seats() const { return most_seats_.load(std::memory_order_relaxed); }
  // Whether requests wait in different queues.
  bool has_queues() const { return queue_count_.load(std::memory_order_relaxed) > 1; }

  enum class Take : std::uint8_t { kTaken, kNotNow, kRetired };
  // The seats, when they are free and nobody waits for them. An exempt level always has them.
  Take take(std::uint32_t seats, Time now);

  enum class Wait : std::uint8_t {
    kBegins,   // it got the seats after all; `begin` is not called
    kWaits,    // `begin` will be called
    kNoSeat,   // this level has no queues
    kFull,     // all queues of this flow are full
    kRetired,  // the configuration is another by now: ask the level that is in force
  };
  // After kNotNow. `hash` is the flow's.
  Wait wait(Waiter& waiter, std::uint64_t hash, Time now);
  enum class Leaving : std::uint8_t { kTooLate, kGone };
  // Stops waiting. False: too late, `begin` has been or will be called.
  bool leave(Waiter& waiter, Leaving why, Time now);

  // A request that has run. `queue` is where it waited, or null.
  void end(Queue* queue, const Work& work, Time began, Time now);
  // Gives its seats back, then or later.
  void give_back(Queue* queue, const Work& work, Time now);
  // Of a waiter that may begin.
  static Queue* queue_of(const Waiter& waiter) { return waiter.queue_; }

  // The configuration. The seats of now are set apart from it.
  void configure(const LevelSpec& spec, std::uint32_t most_seats, Time now);
  void set_limit(int seats, Time now);
  int limit() const { return limit_.load(std::memory_order_relaxed); }
  // True when nobody uses it: then nobody ever will, and it may be dropped.
  bool retire();

  // How long a refused client should stay away, in seconds.
  std::int64_t retry_after(std::int64_t second);

  void sample_demand(Time now);  // from time to time
  Demand::Figures take_demand(Time now);

  // The flow of a schema; made when first asked for.
  Flow& flow(const std::string& schema, const std::string& schema_uid, const std::string& level_uid,
             MetricRegistry& metrics);

  // For people who look.
  struct Numbers {
    std::size_t active_queues = 0, waiting = 0;
    std::uint64_t running = 0, dispatched = 0, refused = 0, late = 0, gone = 0;
    std::int64_t seats_in_use = 0;
    double virtual_time = 0;
  };
  Numbers numbers() const;
  void each_queue(const std::function<void(const Queue&)>& look) const;
  void each_waiter(
      const std::function<void(const Queue&, std::size_t, const Waiter&, Time)>& look) const;
  void each_flow(const std::function<void(const Flow&)>& look) const;

 private:
  struct NextFirst {
    bool operator()(const Queue* a, const Queue* b) const;
  };

  bool try_seats(std::uint32_t seats);
  void pass_time(Time now);
  Queue& choose_queue(std::uint64_t hash);
  void enqueue(Waiter& waiter, Queue& queue);
  void dequeue(Waiter& waiter);
  // Those who may begin now, in a list.
  Waiter* dispatch(Time now);
  static void begin_all(Waiter* first);
  void note_demand(Time now);
  // Before and after the place of a queue among the others changes.
  void take_out(Queue& queue);
  void put_in(Queue& queue);
  void drop_if_unused(Queue& queue);

  const std::string name_;
  std::atomic<bool> is_exempt_{false}, is_retired_{false};
  std::atomic<std::uint32_t> most_seats_{0}, queue_count_{0};
  std::atomic<int> limit_{0};
  std::atomic<int> highest_{0};  // seats in use since the demand was last taken
  alignas(64) std::atomic<int> in_use_{0};
  std::atomic<int> waiting_{0};

  alignas(64) mutable std::mutex mutex_;  // guards all that follows
  LevelSpec spec_;
  std::unordered_map<std::uint32_t, Queue> queues_;  // those in use
  std::set<Queue*, NextFirst> order_;                // those where somebody waits
  Demand demand_;
  Time synced_;              // when virtual time was last brought up to date
  double virtual_time_ = 0;  // seat-seconds that each queue in use could have had
  std::uint64_t turns_ = 0, arrivals_ = 0;
  std::size_t active_ = 0;          // queues
  std::uint64_t queued_seats_ = 0;  // held by, or waited for in, queues
  std::uint64_t waiting_seats_ = 0;
  std::uint64_t refused_ = 0, late_ = 0, gone_ = 0;
  RetryAfter retry_after_;
  std::map<std::string, std::unique_ptr<Flow>> flows_;
};

}  // namespace cardea::rest::fairness
