#include "store/timeline.h"

#include <algorithm>
#include <shared_mutex>

#include "base/strings.h"

namespace cardea::store {
namespace {

// How many records a read collects before it lets a writer in.
constexpr std::size_t kStride = 4096;

// What the bookkeeping around a kept record costs, roughly.
constexpr std::size_t kOverhead = 160;

std::size_t weight(const Record& record) {
  return record.key().size() + record.value().size();
}

bool inside(std::string_view key, const KeyRange& keys) {
  return key >= keys.start && (keys.end.empty() || key < keys.end);
}

Error expired(Revision asked, Revision compacted) {
  return Error::of(Reason::kExpired,
                   cat("too old resource version: ", asked, " (", compacted, ")"));
}

}  // namespace

// Keeps one past state readable while a long read releases the lock from time to time.
class Timeline::Pin {
 public:
  Pin(const Timeline& timeline, Revision revision) : timeline_(timeline) {
    std::lock_guard guard(timeline_.pins_lock_);
    at_ = timeline_.pins_.insert(revision);
  }
  ~Pin() {
    std::lock_guard guard(timeline_.pins_lock_);
    timeline_.pins_.erase(at_);
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

 private:
  const Timeline& timeline_;
  std::multiset<Revision>::iterator at_;
};

RecordPtr Timeline::get(std::string_view key) const {
  std::shared_lock guard(lock_);
  const RecordPtr* found = current_.find(key);
  return found ? *found : nullptr;
}

std::int64_t Timeline::count(const KeyRange& keys) const {
  std::shared_lock guard(lock_);
  return count_now(keys);
}

std::int64_t Timeline::count_now(const KeyRange& keys) const {
  std::size_t from = current_.rank(current_.lower_bound(keys.start));
  std::size_t to = keys.end.empty() ? current_.size()
                                    : current_.rank(current_.lower_bound(keys.end));
  return to > from ? static_cast<std::int64_t>(to - from) : 0;
}

// Keys that were created since do not count, keys that were deleted since do.
std::int64_t Timeline::count_at(const KeyRange& keys, Revision at) const {
  std::int64_t count = count_now(keys);
  if (at == revision()) return count;
  log_.after(at).each([&](const EventPtr& event) {
    bool created = event->type == EventType::kPut && !event->previous;
    bool deleted = event->type == EventType::kDelete;
    if ((created || deleted) && inside(event->record->key(), keys)) count += deleted ? 1 : -1;
  });
  return count;
}

Result<RangeResult> Timeline::range(const RangeQuery& query) const {
  std::shared_lock guard(lock_);
  Revision now = revision();
  if (query.at > now) return fail(revision_too_large(query.at, now));
  if (query.at != 0 && query.at < compacted()) return fail(expired(query.at, compacted()));
  Revision at = query.at == 0 ? now : query.at;

  auto collect = [&](const RangeQuery& part, std::size_t stop) {
    return at == revision() ? range_now(part, stop) : range_at(part, at, stop);
  };
  auto stop_for = [&](std::size_t have) {
    return query.limit == 0 ? kStride : std::min(kStride, query.limit - have);
  };
  RangeResult result = collect(query, stop_for(0));
  if (result.more && (query.limit == 0 || result.records.size() < query.limit)) {
    Pin pin(*this, at);
    RangeQuery rest = query;
    while (result.more && (query.limit == 0 || result.records.size() < query.limit)) {
      guard.unlock();
      rest.keys.start.assign(result.records.back()->key()).push_back('\0');
      guard.lock();
      RangeResult part = collect(rest, stop_for(result.records.size()));
      result.more = part.more;
      result.records.insert(result.records.end(), std::make_move_iterator(part.records.begin()),
                            std::make_move_iterator(part.records.end()));
    }
  }
  result.revision = at;
  if (result.more) {
    KeyRange rest{std::string(result.records.back()->key()), query.keys.end};
    rest.start.push_back('\0');
    result.remaining = count_at(rest, at);
  }
  return result;
}

RangeResult Timeline::range_now(const RangeQuery& query, std::size_t stop) const {
  RangeResult result;
  if (!query.keys.end.empty() && query.keys.end <= query.keys.start) return result;
  auto position = current_.lower_bound(query.keys.start);
  auto last = query.keys.end.empty() ? current_.end() : current_.lower_bound(query.keys.end);
  for (; position != last; position = current_.next(position)) {
    if (result.records.size() == stop) {
      result.more = true;
      break;
    }
    result.records.push_back(current_.at(position));
  }
  return result;
}

// Walks the current and the superseded records side by side and takes, of each key, the newest
// version that is not newer than `at`.
RangeResult Timeline::range_at(const RangeQuery& query, Revision at, std::size_t stop) const {
  RangeResult result;
  auto now = current_.lower_bound(query.keys.start);
  auto old = past_.lower_bound(query.keys.start);
  for (;;) {
    bool have_now = now != current_.end();
    bool have_old = old != past_.end();
    if (!have_now && !have_old) return result;
    std::string_view key = have_now ? current_.at(now)->key() : past_.at(old)->key();
    if (have_old && past_.at(old)->key() < key) key = past_.at(old)->key();
    if (!query.keys.end.empty() && key >= query.keys.end) return result;

    const RecordPtr* seen = nullptr;
    if (have_now && current_.at(now)->key() == key) {
      if (current_.at(now)->mod_revision <= at) seen = &current_.at(now);
      now = current_.next(now);
    }
    if (have_old && past_.at(old)->key() == key) {
      if (!seen) {
        auto after = past_.lower_bound(key, at + 1);
        if (!past_.is_first(after)) {
          const RecordPtr& candidate = past_.at(past_.previous(after));
          if (candidate->key() == key && !candidate->deleted()) seen = &candidate;
        }
      }
      old = past_.lower_bound(key, RecordIndex::kNewest);
    }
    if (!seen) continue;
    if (result.records.size() == stop) {
      result.more = true;
      return result;
    }
    result.records.push_back(*seen);
  }
}

Result<EventLog::Slice> Timeline::events_after(Revision revision) const {
  std::shared_lock guard(lock_);
  if (revision < compacted()) return fail(expired(revision, compacted()));
  return log_.after(revision);
}

void Timeline::describe(StoreStats& stats) const {
  std::shared_lock guard(lock_);
  stats.keys = current_.size();
  stats.live_bytes = live_bytes_;
  stats.history_bytes = past_bytes_;
  stats.events = log_.size();
}

void Timeline::add_past(RecordPtr record) {
  past_bytes_ += weight(*record) + kOverhead;
  past_.insert(std::move(record));
}

void Timeline::drop_past(const Record& record) {
  std::size_t bytes = weight(record) + kOverhead;
  if (past_.erase(record.key(), record.mod_revision)) past_bytes_ -= bytes;
}

void Timeline::apply(std::span<const EventPtr> events) {
  if (events.empty()) return;
  std::unique_lock guard(lock_);
  publish(events);
  revision_.store(events.back()->revision, std::memory_order_release);
}

void Timeline::advance(Revision revision) {
  std::unique_lock guard(lock_);
  if (revision > revision_) revision_.store(revision, std::memory_order_release);
}

void Timeline::leap(std::span<const EventPtr> difference, Revision revision) {
  std::unique_lock guard(lock_);
  publish(difference);
  compacted_.store(revision, std::memory_order_release);
  revision_.store(revision, std::memory_order_release);
}

void Timeline::publish(std::span<const EventPtr> events) {
  for (const EventPtr& event : events) {
    const RecordPtr& record = event->record;
    auto position = current_.lower_bound(record->key());
    if (event->previous) live_bytes_ -= weight(*event->previous);
    if (event->type == EventType::kDelete) {
      current_.erase(position);
      add_past(record);
    } else {
      live_bytes_ += weight(*record);
      if (event->previous) {
        current_.replace(position, record);
      } else {
        current_.insert(position, record);
      }
    }
    if (event->previous) add_past(event->previous);
    log_.append(event);
  }
}

bool Timeline::compact(Revision target, std::size_t steps) {
  std::unique_lock guard(lock_);
  target = std::min(target, revision());
  Revision pinned = RecordIndex::kNewest;
  {
    std::lock_guard pins(pins_lock_);
    if (!pins_.empty()) pinned = *pins_.begin();
  }
  target = std::min(target, pinned);
  // Readers are turned away before the first version disappears.
  if (target > compacted()) compacted_.store(target, std::memory_order_release);
  auto stale = [&] {
    return log_.size() > 0 && log_.front()->revision <= std::min(compacted(), pinned);
  };
  for (; steps > 0 && stale(); --steps) {
    const Event& event = *log_.front();
    if (event.previous) drop_past(*event.previous);
    if (event.type == EventType::kDelete) drop_past(*event.record);
    log_.pop_front();
  }
  return !stale();
}

void Timeline::restore(Remembered remembered) {
  std::unique_lock guard(lock_);
  auto by_key = [](const RecordPtr& a, const RecordPtr& b) { return a->key() < b->key(); };
  if (!std::is_sorted(remembered.current.begin(), remembered.current.end(), by_key)) {
    std::sort(remembered.current.begin(), remembered.current.end(), by_key);
  }
  for (const RecordPtr& record : remembered.current) live_bytes_ += weight(*record);

  // Every version that is newer than the compacted revision was an event, and so was every
  // deletion. A version's predecessor is the one that was superseded at its revision.
  std::vector<EventPtr> events;
  auto& history = remembered.history;
  auto by_key_until = [](const Superseded& a, const Superseded& b) {
    int order = a.record->key().compare(b.record->key());
    return order != 0 ? order < 0 : a.until < b.until;
  };
  std::sort(history.begin(), history.end(), by_key_until);
  auto predecessor = [&](const Record& record) -> RecordPtr {
    if (record.version == 1) return nullptr;
    auto found = std::partition_point(
        history.begin(), history.end(), [&](const Superseded& candidate) {
          int order = candidate.record->key().compare(record.key());
          return order != 0 ? order < 0 : candidate.until < record.mod_revision;
        });
    if (found == history.end() || found->record->key() != record.key()) return nullptr;
    return found->until == record.mod_revision ? found->record : nullptr;
  };
  auto add_put = [&](const RecordPtr& record) {
    if (record->mod_revision <= remembered.compacted) return;
    events.push_back(std::make_shared<const Event>(
        Event{EventType::kPut, record->mod_revision, record, predecessor(*record)}));
  };
  for (const RecordPtr& record : remembered.current) add_put(record);
  for (const Superseded& old : history) {
    add_put(old.record);
    add_past(old.record);
    if (!old.deleted) continue;
    RecordPtr tombstone = Record::make(old.record->key(), {}, 0, old.until, 0);
    add_past(tombstone);
    events.push_back(std::make_shared<const Event>(
        Event{EventType::kDelete, old.until, std::move(tombstone), old.record}));
  }
  std::sort(events.begin(), events.end(), [](const EventPtr& a, const EventPtr& b) {
    return a->revision != b->revision ? a->revision < b->revision
                                      : a->record->key() < b->record->key();
  });
  for (EventPtr& event : events) log_.append(std::move(event));
  current_.assign_sorted(std::move(remembered.current));
  compacted_.store(remembered.compacted, std::memory_order_release);
  revision_.store(remembered.revision, std::memory_order_release);
}

}  // namespace cardea::store
