#include "rest/fairness/fairness.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "rest/fairness/allocation.h"

namespace cardea::rest::fairness {
namespace {

// Of the seats of a level, for one request.
constexpr double kMostOfLevel = 0.15;

std::uint32_t most_seats(const LevelSpec& spec, int nominal) {
  if (spec.queues == 0) return 0;
  const double part = std::min(std::ceil(nominal * kMostOfLevel),
                               std::floor(static_cast<double>(nominal) / spec.hand_size));
  return static_cast<std::uint32_t>(std::max(1.0, part));
}

int percent_of(int number, int percent) {
  return static_cast<int>(std::lround(static_cast<double>(number) * percent / 100));
}

}  // namespace

const Plan::Row& Plan::classify(const authz::User& user, const authz::RequestInfo& info) const {
  for (const Row& row : rows)
    if (row.schema.matches(user, info)) return row;
  return rows[catch_all];
}

Fairness::Fairness(int seats, std::uint64_t secret, MetricRegistry& metrics, Time now)
    : seats_(seats), secret_(secret), metrics_(metrics) {
  set_rules(Rules::read({}, {}), now);
}

void Fairness::set_rules(const Rules& rules, Time now) {
  std::lock_guard lock(mutex_);
  rules_ = rules;
  for (auto& [name, entry] : levels_) entry.is_leaving = true;
  for (const LevelSpec& spec : rules.levels) {
    Entry& entry = levels_[spec.name];
    if (!entry.level) entry.level = std::make_shared<Level>(spec.name, now);
    entry.spec = spec;
    entry.is_leaving = false;
  }
  share_seats(now);
  publish();
  if (drop_unused()) share_seats(now);
}

// A level that nobody uses any more is not in the published plan, so nobody begins to use it.
bool Fairness::drop_unused() {
  return std::erase_if(levels_, [](auto& named) {
           return named.second.is_leaving && named.second.level->retire();
         }) > 0;
}

void Fairness::share_seats(Time now) {
  double shares = 0;
  for (const auto& [name, entry] : levels_) shares += entry.spec.shares;
  nominal_sum_ = 0;
  for (auto& [name, entry] : levels_) {
    Limits& l = entry.limits;
    const LevelSpec& spec = entry.spec;
    l.nominal = shares > 0 ? static_cast<int>(std::ceil(seats_ * (spec.shares / shares))) : 0;
    const int lent = percent_of(l.nominal, spec.lendable_percent);
    l.lowest = l.nominal - lent;
    l.highest = l.nominal +
                (spec.borrowing_percent ? percent_of(l.nominal, *spec.borrowing_percent) : seats_);
    nominal_sum_ += l.nominal;
    if (std::exchange(entry.is_new, false)) l.current = l.nominal - lent / 2;
    entry.level->configure(spec, most_seats(spec, l.nominal), now);
  }
  adjust_limits(now);
}

void Fairness::publish() {
  auto next = std::make_shared<Plan>();
  for (const FlowSchema& schema : rules_.schemas) {
    auto found = levels_.find(schema.level);
    if (found == levels_.end() || found->second.is_leaving) continue;
    const Entry& entry = found->second;
    if (schema.name == kCatchAll) next->catch_all = next->rows.size();
    next->rows.push_back(
        {schema, &entry.level->flow(schema.name, schema.uid, entry.spec.uid, metrics_)});
  }
  for (const auto& [name, entry] : levels_)
    if (!entry.is_leaving) next->levels.push_back(entry.level);
  plan_.set(std::move(next));
}

void Fairness::adjust(Time now) {
  std::lock_guard lock(mutex_);
  if (drop_unused())
    share_seats(now);
  else
    adjust_limits(now);
}

void Fairness::adjust_limits(Time now) {
  std::vector<Claim> claims;
  std::vector<Entry*> limited;
  int left = nominal_sum_, lowest = 0, low = 0;
  for (auto& [name, entry] : levels_) {
    Limits& l = entry.limits;
    const Demand::Figures demand = entry.level->take_demand(now);
    const int highest = static_cast<int>(std::lround(demand.highest));
    double target = 0;
    if (entry.spec.is_exempt) {
      l.current = std::max(l.lowest, highest);
      target = l.current;
      left -= l.current;
    } else {
      const int least = std::max(l.lowest, std::min(l.nominal, highest));
      target = std::max<double>(least, demand.smoothed);
      claims.push_back({static_cast<double>(least), static_cast<double>(l.highest), target});
      limited.push_back(&entry);
      lowest += l.lowest;
      low += least;
    }
    gauge("demand_seats_high_watermark", "The most seats a level could use, lately.", name)
        .set(demand.highest);
    gauge("demand_seats_average", "The seats a level could use, on average.", name)
        .set(demand.average);
    gauge("demand_seats_stdev", "The deviation of the seats a level could use.", name)
        .set(demand.deviation);
    gauge("demand_seats_smoothed", "The seats a level could use, smoothed.", name)
        .set(demand.smoothed);
    gauge("target_seats", "The seats a level should have.", name).set(target);
  }
  double fair_fraction = 0;
  if (left <= lowest) {
    for (Entry* entry : limited) entry->limits.current = entry->limits.lowest;
  } else if (left <= low) {
    const double part = static_cast<double>(left - lowest) / (low - lowest);
    for (std::size_t i = 0; i < limited.size(); ++i) {
      Limits& l = limited[i]->limits;
      l.current = l.lowest + static_cast<int>(std::lround((claims[i].low - l.lowest) * part));
    }
  } else if (auto fair = allocate(nominal_sum_, claims)) {
    for (std::size_t i = 0; i < limited.size(); ++i)
      limited[i]->limits.current = static_cast<int>(std::lround(fair->parts[i]));
    fair_fraction = fair->fair_fraction;
  }
  metrics_
      .gauge({"apiserver_flowcontrol_seat_fair_frac",
              "The part of its target that each level gets, unless a bound holds it."})
      .set(fair_fraction);
  for (auto& [name, entry] : levels_) entry.level->set_limit(entry.limits.current, now);
}

void Fairness::sample_demand(Time now) {
  for (const auto& level : plan()->levels) level->sample_demand(now);
}

Fairness::Limits Fairness::limits(std::string_view level) const {
  std::lock_guard lock(mutex_);
  auto found = levels_.find(level);
  return found == levels_.end() ? Limits{} : found->second.limits;
}

Gauge& Fairness::gauge(std::string_view name, std::string_view help, const std::string& level) {
  const std::string full = cat("apiserver_flowcontrol_", name);
  return metrics_.gauge({full, help}, {{"priority_level", level}});
}

void Fairness::show_gauges() {
  std::lock_guard lock(mutex_);
  for (auto& [name, entry] : levels_) {
    const Limits& l = entry.limits;
    gauge("nominal_limit_seats", "The seats that a level is configured to have.", name)
        .set(l.nominal);
    gauge("lower_limit_seats", "The fewest seats of a level.", name).set(l.lowest);
    gauge("upper_limit_seats", "The most seats of a level.", name).set(l.highest);
    gauge("current_limit_seats", "The seats of a level for now.", name).set(l.current);
    gauge("current_r", "The virtual time of a level, in seat-seconds.", name)
        .set(entry.level->numbers().virtual_time);
    struct Sum {
      std::uint64_t running = 0, seats = 0;
      std::int64_t waiting = 0, waiting_seats = 0;
      const Flow* any = nullptr;
    };
    std::map<std::string, Sum> sums;  // of the flows of one name
    entry.level->each_flow([&](const Flow& flow) {
      Sum& sum = sums[flow.schema];
      const std::uint64_t running = flow.running.load(std::memory_order_relaxed);
      sum.running += running & 0xffff'ffff;
      sum.seats += running >> 32;
      sum.waiting += flow.waiting.load(std::memory_order_relaxed);
      sum.waiting_seats += flow.waiting_seats.load(std::memory_order_relaxed);
      sum.any = &flow;
    });
    for (const auto& [schema, sum] : sums) {
      auto show = [&, &level = name](std::string_view what, std::string_view help, auto value) {
        const std::string full = cat("apiserver_flowcontrol_", what);
        metrics_.gauge({full, help}, {{"flow_schema", schema}, {"priority_level", level}})
            .set(static_cast<double>(value));
      };
      const std::uint64_t dispatched = sum.any->ended() + sum.running;
      if (const std::uint64_t shown = sum.any->dispatched.value(); dispatched > shown)
        sum.any->dispatched.add(dispatched - shown);
      show("current_executing_requests", "Requests that run.", sum.running);
      show("current_executing_seats", "The seats of requests that run.", sum.seats);
      show("current_inqueue_requests", "Requests that wait.", sum.waiting);
      show("current_inqueue_seats", "The seats that requests wait for.", sum.waiting_seats);
    }
  }
}

}  // namespace cardea::rest::fairness
