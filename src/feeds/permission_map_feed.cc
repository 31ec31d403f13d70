#include "feeds/permission_map_feed.h"

#include "json/parse.h"

namespace cardea::feeds {

std::vector<std::string> PermissionMapFold::prefixes() const {
  return {std::string(kPermissionMapPrefix)};
}

store::Folded PermissionMapFold::change(std::string_view key, const store::Record*,
                                        const store::Record* after) {
  if (!after) {
    if (auto at = maps_.find(key); at != maps_.end()) maps_.erase(at);
    return store::Folded::kChanged;
  }
  auto object = json::parse(after->value());
  if (!object || !(*object)["spec"].is_object()) {
    maps_.try_emplace(std::string(key));
    return store::Folded::kUnreadable;
  }
  Known& known = maps_[std::string(key)];
  if (known.read && known.spec == (*object)["spec"]) return store::Folded::kSame;
  known = {(*object)["spec"], catalog::PermissionMaps::read(*object)};
  return store::Folded::kChanged;
}

void PermissionMapFold::publish() {
  std::vector<std::shared_ptr<const catalog::PermissionMaps::Map>> all;
  std::string unread;
  for (const auto& [key, map] : maps_)
    if (map.read)
      all.push_back(map.read);
    else
      unread = key;
  publish_(std::make_shared<const catalog::PermissionMaps>(std::move(all), std::move(unread)));
}

}  // namespace cardea::feeds
