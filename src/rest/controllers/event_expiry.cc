// Events do not stay: an Event is deleted --event-ttl after it was last written.
#include <algorithm>
#include <map>

#include "base/strings.h"
#include "base/time_parse.h"
#include "rest/controllers/controllers.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using json::Value;
using TimePoint = std::chrono::system_clock::time_point;

constexpr std::string_view kStoredEvents = "/registry/events/";

// When an Event that was stored before this start was last written, as far as it says.
TimePoint last_written(const Value& event) {
  TimePoint latest{};
  for (const Value* text : {&event["metadata"]["creationTimestamp"], &event["lastTimestamp"],
                            &event["eventTime"], &event["series"]["lastObservedTime"]})
    if (auto at = parse_rfc3339(text->as_string())) latest = std::max(latest, to_time_point(*at));
  return latest;
}

class EventExpiry : public Controller {
 public:
  EventExpiry(ControllerContext context, std::chrono::nanoseconds ttl)
      : Controller(std::move(context), "event-expiry", {.prefixes = {std::string(kStoredEvents)}}),
        ttl_(std::chrono::duration_cast<std::chrono::system_clock::duration>(ttl)),
        first_live_(store().current_revision() + 1) {}

 private:
  bool cares(const store::Event&) const override { return true; }

  void observe(const store::Event& event) override {
    std::string key(event.record->key());
    if (event.type == store::EventType::kDelete) {
      written_.erase(key);
      return;
    }
    // Clients write these times: one in the future must not keep an Event for ever.
    const TimePoint now = context().clock.now();
    const TimePoint at = event.revision >= first_live_
                             ? now
                             : std::min(now, last_written(parse_stored(*event.record)));
    written_[key] = {at, event.revision};
    look_at(std::move(key), at + ttl_);
  }

  // An Event that is waited for already is looked at when it would have ended before this change,
  // and then waited for again.
  void look_at(std::string key, TimePoint when) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - context().clock.now());
    enqueue_after(std::move(key), std::clamp(left, std::chrono::milliseconds(0), kLongestSleep));
  }

  Task<Result<void>> reconcile(std::string key) override {
    const auto known = written_.find(key);
    store::RecordPtr record = store().get(key);
    if (known == written_.end() || !record) co_return Result<void>();
    // It was written again, and observing that is on its way.
    if (record->mod_revision != known->second.revision) co_return Result<void>();
    if (const TimePoint end = known->second.at + ttl_; end > context().clock.now()) {
      look_at(std::move(key), end);
      co_return Result<void>();
    }
    Value only_this = Value::object({{"resourceVersion", std::to_string(record->mod_revision)}});
    Loopback::Reply reply = co_await api().send(
        "DELETE", cat("/api/v1/namespaces/", namespace_in(key), "/events/", name_in(key)),
        Value::object({{"kind", "DeleteOptions"},
                       {"apiVersion", "v1"},
                       {"preconditions", std::move(only_this)}}));
    // 409: it was written meanwhile, and observing that waits again.
    if (reply.status == 404 || reply.status == 409) co_return Result<void>();
    co_return outcome(reply);
  }

  // The clock of the machine may be set: look again now and then.
  static constexpr std::chrono::milliseconds kLongestSleep{60'000};

  const std::chrono::system_clock::duration ttl_;
  const store::Revision first_live_;
  struct Written {
    TimePoint at;
    store::Revision revision;
  };
  std::map<std::string, Written, std::less<>> written_;  // by key
};

}  // namespace

std::unique_ptr<Controller> event_expiry(ControllerContext context, std::chrono::nanoseconds ttl) {
  return std::make_unique<EventExpiry>(std::move(context), ttl);
}

}  // namespace cardea::rest
