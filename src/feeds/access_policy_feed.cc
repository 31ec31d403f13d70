#include "feeds/access_policy_feed.h"

#include "json/parse.h"

namespace cardea::feeds {
namespace {

constexpr std::string_view kPrefixes[] = {kClusterPrefix, kNamespacedPrefix};

authz::access::PolicyPtr policy_of(const store::Record& record) {
  std::string_view key = record.key();
  // What cannot be read has no effect that allows: a default-constructed object is a Deny of
  // everything, which would lock everybody out for a damaged record.
  auto object = json::parse(record.value());
  if (!object) return nullptr;
  if (key.starts_with(kClusterPrefix))
    return std::make_shared<const authz::access::Policy>("", key.substr(kClusterPrefix.size()),
                                                         *object);
  std::string_view rest = key.substr(kNamespacedPrefix.size());
  auto slash = rest.find('/');
  if (slash == std::string_view::npos || slash == 0) return nullptr;
  return std::make_shared<const authz::access::Policy>(rest.substr(0, slash),
                                                       rest.substr(slash + 1), *object);
}

}  // namespace

void AccessPolicyFeed::put(const store::Record& record) {
  authz::access::PolicyPtr policy = policy_of(record);
  erase(record.key());
  if (!policy) return;
  next_.add(policy);
  by_key_.emplace(std::string(record.key()), std::move(policy));
}

void AccessPolicyFeed::erase(std::string_view key) {
  auto at = by_key_.find(key);
  if (at == by_key_.end()) return;
  next_.remove(at->second);
  by_key_.erase(at);
}

void AccessPolicyFeed::take(std::span<const store::EventPtr> events) {
  std::lock_guard lock(mutex_);
  for (const store::EventPtr& e : events) {
    if (e->type == store::EventType::kPut)
      put(*e->record);
    else
      erase(e->record->key());
  }
  index_.set(std::make_shared<const authz::access::Index>(next_));
}

Result<std::unique_ptr<AccessPolicyFeed>> AccessPolicyFeed::load(store::Store& store) {
  std::unique_ptr<AccessPolicyFeed> feed(new AccessPolicyFeed());
  store::Revision read[std::size(kPrefixes)];
  for (std::size_t i = 0; i < std::size(kPrefixes); ++i) {
    auto range = store.range({.keys = store::keys_with_prefix(kPrefixes[i])});
    if (!range) return fail(range.error());
    for (const store::RecordPtr& record : range->records) feed->put(*record);
    read[i] = range->revision;
  }
  feed->index_.set(std::make_shared<const authz::access::Index>(feed->next_));
  for (std::size_t i = 0; i < std::size(kPrefixes); ++i) {
    auto watch = store.watch(
        std::string(kPrefixes[i]), read[i],
        [self = feed.get()](std::span<const store::EventPtr> events) { self->take(events); });
    if (!watch) return fail(watch.error());
    feed->watches_.push_back(std::move(*watch));
  }
  return feed;
}

AccessPolicyFeed::~AccessPolicyFeed() {
  watches_.clear();
}

}  // namespace cardea::feeds
