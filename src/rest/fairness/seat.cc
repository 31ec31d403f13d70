#include "rest/fairness/seat.h"

#include "rest/fairness/lane.h"

namespace cardea::rest::fairness {
namespace {

std::uint64_t as_running(const Work& work) {
  return 1 + (std::uint64_t{work.most()} << 32);
}

}  // namespace

Seat::Seat(Flow& flow, Queue* queue, const Work& work, Time began, Lane* lane, bool is_watch)
    : flow_(&flow), queue_(queue), work_(work), began_(began), lane_(lane), is_watch_(is_watch) {
  flow.running.fetch_add(as_running(work), std::memory_order_relaxed);
}

void Seat::give_back() {
  Flow* flow = std::exchange(flow_, nullptr);
  if (!flow) return;
  const Time now = std::chrono::steady_clock::now();
  (is_watch_ ? flow->watch_time : flow->run_time).observe(now - began_);
  flow->running.fetch_sub(as_running(work_), std::memory_order_relaxed);
  flow->level.end(queue_, work_, began_, now);
  // INVARIANT: the level lives as long as its seats are held; `flow` is its own.
  if (work_.last > work_.last.zero() && lane_)
    lane_->keep(flow->level, queue_, work_, now);
  else
    flow->level.give_back(queue_, work_, now);
}

void name_flow(const Flow* flow, http::Headers& headers) {
  if (!flow || flow->schema_uid.empty()) return;
  headers.add(kSchemaHeader, flow->schema_uid);
  headers.add(kLevelHeader, flow->level_uid);
}

}  // namespace cardea::rest::fairness
