#include "rest/policy/policy_store.h"

#include <algorithm>

#include "base/strings.h"
#include "rest/policy/element_writer.h"
#include "rest/policy/elements.h"

namespace cardea::rest::policy {

using store::RecordPtr;

namespace {

bool is_element(std::string_view key) {
  return kind_of_keys(key).has_value();
}

bool touches_elements(const store::Txn& txn) {
  for (const store::Compare& c : txn.compares)
    if (is_element(c.key)) return true;
  for (const store::Op& op : txn.ops)
    if (is_element(std::visit([](const auto& o) -> std::string_view { return o.key; }, op)))
      return true;
  return false;
}

// What keeps a container that is to be deleted; nullopt: nothing.
std::optional<Error> still_holds(const store::Store& below, const store::Txn& txn) {
  for (const store::Op& op : txn.ops) {
    const auto* deletion = std::get_if<store::Delete>(&op);
    auto kind = deletion ? kind_of_containers(deletion->key) : std::nullopt;
    if (!kind) continue;
    // The transaction names the revision that its writer saw: what is added from here on makes it
    // fail.
    RecordPtr record = below.get(deletion->key);
    if (!record || is_empty_container(*record, *kind)) continue;
    KeyPlace place = place_of(deletion->key, containers_of(*kind));
    std::vector<std::string> names;
    for (const json::Member& m : elements_of(*record, *kind).members()) names.emplace_back(m.key());
    std::string_view resource = *kind == ElementKind::kRole ? "policies" : "policybindings";
    return Error::of(
               Reason::kConflict,
               cat("Operation cannot be fulfilled on ", resource, ".authorization.openshift.io ",
                   quoted(place.name), ": only an empty one can be deleted; it holds ",
                   *kind == ElementKind::kRole ? "roles " : "role bindings ", listed(names)))
        .with({.name = std::string(place.name),
               .group = "authorization.openshift.io",
               .kind = std::string(resource)});
  }
  return std::nullopt;
}

// The prefix of the containers' keys that have all of these elements.
store::KeyRange containers_for(const store::KeyRange& keys, ElementKind kind) {
  KeyPlace place = place_of(keys.start, prefix_of(kind));
  std::string in_namespace = cat(prefix_of(kind), place.namespace_name, "/");
  bool is_one = keys.start.starts_with(in_namespace) && !keys.end.empty() &&
                keys.end <= store::keys_with_prefix(in_namespace).end;
  return store::keys_with_prefix(is_one ? cat(containers_of(kind), place.namespace_name, "/")
                                        : std::string(containers_of(kind)));
}

}  // namespace

PolicyStore::PolicyStore(store::Store& below, const Clock& clock, Random& random,
                         std::string master)
    : below_(below),
      master_(std::move(master)),
      writer_(std::make_unique<ElementWriter>(below, clock, random, master_)) {}

PolicyStore::~PolicyStore() = default;

RecordPtr PolicyStore::get(std::string_view key) const {
  auto kind = kind_of_keys(key);
  return kind ? find_element(below_, key, *kind, master_) : below_.get(key);
}

std::optional<Error> PolicyStore::keeps(std::string_view key) const {
  if (kind_of_containers(key)) return still_holds(below_, {{}, {store::Delete{std::string(key)}}});
  if (kind_of_keys(key) != ElementKind::kRole) return std::nullopt;
  KeyPlace place = place_of(key, kRolesPrefix);
  return writer_->keeps_role(place.namespace_name, place.name);
}

Result<store::RangeResult> PolicyStore::range(const store::RangeQuery& query) const {
  auto kind = kind_of_keys(query.keys.start);
  if (!kind) return below_.range(query);
  auto containers = below_.range({.keys = containers_for(query.keys, *kind), .at = query.at});
  if (!containers) return containers;
  store::RangeResult out;
  out.revision = containers->revision;
  for (const RecordPtr& container : containers->records)
    add_element_records(*container, *kind, out.records);
  std::erase_if(out.records, [&](const RecordPtr& r) {
    return r->key() < query.keys.start || (!query.keys.end.empty() && r->key() >= query.keys.end);
  });
  std::ranges::sort(out.records, {}, [](const RecordPtr& r) { return r->key(); });
  if (query.limit && out.records.size() > query.limit) {
    out.more = true;
    out.remaining = static_cast<std::int64_t>(out.records.size() - query.limit);
    out.records.resize(query.limit);
  }
  return out;
}

std::int64_t PolicyStore::count(const store::KeyRange& keys) const {
  if (!kind_of_keys(keys.start)) return below_.count(keys);
  auto all = range({.keys = keys});
  return all ? static_cast<std::int64_t>(all->records.size()) : 0;
}

void PolicyStore::commit(store::Txn txn, Done done) {
  if (touches_elements(txn)) return writer_->add(std::move(txn), std::move(done));
  if (auto error = still_holds(below_, txn)) return done(fail(std::move(*error)));
  below_.commit(std::move(txn), std::move(done));
}

}  // namespace cardea::rest::policy
