#include "feeds/catalog_kinds.h"

#include <algorithm>
#include <bit>

#include "authz/namespace_policy/words.h"
#include "authz/rbac/hash.h"
#include "base/strings.h"
#include "catalog/excluded_permissions.h"

namespace cardea::feeds {
namespace {

std::uint64_t hash_of(std::string_view group, std::string_view resource) {
  return authz::rbac::hash_name(resource, authz::rbac::hash_name(group));
}

}  // namespace

struct CatalogKinds::Table {
  struct Entry {
    std::uint64_t hash = 0;
    std::string group, resource, kind;
  };
  std::uint64_t generation = 0;
  std::vector<Entry> slots;  // open addressing; an empty resource ends a search

  void fill(const catalog::Catalog& catalog) {
    std::vector<Entry> all;
    for (const catalog::Group& group : catalog.groups())
      for (const catalog::Version& version : group.versions)
        for (const catalog::Resource* r : version.resources)
          all.push_back({hash_of(r->group, r->name), r->group, r->name, lower(r->kind)});
    slots.assign(std::bit_ceil(all.size() * 2 + 2), {});
    for (Entry& e : all) {
      std::size_t at = place_of(e.hash, e.group, e.resource);
      if (slots[at].resource.empty()) slots[at] = std::move(e);
    }
    generation = catalog.generation();
  }
  std::size_t place_of(std::uint64_t hash, std::string_view group,
                       std::string_view resource) const {
    std::size_t mask = slots.size() - 1, at = hash & mask;
    while (!slots[at].resource.empty() &&
           !(slots[at].hash == hash && slots[at].resource == resource && slots[at].group == group))
      at = (at + 1) & mask;
    return at;
  }
};

const CatalogKinds::Table& CatalogKinds::table() const {
  thread_local Table seen;
  const std::shared_ptr<const catalog::Catalog>& now = catalog_.get();
  if (!now)
    seen = Table{0, std::vector<Table::Entry>(1)};
  else if (seen.slots.empty() || seen.generation != now->generation())
    seen.fill(*now);
  return seen;
}

std::string_view CatalogKinds::kind_of(std::string_view group, std::string_view resource) const {
  if (resource.empty()) return {};
  const Table& t = table();
  return t.slots[t.place_of(hash_of(group, resource), group, resource)].kind;
}

std::vector<std::pair<std::string, std::string>> CatalogKinds::resources_of(
    std::string_view kind) const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Table::Entry& e : table().slots)
    if (!e.resource.empty() && equals_ignoring_case(e.kind, kind))
      out.emplace_back(e.group, e.resource);
  return out;
}

namespace {

// The versions of a resource, in all groups.
std::vector<const catalog::Resource*> versions_of(const catalog::Catalog& catalog,
                                                  std::string_view resource) {
  std::vector<const catalog::Resource*> out;
  for (const catalog::Group& group : catalog.groups())
    for (const catalog::Version& version : group.versions)
      for (const catalog::Resource* r : version.resources)
        if (equals_ignoring_case(r->name, resource)) out.push_back(r);
  return out;
}

}  // namespace

std::optional<std::vector<std::string>> CatalogKinds::parts_of(std::string_view resource) const {
  const std::shared_ptr<const catalog::Catalog> now = catalog_.get();
  if (!now) return std::nullopt;
  const auto versions = versions_of(*now, resource);
  if (versions.empty()) return std::nullopt;
  std::vector<std::string> out;
  for (const catalog::Resource* r : versions)
    for (const catalog::Subresource& s : r->subresources)
      if (std::ranges::find(out, s.name) == out.end()) out.push_back(s.name);
  return out;
}

bool CatalogKinds::has_group(std::string_view group) const {
  const std::shared_ptr<const catalog::Catalog> now = catalog_.get();
  return !now || std::ranges::any_of(now->groups(), [&](const catalog::Group& g) {
    return equals_ignoring_case(g.name, group);
  });
}

bool CatalogKinds::any_version(std::string_view resource,
                               const std::function<bool(const schema::Schema&)>& has) const {
  const std::shared_ptr<const catalog::Catalog> now = catalog_.get();
  if (!now) return true;
  const auto versions = versions_of(*now, resource);
  return versions.empty() || std::ranges::any_of(versions, [&](const catalog::Resource* r) {
           return !r->schema || has(*r->schema);
         });
}

std::shared_ptr<const schema::Schema> CatalogKinds::schema_of(std::string_view group,
                                                              std::string_view version,
                                                              std::string_view resource) const {
  std::shared_ptr<const catalog::Catalog> now = catalog_.get();
  const catalog::Resource* r = now ? now->find(group, version, resource) : nullptr;
  if (!r || !r->schema) return nullptr;
  return {std::move(now), r->schema};  // the catalogue keeps the schema
}

bool CatalogKinds::is_excluded(std::string_view group, std::string_view resource,
                               std::string_view verb) const {
  if (!uncovered_) return false;
  if (uncovered_->get()->excludes(group, resource, verb)) return true;
  const std::shared_ptr<const catalog::Catalog> now = catalog_.get();
  return now && catalog::excludes_permission(*now, group, resource, verb);
}

}  // namespace cardea::feeds
