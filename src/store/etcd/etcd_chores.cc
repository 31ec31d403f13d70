#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "store/etcd/etcd_engine.h"

namespace cardea::store {
namespace {

constexpr std::string_view kCompact = "/etcdserverpb.KV/Compact";
// A quorum read serves all that wait, and there is at most one in this time.
constexpr std::chrono::milliseconds kBetweenReads{10};
constexpr std::chrono::milliseconds kLongestReach{3'000};
constexpr std::chrono::milliseconds kLongestRead{3'000};
constexpr std::size_t kTrimStep = 1024;

}  // namespace

void EtcdStore::compact(Revision revision, Compacted done) {
  loop_.post([this, revision, done = std::move(done)]() mutable {
    spawn(compact_all(revision), std::move(done));
  });
}

void EtcdStore::refresh(Refreshed done) {
  loop_.post([this, done = std::move(done)]() mutable {
    if (is_closing_) return done(fail(closing()));
    want_fresh_.push_back(std::move(done));
    start_read();
  });
}

void EtcdStore::reach(Revision revision, Refreshed done) {
  if (revision <= timeline_.revision()) return done({});
  loop_.post([this, revision, done = std::move(done)]() mutable {
    wait_until(revision, kLongestReach,
               [this, revision, done = std::move(done)](Result<void> reached) mutable {
                 if (reached) return done({});
                 done(fail(revision_too_large(revision, timeline_.revision())));
               });
  });
}

void EtcdStore::start_read() {
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

Task<bool> EtcdStore::read_revision(net::SteadyTime asked, std::vector<Refreshed> waiting) {
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

void EtcdStore::set_fresh(net::SteadyTime at) {
  if (at > fresh_as_of()) fresh_.store(at.time_since_epoch().count(), std::memory_order_release);
}

// Also when nobody reads, it is known how old what would be read is.
void EtcdStore::confirm() {
  confirm_timer_->start(options_.confirm_interval);
  if (std::chrono::steady_clock::now() - fresh_as_of() < options_.confirm_interval) return;
  if (is_reading_ || !want_fresh_.empty()) return;
  want_fresh_.push_back([](const Result<void>&) {});
  start_read();
}

void EtcdStore::tick() {
  tick_->start(kTick);
  expire_waiters();
  spawn(chores(), [](bool) {});
  if (options_.compaction_interval.count() > 0 &&
      loop_.now() - compaction_tried_ >= options_.compaction_interval)
    spawn(compact_etcd(), [](bool) {});
}

// The state of the last change would stay readable for as long as nothing else happens. One write
// when things have become quiet gives it an end. The first server that does it serves all.
Task<bool> EtcdStore::chores() {
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

void EtcdStore::trim() {
  if (timeline_.past_bytes() > options_.history.max_bytes)
    compact_to_ = std::max(compact_to_, timeline_.revision_of_event(kTrimStep));
  timeline_.compact(compact_to_, 16 * kTrimStep);
}

Task<Result<void>> EtcdStore::compact_all(Revision revision) {
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

// Once in an interval each server tries to take the turn, and who gets it compacts up to what was
// current when it tried before. So every revision lives for an interval at least, and one server
// does it, be it a kube-apiserver.
Task<bool> EtcdStore::compact_etcd() {
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

}  // namespace cardea::store
