#include "rest/fairness/level.h"

#include <tuple>

#include "base/strings.h"
#include "rest/fairness/dealer.h"

namespace cardea::rest::fairness {

std::uint64_t Flow::ended() const {
  std::uint64_t sum = 0;
  for (const Histogram* times : {&run_time, &watch_time})
    for (std::size_t i = 0; i <= times->bounds().size(); ++i) sum += times->in_bucket(i);
  return sum;
}

namespace {

// What a seat is expected to be held for, until it is known.
constexpr double kExpectedSeconds = 0.003;

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

double total(const Work& work) {
  return work.seats * kExpectedSeconds + work.last_seats * seconds(work.last);
}

}  // namespace

bool Level::NextFirst::operator()(const Queue* a, const Queue* b) const {
  auto place = [](const Queue& q) {
    return std::tuple(q.next_start + total(q.first->work), q.last_turn, q.index);
  };
  return place(*a) < place(*b);
}

bool Level::try_seats(std::uint32_t seats) {
  const int wanted = static_cast<int>(seats);
  int now = in_use_.load();
  for (;;) {
    const int limit = limit_.load();
    // One that is larger than the level gets it for itself.
    const bool fits = wanted > limit ? now == 0 && limit > 0 : now + wanted <= limit;
    if (!fits) return false;
    if (in_use_.compare_exchange_weak(now, now + wanted)) break;
  }
  int highest = highest_.load(std::memory_order_relaxed);
  while (now + wanted > highest &&
         !highest_.compare_exchange_weak(highest, now + wanted, std::memory_order_relaxed)) {
  }
  return true;
}

Level::Take Level::take(std::uint32_t seats, Time now) {
  // Its flows count what runs; it has no seats to count.
  if (is_exempt()) return Take::kTaken;
  if (waiting_.load() > 0 || !try_seats(seats))
    return is_retired_.load() ? Take::kRetired : Take::kNotNow;
  if (!is_retired_.load()) return Take::kTaken;
  give_back(nullptr, {.seats = seats}, now);
  return Take::kRetired;
}

void Level::pass_time(Time now) {
  const double passed = seconds(now - synced_);
  synced_ = now;
  if (active_ == 0 || passed <= 0) return;
  const double rate = std::min<double>(static_cast<double>(queued_seats_), limit_.load()) /
                      static_cast<double>(active_);
  virtual_time_ += rate * passed;
}

void Level::note_demand(Time now) {
  double seats = in_use_.load();
  if (is_exempt())
    for (const auto& [key, flow] : flows_)
      seats += static_cast<double>(flow->running.load(std::memory_order_relaxed) >> 32);
  demand_.at_least(highest_.exchange(in_use_.load(), std::memory_order_relaxed));
  demand_.set(static_cast<double>(waiting_seats_) + seats, now);
}

Queue& Level::choose_queue(std::uint64_t hash) {
  std::array<std::uint32_t, kMostCards> cards;
  const auto hand = deal(hash, spec_.queues, spec_.hand_size, cards);
  const std::size_t first = arrivals_++ % hand.size();
  std::uint32_t best = hand[first];
  double least = -1;
  for (std::size_t i = 0; i < hand.size(); ++i) {
    const std::uint32_t index = hand[(first + i) % hand.size()];
    auto found = queues_.find(index);
    const double work = found == queues_.end() ? 0 : found->second.waiting_work;
    if (least >= 0 && work >= least) continue;
    best = index;
    least = work;
  }
  return queues_.try_emplace(best, best).first->second;
}

void Level::take_out(Queue& queue) {
  if (queue.length > 0) order_.erase(&queue);
}

void Level::put_in(Queue& queue) {
  if (queue.length == 0) return;
  // No request begins before it came, also not in virtual time.
  queue.next_start = std::max(queue.next_start, queue.first->arrived_at_);
  order_.insert(&queue);
}

void Level::enqueue(Waiter& waiter, Queue& queue) {
  take_out(queue);
  if (!queue.is_active()) {
    queue.next_start = virtual_time_;
    ++active_;
  }
  const Work& work = waiter.work;
  waiter.queue_ = &queue;
  waiter.arrived_at_ = virtual_time_;
  waiter.is_waiting_ = true;
  waiter.before_ = queue.last;
  (queue.last ? queue.last->after_ : queue.first) = &waiter;
  queue.last = &waiter;
  ++queue.length;
  queue.waiting_seats += work.most();
  queue.waiting_first_seats += work.seats;
  queue.waiting_work += total(work);
  queued_seats_ += work.most();
  waiting_seats_ += work.most();
  waiting_.fetch_add(1);
  waiter.flow->waiting.fetch_add(1, std::memory_order_relaxed);
  waiter.flow->waiting_seats.fetch_add(work.most(), std::memory_order_relaxed);
  put_in(queue);
}

void Level::dequeue(Waiter& waiter) {
  Queue& queue = *waiter.queue_;
  const Work& work = waiter.work;
  take_out(queue);
  (waiter.before_ ? waiter.before_->after_ : queue.first) = waiter.after_;
  (waiter.after_ ? waiter.after_->before_ : queue.last) = waiter.before_;
  waiter.is_waiting_ = false;
  --queue.length;
  queue.waiting_seats -= work.most();
  queue.waiting_first_seats -= work.seats;
  queue.waiting_work = queue.length == 0 ? 0 : queue.waiting_work - total(work);
  queued_seats_ -= work.most();
  waiting_seats_ -= work.most();
  waiting_.fetch_sub(1);
  waiter.flow->waiting.fetch_sub(1, std::memory_order_relaxed);
  waiter.flow->waiting_seats.fetch_sub(work.most(), std::memory_order_relaxed);
  if (!queue.is_active()) --active_;
  put_in(queue);
}

void Level::drop_if_unused(Queue& queue) {
  if (queue.is_active() || queue.held_seats > 0) return;
  queues_.erase(queue.index);
  if (queues_.empty()) virtual_time_ = 0;  // nothing refers to it
}

Waiter* Level::dispatch(Time now) {
  Waiter *first = nullptr, *last = nullptr;
  while (!order_.empty()) {
    Queue& queue = **order_.begin();
    Waiter& waiter = *queue.first;
    if (!try_seats(waiter.work.most())) break;
    dequeue(waiter);
    take_out(queue);
    if (!queue.is_active()) ++active_;
    ++queue.running;
    queue.held_seats += waiter.work.most();
    queued_seats_ += waiter.work.most();
    queue.next_start += total(waiter.work);
    queue.last_turn = ++turns_;
    put_in(queue);
    waiter.flow->waited.observe(now - waiter.arrived_);
    (last ? last->next_ : first) = &waiter;
    last = &waiter;
  }
  note_demand(now);
  return first;
}

void Level::begin_all(Waiter* first) {
  while (first) std::exchange(first, first->next_)->begin();
}

Level::Wait Level::wait(Waiter& waiter, std::uint64_t hash, Time now) {
  Waiter* begins = nullptr;
  Wait answer = Wait::kWaits;
  {
    std::lock_guard lock(mutex_);
    if (is_retired_.load()) return Wait::kRetired;
    pass_time(now);
    if (is_exempt()) return Wait::kBegins;
    if (spec_.queues == 0) {
      if (waiting_.load() == 0 && try_seats(waiter.work.most())) return Wait::kBegins;
      ++refused_;
      note_demand(now);
      waiter.flow->refused_no_seat.add();
      return Wait::kNoSeat;
    }
    Queue& queue = choose_queue(hash);
    if (queue.length >= spec_.queue_length && in_use_.load() >= limit_.load()) {
      ++refused_;
      waiter.flow->refused_full.add();
      return Wait::kFull;
    }
    waiter.arrived_ = now;
    enqueue(waiter, queue);
    waiter.flow->queue_length.observe(queue.length);
    begins = dispatch(now);
    // Who asks is told by the answer.
    Waiter** at = &begins;
    while (*at && *at != &waiter) at = &(*at)->next_;
    if (*at) {
      *at = waiter.next_;
      answer = Wait::kBegins;
    }
  }
  begin_all(begins);
  return answer;
}

bool Level::leave(Waiter& waiter, Leaving why, Time now) {
  std::lock_guard lock(mutex_);
  if (!waiter.is_waiting_) return false;
  pass_time(now);
  Queue& queue = *waiter.queue_;
  dequeue(waiter);
  drop_if_unused(queue);
  note_demand(now);
  ++refused_;
  ++(why == Leaving::kTooLate ? late_ : gone_);
  waiter.flow->refused_late.add();
  waiter.flow->in_vain.observe(now - waiter.arrived_);
  return true;
}

void Level::end(Queue* queue, const Work& work, Time began, Time now) {
  if (!queue) return;
  std::lock_guard lock(mutex_);
  pass_time(now);
  take_out(*queue);
  --queue->running;
  if (!queue->is_active()) --active_;
  // What it took in truth instead of what was expected.
  queue->next_start += work.seats * (seconds(now - began) - kExpectedSeconds);
  put_in(*queue);
}

void Level::give_back(Queue* queue, const Work& work, Time now) {
  if (is_exempt()) return;
  in_use_.fetch_sub(static_cast<int>(work.most()));
  // INVARIANT: who waits is counted before it looks for seats, and seats are given back before
  // this looks for who waits, so that one of the two sees the other.
  if (!queue && waiting_.load() == 0) return;
  Waiter* begins = nullptr;
  {
    std::lock_guard lock(mutex_);
    pass_time(now);
    if (queue) {
      queue->held_seats -= work.most();
      queued_seats_ -= work.most();
      drop_if_unused(*queue);
    }
    begins = dispatch(now);
  }
  begin_all(begins);
}

void Level::configure(const LevelSpec& spec, std::uint32_t most_seats, Time now) {
  std::lock_guard lock(mutex_);
  pass_time(now);
  spec_ = spec;
  is_exempt_.store(spec.is_exempt);
  most_seats_.store(most_seats);
  queue_count_.store(spec.queues);
}

void Level::set_limit(int seats, Time now) {
  Waiter* begins = nullptr;
  {
    std::lock_guard lock(mutex_);
    pass_time(now);
    limit_.store(seats);
    begins = dispatch(now);
  }
  begin_all(begins);
}

bool Level::retire() {
  std::lock_guard lock(mutex_);
  is_retired_.store(true);
  // Who takes a seat after this sees that the level is retired, and gives it back.
  if (in_use_.load() == 0 && waiting_.load() == 0) return true;
  is_retired_.store(false);
  return false;
}

std::int64_t Level::retry_after(std::int64_t second) {
  std::lock_guard lock(mutex_);
  return retry_after_.refuse(second);
}

void Level::sample_demand(Time now) {
  std::lock_guard lock(mutex_);
  note_demand(now);
}

Demand::Figures Level::take_demand(Time now) {
  std::lock_guard lock(mutex_);
  note_demand(now);
  return demand_.take(now);
}

Flow& Level::flow(const std::string& schema, const std::string& schema_uid,
                  const std::string& level_uid, MetricRegistry& m) {
  std::lock_guard lock(mutex_);
  std::unique_ptr<Flow>& found = flows_[cat(schema, "/", schema_uid, "/", level_uid)];
  if (found) return *found;
  const MetricLabels labels = {{"flow_schema", schema}, {"priority_level", name_}};
  auto with = [&](std::string_view name, std::string_view value) {
    MetricLabels more = labels;
    more.insert(more.begin(), {std::string(name), std::string(value)});
    return more;
  };
  auto after = [&](std::string_view name, std::string_view value) {
    MetricLabels more = labels;
    more.emplace_back(std::string(name), std::string(value));
    return more;
  };
  const std::vector<double> times = {0,   0.005, 0.02, 0.05, 0.1,  0.2, 0.5,
                                     1.0, 2.0,   5.0,  10.0, 15.0, 30.0};
  constexpr MetricFamily kWaited = {"apiserver_flowcontrol_request_wait_duration_seconds",
                                    "How long requests waited in a queue."};
  constexpr MetricFamily kRan = {"apiserver_flowcontrol_request_execution_seconds",
                                 "How long requests ran; of watches, until they had begun."};
  constexpr MetricFamily kRefused = {"apiserver_flowcontrol_rejected_requests_total",
                                     "Requests that were refused for want of seats."};
  found.reset(new Flow{
      .level = *this,
      .schema = schema,
      .schema_uid = schema_uid,
      .level_uid = level_uid,
      .dispatched = m.counter(
          {"apiserver_flowcontrol_dispatched_requests_total", "Requests that began to run."},
          labels),
      .run_time = m.histogram(kRan, times, after("type", "regular")),
      .watch_time = m.histogram(kRan, times, after("type", "watch")),
      .waited = m.histogram(kWaited, times, with("execute", "true")),
      .in_vain = m.histogram(kWaited, times, with("execute", "false")),
      .seats = m.count_histogram({"apiserver_flowcontrol_work_estimated_seats",
                                  "The seats of requests that need several."},
                                 {1, 2, 4, 8, 16, 32, 64, 100}, labels),
      .watchers = m.count_histogram(
          {"apiserver_flowcontrol_watch_count_samples", "How many watchers were told of a write."},
          {0, 1, 10, 100, 1000, 10000}, labels),
      .queue_length = m.count_histogram({"apiserver_flowcontrol_request_queue_length_after_enqueue",
                                         "How long a queue was with the request that came."},
                                        {0, 10, 25, 50, 100, 250, 500, 1000}, labels),
      .refused_full = m.counter(kRefused, after("reason", "queue-full")),
      .refused_no_seat = m.counter(kRefused, after("reason", "concurrency-limit")),
      .refused_late = m.counter(kRefused, after("reason", "time-out"))});
  return *found;
}

Level::Numbers Level::numbers() const {
  std::lock_guard lock(mutex_);
  Numbers out{.refused = refused_, .late = late_, .gone = gone_};
  for (const auto& [index, queue] : queues_) out.active_queues += queue.length > 0;
  out.waiting = static_cast<std::size_t>(waiting_.load());
  out.seats_in_use = in_use_.load();
  out.virtual_time = virtual_time_;
  std::set<std::string_view> seen;  // flows of one name share their counter
  for (const auto& [key, flow] : flows_) {
    const std::uint64_t running = flow->running.load(std::memory_order_relaxed) & 0xffff'ffff;
    out.running += running;
    out.dispatched += running;
    if (seen.insert(flow->schema).second) out.dispatched += flow->ended();
  }
  return out;
}

void Level::each_queue(const std::function<void(const Queue&)>& look) const {
  std::lock_guard lock(mutex_);
  std::map<std::uint32_t, const Queue*> sorted;
  for (const auto& [index, queue] : queues_) sorted[index] = &queue;
  for (const auto& [index, queue] : sorted) look(*queue);
}

void Level::each_waiter(
    const std::function<void(const Queue&, std::size_t, const Waiter&, Time)>& look) const {
  each_queue([&](const Queue& queue) {
    std::size_t at = 0;
    for (const Waiter* w = queue.first; w; w = w->after_) look(queue, at++, *w, w->arrived_);
  });
}

void Level::each_flow(const std::function<void(const Flow&)>& look) const {
  std::lock_guard lock(mutex_);
  for (const auto& [key, flow] : flows_) look(*flow);
}

}  // namespace cardea::rest::fairness
