#include "rest/controllers/controller.h"

#include <algorithm>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "base/strings.h"
#include "rest/controllers/workqueue_metrics.h"

namespace cardea::rest {

namespace {

constexpr std::chrono::milliseconds kFirstDelay{20};
constexpr int kQuietFailures = 5;  // conflicts with other writers are ordinary
constexpr std::size_t kInFlight = 32;

authz::User identity(const std::string& name) {
  return {.name = cat("system:serviceaccount:kube-system:", name),
          .groups = {"system:serviceaccounts", "system:serviceaccounts:kube-system",
                     std::string(authz::kAuthenticatedGroup), std::string(authz::kMastersGroup)}};
}

}  // namespace

// Shared with the wake-ups on their way to the loop. Everything but the inbox belongs to the loop.
struct Controller::State {
  std::mutex mutex;
  std::vector<store::EventPtr> inbox;  // guarded by mutex
  bool is_posted = false;              // guarded by mutex

  Controller* owner;  // outlives the watches and everything that runs
  std::vector<std::unique_ptr<store::Watch>> watches;  // of the thread that starts and stops
  struct Queued {
    std::string key;
    Stopwatch watch = {};
  };
  std::deque<Queued> queue;
  std::optional<WorkqueueMetrics> metrics;
  std::set<std::string, std::less<>> waiting;  // in `queue` or in `delayed`
  std::set<std::string, std::less<>> running;
  std::set<std::string, std::less<>> again;  // changed while running
  std::map<std::string, int, std::less<>> failures;
  std::multimap<net::SteadyTime, std::string> delayed;
  std::unique_ptr<net::Timer> timer;
  bool is_stopping = false;
  bool is_aside = false;
  unsigned reasons = 0;          // bits of Aside
  store::Revision observed = 0;  // changes up to this one were observed with the stored objects
  std::promise<void> idle;

  State(Controller* c, MetricRegistry* registry) : owner(c) {
    if (registry) metrics.emplace(*registry, c->name_);
  }

  void push(std::string key) {
    queue.push_back({std::move(key)});
    if (metrics) metrics->added(queue.size());
  }

  static void receive(const std::shared_ptr<State>& state, std::span<const store::EventPtr> events,
                      net::Loop& loop) {
    std::lock_guard lock(state->mutex);
    std::size_t before = state->inbox.size();
    for (const store::EventPtr& e : events)
      if (state->owner->cares(*e)) state->inbox.push_back(e);
    if (state->inbox.size() == before || state->is_posted) return;
    state->is_posted = true;
    loop.post([state] { take(state); });
  }

  // What is stored already, on the loop: looking through it may take longer than a start should.
  // With the objects of a revision. Those of an older one than was observed are not news.
  static void begin(const std::shared_ptr<State>& state,
                    const std::vector<store::RecordPtr>& records, store::Revision at) {
    if (state->is_stopping || state->is_aside || at < state->observed) return;
    for (const store::RecordPtr& r : records) {
      store::Event event{store::EventType::kPut, r->mod_revision, r, nullptr};
      if (state->owner->cares(event)) state->owner->observe(event);
    }
    work(state);
  }

  static void take(const std::shared_ptr<State>& state) {
    std::vector<store::EventPtr> events;
    {
      std::lock_guard lock(state->mutex);
      events.swap(state->inbox);
      state->is_posted = false;
    }
    if (state->is_stopping || state->is_aside) return;
    for (const store::EventPtr& e : events)
      if (e->revision > state->observed) state->owner->observe(*e);
    work(state);
  }

  static void work(const std::shared_ptr<State>& state) {
    while (!state->is_stopping && !state->is_aside && !state->queue.empty() &&
           state->running.size() < state->owner->settings_.workers) {
      std::string key = std::move(state->queue.front().key);
      const auto waited = state->queue.front().watch.elapsed();
      state->queue.pop_front();
      if (state->metrics) state->metrics->began(waited, state->queue.size());
      state->waiting.erase(key);
      state->running.insert(key);
      spawn(state->owner->reconcile(key), [state, key, watch = Stopwatch()](Result<void> result) {
        if (state->metrics) state->metrics->ended(watch.elapsed());
        finish(state, key, std::move(result));
      });
    }
  }

  static void finish(const std::shared_ptr<State>& state, const std::string& key,
                     Result<void> result) {
    state->running.erase(key);
    bool changed = state->again.erase(key) > 0;
    if (state->is_stopping) {
      if (state->running.empty()) state->idle.set_value();
      return;
    }
    if (result) state->failures.erase(key);
    if (changed)
      state->owner->enqueue(key);
    else if (!result)
      retry(state, key, result.error());
    // Not from here: a coroutine that never waits would make the stack grow with the queue.
    if (!state->queue.empty()) state->owner->context_.loop.post([state] { work(state); });
  }

  static void retry(const std::shared_ptr<State>& state, const std::string& key,
                    const Error& error) {
    Controller& c = *state->owner;
    int failures = ++state->failures[key];
    if (state->metrics) state->metrics->retried();
    if (failures > kQuietFailures && c.context_.log)
      c.context_.log(cat(c.name_, ": ", key, ": ", error.message));
    std::chrono::milliseconds delay = std::min<std::chrono::milliseconds>(
        kFirstDelay * (1 << std::min(failures - 1, 15)), c.settings_.longest_delay);
    c.enqueue_after(key, delay);
  }

  static void arm(const std::shared_ptr<State>& state) {
    if (state->delayed.empty()) return;
    net::Loop& loop = state->owner->context_.loop;
    if (!state->timer)
      state->timer = std::make_unique<net::Timer>(loop, [weak = std::weak_ptr<State>(state)] {
        if (auto s = weak.lock()) wake(s);
      });
    auto delay = std::chrono::ceil<std::chrono::milliseconds>(state->delayed.begin()->first -
                                                              std::chrono::steady_clock::now());
    state->timer->start(std::max(delay, std::chrono::milliseconds(1)));
  }

  static void wake(const std::shared_ptr<State>& state) {
    if (state->is_stopping) return;
    auto now = std::chrono::steady_clock::now();
    while (!state->delayed.empty() && state->delayed.begin()->first <= now) {
      state->push(std::move(state->delayed.begin()->second));
      state->delayed.erase(state->delayed.begin());
    }
    arm(state);
    work(state);
  }

  void forget_keys() {
    queue.clear();
    waiting.clear();
    again.clear();
    failures.clear();
    delayed.clear();
  }

  // A fresh event is a reason not to wait any longer.
  void hasten(const std::string& key) {
    for (auto at = delayed.begin(); at != delayed.end(); ++at)
      if (at->second == key) {
        delayed.erase(at);
        push(key);
        return;
      }
  }
};

Controller::Controller(ControllerContext context, std::string name, Settings settings)
    : context_(std::move(context)),
      name_(std::move(name)),
      settings_(std::move(settings)),
      api_(context_.gateway, context_.loop, identity(name_), "kube-controller-manager"),
      state_(std::make_shared<State>(this, context_.metrics)) {}

Controller::~Controller() {
  CARDEA_CHECK(state_->watches.empty());
}

Result<std::vector<store::RecordPtr>> Controller::present(store::Revision revision) {
  std::vector<store::RecordPtr> out;
  for (const std::string& prefix : settings_.prefixes) {
    auto range = store().range({.keys = store::keys_with_prefix(prefix), .at = revision});
    if (!range) return fail(range.error());
    out.insert(out.end(), range->records.begin(), range->records.end());
  }
  return out;
}

Result<void> Controller::start() {
  store::Revision revision = store().current_revision();
  auto records = present(revision);
  if (!records) return fail(records.error());
  context_.loop.post([state = state_, records = std::move(*records), revision] {
    State::begin(state, records, revision);
  });
  for (const std::string& prefix : settings_.prefixes) {
    auto sink = [state = state_, &loop = context_.loop](std::span<const store::EventPtr> events) {
      State::receive(state, events, loop);
    };
    auto watch = store().watch(prefix, revision, sink);
    if (!watch) return fail(watch.error());
    state_->watches.push_back(std::move(*watch));
  }
  return {};
}

void Controller::stop() {
  if (std::exchange(is_stopped_, true)) return;
  state_->watches.clear();
  context_.loop.post([state = state_] {
    if (state->is_stopping) return;
    state->is_stopping = true;
    state->timer.reset();
    if (state->running.empty()) state->idle.set_value();
  });
  state_->idle.get_future().wait();
}

void Controller::step_aside(Aside why) {
  state_->reasons |= static_cast<unsigned>(why);
  if (std::exchange(state_->is_aside, true)) return;
  state_->forget_keys();
  forget();
}

Result<void> Controller::step_in(Aside why) {
  if (!state_->is_aside || state_->is_stopping) return {};
  if (const unsigned left = state_->reasons & ~static_cast<unsigned>(why)) {
    state_->reasons = left;
    return {};
  }
  store::Revision revision = store().current_revision();
  auto records = present(revision);
  if (!records) return fail(records.error());
  state_->is_aside = false;
  state_->reasons = 0;
  state_->observed = revision;
  State::begin(state_, *records, revision);
  return {};
}

void Controller::enqueue(std::string key) {
  if (state_->is_aside) return;
  if (state_->running.contains(key)) {
    state_->again.insert(std::move(key));
    return;
  }
  if (!state_->waiting.insert(key).second) {
    state_->hasten(key);
    return;
  }
  state_->push(std::move(key));
}

void Controller::enqueue_after(std::string key, std::chrono::milliseconds delay) {
  if (state_->is_aside || !state_->waiting.insert(key).second) return;
  state_->delayed.emplace(std::chrono::steady_clock::now() + delay, std::move(key));
  State::arm(state_);
}

bool Controller::stopping() const {
  return state_->is_stopping;
}

Task<Result<void>> Controller::send_all(std::vector<Order> orders) {
  Result<void> result;
  for (std::size_t first = 0; first < orders.size() && !stopping(); first += kInFlight) {
    std::size_t count = std::min(kInFlight, orders.size() - first);
    Result<void> part = co_await await_callback<Result<void>>(
        [this, &orders, first, count](auto done) {
          auto left = std::make_shared<std::size_t>(count);
          auto worst = std::make_shared<Result<void>>();
          // The last answer may end the coroutine that owns `orders`: only `i` and `count` are
          // looked at after it.
          const Loopback& to = api_;
          for (std::size_t i = 0; i < count; ++i) {
            Order& o = orders[first + i];
            spawn(to.send(std::move(o.method), std::move(o.target), std::move(o.body)),
                  [left, worst, done](Loopback::Reply reply) mutable {
                    Result<void> one = outcome(reply);
                    if (!one && reply.status != 404 && *worst) *worst = one;
                    if (--*left == 0) done(std::move(*worst));
                  });
          }
        });
    if (!part && result) result = std::move(part);
    bool turned = co_await next_turn(context_.loop);
    (void)turned;
  }
  co_return result;
}

Result<void> outcome(const Loopback::Reply& reply) {
  if (reply.ok()) return {};
  Reason reason = reply.status == 404   ? Reason::kNotFound
                  : reply.status == 409 ? Reason::kConflict
                  : reply.status == 403 ? Reason::kForbidden
                                        : Reason::kInternalError;
  std::string_view message = reply.body["message"].as_string();
  return fail(
      Error::of(reason, message.empty() ? cat("status ", reply.status) : std::string(message)));
}

std::string_view name_in(std::string_view key) {
  return key.substr(key.rfind('/') + 1);
}

std::string_view namespace_in(std::string_view key) {
  std::string_view rest = key.substr(0, key.rfind('/'));
  return rest.substr(rest.rfind('/') + 1);
}

}  // namespace cardea::rest
