#include "store/etcd/etcd_store.h"

#include <algorithm>
#include <future>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/strings.h"
#include "base/task.h"
#include "store/etcd/channel.h"
#include "store/etcd/messages.h"
#include "store/revision_times.h"
#include "store/subscriptions.h"

namespace cardea::store {
namespace {

using etcd::Asked;
using etcd::Channel;
using std::chrono::milliseconds;

constexpr std::string_view kRange = "/etcdserverpb.KV/Range";
constexpr std::string_view kTxn = "/etcdserverpb.KV/Txn";
constexpr std::string_view kCompact = "/etcdserverpb.KV/Compact";
constexpr std::string_view kWatch = "/etcdserverpb.Watch/Watch";
constexpr std::string_view kStatus = "/etcdserverpb.Maintenance/Status";
constexpr std::string_view kLeaseGrant = "/etcdserverpb.Lease/LeaseGrant";

// One lease serves all keys that are written within a twentieth of its time, and at most so many:
// they end together, at least their time after the last of them was written.
constexpr int kLeaseShare = 20;
constexpr int kLeaseKeys = 1'000;

// A quorum read serves all that wait, and there is at most one in this time.
constexpr milliseconds kBetweenReads{10};
// A revision that was told and does not come by the watch may be of other keys: the watch is asked
// how far it is.
constexpr milliseconds kBeforeProgress{5};
constexpr milliseconds kBetweenProgress{100};
// The same of an etcd whose word about its progress is not good: a write of our own shows it.
constexpr milliseconds kBeforeBarrier{1'000};
// A watch that brings nothing for so long, though something must come, is given up.
constexpr milliseconds kStalled{4'000};
constexpr milliseconds kLongestReach{3'000};
constexpr milliseconds kBetweenLoads{1'000};
constexpr milliseconds kLongestRead{3'000};
constexpr milliseconds kEtcdTick{1'000};
constexpr std::size_t kTrimStep = 1024;
// A page of a load grows and shrinks to about this size.
constexpr std::size_t kPageBytes = 4u << 20;
constexpr std::int64_t kFirstPage = 500;
constexpr std::int64_t kLargestPage = 50'000;
constexpr std::size_t kLargestMessage = 1u << 30;

constexpr std::string_view kBarrierKey = "/cardea/barrier";
constexpr std::string_view kLayoutKey = "/cardea/layout";
constexpr std::string_view kLayout = "kubernetes";

Error closing() {
  return Error::of(Reason::kServiceUnavailable, "the store is closing");
}

}  // namespace

// All members below `the loop's` are used on the loop's thread alone.
class EtcdStore final : public Store {
 public:
  EtcdStore(EtcdOptions options, std::shared_ptr<const net::TlsClient> tls, const Clock& clock)
      : options_(std::move(options)),
        clock_(clock),
        keys_(options_.prefix, options_.encoding.get()),
        tls_(std::move(tls)),
        loop_(loops_.at(0)),
        times_(options_.history.keep) {}

  ~EtcdStore() override {
    run_on_loop([this] { close(); });
    // What was posted by then is run, so that every callback has been called.
    run_on_loop([] {});
    loops_.stop();
  }

  Result<void> open() {
    std::promise<Result<void>> promise;
    auto future = promise.get_future();
    loop_.post([this, &promise] {
      channel_ = std::make_unique<Channel>(loop_, dialer_, tls_, options_.endpoints, random_);
      tick_ = std::make_unique<net::Timer>(loop_, [this] { tick(); });
      gap_timer_ = std::make_unique<net::Timer>(loop_, [this] { close_gap(); });
      read_timer_ = std::make_unique<net::Timer>(loop_, [this] { start_read(); });
      again_timer_ = std::make_unique<net::Timer>(loop_, [this] { follow(); });
      confirm_timer_ = std::make_unique<net::Timer>(loop_, [this] { confirm(); });
      load_timer_ = std::make_unique<net::Timer>(loop_, [this] {
        if (auto done = std::exchange(load_waits_, nullptr)) done(true);
      });
      spawn(load(0), [this, &promise](Result<Loaded> loaded) {
        if (!loaded) return promise.set_value(fail(std::move(loaded.error())));
        // What was before is not known, unless there was nothing.
        const Revision compacted = loaded->revision > 1 ? loaded->revision : 0;
        timeline_.restore({.current = std::move(loaded->records),
                           .history = {},
                           .revision = loaded->revision,
                           .compacted = compacted});
        marked_ = loaded->revision;
        set_fresh(loaded->asked);
        follow();
        compaction_tried_ = loop_.now();
        tick_->start(kEtcdTick);
        confirm_timer_->start(options_.confirm_interval);
        promise.set_value({});
      });
    });
    if (auto loaded = future.get(); !loaded) return loaded;
    return options_.encoding ? check_layout() : Result<void>();
  }

  // A server from before there were encodings kept its own kinds where they are not looked for, and
  // among them are denials: nothing starts on its data.
  Result<void> check_layout() {
    if (RecordPtr layout = get(kLayoutKey)) {
      if (layout->value() == kLayout) return {};
      return fail(bad_request(
          cat("etcd has the layout `", layout->value(), "` of a newer version of Cardea")));
    }
    if (count(keys_with_prefix("/cardea/")) > 0)
      return fail(bad_request(
          "etcd has objects in the layout of an earlier version of Cardea. Copy them with that "
          "version to SQLite (`cardea store copy`), and with this one back to an empty etcd"));
    auto written = commit_sync(*this, {{{std::string(kLayoutKey), 0}},
                                       {Put{std::string(kLayoutKey), std::string(kLayout)}}});
    if (!written) return fail(written.error());
    return {};  // or another server has just done it
  }

  RecordPtr get(std::string_view key) const override { return timeline_.get(key); }
  Result<RangeResult> range(const RangeQuery& query) const override {
    return timeline_.range(query);
  }
  std::int64_t count(const KeyRange& keys) const override { return timeline_.count(keys); }
  Revision current_revision() const override { return timeline_.revision(); }
  Revision compacted_revision() const override { return timeline_.compacted(); }

  void commit(Txn txn, Done done) override {
    if (auto ok = check(txn); !ok) return done(fail(std::move(ok.error())));
    if (const EtcdLeased* leased = leased_by(txn)) {
      loop_.post([this, leased, txn = std::move(txn), done = std::move(done)]() mutable {
        spawn(send_leased(*leased, std::move(txn), std::move(done)), [](bool) {});
      });
      return;
    }
    auto message = request_of(txn);
    if (!message) return done(fail(std::move(message.error())));
    loop_.post(
        [this, txn = std::move(txn), message = std::move(*message),
         done = std::move(done)]() mutable { send(std::move(txn), message, std::move(done)); });
  }

  Result<std::unique_ptr<Watch>> watch(std::string prefix, Revision from, Sink sink) override {
    return subscriptions_.add(std::move(prefix), from, std::move(sink));
  }

  void compact(Revision revision, Compacted done) override {
    loop_.post([this, revision, done = std::move(done)]() mutable {
      spawn(compact_all(revision), std::move(done));
    });
  }

  StoreStats stats() const override {
    StoreStats stats;
    timeline_.describe(stats);
    stats.file_bytes = database_bytes_.load(std::memory_order_relaxed);
    std::lock_guard guard(trouble_lock_);
    stats.trouble = trouble_;
    return stats;
  }

  bool is_always_fresh() const override { return false; }

  void refresh(Refreshed done) override {
    loop_.post([this, done = std::move(done)]() mutable {
      if (is_closing_) return done(fail(closing()));
      want_fresh_.push_back(std::move(done));
      start_read();
    });
  }

  std::chrono::steady_clock::time_point fresh_as_of() const override {
    return std::chrono::steady_clock::time_point(
        std::chrono::steady_clock::duration(fresh_.load(std::memory_order_acquire)));
  }

  Revision marked_revision() const override { return marked_.load(std::memory_order_acquire); }

  bool is_stale(const Record& record) const override {
    return options_.encoding && options_.encoding->is_stale(record.key(), record.place);
  }

  void reach(Revision revision, Refreshed done) override {
    if (revision <= timeline_.revision()) return done({});
    loop_.post([this, revision, done = std::move(done)]() mutable {
      wait_until(revision, kLongestReach,
                 [this, revision, done = std::move(done)](Result<void> reached) mutable {
                   if (reached) return done({});
                   done(fail(revision_too_large(revision, timeline_.revision())));
                 });
    });
  }

 private:
  struct Loaded {
    std::vector<RecordPtr> records;
    Revision revision = 0;
    net::SteadyTime asked;  // when the first page was
  };
  struct Waiter {
    net::SteadyTime until;
    Refreshed done;
  };

  void run_on_loop(std::function<void()> task) {
    std::promise<void> promise;
    loop_.post([&] {
      task();
      promise.set_value();
    });
    promise.get_future().get();
  }

  void close() {
    is_closing_ = true;
    ++generation_;
    if (watch_) watch_->cancel();
    watch_.reset();
    for (auto* timer :
         {&tick_, &gap_timer_, &read_timer_, &again_timer_, &confirm_timer_, &load_timer_})
      timer->reset();
    channel_.reset();  // fails what is under way
    if (auto done = std::exchange(load_waits_, nullptr)) done(false);
    for (auto& [revision, waiter] : std::exchange(waiters_, {})) waiter.done(fail(closing()));
    for (Refreshed& done : std::exchange(want_fresh_, {})) done(fail(closing()));
  }

  void say(const std::string& line) const {
    if (options_.notice) options_.notice(line);
  }
  void set_trouble(std::string trouble) {
    std::lock_guard guard(trouble_lock_);
    if (trouble_ == trouble) return;
    trouble_ = std::move(trouble);
    if (!trouble_.empty()) say(cat("etcd: ", trouble_));
  }

  Task<Result<std::string>> call(std::string_view method, std::string message, Asked asked,
                                 milliseconds deadline) {
    if (is_closing_) co_return fail(closing());
    Result<std::string> answer = co_await await_callback<Result<std::string>>(
        [this, method, &message, asked, deadline](auto done) {
          channel_->call(method, message, asked, deadline, std::move(done));
        });
    co_return answer;
  }

  // --- everything at one revision
  // ------------------------------------------------------------------

  Task<Result<Loaded>> load(int attempts) {
    const net::SteadyTime until = std::chrono::steady_clock::now() + options_.start_timeout;
    for (;;) {
      Result<Loaded> loaded = co_await load_once(until);
      if (loaded || is_closing_) co_return loaded;
      if (loaded.error().reason == Reason::kServiceUnavailable) {
        // Somebody who is needed for reading is not there yet.
        set_trouble(loaded.error().message);
        if (std::chrono::steady_clock::now() + kBetweenLoads >= until) co_return loaded;
        bool waited = co_await await_callback<bool>([this](auto done) {
          load_waits_ = std::move(done);
          load_timer_->start(kBetweenLoads);
        });
        (void)waited;
        continue;
      }
      // A compaction may pass between two pages.
      if (loaded.error().reason != Reason::kExpired || ++attempts > 8) co_return loaded;
    }
  }

  Task<Result<Loaded>> load_once(net::SteadyTime until) {
    Loaded loaded;
    loaded.asked = std::chrono::steady_clock::now();
    std::string from = keys_.first();
    std::int64_t limit = kFirstPage;
    for (;;) {
      const auto left = std::chrono::duration_cast<milliseconds>(until -
                                                                 std::chrono::steady_clock::now());
      auto request = etcd::range_request(from, keys_.end(), limit, loaded.revision);
      Result<std::string> answer = co_await call(kRange, std::move(request), Asked::kRead,
                                                 std::max(left, milliseconds(1)));
      if (!answer) co_return fail(answer.error());
      auto page = etcd::read_range(*answer, keys_);
      if (!page) co_return fail(page.error());
      if (loaded.revision == 0) loaded.revision = page->revision;
      if (page->revision < loaded.revision) co_return fail(went_back(page->revision));
      loaded.records.insert(loaded.records.end(), std::make_move_iterator(page->records.begin()),
                            std::make_move_iterator(page->records.end()));
      if (!page->more) co_return loaded;
      from = page->last_key;
      from.push_back('\0');
      if (answer->size() < kPageBytes / 2) limit = std::min(limit * 2, kLargestPage);
      if (answer->size() > kPageBytes * 2) limit = std::max<std::int64_t>(limit / 2, 1);
    }
  }

  Error went_back(Revision to) {
    Error error = Error::of(Reason::kServiceUnavailable,
                            cat("etcd went back to revision ", to, " from ", timeline_.revision(),
                                ": it was replaced or restored; restart this server"));
    set_trouble(error.message);
    lost_ = error;
    return error;
  }

  // --- following
  // -----------------------------------------------------------------------------------

  // What the watch says, as long as it is the current one.
  class Reader final : public http::AnswerReader {
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

  void follow() {
    spawn(begin_watch(++generation_), [](bool) {});
  }

  Task<bool> begin_watch(std::uint64_t generation) {
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
    watch_ = channel_->open(
        kWatch, etcd::watch_request(keys_.first(), keys_.end(), timeline_.revision() + 1),
        std::make_shared<Reader>(*this, generation));
    co_return true;
  }

  void watch_ended(const std::string& why, bool elsewhere) {
    ++generation_;
    if (watch_) watch_->cancel();
    watch_.reset();
    drop_unpublished();
    set_trouble(cat("no watch: ", why));
    if (elsewhere) channel_->use_next_endpoint();
    again_timer_->start(channel_->pause_after(failures_++));
  }

  // The next watch brings it again. What the last one said of its progress counted on it.
  void drop_unpublished() {
    ready_.clear();
    partial_.clear();
    partial_changed_ = 0;
    progress_ = 0;
  }

  void take(std::string_view message) {
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
  void publish() {
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
          Event{change.is_delete ? EventType::kDelete : EventType::kPut,
                change.record->mod_revision, change.record, std::move(previous)}));
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

  void moved(bool has_events) {
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

  // History was compacted before the watch had seen it. What is now is read, and the difference
  // published.
  void reload() {
    ++generation_;
    if (watch_) watch_->cancel();
    watch_.reset();
    drop_unpublished();
    set_trouble("history was compacted while this server was away: reading everything again");
    spawn(reload_all(generation_), [](bool) {});
  }

  Task<bool> reload_all(std::uint64_t generation) {
    Result<Loaded> loaded = co_await load(0);
    if (generation != generation_) co_return false;
    if (!loaded) {
      watch_ended(loaded.error().message, false);
      co_return false;
    }
    if (loaded->revision < timeline_.revision()) {
      watch_ended(went_back(loaded->revision).message, false);
      co_return false;
    }
    auto by_key = [](const RecordPtr& a, const RecordPtr& b) { return a->key() < b->key(); };
    std::sort(loaded->records.begin(), loaded->records.end(), by_key);
    const std::vector<EventPtr> events = difference(loaded->records, loaded->revision);
    timeline_.leap(events, loaded->revision);
    if (!events.empty()) subscriptions_.publish(events);
    note(events);
    marked_.store(loaded->revision, std::memory_order_release);
    moved(true);
    if (!is_closing_ && generation == generation_) follow();
    co_return true;
  }

  std::vector<EventPtr> difference(std::span<const RecordPtr> after, Revision revision) {
    auto before = timeline_.range({.keys = {"", ""}});
    std::vector<EventPtr> events;
    auto add = [&events](EventType type, Revision at, RecordPtr record, RecordPtr previous) {
      events.push_back(
          std::make_shared<const Event>(Event{type, at, std::move(record), std::move(previous)}));
    };
    auto add_deletion = [&add](const RecordPtr& was, Revision at) {
      add(EventType::kDelete, at, Record::make(was->key(), {}, 0, at, 0), was);
    };
    auto was = before->records.begin();
    const auto last = before->records.end();
    auto is = after.begin();
    while (was != last || is != after.end()) {
      if (is == after.end() || (was != last && (*was)->key() < (*is)->key())) {
        add_deletion(*was++, revision);
        continue;
      }
      const bool stayed = was != last && (*was)->key() == (*is)->key();
      RecordPtr previous = stayed ? *was++ : nullptr;
      const RecordPtr& now = *is++;
      if (previous && previous->mod_revision == now->mod_revision) continue;
      if (previous && previous->create_revision != now->create_revision) {
        // It went, at the latest just before it came again.
        add_deletion(previous, now->create_revision - 1);
        previous = nullptr;
      }
      add(EventType::kPut, now->mod_revision, now, std::move(previous));
    }
    std::ranges::stable_sort(events, {}, &Event::revision);
    return events;
  }

  // --- waiting for a revision
  // ----------------------------------------------------------------------

  void wait_until(Revision revision, milliseconds longest, Refreshed done) {
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
  void close_gap() {
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
    if (silent >= kBeforeBarrier && !has_true_progress_ &&
        now - asked_progress_ >= kBeforeBarrier) {
      asked_progress_ = now;
      send({{}, {Put{std::string(kBarrierKey), ""}}}, [](const Result<Commit>&) {});
    }
  }

  void expire_waiters() {
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

  // The first key that is written says it: keys with and without an end are not written together.
  const EtcdLeased* leased_by(const Txn& txn) const {
    const Put* put = txn.ops.empty() ? nullptr : std::get_if<Put>(&txn.ops[0]);
    if (!put) return nullptr;
    for (const EtcdLeased& leased : options_.leased)
      if (put->key.starts_with(leased.prefix)) return &leased;
    return nullptr;
  }

  struct Lease {
    std::int64_t id = 0;
    net::SteadyTime until{};  // it is given to new keys
    int keys = 0;
  };

  Task<bool> send_leased(const EtcdLeased& leased, Txn txn, Done done) {
    Lease& lease = leases_[&leased];
    const net::SteadyTime now = std::chrono::steady_clock::now();
    if (lease.id == 0 || now >= lease.until || lease.keys >= kLeaseKeys) {
      const auto share = std::chrono::ceil<std::chrono::seconds>(leased.ttl / kLeaseShare);
      auto request = etcd::lease_request(leased.ttl + share);
      // Asked twice, the first lease ends by itself.
      Result<std::string> answer = co_await call(kLeaseGrant, std::move(request), Asked::kRead,
                                                 options_.call_timeout);
      auto granted = answer ? etcd::read_lease(*answer) : fail(answer.error());
      if (!granted) {
        done(fail(Error::of(Reason::kServiceUnavailable,
                            cat("nothing was stored: ", granted.error().message))));
        co_return false;
      }
      lease = {granted->id, now + share, 0};
    }
    ++lease.keys;
    const Result<std::string> message = request_of(txn, lease.id);
    if (!message) {
      done(fail(message.error()));
      co_return false;
    }
    send(std::move(txn), *message, [&lease, done = std::move(done)](Result<Commit> answer) mutable {
      // It may have ended: the next key gets another one.
      if (!answer) lease.id = 0;
      done(std::move(answer));
    });
    co_return true;
  }

  // A transaction that changes a marked key changes the mark too.
  Result<std::string> request_of(const Txn& txn, std::int64_t lease = 0) const {
    const bool marks = std::ranges::any_of(txn.ops, [this](const Op& op) {
      return is_marked(std::visit([](const auto& o) -> std::string_view { return o.key; }, op));
    });
    std::vector<std::string> values(options_.encoding ? txn.ops.size() : 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Put* put = std::get_if<Put>(&txn.ops[i]);
      if (!put) continue;
      auto value = keys_.value_to_etcd(put->key, put->value);
      if (!value) return fail(std::move(value.error()));
      values[i] = std::move(*value);
    }
    return etcd::txn_request(txn, keys_,
                             {.mark = marks ? kMarkKey : std::string_view(),
                              .guarded = options_.guarded,
                              .lease = lease,
                              .values = values});
  }

  bool is_marked(std::string_view key) const {
    return std::ranges::any_of(
        options_.marked, [key](const std::string& prefix) { return key.starts_with(prefix); });
  }

  // --- writing
  // -------------------------------------------------------------------------------------

  void send(Txn txn, Done done) {
    const Result<std::string> message = request_of(txn);
    if (!message) return done(fail(message.error()));
    send(std::move(txn), *message, std::move(done));
  }

  void send(Txn txn, std::string_view message, Done done) {
    if (is_closing_) return done(fail(closing()));
    if (lost_.reason != Reason::kUnknown) return done(fail(lost_));
    channel_->call(
        kTxn, message, Asked::kWrite, options_.call_timeout,
        [this, txn = std::move(txn), done = std::move(done)](Result<std::string> answer) mutable {
          answered(std::move(txn), std::move(done), std::move(answer));
        });
  }

  void answered(Txn txn, Done done, Result<std::string> message) {
    if (!message) return done(fail(std::move(message.error())));
    auto answer = etcd::read_txn(*message, keys_, txn.compares.size());
    if (!answer)
      return done(fail(internal_error(
          cat("outcome unknown: whether this was stored is not known: ", answer.error().message))));
    const Revision revision = answer->revision;
    wait_until(
        revision, options_.call_timeout,
        [this, txn = std::move(txn), answer = std::move(*answer),
         done = std::move(done)](Result<void> reached) mutable {
          if (reached) return done(commit_of(txn, answer));
          done(fail(internal_error(
              answer.succeeded ? cat("stored, but not visible here yet: ", reached.error().message)
                               : reached.error().message)));
        });
  }

  Commit commit_of(const Txn& txn, const etcd::TxnAnswer& answer) const {
    Commit commit{.succeeded = answer.succeeded, .revision = answer.revision, .records = {}};
    if (!answer.succeeded) {
      for (const RecordPtr& present : answer.present) {
        if (txn.compares[commit.records.size()].key == kMarkKey) {
          const Revision newest = std::max(answer.guarded, present ? present->mod_revision : 0);
          commit.records.push_back(Record::make(kMarkKey, {}, newest, newest, 1));
          continue;
        }
        RecordPtr known = present ? timeline_.get(present->key()) : nullptr;
        commit.records.push_back(known && known->mod_revision == present->mod_revision ? known
                                                                                       : present);
      }
      return commit;
    }
    for (std::size_t i = 0; i < txn.ops.size(); ++i) {
      const bool changed = i < answer.changed.size() && answer.changed[i];
      if (const Put* put = std::get_if<Put>(&txn.ops[i]))
        commit.records.push_back(record_at(*put, answer.revision));
      else
        commit.records.push_back(
            changed ? Record::make(std::get<Delete>(txn.ops[i]).key, {}, 0, answer.revision, 0)
                    : nullptr);
    }
    return commit;
  }

  RecordPtr record_at(const Put& put, Revision revision) const {
    if (RecordPtr now = timeline_.get(put.key); now && now->mod_revision == revision) return now;
    // It has been changed again already.
    RecordPtr found;
    if (auto since = timeline_.events_after(revision - 1))
      since->each([&](const EventPtr& event) {
        if (event->revision == revision && event->record->key() == put.key) found = event->record;
      });
    return found ? found : Record::make(put.key, put.value, revision, revision, 1);
  }

  // --- freshness
  // -----------------------------------------------------------------------------------

  void start_read() {
    if (is_closing_ || is_reading_ || want_fresh_.empty()) return;
    const net::SteadyTime now = std::chrono::steady_clock::now();
    if (const auto since = now - read_began_; since < kBetweenReads) {
      if (!read_timer_->pending())
        read_timer_->start(std::chrono::ceil<milliseconds>(kBetweenReads - since));
      return;
    }
    is_reading_ = true;
    read_began_ = now;
    spawn(read_revision(now, std::exchange(want_fresh_, {})), [](bool) {});
  }

  Task<bool> read_revision(net::SteadyTime asked, std::vector<Refreshed> waiting) {
    auto request = etcd::revision_request(keys_.to_etcd(kBarrierKey));
    const Revision before = timeline_.revision();
    const milliseconds longest = std::min(options_.call_timeout, kLongestRead);
    Result<std::string> answer = co_await call(kRange, std::move(request), Asked::kRead, longest);
    is_reading_ = false;
    auto revision = answer ? etcd::read_revision(*answer) : fail(answer.error());
    if (revision && *revision < before) revision = fail(went_back(*revision));
    if (lost_.reason != Reason::kUnknown) revision = fail(lost_);
    if (!revision) {
      for (Refreshed& done : waiting) done(fail(revision.error()));
    } else {
      wait_until(*revision, longest,
                 [this, asked, waiting = std::move(waiting)](Result<void> reached) mutable {
                   if (reached) set_fresh(asked);
                   for (Refreshed& done : waiting) done(reached);
                 });
    }
    start_read();
    co_return true;
  }

  void set_fresh(net::SteadyTime at) {
    if (at > fresh_as_of()) fresh_.store(at.time_since_epoch().count(), std::memory_order_release);
  }

  // Also when nobody reads, it is known how old what would be read is.
  void confirm() {
    confirm_timer_->start(options_.confirm_interval);
    if (std::chrono::steady_clock::now() - fresh_as_of() < options_.confirm_interval) return;
    if (is_reading_ || !want_fresh_.empty()) return;
    want_fresh_.push_back([](const Result<void>&) {});
    start_read();
  }

  // --- history
  // -------------------------------------------------------------------------------------

  void tick() {
    tick_->start(kEtcdTick);
    expire_waiters();
    spawn(chores(), [](bool) {});
    if (options_.compaction_interval.count() > 0 &&
        loop_.now() - compaction_tried_ >= options_.compaction_interval)
      spawn(compact_etcd(), [](bool) {});
  }

  Task<Result<Commit>> write(Txn txn) {
    Result<Commit> answer = co_await await_callback<Result<Commit>>(
        [this, &txn](auto done) { send(std::move(txn), std::move(done)); });
    co_return answer;
  }

  // The state of the last change would stay readable for as long as nothing else happens. One write
  // when things have become quiet gives it an end. The first server that does it serves all.
  Task<bool> chores() {
    const std::int64_t now = unix_seconds(clock_);
    if (times_.is_quiet(timeline_.revision(), now)) {
      if (is_closing_quiet_) {
        bool written = co_await await_callback<bool>(
            [this](auto done) { after_quiet_.push_back(std::move(done)); });
        co_return written;
      }
      RecordPtr quiet = timeline_.get(kQuietKey);
      if (!quiet || quiet->mod_revision != timeline_.revision()) {
        is_closing_quiet_ = true;
        Txn txn{{{std::string(kQuietKey), quiet ? quiet->mod_revision : 0}},
                {Put{std::string(kQuietKey), ""}}};
        Result<Commit> written = co_await write(std::move(txn));
        is_closing_quiet_ = false;
        for (auto& done : std::exchange(after_quiet_, {})) done(written.has_value());
        if (!written || is_closing_) co_return false;
      }
    }
    times_.note(timeline_.revision(), now);
    compact_to_ = std::max(compact_to_, times_.expired(now));
    trim();
    co_return true;
  }

  void trim() {
    if (timeline_.past_bytes() > options_.history.max_bytes)
      compact_to_ = std::max(compact_to_, timeline_.revision_of_event(kTrimStep));
    timeline_.compact(compact_to_, 16 * kTrimStep);
  }

  Task<Result<void>> compact_all(Revision revision) {
    if (revision > timeline_.revision())
      co_return fail(
          bad_request(cat("cannot compact to revision ", revision,
                          ", which is in the future; the current one is ", timeline_.revision())));
    co_await chores();
    auto request = etcd::compact_request(revision);
    Result<std::string> answer = co_await call(kCompact, std::move(request), Asked::kRead,
                                               options_.call_timeout);
    // Somebody else may have gone further.
    if (!answer && answer.error().reason != Reason::kExpired) co_return fail(answer.error());
    compact_to_ = std::max(compact_to_, revision);
    while (!is_closing_ && !timeline_.compact(compact_to_, kTrimStep)) {
      if (timeline_.compacted() < compact_to_) break;  // as far as running reads allow
    }
    co_return Result<void>();
  }

  // All sinks have seen these.
  void note(std::span<const EventPtr> events) {
    for (const EventPtr& event : events) {
      if (is_marked(event->record->key()))
        marked_.store(event->revision, std::memory_order_release);
    }
  }

  // Once in an interval each server tries to take the turn, and who gets it compacts up to what was
  // current when it tried before. So every revision lives for an interval at least, and one server
  // does it, be it a kube-apiserver.
  Task<bool> compact_etcd() {
    compaction_tried_ = loop_.now();
    const std::int64_t version = turn_version_;
    const Revision revision = std::exchange(turn_revision_, 0);
    auto request = etcd::compaction_turn_request(version, revision);
    Result<std::string> answer = co_await call(kTxn, std::move(request), Asked::kWrite,
                                               options_.call_timeout);
    auto turn = answer ? etcd::read_compaction_turn(*answer, version) : fail(answer.error());
    if (!turn) {
      say(cat("etcd was not compacted: ", turn.error().message));
      co_return false;
    }
    turn_version_ = turn->version;
    turn_revision_ = turn->revision;
    if (!turn->is_ours || revision == 0) co_return false;
    Result<std::string> compacted = co_await call(kCompact, etcd::compact_request(revision),
                                                  Asked::kRead, options_.call_timeout);
    if (!compacted && compacted.error().reason != Reason::kExpired)
      say(cat("etcd was not compacted: ", compacted.error().message));
    co_return true;
  }

  const EtcdOptions options_;
  const Clock& clock_;
  const etcd::KeySpace keys_;
  const std::shared_ptr<const net::TlsClient> tls_;
  Timeline timeline_;
  Subscriptions subscriptions_{timeline_};
  std::atomic<net::SteadyTime::rep> fresh_ = 0;
  std::atomic<std::uint64_t> database_bytes_ = 0;
  std::atomic<Revision> marked_ = 0;
  mutable std::mutex trouble_lock_;
  std::string trouble_;

  SystemRandom random_;
  net::Loops loops_{1};
  net::Loop& loop_;
  net::Dialer dialer_;

  // The loop's.
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<net::Timer> tick_, gap_timer_, read_timer_, again_timer_, confirm_timer_,
      load_timer_;
  std::move_only_function<void(bool)> load_waits_;
  bool is_closing_ = false;
  Error lost_{Reason::kUnknown, "", nullptr, 0};  // etcd is not what it was: nothing works any more

  std::shared_ptr<http::OpenCall> watch_;
  std::uint64_t generation_ = 0;  // of the watch: what belongs to an earlier one is of no interest
  int failures_ = 0;
  bool has_true_progress_ = false;
  std::vector<etcd::Change> partial_;  // of an answer whose fragments are not all there
  Revision partial_changed_ = 0;       // its last change, also of others
  std::vector<etcd::Change> ready_;    // to be published
  Revision progress_ = 0;              // nothing will come of revisions up to here
  Revision at_ = 0;
  net::SteadyTime moved_{};  // when the timeline last did, or somebody began to wait for it
  net::SteadyTime asked_progress_{};
  std::multimap<Revision, Waiter> waiters_;

  std::map<const EtcdLeased*, Lease> leases_;

  std::vector<Refreshed> want_fresh_;
  bool is_reading_ = false;
  net::SteadyTime read_began_{};

  RevisionTimes times_;
  Revision compact_to_ = 0;
  bool is_closing_quiet_ = false;
  std::vector<std::move_only_function<void(bool)>> after_quiet_;
  net::SteadyTime compaction_tried_{};
  std::int64_t turn_version_ = 0;  // of the turn to compact, as this server last saw it
  Revision turn_revision_ = 0;     // that was current then
};

Result<std::unique_ptr<Store>> open_etcd_store(EtcdOptions options) {
  static const SystemClock system_clock;
  if (options.endpoints.empty()) return fail(bad_request("etcd has no endpoints"));
  std::shared_ptr<const net::TlsClient> tls;
  const bool is_tls = std::ranges::any_of(options.endpoints, [](const std::string& endpoint) {
    return endpoint.starts_with("https:");
  });
  if (is_tls) {
    auto made = net::TlsClient::make({.server_cas = options.server_cas,
                                      .certificates = options.certificate,
                                      .key = options.key,
                                      .protocols = {"h2"}});
    if (!made) return fail(made.error());
    tls = std::move(*made);
  }
  for (std::string& endpoint : options.endpoints)
    while (endpoint.ends_with('/')) endpoint.pop_back();
  const Clock& clock = options.clock ? *options.clock : system_clock;
  auto store = std::make_unique<EtcdStore>(std::move(options), std::move(tls), clock);
  if (auto ok = store->open(); !ok) return fail(ok.error());
  return store;
}

}  // namespace cardea::store
