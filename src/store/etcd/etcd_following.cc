#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "store/etcd/etcd_engine.h"

namespace cardea::store {
namespace {

constexpr std::string_view kWatch = "/etcdserverpb.Watch/Watch";
constexpr std::string_view kStatus = "/etcdserverpb.Maintenance/Status";
// A revision that was told and does not come by the watch may be of other keys: the watch is asked
// how far it is.
constexpr std::chrono::milliseconds kBeforeProgress{5};
constexpr std::chrono::milliseconds kBetweenProgress{100};
// The same of an etcd whose word about its progress is not good: a write of our own shows it.
constexpr std::chrono::milliseconds kBeforeBarrier{1'000};
// A watch that brings nothing for so long, though something must come, is given up.
constexpr std::chrono::milliseconds kStalled{4'000};
constexpr std::size_t kLargestMessage = 1u << 30;

}  // namespace

// What the watch says, as long as it is the current one.
class EtcdStore::Reader final : public http::AnswerReader {
 public:
  Reader(EtcdStore& store, std::uint64_t generation)
      : store_(store), generation_(generation), frames_(kLargestMessage) {}
  void on_head(int, const http::Headers& headers) override { headers_ = headers; }
  bool on_data(std::string_view bytes) override {
    if (!is_current()) return true;
    frames_.add(bytes);
    std::string_view message;
    while (is_current() && frames_.next(message)) store_.take(message);
    if (is_current()) store_.publish();
    if (is_current() && frames_.malformed()) store_.watch_ended("malformed frame", true);
    return true;
  }
  void on_end(const http::Headers& trailers) override {
    if (!is_current()) return;
    auto status = Channel::status_of(headers_, trailers, Asked::kRead);
    store_.watch_ended(status ? "the watch ended" : status.error().message, true);
  }
  void on_failure(const Error& error) override {
    if (is_current()) store_.watch_ended(error.message, true);
  }

 private:
  bool is_current() const { return store_.generation_ == generation_; }

  EtcdStore& store_;
  const std::uint64_t generation_;
  etcd::Frames frames_;
  http::Headers headers_;
};

void EtcdStore::follow() {
  spawn(begin_watch(++generation_), [](bool) {});
}

Task<bool> EtcdStore::begin_watch(std::uint64_t generation) {
  Result<std::string> answer = co_await call(kStatus, "", Asked::kRead, options_.call_timeout);
  if (generation != generation_) co_return false;
  auto status = answer ? etcd::read_status(*answer) : fail(answer.error());
  if (!status) {
    watch_ended(status.error().message, false);
    co_return false;
  }
  has_true_progress_ = etcd::has_true_progress(status->version);
  database_bytes_.store(static_cast<std::uint64_t>(status->database_bytes),
                        std::memory_order_relaxed);
  moved_ = std::chrono::steady_clock::now();
  watch_ = channel_->open(kWatch,
                          etcd::watch_request(keys_.first(), keys_.end(), timeline_.revision() + 1),
                          std::make_shared<Reader>(*this, generation));
  co_return true;
}

void EtcdStore::watch_ended(const std::string& why, bool elsewhere) {
  ++generation_;
  if (watch_) watch_->cancel();
  watch_.reset();
  drop_unpublished();
  set_trouble(cat("no watch: ", why));
  if (elsewhere) channel_->use_next_endpoint();
  again_timer_->start(channel_->pause_after(failures_++));
}

// The next watch brings it again. What the last one said of its progress counted on it.
void EtcdStore::drop_unpublished() {
  ready_.clear();
  partial_.clear();
  partial_changed_ = 0;
  progress_ = 0;
}

void EtcdStore::take(std::string_view message) {
  auto answer = etcd::read_watch(message, keys_);
  if (!answer) return watch_ended(answer.error().message, true);
  if (answer->canceled) {
    if (answer->compacted > 0) return reload();
    return watch_ended(answer->cancel_reason, true);
  }
  if (answer->created) {
    failures_ = 0;
    set_trouble("");
  }
  for (etcd::Change& change : answer->changes) partial_.push_back(std::move(change));
  partial_changed_ = std::max(partial_changed_, answer->changed);
  if (answer->fragment) return;
  // Everything of this answer's revisions is here now.
  const bool is_progress = partial_changed_ == 0 && !answer->created;
  for (etcd::Change& change : partial_) ready_.push_back(std::move(change));
  partial_.clear();
  progress_ = std::max(progress_, std::exchange(partial_changed_, 0));
  // Its word is only good for what this watch has been told before.
  if (is_progress && has_true_progress_ && answer->revision > progress_)
    progress_ = answer->revision;
}

// What has come becomes visible.
void EtcdStore::publish() {
  std::vector<EventPtr> events;
  events.reserve(ready_.size());
  std::unordered_map<std::string_view, RecordPtr> changed;  // keys point into records of events
  for (etcd::Change& change : ready_) {
    const std::string_view key = change.record->key();
    if (change.record->mod_revision <= timeline_.revision()) continue;
    RecordPtr previous;
    if (const auto earlier = changed.find(key); earlier != changed.end())
      previous = earlier->second->deleted() ? nullptr : earlier->second;
    else if (const RecordPtr* current = timeline_.current(key))
      previous = *current;
    if (change.is_delete && !previous) continue;
    if (ready_.size() > 1) changed.insert_or_assign(change.record->key(), change.record);
    events.push_back(std::make_shared<const Event>(
        Event{change.is_delete ? EventType::kDelete : EventType::kPut, change.record->mod_revision,
              change.record, std::move(previous)}));
  }
  ready_.clear();
  if (!events.empty()) {
    timeline_.apply(events);
    subscriptions_.publish(events);
    note(events);
  }
  if (progress_ > timeline_.revision()) timeline_.advance(progress_);
  moved(!events.empty());
}

void EtcdStore::moved(bool has_events) {
  const Revision now = timeline_.revision();
  if (now != at_) {
    at_ = now;
    moved_ = std::chrono::steady_clock::now();
  }
  while (!waiters_.empty() && waiters_.begin()->first <= now) {
    Refreshed done = std::move(waiters_.begin()->second.done);
    waiters_.erase(waiters_.begin());
    done({});
    if (is_closing_) return;
  }
  if (!has_events) return;
  const std::int64_t seconds = unix_seconds(clock_);
  times_.note(timeline_.revision(), seconds);
  const Revision expired = times_.expired(seconds);
  if (expired <= compact_to_ && timeline_.past_bytes() <= options_.history.max_bytes) return;
  compact_to_ = std::max(compact_to_, expired);
  trim();
}

void EtcdStore::wait_until(Revision revision, milliseconds longest, Refreshed done) {
  if (is_closing_) return done(fail(closing()));
  if (revision <= timeline_.revision()) return done({});
  const net::SteadyTime now = std::chrono::steady_clock::now();
  if (waiters_.empty()) {
    moved_ = now;
    asked_progress_ = {};
  }
  waiters_.emplace(revision, Waiter{now + longest, std::move(done)});
  if (!gap_timer_->pending()) gap_timer_->start(kBeforeProgress);
}

// Those that wait have seen nothing come for a while.
void EtcdStore::close_gap() {
  expire_waiters();
  if (is_closing_ || waiters_.empty()) return;
  const net::SteadyTime now = std::chrono::steady_clock::now();
  const auto silent = now - moved_;
  gap_timer_->start(silent < kBeforeProgress ? kBeforeProgress : kBetweenProgress / 4);
  if (!watch_) return;
  if (silent >= kStalled) {
    moved_ = now;
    return watch_ended("it brings nothing", true);
  }
  if (silent >= kBeforeProgress && has_true_progress_ &&
      now - asked_progress_ >= kBetweenProgress) {
    asked_progress_ = now;
    watch_->write(http::Piece::of(etcd::framed(etcd::progress_request())));
  }
  if (silent >= kBeforeBarrier && !has_true_progress_ && now - asked_progress_ >= kBeforeBarrier) {
    asked_progress_ = now;
    send({{}, {Put{std::string(kBarrierKey), ""}}}, [](const Result<Commit>&) {});
  }
}

void EtcdStore::expire_waiters() {
  const net::SteadyTime now = std::chrono::steady_clock::now();
  std::vector<Refreshed> late;
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    if (it->second.until > now) {
      ++it;
      continue;
    }
    late.push_back(std::move(it->second.done));
    it = waiters_.erase(it);
  }
  for (Refreshed& done : late)
    done(fail(Error::of(Reason::kServiceUnavailable,
                        "etcd's watch has not brought the last changes in time")));
}

// All sinks have seen these.
void EtcdStore::note(std::span<const EventPtr> events) {
  for (const EventPtr& event : events) {
    if (is_marked(event->record->key())) marked_.store(event->revision, std::memory_order_release);
  }
}

}  // namespace cardea::store
