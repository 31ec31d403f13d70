#include "feeds/namespace_policy_feed.h"

#include "json/parse.h"

namespace cardea::feeds {
namespace {

constexpr std::string_view kPrefixes[] = {documents::kPoliciesPrefix,
                                          documents::kPolicyBindingsPrefix};

// What cannot be read is a text: no document, and not nothing.
json::Value document_of(const store::Record* record) {
  if (!record || record->deleted()) return {};
  return json::parse(record->value()).value_or(json::Value("unreadable"));
}

void change(documents::Index& index, std::string_view key, const store::Record* before,
            const store::Record* after) {
  bool is_policy = key.starts_with(documents::kPoliciesPrefix);
  std::string_view rest = key.substr(is_policy ? documents::kPoliciesPrefix.size()
                                               : documents::kPolicyBindingsPrefix.size());
  auto slash = rest.find('/');
  if (slash == std::string_view::npos || slash == 0) return;
  std::string_view space = rest.substr(0, slash), name = rest.substr(slash + 1);
  // A namespace has one policy; what else lies there is nobody's.
  if (is_policy && name != documents::kPolicyName) return;
  json::Value was = document_of(before), is = document_of(after);
  if (is_policy)
    index.change_policy(space, was, is);
  else
    index.change_bindings(space, name, was, is);
}

}  // namespace

void NamespacePolicyFeed::take(std::span<const store::EventPtr> events) {
  std::lock_guard lock(mutex_);
  for (const store::EventPtr& e : events) {
    const store::Record* now = e->type == store::EventType::kPut ? e->record.get() : nullptr;
    change(next_, e->record->key(), e->previous.get(), now);
  }
  index_.set(std::make_shared<const documents::Index>(next_));
}

Result<std::unique_ptr<NamespacePolicyFeed>> NamespacePolicyFeed::load(
    store::Store& store, std::string master,
    std::shared_ptr<const documents::ResourceGroups> groups) {
  std::unique_ptr<NamespacePolicyFeed> feed(
      new NamespacePolicyFeed(documents::Index(std::move(master), std::move(groups))));
  store::Revision read[std::size(kPrefixes)];
  for (std::size_t i = 0; i < std::size(kPrefixes); ++i) {
    auto range = store.range({.keys = store::keys_with_prefix(kPrefixes[i])});
    if (!range) return fail(range.error());
    for (const store::RecordPtr& record : range->records)
      change(feed->next_, record->key(), nullptr, record.get());
    read[i] = range->revision;
  }
  feed->index_.set(std::make_shared<const documents::Index>(feed->next_));
  for (std::size_t i = 0; i < std::size(kPrefixes); ++i) {
    auto watch = store.watch(
        std::string(kPrefixes[i]), read[i],
        [self = feed.get()](std::span<const store::EventPtr> events) { self->take(events); });
    if (!watch) return fail(watch.error());
    feed->watches_.push_back(std::move(*watch));
  }
  return feed;
}

NamespacePolicyFeed::~NamespacePolicyFeed() {
  watches_.clear();
}

}  // namespace cardea::feeds
