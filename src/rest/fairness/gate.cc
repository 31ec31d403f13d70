#include "rest/fairness/gate.h"

#include <future>

#include "base/time_parse.h"
#include "rest/fairness/dealer.h"
#include "rest/write/stored_object.h"

namespace cardea::rest::fairness {
namespace {

constexpr std::chrono::seconds kTick{1};
constexpr std::chrono::milliseconds kLongestWait{60'000};
constexpr std::string_view kPages = "/debug/api_priority_and_fairness/";

Time steady_now() {
  return std::chrono::steady_clock::now();
}

bool is_write(const authz::RequestInfo& info) {
  return info.verb != "get" && info.verb != "list" && info.verb != "watch";
}

LevelSpec simple_spec(std::string name, int limit) {
  return {.name = std::move(name), .is_exempt = limit <= 0};
}

}  // namespace

// A limit for reads and one for writes, without queues.
struct Gate::Simple {
  explicit Simple(const GateOptions& options, Time now)
      : reads("reads", now), writes("writes", now) {
    reads.configure(simple_spec("reads", options.reads), 0, now);
    writes.configure(simple_spec("writes", options.writes), 0, now);
    reads.set_limit(options.reads, now);
    writes.set_limit(options.writes, now);
  }

  MetricRegistry unseen;  // these levels are none of the API's
  Level reads, writes;
  Flow& of_reads = reads.flow("", "", "", unseen);
  Flow& of_writes = writes.flow("", "", "", unseen);

  Flow& flow_of(const authz::RequestInfo& info) { return is_write(info) ? of_writes : of_reads; }
};

Gate::Gate(GateOptions options, Surroundings around)
    : options_(options),
      around_(around),
      fairness_(options.reads + options.writes, around.random.next(), around.metrics, steady_now()),
      ticks_(around.loops.at(0), [this] { tick(); }),
      adjusted_(steady_now()) {
  for (std::size_t i = 0; i < around.loops.size(); ++i)
    lanes_.push_back(std::make_unique<Lane>(around.loops.at(i)));
  if (!options.is_fair) {
    simple_ = std::make_unique<Simple>(options, steady_now());
    return;
  }
  around.loops.at(0).post([this] { ticks_.start(kTick); });
}

Gate::~Gate() {
  stop();
}

void Gate::stop() {
  if (std::exchange(is_stopped_, true)) return;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    std::promise<void> done;
    around_.loops.at(i).post([&] {
      if (i == 0) ticks_.cancel();
      lanes_[i]->stop();
      done.set_value();
    });
    done.get_future().wait();
  }
}

void Gate::tick() {
  const Time now = steady_now();
  if (now - adjusted_ >= Fairness::kAdjustEvery) {
    adjusted_ = now;
    fairness_.adjust(now);
  } else {
    fairness_.sample_demand(now);
  }
  ticks_.start(kTick);
}

Lane* Gate::lane_of(const net::Loop& loop) {
  for (const auto& lane : lanes_)
    if (&lane->loop() == &loop) return lane.get();
  return nullptr;
}

void Gate::run_later(net::Loop& loop, net::Callback task) {
  if (Lane* lane = lane_of(loop))
    lane->run_later(std::move(task));
  else
    loop.post(std::move(task));
}

std::int64_t Gate::objects(const authz::RequestInfo& info) const {
  const auto& catalog = around_.catalog.get();
  const catalog::Resource* resource = catalog->find(info.api_group, info.api_version,
                                                    info.resource);
  if (!resource) return 0;
  const catalog::Resource* storage = catalog->storage_of(*resource);
  if (!storage || storage->storage_prefix.empty()) return 0;
  return around_.store.count(
      store::keys_with_prefix(collection_prefix(*resource, info.namespace_name)));
}

std::int64_t Gate::watchers(const authz::RequestInfo& info) const {
  return watches_.told_of(info);
}

Work Gate::work_of(const Plan::Row& row, const authz::RequestInfo& info) {
  if (info.verb == "get") return {};
  Flow& flow = *row.flow;
  Work work = estimate(info, flow.level.most_seats(), *this);
  // The ordinary case is not counted: it would cost every request more than it tells.
  if (work.most() > 1) flow.seats.observe(work.most());
  if (work.last_seats > 0) flow.watchers.observe(static_cast<std::uint64_t>(watchers(info)));
  return work;
}

Gate::Refusal Gate::refusal_of(const Flow& flow) const {
  const auto second = std::chrono::duration_cast<std::chrono::seconds>(
      around_.clock.now().time_since_epoch());
  return {flow.level.retry_after(second.count()), flow.schema_uid, flow.level_uid};
}

bool Gate::enter_simply(const Request& r, Seat& seat) {
  if (r.info.is_resource_request && r.info.verb == "watch") return true;
  const Time now = steady_now();
  const bool is_master = r.user.in_group(authz::kMastersGroup);
  Flow& flow = simple_->flow_of(r.info);
  if (flow.level.take(1, now) != Level::Take::kTaken) return is_master;
  seat = Seat(flow, nullptr, {}, now, nullptr, false);
  const Lane* lane = lane_of(r.exchange.loop());
  return is_master || !lane || lane->is_free(now);
}

bool Gate::enter(const Request& r, Seat& seat) {
  if (simple_) return enter_simply(r, seat);
  const Plan::Row& row = fairness_.plan()->classify(r.user, r.info);
  Level& level = row.flow->level;
  const bool is_exempt = level.is_exempt();
  const Work work = is_exempt ? Work{} : work_of(row, r.info);
  // What is exempt waits for nothing, so that the time of this turn is exact enough.
  const Time now = is_exempt ? r.exchange.loop().now() : steady_now();
  if (level.take(work.most(), now) != Level::Take::kTaken) return false;
  Lane* lane = lane_of(r.exchange.loop());
  seat = Seat(*row.flow, nullptr, work, now, lane, r.info.verb == "watch");
  return is_exempt || !lane || lane->is_free(now);
}

std::chrono::milliseconds Gate::longest_wait(const authz::RequestInfo& info) const {
  std::chrono::milliseconds timeout = options_.request_timeout;
  if (auto text = info.query.first("timeout"); text && info.verb != "watch")
    if (auto wanted = parse_duration(*text); wanted && *wanted > wanted->zero())
      timeout = std::min(timeout, std::chrono::ceil<std::chrono::milliseconds>(*wanted));
  return std::min(timeout / 4, kLongestWait);
}

// A request in a queue, on the loop of its connection.
class Gate::Queued final : public Waiter {
 public:
  explicit Queued(net::Loop& loop)
      : loop_(loop), timer_(loop, [this] { give_up(Level::Leaving::kTooLate); }) {}

  // Calls back with whether it may begin.
  template <typename Done>
  void await(std::chrono::milliseconds longest, Done done) {
    done_ = [done](bool may) mutable { done(may); };
    timer_.start(longest);
  }
  void begin() override {
    loop_.post([this] { finish(true); });
  }
  void give_up(Level::Leaving why) {
    if (flow->level.leave(*this, why, steady_now())) finish(false);
  }

 private:
  void finish(bool may) {
    timer_.cancel();
    std::exchange(done_, nullptr)(may);
  }

  net::Loop& loop_;
  net::Timer timer_;
  std::move_only_function<void(bool)> done_;
};

Task<bool> Gate::queue_up(Request r, Seat& seat, Refusal& refusal) {
  if (simple_) {
    refusal = refusal_of(simple_->flow_of(r.info));
    co_return false;
  }
  http::Exchange& exchange = r.exchange;
  net::Loop& loop = exchange.loop();
  for (;;) {
    const std::shared_ptr<const Plan> plan = fairness_.plan();  // keeps the level alive
    const Plan::Row& row = plan->classify(r.user, r.info);
    Flow& flow = *row.flow;
    Queued queued(loop);
    queued.flow = &flow;
    queued.work = work_of(row, r.info);
    queued.flow_name = row.schema.flow_of(r.user, r.info);
    queued.info = &r.info;
    queued.user = &r.user;
    const std::uint64_t hash = flow_hash(fairness_.secret(), row.schema.name, queued.flow_name);
    const Level::Wait outcome = flow.level.wait(queued, hash, steady_now());
    if (outcome == Level::Wait::kRetired) continue;
    bool may = outcome == Level::Wait::kBegins;
    if (outcome == Level::Wait::kWaits) {
      // Nobody needs the answer when the client has gone.
      auto link = std::make_shared<Queued*>(&queued);
      exchange.leave_with_client();
      exchange.on_close([link, &loop] {
        loop.post([link] {
          if (*link) (*link)->give_up(Level::Leaving::kGone);
        });
      });
      const std::chrono::milliseconds longest = longest_wait(r.info);
      may = co_await await_callback<bool>(
          [&queued, longest](auto done) { queued.await(longest, std::move(done)); });
      *link = nullptr;
    }
    if (may)
      seat = Seat(flow, Level::queue_of(queued), queued.work, steady_now(), lane_of(loop),
                  r.info.verb == "watch");
    else
      refusal = refusal_of(flow);
    co_return may;
  }
}

Task<bool> Gate::wait(Request r, Seat& seat, Refusal& refusal) {
  bool may = true;
  if (!seat) may = co_await queue_up(r, seat, refusal);
  Lane* lane = lane_of(r.exchange.loop());
  if (!lane || seat.is_exempt()) co_return may;
  bool turn = co_await await_callback<bool>([lane, may](auto done) {
    net::Callback task = [done = std::move(done)]() mutable { done(true); };
    may ? lane->run_later(std::move(task)) : lane->refuse_later(std::move(task));
  });
  (void)turn;
  co_return may;
}

std::optional<std::string> Gate::debug_page(const authz::RequestInfo& info) const {
  std::string_view path = info.path;
  if (simple_ || !path.starts_with(kPages)) return std::nullopt;
  path.remove_prefix(kPages.size());
  if (path == "dump_priority_levels") return fairness_.dump_levels();
  if (path == "dump_queues") return fairness_.dump_queues();
  if (path != "dump_requests") return std::nullopt;
  const auto details = info.query.first("includeRequestDetails");
  return fairness_.dump_requests(details && !details->empty(), steady_now(), around_.clock.now());
}

}  // namespace cardea::rest::fairness
