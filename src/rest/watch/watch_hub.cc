#include "rest/watch/watch_hub.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <mutex>
#include <unordered_map>

#include "base/strings.h"
#include "rest/audit_trail.h"
#include "rest/catalog_holder.h"
#include "rest/fairness/gate.h"
#include "rest/present/status.h"
#include "rest/streams/open_streams.h"
#include "rest/unreadable_records.h"
#include "rest/verbs/options.h"
#include "rest/watch/converted_line.h"
#include "rest/watch/initial_events.h"
#include "rest/watch/watch_event.h"
#include "rest/watch/watch_opening.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {

struct WatchChannel;

namespace {

constexpr std::chrono::seconds kBookmarkEvery{60};

Error not_upgradable() {
  return bad_request("this connection cannot become a WebSocket");
}

// What /metrics tells of the events of one resource.
struct WatchCounts {
  Counter* events = nullptr;
  CountHistogram* sizes = nullptr;

  static WatchCounts of(MetricRegistry& registry, const catalog::Resource& r) {
    const MetricLabels labels = {{"group", r.group}, {"resource", r.name}, {"version", r.version}};
    return {&registry.counter({"apiserver_watch_events_total", "Events sent to watchers."}, labels),
            &registry.count_histogram(
                {"apiserver_watch_events_sizes", "Sizes of events sent to watchers, in bytes."},
                exponential_bounds(1024, 2, 8), labels)};
  }
  void sent(std::size_t bytes) const {
    events->add();
    sizes->observe(bytes);
  }
};

// One client that watches. Lives on its loop.
struct Watcher {
  WatchCounts counts;
  std::shared_ptr<http::Stream> stream;
  WatchView view;
  store::Revision after = 0;  // it has seen everything up to here
  bool bookmarks = false;
  std::unique_ptr<net::Timer> timeout;
  std::shared_ptr<AuditTrail> trail;  // tells of the end when the watcher goes
  std::size_t index = 0;              // in its channel
  RunningRequest running;
  std::shared_ptr<void> asked;             // as long as it is asked whether it may go on
  std::unique_ptr<InitialEvents> initial;  // not told yet; what happens meanwhile waits there

  // Where a webhook converts: the line that its events come from; and those that came before the
  // stream began.
  std::shared_ptr<ConvertedLine> line;
  std::vector<std::shared_ptr<WatchEvent>> early;
  bool is_gone = false;

  fairness::Seat seat;  // until the client was told what there is
  fairness::WatchCounts::Watcher counted;

  void write(WatchEvent& event) {
    auto bytes = event.bytes_for(view);
    if (!bytes) return;
    counts.sent(bytes->size());
    stream->write(http::Piece::of(std::move(bytes)));
    view.table_headers = false;
  }
};

// Beyond this a watcher that does not begin is given up.
constexpr std::size_t kMostEarlyEvents = 10'000;

// What is ready and not taken by the client, while a large collection is told.
constexpr std::size_t kMostAhead = 1u << 20;

// A watch that is about to begin.
struct Opening {
  ListOptions options;
  std::shared_ptr<Watcher> watcher;
  WatchOpening head;
  std::shared_ptr<WatchChannel> channel;
  std::vector<store::RecordPtr> initial;        // what the client gets at once: objects,
  std::vector<store::EventPtr> missed;          // or changes
  std::optional<store::Revision> ends_initial;  // then the bookmark that ends it
  std::optional<Error> gone;                    // or: the changes since then are not known any more

  void append(WatchEvent& event) {
    if (auto bytes = event.bytes_for(watcher->view)) {
      watcher->counts.sent(bytes->size());
      head.add(*bytes);
    }
    if (head.has_events()) watcher->view.table_headers = false;
  }
  void append_bookmark() {
    if (ends_initial) head.add(bookmark_event(*ends_initial, true, watcher->view));
  }
  Answer answer() const {
    Answer streaming;
    streaming.is_streaming = true;
    streaming.status = head.status();
    return streaming;
  }
};

}  // namespace

// All watchers of one collection on one loop, behind one subscription.
struct WatchChannel : std::enable_shared_from_this<WatchChannel> {
  std::string prefix;
  net::Loop& loop;
  store::Revision seen = 0;
  std::vector<std::shared_ptr<Watcher>> watchers;
  std::vector<std::shared_ptr<ConvertedLine>> lines;  // of versions that a webhook converts
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
      const auto held = lines;  // a line that fails goes away
      for (const auto& line : held) line->push(e);
      WatchEvent event(std::move(e));
      deliver(event);
    }
  }

  void deliver(WatchEvent& event) {
    // A write that fails removes no watcher here: the end of the connection does, through on_close.
    for (const auto& w : watchers) {
      if (event.revision() <= w->after || w->line) continue;
      if (!w->initial)
        w->write(event);
      else if (!w->initial->wait_for_turn(event.change()))
        w->stream->abort();  // it reads too slowly
    }
  }

  // The same for the watchers of a line.
  void deliver(const std::shared_ptr<WatchEvent>& event, const ConvertedLine& line) {
    for (const auto& w : watchers) {
      if (w->line.get() != &line || event->revision() <= w->after) continue;
      if (w->stream)
        w->write(*event);
      else if (w->early.size() <= kMostEarlyEvents)  // one more than it may have ends it
        w->early.push_back(event);
    }
  }

  void add(const std::shared_ptr<Watcher>& w) {
    w->index = watchers.size();
    watchers.push_back(w);
    if (w->line) ++w->line->watchers;
  }

  void remove(const std::shared_ptr<Watcher>& w) {
    if (w->index >= watchers.size() || watchers[w->index] != w) return;
    watchers.back()->index = w->index;
    std::swap(watchers[w->index], watchers.back());
    watchers.pop_back();
    w->timeout.reset();
    w->is_gone = true;
    w->seat.give_back();
    if (w->line && --w->line->watchers == 0) {
      w->line->close();
      std::erase(lines, w->line);
    }
  }
};

class WatchHub {
 public:
  WatchHub(store::Store& store, net::Loop& loop)
      : store_(store), loop_(loop), bookmark_timer_(loop, [this] { send_bookmarks(); }) {}

  Result<Answer> watch(Call& call);
  Task<Result<Answer>> watch_by_webhook(Call& call);

  // Ends the watches of custom resources whose definition is another by now.
  void end_outdated(const catalog::Catalog& now) {
    const auto channels = channels_;
    for (const auto& [prefix, channel] : channels) {
      const auto watchers = channel->watchers;
      for (const auto& w : watchers) {
        if (!w->stream || !is_outdated(*w->view.resource, now)) continue;
        w->stream->finish();
        forget(channel, w);
      }
    }
  }

  void finish_all() {
    for (auto& [prefix, channel] : channels_) {
      for (const auto& w : channel->watchers) {
        if (w->stream) w->stream->finish();
        w->timeout.reset();
        w->is_gone = true;
        w->seat.give_back();
      }
      for (const auto& line : channel->lines) line->close();
      channel->lines.clear();
      channel->watchers.clear();
    }
    channels_.clear();
    bookmark_timer_.cancel();
  }

 private:
  using ChannelPtr = std::shared_ptr<WatchChannel>;

  Result<ChannelPtr> channel_for(const std::string& prefix);
  // Everything about a watch but its bytes.
  Result<Opening> prepare(Call& call, WatchOpening head);
  // Begins the stream. The watcher is in its channel already if it has a line.
  Result<Answer> begin(Call& call, Opening& opening);
  static Result<Answer> refuse(Call& call, Opening& opening);
  void tell_more(const std::shared_ptr<Watcher>& watcher, bool in_messages, fairness::Gate* gate);
  // The client may not watch any more. It is told why: client and server agree on the state so far.
  void revoke(const ChannelPtr& channel, const std::shared_ptr<Watcher>& watcher, const Error& why);
  std::shared_ptr<ConvertedLine> line_for(const Call& call, const ChannelPtr& channel);
  // Ends the watchers of a line, with the error or without one.
  void end_line(const ChannelPtr& channel, const ConvertedLine& line, const Error* error);
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
      if (w->bookmarks && w->stream && !w->initial && (!w->line || w->line->is_idle()))
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

void WatchHub::revoke(const ChannelPtr& channel, const std::shared_ptr<Watcher>& watcher,
                      const Error& why) {
  if (watcher->is_gone) return;
  if (watcher->trail) watcher->trail->annotate("streams.cardea.dev/end", revoked(why));
  watcher->stream->write(http::Piece::of(error_event(why, watcher->view)));
  watcher->stream->finish();
  forget(channel, watcher);
}

Result<Opening> WatchHub::prepare(Call& call, WatchOpening head) {
  auto options = list_options(call.info);
  if (!options) return fail(options.error());
  auto selection = Selection::make(*call.resource, *options);
  if (!selection) return fail(selection.error());
  auto revision = parse_revision(options->resource_version);
  if (!revision)
    return fail(
        bad_request(cat("resourceVersion: Invalid value: ", quoted(options->resource_version), ": ",
                        revision.error().message)));

  Opening out;
  out.options = *options;
  out.head = std::move(head);
  out.watcher = std::make_shared<Watcher>();
  Watcher& watcher = *out.watcher;
  watcher.counts = WatchCounts::of(call.services.metrics.registry(), *call.resource);
  watcher.view = {
      .catalog = call.catalog,
      .resource = call.resource,
      .storage = call.catalog->storage_of(*call.resource),
      .selection = *selection,
      .view = call.view,
      .clock = &call.services.clock,
      .include_object = std::string(call.info.query.first("includeObject").value_or(""))};
  watcher.view.view.pretty = false;
  watcher.bookmarks = options->allow_bookmarks;
  std::string prefix = collection_prefix(*call.resource, call.info.namespace_name);
  auto channel = channel_for(prefix);
  if (!channel) return fail(channel.error());
  out.channel = *channel;

  bool from_now = options->resource_version.empty() || options->resource_version == "0";
  if (options->send_initial_events.value_or(from_now)) {
    auto range = store_.range(
        {.keys = keys_of(*call.resource, call.info.namespace_name, watcher.view.selection)});
    if (!range) return fail(range.error());
    out.initial = std::move(range->records);
    if (const UnreadableRecords* unreadable = call.services.unreadable)
      std::erase_if(out.initial,
                    [&](const store::RecordPtr& record) { return unreadable->has(*record); });
    std::erase_if(out.initial, [&name = watcher.view.selection.name()](const auto& record) {
      return !is_key_of(record->key(), name);
    });
    watcher.after = range->revision;
    if (options->send_initial_events.value_or(false) && options->allow_bookmarks)
      out.ends_initial = range->revision;
    return out;
  }
  watcher.after = from_now ? out.channel->seen : *revision;
  if (watcher.after >= out.channel->seen) return out;
  auto missed = changes(prefix, watcher.after);
  if (!missed) {
    if (out.channel->watchers.empty()) channels_.erase(prefix);
    out.gone = Error::of(Reason::kExpired, cat("too old resource version: ", *revision, " (",
                                               store_.compacted_revision(), ")"));
    return out;
  }
  for (store::EventPtr& e : *missed) {
    if (e->revision > out.channel->seen) break;
    out.missed.push_back(std::move(e));
  }
  watcher.after = out.channel->seen;
  return out;
}

Result<Answer> WatchHub::refuse(Call& call, Opening& o) {
  o.head.add(error_event(*o.gone, o.watcher->view));
  auto stream = o.head.open(call, {});
  if (!stream) return fail(not_upgradable());
  stream->finish();
  return o.answer();
}

Result<Answer> WatchHub::begin(Call& call, Opening& o) {
  const std::shared_ptr<Watcher>& watcher = o.watcher;
  auto gone = [this, channel = o.channel, weak = std::weak_ptr(watcher)] {
    if (auto w = weak.lock()) forget(channel, w);
  };
  watcher->trail = call.trail;
  if (call.services.gate) watcher->counted = call.services.gate->watches().add(call.info);
  watcher->running = RunningRequest(
      call.services.metrics.requests().find(labels_of(call.info, call.request(), call.resource)));
  watcher->stream = o.head.open(call, gone);
  if (!watcher->stream) {
    forget(o.channel, watcher);
    return fail(not_upgradable());
  }
  if (!watcher->line) {
    o.channel->add(watcher);
    call.exchange->on_close(gone);
  }
  std::int64_t seconds = o.options.timeout_seconds.value_or(0);
  // Spread, so that not all watches end at once.
  if (const std::uint64_t least = call.services.min_request_timeout; seconds <= 0 && least > 0)
    seconds = static_cast<std::int64_t>(least + call.services.random.next() % least);
  // The channel owns the watcher, which owns the timer: the timer borrows both.
  // It may have changed while the watch was made ready.
  if (is_outdated(*call.resource, *call.services.catalog.get())) {
    watcher->stream->finish();
    loop_.post([this, c = o.channel, watcher] { forget(c, watcher); });
  }
  watcher->timeout = std::make_unique<net::Timer>(
      loop_, [this, weak_channel = std::weak_ptr(o.channel), weak = std::weak_ptr(watcher)] {
        auto c = weak_channel.lock();
        auto w = weak.lock();
        if (!c || !w) return;
        w->stream->finish();
        loop_.post([this, c, w] { forget(c, w); });  // the timer must not destroy itself
      });
  if (seconds > 0) watcher->timeout->start(std::chrono::seconds(seconds));
  watcher->asked = keep_asking(call, {},
                               [this, weak_channel = std::weak_ptr(o.channel),
                                weak = std::weak_ptr(watcher)](const Error& why) {
                                 auto c = weak_channel.lock();
                                 auto w = weak.lock();
                                 if (c && w) revoke(c, w, why);
                               });
  if (!bookmark_timer_.pending()) bookmark_timer_.start(kBookmarkEvery);
  return o.answer();
}

Result<Answer> WatchHub::watch(Call& call) {
  auto head = WatchOpening::make(call);
  if (!head) return std::move(head.error());
  auto opening = prepare(call, std::move(*head));
  if (!opening) return fail(opening.error());
  if (opening->gone) return refuse(call, *opening);
  const std::shared_ptr<Watcher> watcher = opening->watcher;
  auto initial = std::make_unique<InitialEvents>(std::move(opening->initial),
                                                 std::move(opening->missed), opening->ends_initial);
  // A small collection comes with the head.
  bool has_more = initial->encode_some(watcher->view,
                                       [&](const std::string& event) { opening->head.add(event); });
  if (has_more) watcher->initial = std::move(initial);
  Result<Answer> answer = begin(call, *opening);
  if (!has_more || !answer) return answer;
  watcher->seat = std::move(call.seat);
  tell_more(watcher, opening->head.status() == 101, call.services.gate);
  return answer;
}

// The rest of a large collection, part by part, as fast as the client reads.
void WatchHub::tell_more(const std::shared_ptr<Watcher>& w, bool in_messages,
                         fairness::Gate* gate) {
  if (w->is_gone || !w->initial) return w->seat.give_back();
  bool is_open = true;
  std::string part;
  bool has_more = w->initial->encode_some(w->view, [&](std::string event) {
    w->counts.sent(event.size());
    if (in_messages)
      is_open = is_open && w->stream->write(http::Piece::of(std::move(event)));
    else
      part += event;
  });
  if (!part.empty()) is_open = w->stream->write(http::Piece::of(std::move(part)));
  if (!is_open) return w->seat.give_back();
  if (!has_more) has_more = w->initial->go_on_with_late();
  if (!has_more) {
    w->seat.give_back();
    return w->initial.reset();
  }
  auto next = [this, w, in_messages, gate] { tell_more(w, in_messages, gate); };
  if (w->stream->pending_bytes() >= kMostAhead) {
    w->seat.give_back();  // the client decides how long this takes
    w->stream->when_drained(next);
  } else if (gate && !w->seat.is_exempt()) {
    gate->run_later(loop_, next);
  } else {
    loop_.post(next);
  }
}

std::shared_ptr<ConvertedLine> WatchHub::line_for(const Call& call, const ChannelPtr& channel) {
  for (const auto& line : channel->lines)
    if (&line->resource() == call.resource && line->name() == call.info.name) return line;
  // Made first: what is passed on names the line that it comes from.
  auto self = std::make_shared<std::weak_ptr<ConvertedLine>>();
  std::weak_ptr<WatchChannel> weak = channel;
  auto line = std::make_shared<ConvertedLine>(
      loop_, *call.services.conversion, call.services.catalog, call.catalog, *call.resource,
      call.info.name,
      ConvertedLine::Ends{.pass =
                              [weak, self](const std::shared_ptr<WatchEvent>& event) {
                                auto c = weak.lock();
                                if (auto l = self->lock(); c && l) c->deliver(event, *l);
                              },
                          .end =
                              [this, weak, self](const Error* error) {
                                auto c = weak.lock();
                                if (auto l = self->lock(); c && l) end_line(c, *l, error);
                              }});
  *self = line;
  channel->lines.push_back(line);
  return line;
}

void WatchHub::end_line(const ChannelPtr& channel, const ConvertedLine& line, const Error* error) {
  const auto all = channel->watchers;
  for (const auto& w : all) {
    if (w->line.get() != &line) continue;
    if (w->stream) {
      if (error) w->stream->write(http::Piece::of(error_event(*error, w->view)));
      w->stream->finish();
    }
    forget(channel, w);
  }
}

Task<Result<Answer>> WatchHub::watch_by_webhook(Call& call) {
  if (!call.services.conversion)
    co_return fail(internal_error("this server calls no conversion webhooks"));
  auto head = WatchOpening::make(call);
  if (!head) co_return std::move(head.error());
  auto opening = prepare(call, std::move(*head));
  if (!opening) co_return fail(opening.error());
  if (opening->gone) co_return refuse(call, *opening);
  const std::shared_ptr<Watcher> watcher = opening->watcher;
  const ChannelPtr channel = opening->channel;
  // From here on the line brings what happens meanwhile.
  watcher->line = line_for(call, channel);
  channel->add(watcher);
  call.exchange->on_close([this, channel, weak = std::weak_ptr(watcher)] {
    if (auto w = weak.lock()) forget(channel, w);
  });
  std::vector<store::EventPtr> backlog = std::move(opening->missed);
  for (store::RecordPtr& record : opening->initial)
    backlog.push_back(first_event(std::move(record)));
  std::erase_if(backlog, [&](const store::EventPtr& e) {
    return !is_key_of(e->record->key(), call.info.name);
  });
  Result<std::vector<std::shared_ptr<WatchEvent>>> events = co_await converted_events(
      std::move(backlog), *call.services.conversion, call.catalog, *call.resource);
  if (!events || watcher->is_gone || watcher->early.size() > kMostEarlyEvents) {
    if (!watcher->is_gone) forget(channel, watcher);
    co_return fail(events ? internal_error("the watch ended before it began") : events.error());
  }
  for (const auto& e : *events) opening->append(*e);
  opening->append_bookmark();
  for (const auto& e : watcher->early) opening->append(*e);
  watcher->early.clear();
  co_return begin(call, *opening);
}

WatchHubs::WatchHubs(store::Store& store, net::Loops& loops) : loops_(loops) {
  for (std::size_t i = 0; i < loops.size(); ++i)
    hubs_.push_back(std::make_unique<WatchHub>(store, loops.at(i)));
}

WatchHubs::~WatchHubs() = default;

void WatchHubs::end_outdated(std::shared_ptr<const catalog::Catalog> now) {
  for (std::size_t i = 0; i < loops_.size(); ++i)
    loops_.at(i).post([hub = hubs_[i].get(), now] { hub->end_outdated(*now); });
}

WatchHub* WatchHubs::hub_of(const Call& call) {
  for (std::size_t i = 0; i < loops_.size(); ++i)
    if (&loops_.at(i) == &call.exchange->loop()) return hubs_[i].get();
  return nullptr;
}

Result<Answer> WatchHubs::watch(Call& call) {
  if (WatchHub* hub = hub_of(call)) return hub->watch(call);
  return fail(internal_error("the request is on an unknown loop"));
}

Task<Result<Answer>> WatchHubs::watch_by_webhook(Call& call) {
  WatchHub* hub = hub_of(call);
  if (!hub) co_return fail(internal_error("the request is on an unknown loop"));
  Result<Answer> answer = co_await hub->watch_by_webhook(call);
  co_return answer;
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
