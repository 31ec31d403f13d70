#include "catalog/catalog.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <unordered_map>

#include "base/strings.h"
#include "catalog/builtin_types.h"
#include "catalog/data.h"
#include "catalog/definitions.h"
#include "catalog/permission_maps.h"
#include "catalog/versions.h"
#include "json/parse.h"

namespace cardea::catalog {

using json::Value;

namespace {

struct Key {
  std::string_view group, version, name;
  friend bool operator==(const Key&, const Key&) = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::hash<std::string_view> hash;
    return (hash(key.group) * 31 + hash(key.version)) * 31 + hash(key.name);
  }
};

using Index = std::unordered_map<Key, const Resource*, KeyHash>;

std::vector<std::string> texts(const Value& list) {
  std::vector<std::string> out;
  for (const Value& item : list.items()) out.emplace_back(item.as_string());
  return out;
}

// The built-in resources and their types; shared by all catalogues that were made from the same
// one.
struct Builtins {
  BuiltinTypes types;
  std::deque<Resource> resources;
  Catalog::Strategies strategies;
  Strategy plain;
  bool excludes = false;  // whether permissions that are excluded from others can be enforced

  Builtins(const std::vector<std::string>& features, Catalog::Strategies rules)
      : strategies(rules) {
    excludes = std::ranges::find(features, "FineGrainedAuthorization") != features.end();
    read_all(resources_data(), features);
    for (Resource& r : resources) r.has_protobuf = true;
    read_all(own_resources_data(), features);
  }

  void read_all(std::string_view text, const std::vector<std::string>& features) {
    while (!text.empty()) {
      auto end = text.find('\n');
      auto line = json::parse(text.substr(0, end));
      CARDEA_CHECK(line.has_value());
      bool is_served = !line->has("feature") ||
                       std::ranges::find(features, (*line)["feature"].as_string()) !=
                           features.end();
      if (is_served) read(*line);
      text.remove_prefix(end + 1);
    }
  }

  void read(const Value& line) {
    Resource& r = resources.emplace_back();
    r.group = line["group"].as_string();
    r.version = line["version"].as_string();
    r.name = line["name"].as_string();
    r.singular = line["singular"].as_string();
    r.kind = line["kind"].as_string();
    r.list_kind = r.kind + "List";
    r.short_names = texts(line["short"]);
    r.categories = texts(line["categories"]);
    r.namespaced = line["scope"].as_string() == "N";
    r.verbs = texts(line["verbs"]);
    r.schema = types.find_kind(r.group, r.version, r.kind);
    CARDEA_CHECK(r.schema);
    r.permissions = schema::PermissionTree::of_builtin(*r.schema, r.group, r.kind);
    for (const Value& sub : line["sub"].items()) r.subresources.push_back(read_subresource(sub, r));
    for (const Value& column : line["columns"].items())
      r.columns.push_back({.name = std::string(column[0].as_string()),
                           .type = std::string(column[1].as_string()),
                           .format = std::string(column[2].as_string()),
                           .priority = static_cast<int>(column[3].as_int())});
    r.deprecation = line["deprecated"].as_string();
    r.called = line["called"].as_string();
    r.strategy = strategies(r.group, r.kind);
    if (!r.strategy) r.strategy = &plain;
    if (line.has("prefix")) r.storage_prefix = cat("/registry/", line["prefix"].as_string(), "/");
    r.storage_group = line.has("storage") ? std::string(line["storage"][0].as_string()) : r.group;
    r.storage_version = line.has("storage") ? std::string(line["storage"][1].as_string())
                                            : r.version;
  }

  Subresource read_subresource(const Value& sub, const Resource& parent) const {
    Subresource out{.name = std::string(sub[0].as_string()),
                    .group = std::string(sub[1].as_string()),
                    .version = std::string(sub[2].as_string()),
                    .kind = std::string(sub[3].as_string()),
                    .verbs = texts(sub[4])};
    out.schema = out.version.empty() ? types.find_kind(parent.group, parent.version, out.kind)
                                     : types.find_kind(out.group, out.version, out.kind);
    return out;
  }
};

std::uint64_t next_generation() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

Version& version_in(std::vector<Group>& groups, const Resource& resource) {
  auto group = std::ranges::find(groups, resource.group, &Group::name);
  if (group == groups.end()) group = groups.insert(groups.end(), Group{resource.group, {}});
  auto version = std::ranges::find(group->versions, resource.version, &Version::name);
  if (version == group->versions.end())
    version = group->versions.insert(version, Version{resource.version, {}});
  return *version;
}

}  // namespace

bool Resource::has_verb(std::string_view verb) const {
  return std::ranges::find(verbs, verb) != verbs.end();
}

const Subresource* Resource::subresource(std::string_view wanted) const {
  auto at = std::ranges::find(subresources, wanted, &Subresource::name);
  return at == subresources.end() ? nullptr : &*at;
}

namespace {

// A resource with permissions that maps add to its fields.
struct Mapped {
  const Resource* plain;
  Resource resource;
  Resource unserved_storage;  // its permissions are asked for too

  Mapped(const Resource& from, const PermissionMaps& maps) : plain(&from), resource(from) {
    add(resource, maps);
    if (!from.unserved_storage) return;
    unserved_storage = *from.unserved_storage;
    add(unserved_storage, maps);
    resource.unserved_storage = &unserved_storage;
  }
  Mapped(const Mapped&) = delete;

  static void add(Resource& r, const PermissionMaps& maps) {
    const auto& added = maps.of(r.group, r.name);
    r.permissions = r.is_custom
                        ? schema::PermissionTree::of_custom(*r.schema, added)
                        : schema::PermissionTree::of_builtin(*r.schema, r.group, r.kind, added);
  }
};

}  // namespace

struct Catalog::Content {
  std::shared_ptr<const Builtins> builtins;
  std::vector<std::shared_ptr<const Definition>> definitions;
  std::shared_ptr<const PermissionMaps> maps = std::make_shared<const PermissionMaps>();
  std::vector<std::shared_ptr<const Mapped>> mapped;
  std::vector<Group> groups, all_groups;
  Index by_name, by_kind;
  std::uint64_t generation = next_generation();

  void add(const Resource& resource) {
    version_in(all_groups, resource).resources.push_back(&resource);
    if (!resource.is_off) version_in(groups, resource).resources.push_back(&resource);
    by_name.emplace(Key{resource.group, resource.version, resource.name}, &resource);
    by_kind.emplace(Key{resource.group, resource.version, resource.kind}, &resource);
  }

  // The resource with what maps add to it; the same as in the catalogue before where that is the
  // same.
  const Resource& with_maps(const Resource& plain, const Content* before) {
    if (plain.storage_prefix.empty() || maps->of(plain.group, plain.name).empty()) return plain;
    if (before && before->maps->agree_on(*maps, plain)) {
      auto known = std::ranges::find(before->mapped, &plain, &Mapped::plain);
      if (known != before->mapped.end()) return mapped.emplace_back(*known)->resource;
    }
    return mapped.emplace_back(std::make_shared<const Mapped>(plain, *maps))->resource;
  }

  // `before` is the catalogue that this one shares parts with.
  void build(const Content* before = nullptr) {
    for (const Resource& resource : builtins->resources) add(with_maps(resource, before));
    std::size_t builtin_groups = groups.size();
    for (const auto& definition : definitions)
      for (const Resource& resource : definition->resources)
        // The first resource with a name keeps it.
        if (!by_name.contains(Key{resource.group, resource.version, resource.name}))
          add(with_maps(resource, before));
    std::sort(groups.begin() + static_cast<std::ptrdiff_t>(builtin_groups), groups.end(),
              [](const Group& a, const Group& b) { return a.name < b.name; });
    for (Group& group : groups) {
      std::ranges::stable_sort(group.versions, version_before, &Version::name);
      for (Version& version : group.versions)
        if (std::ranges::any_of(version.resources, &Resource::is_custom))
          std::ranges::sort(version.resources, {}, &Resource::name);
    }
  }
};

Catalog::Catalog() : content_(std::make_unique<Content>()) {}
Catalog::~Catalog() = default;

std::shared_ptr<const Catalog> Catalog::builtin(const std::vector<std::string>& features,
                                                Strategies strategies, const IsOff& is_off) {
  auto catalog = std::make_shared<Catalog>();
  auto builtins = std::make_shared<Builtins>(features, strategies);
  for (Resource& r : builtins->resources) r.is_off = is_off && is_off(r);
  catalog->content_->builtins = std::move(builtins);
  catalog->content_->build();
  return catalog;
}

std::shared_ptr<const Catalog> Catalog::with_definitions(
    const std::vector<Value>& definitions) const {
  auto catalog = std::make_shared<Catalog>();
  Content& content = *catalog->content_;
  content.builtins = content_->builtins;
  content.maps = content_->maps;
  std::unordered_map<std::string_view, std::shared_ptr<const Definition>> known;
  for (const auto& definition : content_->definitions)
    known.emplace(definition->source["metadata"]["name"].as_string(), definition);
  for (const Value& source : definitions) {
    if (!is_established(source)) continue;
    auto at = known.find(source["metadata"]["name"].as_string());
    if (at != known.end() && (at->second->source.same(source) || at->second->source == source))
      content.definitions.push_back(at->second);
    else
      content.definitions.push_back(
          read_definition(source, content.builtins->types, content.builtins->excludes));
  }
  content.build(content_.get());
  return catalog;
}

std::shared_ptr<const Catalog> Catalog::with_permission_maps(
    std::shared_ptr<const PermissionMaps> maps) const {
  auto catalog = std::make_shared<Catalog>();
  Content& content = *catalog->content_;
  content.builtins = content_->builtins;
  content.definitions = content_->definitions;
  content.maps = std::move(maps);
  content.build(content_.get());
  return catalog;
}

const std::shared_ptr<const PermissionMaps>& Catalog::permission_maps() const {
  return content_->maps;
}

const Resource* Catalog::find(std::string_view group, std::string_view version,
                              std::string_view name) const {
  auto at = content_->by_name.find(Key{group, version, name});
  return at == content_->by_name.end() ? nullptr : at->second;
}

const Resource* Catalog::find_kind(std::string_view group, std::string_view version,
                                   std::string_view kind) const {
  auto at = content_->by_kind.find(Key{group, version, kind});
  return at == content_->by_kind.end() ? nullptr : at->second;
}

const Resource* Catalog::storage_of(const Resource& resource) const {
  if (resource.unserved_storage) return resource.unserved_storage;
  const Resource* stored = find(resource.storage_group, resource.storage_version, resource.name);
  return stored ? stored : &resource;
}

const std::vector<Group>& Catalog::groups() const {
  return content_->groups;
}

const std::vector<Group>& Catalog::all_groups() const {
  return content_->all_groups;
}

const schema::Schema* Catalog::type(std::string_view name) const {
  return content_->builtins->types.find(name);
}

const schema::Schema* Catalog::kind_type(std::string_view group, std::string_view version,
                                         std::string_view kind) const {
  return content_->builtins->types.find_kind(group, version, kind);
}

const BuiltinTypes& Catalog::types() const {
  return content_->builtins->types;
}

std::uint64_t Catalog::generation() const {
  return content_->generation;
}

}  // namespace cardea::catalog
