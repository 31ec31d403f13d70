#include "store/subscriptions.h"

#include <algorithm>

namespace cardea::store {

// One sink and how far it has got.
class Subscriptions::Subscription {
 public:
  Subscription(std::string prefix, Revision from, Store::Sink sink)
      : prefix(std::move(prefix)), seen_(from), sink_(std::move(sink)) {}

  const std::string prefix;

  // From the publishing thread.
  void offer(std::span<const EventPtr> events) {
    std::lock_guard guard(lock_);
    if (closed_) return;
    if (live_) {
      deliver(events);
    } else {
      backlog_.insert(backlog_.end(), events.begin(), events.end());
    }
  }

  // From the subscribing thread: first the past, then what was published meanwhile, until there is
  // nothing left to catch up with. The publisher never waits for a sink that catches up.
  void catch_up(const EventLog::Slice& past) {
    std::vector<EventPtr> events;
    past.each([&](const EventPtr& event) {
      if (event->record->key().starts_with(prefix)) events.push_back(event);
    });
    for (;;) {
      deliver(events);
      events.clear();
      std::lock_guard guard(lock_);
      events.swap(backlog_);
      if (!events.empty()) continue;
      live_ = true;
      return;
    }
  }

  void close() {
    std::lock_guard guard(lock_);
    closed_ = true;
  }

 private:
  void deliver(std::span<const EventPtr> events) {
    // The log and the live stream overlap for a moment; a revision is delivered by whichever has it
    // first.
    auto fresh = std::partition_point(events.begin(), events.end(), [&](const EventPtr& event) {
      return event->revision <= seen_;
    });
    if (fresh == events.end()) return;
    seen_ = events.back()->revision;
    sink_(std::span(fresh, events.end()));
  }

  std::recursive_mutex lock_;  // recursive, so that a sink may end its own watch
  bool live_ = false;
  bool closed_ = false;
  std::vector<EventPtr> backlog_;
  Revision seen_;  // of the catching-up thread until live_, then guarded by lock_
  Store::Sink sink_;
};

class Subscriptions::Handle : public Watch {
 public:
  Handle(std::shared_ptr<Audience> audience, std::shared_ptr<Subscription> subscription)
      : audience_(std::move(audience)), subscription_(std::move(subscription)) {}
  ~Handle() override {
    audience_->remove(subscription_);
    subscription_->close();
  }

 private:
  std::shared_ptr<Audience> audience_;
  std::shared_ptr<Subscription> subscription_;
};

void Subscriptions::Audience::add(const std::shared_ptr<Subscription>& subscription) {
  std::lock_guard guard(lock);
  auto [entry, fresh] = by_prefix.try_emplace(subscription->prefix);
  if (fresh) ++lengths[subscription->prefix.size()];
  entry->second.push_back(subscription);
}

void Subscriptions::Audience::remove(const std::shared_ptr<Subscription>& subscription) {
  std::lock_guard guard(lock);
  auto entry = by_prefix.find(subscription->prefix);
  if (entry == by_prefix.end()) return;
  Members& members = entry->second;
  auto member = std::find(members.begin(), members.end(), subscription);
  if (member == members.end()) return;
  *member = std::move(members.back());
  members.pop_back();
  if (!members.empty()) return;
  auto length = lengths.find(subscription->prefix.size());
  if (--length->second == 0) lengths.erase(length);
  by_prefix.erase(entry);
}

Result<std::unique_ptr<Watch>> Subscriptions::add(std::string prefix, Revision from,
                                                  Store::Sink sink) {
  auto subscription = std::make_shared<Subscription>(std::move(prefix), from, std::move(sink));
  // Subscribed before the log is read: whatever is applied later than the slice reaches the
  // backlog.
  audience_->add(subscription);
  auto handle = std::make_unique<Handle>(audience_, subscription);
  auto past = timeline_.events_after(from);
  if (!past) return fail(std::move(past.error()));
  subscription->catch_up(*past);
  return handle;
}

void Subscriptions::publish(std::span<const EventPtr> events) {
  struct Delivery {
    Members members;
    std::vector<EventPtr> events;
  };
  std::vector<Delivery> deliveries;
  {
    std::lock_guard guard(audience_->lock);
    if (audience_->by_prefix.empty()) return;
    std::unordered_map<const Members*, std::size_t> found;
    for (const EventPtr& event : events) {
      std::string_view key = event->record->key();
      for (const auto& [length, count] : audience_->lengths) {
        if (length > key.size()) break;
        auto entry = audience_->by_prefix.find(key.substr(0, length));
        if (entry == audience_->by_prefix.end()) continue;
        auto [at, fresh] = found.try_emplace(&entry->second, deliveries.size());
        if (fresh) deliveries.push_back({entry->second, {}});
        deliveries[at->second].events.push_back(event);
      }
    }
  }
  for (const Delivery& delivery : deliveries) {
    for (const auto& member : delivery.members) member->offer(delivery.events);
  }
}

}  // namespace cardea::store
