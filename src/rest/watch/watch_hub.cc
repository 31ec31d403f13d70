#include "rest/watch/watch_hub.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <mutex>
#include <unordered_map>

#include "base/strings.h"
#include "rest/audit_trail.h"
#include "rest/present/status.h"
#include "rest/verbs/options.h"
#include "rest/watch/watch_event.h"
#include "rest/watch/watch_opening.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

constexpr std::chrono::seconds kBookmarkEvery{60};
constexpr std::int64_t kDefaultTimeoutSeconds = 1800;  // spread up to twice this, so that not all
                                                       // end at once

Error not_upgradable() {
  return bad_request("this connection cannot become a WebSocket");
}

// One client that watches. Lives on its loop.
struct Watcher {
  std::shared_ptr<http::Stream> stream;
  WatchView view;
  store::Revision after = 0;  // it has seen everything up to here
  bool bookmarks = false;
  std::unique_ptr<net::Timer> timeout;
  std::shared_ptr<AuditTrail> trail;  // tells of the end when the watcher goes
  std::size_t index = 0;              // in its channel
  RunningRequest running;
};

}  // namespace

// All watchers of one collection on one loop, behind one subscription.
struct WatchChannel : std::enable_shared_from_this<WatchChannel> {
  std::string prefix;
  net::Loop& loop;
  store::Revision seen = 0;
  std::vector<std::shared_ptr<Watcher>> watchers;
  std::unique_ptr<store::Watch> subscription;

  std::mutex mutex;
  std::vector<store::EventPtr> queue;  // guarded by mutex
  bool scheduled = false;              // guarded by mutex

  WatchChannel(std::string p, net::Loop& l) : prefix(std::move(p)), loop(l) {}

  // On the store's thread.
  void receive(std::span<const store::EventPtr> events) {
    std::lock_guard lock(mutex);
    queue.insert(queue.end(), events.begin(), events.end());
    if (std::exchange(scheduled, true)) return;
    loop.post([self = shared_from_this()] { self->drain(); });
  }

  void drain() {
    std::vector<store::EventPtr> events;
    {
      std::lock_guard lock(mutex);
      events.swap(queue);
      scheduled = false;
    }
    for (store::EventPtr& e : events) {
      seen = e->revision;
      WatchEvent event(std::move(e));
      deliver(event);
    }
  }

  void deliver(WatchEvent& event) {
    // A write that fails removes no watcher here: the end of the connection does, through on_close.
    for (const auto& w : watchers)
      if (event.revision() > w->after)
        if (auto bytes = event.bytes_for(w->view)) {
          w->stream->write(http::Piece::of(std::move(bytes)));
          w->view.table_headers = false;
        }
  }

  void remove(const std::shared_ptr<Watcher>& w) {
    if (w->index >= watchers.size() || watchers[w->index] != w) return;
    watchers.back()->index = w->index;
    std::swap(watchers[w->index], watchers.back());
    watchers.pop_back();
    w->timeout.reset();
  }
};

class WatchHub {
 public:
  WatchHub(store::Store& store, net::Loop& loop)
      : store_(store), loop_(loop), bookmark_timer_(loop, [this] { send_bookmarks(); }) {}

  Result<Answer> watch(Call& call);

  void finish_all() {
    for (auto& [prefix, channel] : channels_) {
      for (const auto& w : channel->watchers) {
        w->stream->finish();
        w->timeout.reset();
      }
      channel->watchers.clear();
    }
    channels_.clear();
    bookmark_timer_.cancel();
  }

 private:
  using ChannelPtr = std::shared_ptr<WatchChannel>;

  Result<ChannelPtr> channel_for(const std::string& prefix);
  // Every change of the collection after `from` that has been published.
  Result<std::vector<store::EventPtr>> changes(const std::string& prefix, store::Revision from);
  void send_bookmarks();
  void forget(const ChannelPtr& channel, const std::shared_ptr<Watcher>& watcher);

  store::Store& store_;
  net::Loop& loop_;
  std::unordered_map<std::string, ChannelPtr> channels_;
  net::Timer bookmark_timer_;
};

Result<WatchHub::ChannelPtr> WatchHub::channel_for(const std::string& prefix) {
  if (auto found = channels_.find(prefix); found != channels_.end()) return found->second;
  auto channel = std::make_shared<WatchChannel>(prefix, loop_);
  channel->seen = store_.current_revision();
  std::weak_ptr<WatchChannel> weak = channel;
  auto subscription = store_.watch(prefix, channel->seen,
                                   [weak](std::span<const store::EventPtr> events) {
                                     if (auto c = weak.lock()) c->receive(events);
                                   });
  if (!subscription) return fail(subscription.error());
  channel->subscription = std::move(*subscription);
  channels_[prefix] = channel;
  return channel;
}

Result<std::vector<store::EventPtr>> WatchHub::changes(const std::string& prefix,
                                                       store::Revision from) {
  std::vector<store::EventPtr> events;
  auto once = store_.watch(prefix, from, [&events, this](std::span<const store::EventPtr> some) {
    // What another thread publishes meanwhile comes through the channel.
    if (loop_.in_loop()) events.insert(events.end(), some.begin(), some.end());
  });
  if (!once) return fail(once.error());
  return events;
}

void WatchHub::send_bookmarks() {
  for (auto& [prefix, channel] : channels_) {
    store::Revision now = store_.current_revision();
    auto missed = changes(prefix, channel->seen);
    // Only when nothing is on its way is `now` a point that every watcher has reached.
    if (!missed || !missed->empty()) continue;
    channel->seen = std::max(channel->seen, now);
    for (const auto& w : channel->watchers)
      if (w->bookmarks)
        w->stream->write(http::Piece::of(bookmark_event(channel->seen, false, w->view)));
  }
  bookmark_timer_.start(kBookmarkEvery);
}

void WatchHub::forget(const ChannelPtr& channel, const std::shared_ptr<Watcher>& watcher) {
  channel->remove(watcher);
  if (!channel->watchers.empty()) return;
  auto found = channels_.find(channel->prefix);
  if (found != channels_.end() && found->second == channel) channels_.erase(found);
}

Result<Answer> WatchHub::watch(Call& call) {
  auto options = list_options(call.info);
  if (!options) return fail(options.error());
  auto selection = Selection::make(*call.resource, *options);
  if (!selection) return fail(selection.error());
  auto revision = parse_revision(options->resource_version);
  if (!revision)
    return fail(
        bad_request(cat("resourceVersion: Invalid value: ", quoted(options->resource_version), ": ",
                        revision.error().message)));

  auto watcher = std::make_shared<Watcher>();
  watcher->view = {
      .catalog = call.catalog,
      .resource = call.resource,
      .storage = call.catalog->storage_of(*call.resource),
      .selection = *selection,
      .view = call.view,
      .clock = &call.services.clock,
      .include_object = std::string(call.info.query.first("includeObject").value_or(""))};
  watcher->view.view.pretty = false;
  watcher->bookmarks = options->allow_bookmarks;

  auto opening = WatchOpening::make(call);
  if (!opening) return std::move(opening.error());
  std::string prefix = collection_prefix(*call.resource, call.info.namespace_name);
  auto channel = channel_for(prefix);
  if (!channel) return fail(channel.error());

  bool from_now = options->resource_version.empty() || options->resource_version == "0";
  bool initial = options->send_initial_events.value_or(from_now);
  Answer streaming;
  streaming.is_streaming = true;
  streaming.status = opening->status();
  if (initial) {
    auto range = store_.range({.keys = store::keys_with_prefix(prefix)});
    if (!range) return fail(range.error());
    for (const store::RecordPtr& record : range->records) {
      WatchEvent event(std::make_shared<store::Event>(
          store::Event{store::EventType::kPut, record->mod_revision, record, nullptr}));
      if (auto bytes = event.bytes_for(watcher->view)) opening->add(*bytes);
      if (opening->has_events()) watcher->view.table_headers = false;
    }
    watcher->after = range->revision;
    if (options->send_initial_events.value_or(false) && options->allow_bookmarks)
      opening->add(bookmark_event(range->revision, true, watcher->view));
  } else {
    watcher->after = from_now ? (*channel)->seen : *revision;
    if (watcher->after < (*channel)->seen) {
      auto missed = changes(prefix, watcher->after);
      if (!missed) {
        if ((*channel)->watchers.empty()) channels_.erase(prefix);
        Error gone = Error::of(Reason::kExpired, cat("too old resource version: ", *revision, " (",
                                                     store_.compacted_revision(), ")"));
        opening->add(error_event(gone, watcher->view));
        auto stream = opening->open(call, {});
        if (!stream) return fail(not_upgradable());
        stream->finish();
        return streaming;
      }
      for (store::EventPtr& e : *missed) {
        if (e->revision > (*channel)->seen) break;
        WatchEvent event(std::move(e));
        if (auto bytes = event.bytes_for(watcher->view)) opening->add(*bytes);
        if (opening->has_events()) watcher->view.table_headers = false;
      }
      watcher->after = (*channel)->seen;
    }
  }

  auto gone = [this, channel = *channel, weak = std::weak_ptr(watcher)] {
    if (auto w = weak.lock()) forget(channel, w);
  };
  watcher->trail = call.trail;
  watcher->running = RunningRequest(
      call.services.metrics.requests().find(labels_of(call.info, call.request(), call.resource)));
  watcher->stream = opening->open(call, gone);
  if (!watcher->stream) {
    if ((*channel)->watchers.empty()) channels_.erase(prefix);
    return fail(not_upgradable());
  }
  watcher->index = (*channel)->watchers.size();
  (*channel)->watchers.push_back(watcher);
  call.exchange->on_close(gone);
  std::int64_t seconds = options->timeout_seconds.value_or(0);
  if (seconds <= 0)
    seconds = kDefaultTimeoutSeconds +
              static_cast<std::int64_t>(call.services.random.next() % kDefaultTimeoutSeconds);
  // The channel owns the watcher, which owns the timer: the timer borrows both.
  watcher->timeout = std::make_unique<net::Timer>(
      loop_, [this, weak_channel = std::weak_ptr(*channel), weak = std::weak_ptr(watcher)] {
        auto c = weak_channel.lock();
        auto w = weak.lock();
        if (!c || !w) return;
        w->stream->finish();
        loop_.post([this, c, w] { forget(c, w); });  // the timer must not destroy itself
      });
  watcher->timeout->start(std::chrono::seconds(seconds));
  if (!bookmark_timer_.pending()) bookmark_timer_.start(kBookmarkEvery);
  return streaming;
}

WatchHubs::WatchHubs(store::Store& store, net::Loops& loops) : loops_(loops) {
  for (std::size_t i = 0; i < loops.size(); ++i)
    hubs_.push_back(std::make_unique<WatchHub>(store, loops.at(i)));
}

WatchHubs::~WatchHubs() = default;

Result<Answer> WatchHubs::watch(Call& call) {
  for (std::size_t i = 0; i < loops_.size(); ++i)
    if (&loops_.at(i) == &call.exchange->loop()) return hubs_[i]->watch(call);
  return fail(internal_error("the request is on an unknown loop"));
}

void WatchHubs::stop() {
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    std::promise<void> done;
    loops_.at(i).post([&] {
      hubs_[i]->finish_all();
      done.set_value();
    });
    done.get_future().wait();
  }
}

}  // namespace cardea::rest
