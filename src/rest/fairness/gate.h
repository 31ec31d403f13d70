#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "authz/request_info.h"
#include "authz/user.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/task.h"
#include "http/exchange.h"
#include "rest/catalog_holder.h"
#include "rest/fairness/fairness.h"
#include "rest/fairness/lane.h"
#include "rest/fairness/seat.h"
#include "rest/fairness/watch_counts.h"
#include "store/store.h"

namespace cardea::rest::fairness {

struct GateOptions {
  bool is_fair = true;            // false: reads and writes have one limit each, and nobody waits
  int reads = 400, writes = 200;  // at a time; of a fair gate the sum counts. 0: no limit, unless
                                  // the gate is fair
  std::chrono::milliseconds request_timeout{60'000};  // a request waits for a quarter of it
};

// Where the requests of clients wait until they may run: the edge of rest/fairness, with clock,
// loops and store. The server's own requests do not come here.
class Gate final : private WorkFacts {
 public:
  // Everything outlives the gate.
  struct Surroundings {
    const store::Store& store;
    const CatalogHolder& catalog;
    const Clock& clock;
    Random& random;
    net::Loops& loops;
    MetricRegistry& metrics;
  };
  Gate(GateOptions options, Surroundings surroundings);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // What a request that may not run is told.
  struct Refusal {
    std::int64_t retry_after = 1;  // seconds
    std::string schema_uid, level_uid;
  };
  // One who asks. What it refers to lives until the answer.
  struct Request {
    http::Exchange& exchange;
    const authz::RequestInfo& info;
    const authz::User& user;
  };
  // Asks for the seats of a request, and whether its turn has come. On the exchange's loop. False:
  // await `wait`, with the same `seat`. Costs neither a lock nor an allocation.
  bool enter(const Request& request, Seat& seat);
  // After that. On the loop, which it does not leave. False: refused.
  Task<bool> wait(Request request, Seat& seat, Refusal& refusal);

  // Runs `task` on the loop when what else is busy there has had its turn. On the loop.
  void run_later(net::Loop& loop, net::Callback task);

  WatchCounts& watches() { return watches_; }
  Fairness& fairness() { return fairness_; }
  // The pages under /debug/api_priority_and_fairness/; nullopt: no such page.
  std::optional<std::string> debug_page(const authz::RequestInfo& info) const;

  // Seats are no longer adjusted, nor kept for watchers. From outside the loops, while they run.
  void stop();

 private:
  class Queued;
  struct Simple;

  std::int64_t objects(const authz::RequestInfo& info) const override;
  std::int64_t watchers(const authz::RequestInfo& info) const override;

  Lane* lane_of(const net::Loop& loop);
  bool enter_simply(const Request& request, Seat& seat);
  Work work_of(const Plan::Row& row, const authz::RequestInfo& info);
  std::chrono::milliseconds longest_wait(const authz::RequestInfo& info) const;
  Refusal refusal_of(const Flow& flow) const;
  Task<bool> queue_up(Request request, Seat& seat, Refusal& refusal);
  void tick();

  const GateOptions options_;
  const Surroundings around_;
  Fairness fairness_;
  WatchCounts watches_;
  std::unique_ptr<Simple> simple_;            // when the gate is not fair
  std::vector<std::unique_ptr<Lane>> lanes_;  // one for each loop
  net::Timer ticks_;                          // on the first loop
  Time adjusted_;
  bool is_stopped_ = false;
};

}  // namespace cardea::rest::fairness
