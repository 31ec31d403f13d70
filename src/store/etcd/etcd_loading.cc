#include <algorithm>

#include "base/strings.h"
#include "store/etcd/etcd_engine.h"

namespace cardea::store {
namespace {

constexpr std::chrono::milliseconds kBetweenLoads{1'000};
// A page of a load grows and shrinks to about this size.
constexpr std::size_t kPageBytes = 4u << 20;
constexpr std::int64_t kFirstPage = 500;
constexpr std::int64_t kLargestPage = 50'000;

}  // namespace

Task<Result<EtcdStore::Loaded>> EtcdStore::load(int attempts) {
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

Task<Result<EtcdStore::Loaded>> EtcdStore::load_once(net::SteadyTime until) {
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
    if (loading_) loading_(loaded.records.size(), 0);
    if (!page->more) co_return loaded;
    from = page->last_key;
    from.push_back('\0');
    if (answer->size() < kPageBytes / 2) limit = std::min(limit * 2, kLargestPage);
    if (answer->size() > kPageBytes * 2) limit = std::max<std::int64_t>(limit / 2, 1);
  }
}

Error EtcdStore::went_back(Revision to) {
  Error error = Error::of(Reason::kServiceUnavailable,
                          cat("etcd went back to revision ", to, " from ", timeline_.revision(),
                              ": it was replaced or restored; restart this server"));
  set_trouble(error.message);
  lost_ = error;
  return error;
}

// History was compacted before the watch had seen it. What is now is read, and the difference
// published.
void EtcdStore::reload() {
  ++generation_;
  if (watch_) watch_->cancel();
  watch_.reset();
  drop_unpublished();
  set_trouble("history was compacted while this server was away: reading everything again");
  spawn(reload_all(generation_), [](bool) {});
}

Task<bool> EtcdStore::reload_all(std::uint64_t generation) {
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

std::vector<EventPtr> EtcdStore::difference(std::span<const RecordPtr> after, Revision revision) {
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

}  // namespace cardea::store
