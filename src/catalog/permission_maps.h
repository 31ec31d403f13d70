#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/value.h"
#include "schema/permissions/added_permissions.h"

namespace cardea::catalog {

struct Resource;

// The PermissionMaps of a cluster: permissions that administrators add to resources that they did
// not write. Immutable.
class PermissionMaps {
 public:
  PermissionMaps() = default;
  // One object, read: its expressions are compiled once, however often others change.
  struct Map {
    std::string name, created, group, resource;
    std::vector<std::pair<json::Value, schema::AddedPermission>> entries;
  };
  // An entry that makes no sense adds nothing.
  static std::shared_ptr<const Map> read(const json::Value& object);

  // Where two maps are about one field, the older one counts: nobody can put a map in the place of
  // another.
  // `unread` names a map that nobody could ever read.
  explicit PermissionMaps(std::vector<std::shared_ptr<const Map>> maps, std::string unread = "");
  explicit PermissionMaps(const std::vector<json::Value>& maps);

  bool empty() const { return by_resource_.empty(); }
  // A map that nobody could ever read, by its key: it may guard any field. Empty when there is
  // none.
  const std::string& unread() const { return unread_; }
  // What is added to a resource in all its versions; empty when nothing is.
  const std::vector<schema::AddedPermission>& of(std::string_view group,
                                                 std::string_view resource) const;
  // Whether both add the same to this resource.
  bool agree_on(const PermissionMaps& other, const Resource& resource) const;

 private:
  struct Added {
    std::vector<schema::AddedPermission> permissions;
    std::vector<std::pair<std::string, json::Value>> read_from;  // map and entry
  };
  const Added& added_to(std::string_view group, std::string_view resource) const;

  std::map<std::pair<std::string, std::string>, Added> by_resource_;
  std::string unread_;
};

}  // namespace cardea::catalog
