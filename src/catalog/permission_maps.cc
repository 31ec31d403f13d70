#include "catalog/permission_maps.h"

#include <algorithm>

#include "catalog/catalog.h"

namespace cardea::catalog {

using json::Value;

PermissionMaps::PermissionMaps(const std::vector<Value>& maps) {
  std::vector<std::pair<std::string, const Value*>> by_name;
  for (const Value& map : maps)
    by_name.emplace_back(map["metadata"]["name"].as_string(), &map["spec"]);
  std::ranges::stable_sort(by_name, {}, &std::pair<std::string, const Value*>::first);
  for (const auto& [name, spec] : by_name) {
    std::string_view resource = (*spec)["resource"].as_string();
    if (resource.empty()) continue;
    for (const Value& entry : (*spec)["permissions"].items()) {
      auto permission = schema::added_permission(entry, name);
      if (!permission) continue;
      Added&
          added = by_resource_[{std::string((*spec)["group"].as_string()), std::string(resource)}];
      added.permissions.push_back(std::move(*permission));
      added.read_from.emplace_back(name, entry);
    }
  }
}

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
