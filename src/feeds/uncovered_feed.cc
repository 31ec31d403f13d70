#include "feeds/uncovered_feed.h"

#include "json/parse.h"

namespace cardea::feeds {

void UncoveredFeed::put(const store::Record& record) {
  auto object = json::parse(record.value());
  // What cannot be read stays as it was last understood: a damaged record must not open what was
  // shut.
  if (object) sets_[std::string(record.key())] = (*object)["spec"];
}

void UncoveredFeed::publish() {
  auto next = std::make_shared<Uncovered>();
  for (const auto& [key, spec] : sets_)
    for (const json::Value& verb : spec["uncoveredPermissions"].items()) {
      next->verbs.add(verb.as_string());
      if (!spec["admissionMayWrite"].as_bool()) next->guarded_from_admission.add(verb.as_string());
    }
  current_.set(std::move(next));
}

void UncoveredFeed::take(std::span<const store::EventPtr> events) {
  std::lock_guard lock(mutex_);
  for (const store::EventPtr& e : events) {
    if (e->type == store::EventType::kPut)
      put(*e->record);
    else if (auto at = sets_.find(e->record->key()); at != sets_.end())
      sets_.erase(at);
  }
  publish();
}

Result<std::unique_ptr<UncoveredFeed>> UncoveredFeed::load(store::Store& store) {
  std::unique_ptr<UncoveredFeed> feed(new UncoveredFeed());
  auto range = store.range({.keys = store::keys_with_prefix(authz::fields::kUncoveredPrefix)});
  if (!range) return fail(range.error());
  for (const store::RecordPtr& record : range->records) feed->put(*record);
  feed->publish();
  auto watch = store.watch(
      std::string(authz::fields::kUncoveredPrefix), range->revision,
      [self = feed.get()](std::span<const store::EventPtr> events) { self->take(events); });
  if (!watch) return fail(watch.error());
  feed->watch_ = std::move(*watch);
  return feed;
}

UncoveredFeed::~UncoveredFeed() {
  watch_.reset();
}

}  // namespace cardea::feeds
