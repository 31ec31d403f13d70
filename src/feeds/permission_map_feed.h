#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/permission_maps.h"
#include "json/value.h"
#include "store/follow.h"

namespace cardea::feeds {

inline constexpr std::string_view
    kPermissionMapPrefix = "/registry/access.cardea.dev/permissionmaps/";

// PermissionMaps, as what they add together. A record that cannot be read stays as it was last
// understood: a damaged record permits nothing more, and opens nothing that a set keeps shut by a
// verb of the map. If it never was understood, because the server has started since, what is
// published names it: it may guard any field.
class PermissionMapFold {
 public:
  // Makes the maps count. Called before the write of a map is acknowledged, by one thread at a
  // time.
  using Publish = std::function<void(std::shared_ptr<const catalog::PermissionMaps>)>;
  explicit PermissionMapFold(Publish publish) : publish_(std::move(publish)) {}

  std::vector<std::string> prefixes() const;
  store::Folded change(std::string_view key, const store::Record* before,
                       const store::Record* after);
  void publish();

 private:
  Publish publish_;
  struct Known {
    json::Value spec;
    std::shared_ptr<const catalog::PermissionMaps::Map> read;  // null: never understood
  };
  std::map<std::string, Known, std::less<>> maps_;  // by key
};

using PermissionMapFeed = store::Follower<PermissionMapFold>;

}  // namespace cardea::feeds
