#include "catalog/permission_maps.h"

#include <algorithm>

#include "catalog/catalog.h"

namespace cardea::catalog {

using json::Value;

std::shared_ptr<const PermissionMaps::Map> PermissionMaps::read(const Value& object) {
  const Value& spec = object["spec"];
  auto out = std::make_shared<Map>();
  out->name = object["metadata"]["name"].as_string();
  out->created = object["metadata"]["creationTimestamp"].as_string();
  out->group = spec["group"].as_string();
  out->resource = spec["resource"].as_string();
  for (const Value& entry : spec["permissions"].items())
    if (auto permission = schema::added_permission(entry, out->name))
      out->entries.emplace_back(entry, std::move(*permission));
  return out;
}

PermissionMaps::PermissionMaps(std::vector<std::shared_ptr<const Map>> maps, std::string unread)
    : unread_(std::move(unread)) {
  std::ranges::stable_sort(maps, {}, [](const std::shared_ptr<const Map>& map) {
    return std::pair<std::string_view, std::string_view>(map->created, map->name);
  });
  for (const auto& map : maps) {
    if (map->resource.empty()) continue;
    for (const auto& [entry, permission] : map->entries) {
      Added& added = by_resource_[{map->group, map->resource}];
      added.permissions.push_back(permission);
      added.read_from.emplace_back(map->name, entry);
    }
  }
}

PermissionMaps::PermissionMaps(const std::vector<Value>& maps)
    : PermissionMaps([&maps] {
        std::vector<std::shared_ptr<const Map>> read_maps;
        for (const Value& map : maps) read_maps.push_back(read(map));
        return read_maps;
      }()) {}

const PermissionMaps::Added& PermissionMaps::added_to(std::string_view group,
                                                      std::string_view resource) const {
  static const Added kNothing;
  if (by_resource_.empty()) return kNothing;
  auto at = by_resource_.find({std::string(group), std::string(resource)});
  return at == by_resource_.end() ? kNothing : at->second;
}

const std::vector<schema::AddedPermission>& PermissionMaps::of(std::string_view group,
                                                               std::string_view resource) const {
  return added_to(group, resource).permissions;
}

bool PermissionMaps::agree_on(const PermissionMaps& other, const Resource& r) const {
  return added_to(r.group, r.name).read_from == other.added_to(r.group, r.name).read_from;
}

}  // namespace cardea::catalog
