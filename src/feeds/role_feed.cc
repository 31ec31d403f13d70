#include "feeds/role_feed.h"

#include "base/strings.h"
#include "json/parse.h"

namespace cardea::feeds {
namespace {

struct Collection {
  std::string_view prefix;
  bool is_namespaced, is_binding;
};
constexpr Collection kCollections[] = {
    {"/registry/roles/", true, false},
    {"/registry/clusterroles/", false, false},
    {"/registry/rolebindings/", true, true},
    {"/registry/clusterrolebindings/", false, true},
};

struct Place {
  const Collection* collection = nullptr;
  std::string_view namespace_name, name;
};

Place place_of(std::string_view key) {
  for (const Collection& c : kCollections) {
    if (!key.starts_with(c.prefix)) continue;
    std::string_view rest = key.substr(c.prefix.size());
    if (!c.is_namespaced) return {&c, "", rest};
    auto slash = rest.find('/');
    if (slash == std::string_view::npos || slash == 0) return {};
    return {&c, rest.substr(0, slash), rest.substr(slash + 1)};
  }
  return {};
}

// What cannot be read grants nothing.
json::Value object_of(const store::Record& record) {
  return json::parse(record.value()).value_or(json::Value());
}

void add(RoleTable& policy, const store::Record& record) {
  Place at = place_of(record.key());
  if (!at.collection) return;
  json::Value object = object_of(record);
  if (at.collection->is_binding)
    policy.add_binding(at.namespace_name, at.name, object);
  else
    policy.set_role(at.namespace_name, at.name, authz::rbac::read_rules(object["rules"]));
}

void remove(RoleTable& policy, const store::Record& record) {
  Place at = place_of(record.key());
  if (!at.collection) return;
  if (at.collection->is_binding)
    policy.remove_binding(at.namespace_name, at.name, object_of(record));
  else
    policy.remove_role(at.namespace_name, at.name);
}

}  // namespace

Result<std::unique_ptr<RoleFeed>> RoleFeed::load(store::Store& store) {
  std::unique_ptr<RoleFeed> index(new RoleFeed());
  store::Revision read[std::size(kCollections)];
  for (std::size_t i = 0; i < std::size(kCollections); ++i) {
    auto range = store.range({.keys = store::keys_with_prefix(kCollections[i].prefix)});
    if (!range) return fail(range.error());
    for (const store::RecordPtr& record : range->records) add(index->next_, *record);
    read[i] = range->revision;
  }
  index->policy_.set(std::make_shared<const RoleTable>(index->next_));
  for (std::size_t i = 0; i < std::size(kCollections); ++i) {
    auto watch = store.watch(
        std::string(kCollections[i].prefix), read[i],
        [self = index.get()](std::span<const store::EventPtr> events) { self->take(events); });
    if (!watch) return fail(watch.error());
    index->watches_.push_back(std::move(*watch));
  }
  return index;
}

RoleFeed::~RoleFeed() {
  watches_.clear();
}

void RoleFeed::take(std::span<const store::EventPtr> events) {
  std::lock_guard lock(mutex_);
  for (const store::EventPtr& e : events) {
    if (e->previous && !e->previous->deleted()) remove(next_, *e->previous);
    if (e->type == store::EventType::kPut) add(next_, *e->record);
  }
  policy_.set(std::make_shared<const RoleTable>(next_));
}

}  // namespace cardea::feeds
