#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "base/snapshot.h"
#include "rest/fairness/level.h"
#include "rest/fairness/rules.h"

namespace cardea::rest::fairness {

// A configuration that is in force: which schema a request belongs to, and the level of the schema.
// Immutable; levels are shared with the configurations before and after.
struct Plan {
  struct Row {
    FlowSchema schema;
    Flow* flow;
  };
  std::vector<Row> rows;  // in the order in which they are asked
  std::size_t catch_all = 0;
  std::vector<std::shared_ptr<Level>> levels;  // keeps the flows alive

  // A request that no schema wants, which the mandatory ones leave no room for, belongs to
  // catch-all: never to exempt.
  const Row& classify(const authz::User& user, const authz::RequestInfo& info) const;
};

// API Priority and Fairness without clock and I/O: the levels of the current configuration, and how
// many of the server's seats each may use for now. Any thread.
class Fairness {
 public:
  // `metrics` outlives it.
  Fairness(int seats, std::uint64_t secret, MetricRegistry& metrics, Time now);

  // Good until this thread asks again. Nothing may be awaited between asking and taking a seat.
  const std::shared_ptr<const Plan>& plan() const { return plan_.get(); }
  std::uint64_t secret() const { return secret_; }

  void set_rules(const Rules& rules, Time now);

  // Lends seats of levels that do not need them to those that do. To be called every ten seconds.
  static constexpr std::chrono::seconds kAdjustEvery{10};
  void adjust(Time now);
  void sample_demand(Time now);  // about every second

  // Brings the gauges up to date, before /metrics is printed.
  void show_gauges();

  // Text for people, as kube-apiserver's pages under /debug/api_priority_and_fairness.
  std::string dump_levels() const;
  std::string dump_queues() const;
  // `wall` minus `now` turns times into dates.
  std::string dump_requests(bool with_details, Time now,
                            std::chrono::system_clock::time_point wall) const;

  // The limits of a level.
  struct Limits {
    int nominal = 0, lowest = 0, highest = 0, current = 0;
  };
  Limits limits(std::string_view level) const;

 private:
  struct Entry {
    std::shared_ptr<Level> level;
    LevelSpec spec;
    Limits limits;
    bool is_leaving = false;  // not configured any more, and still in use
    bool is_new = true;
  };

  void share_seats(Time now);
  void adjust_limits(Time now);
  bool drop_unused();
  void publish();
  Gauge& gauge(std::string_view name, std::string_view help, const std::string& level);

  const int seats_;
  const std::uint64_t secret_;
  MetricRegistry& metrics_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, Entry, std::less<>> levels_;
  Rules rules_;
  int nominal_sum_ = 0;
  Snapshot<Plan> plan_;
};

}  // namespace cardea::rest::fairness
