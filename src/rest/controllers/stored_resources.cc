#include "rest/controllers/stored_resources.h"

namespace cardea::rest {
namespace {

// Names of some kinds may hold what has a meaning in a URL.
std::string encoded(std::string_view name) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (unsigned char c : name) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '-' || c == '.' || c == '_' || c == '~' || c == ':';
    if (plain)
      out += static_cast<char>(c);
    else
      out += {'%', kHex[c >> 4], kHex[c & 15]};
  }
  return out;
}

}  // namespace

void StoredResources::refresh() {
  auto current = holder_.get();
  if (catalog_ && catalog_->generation() == current->generation()) return;
  all_.clear();
  by_prefix_.clear();
  catalog_ = std::move(current);
  for (const catalog::Group& group : catalog_->all_groups())
    for (const catalog::Version& version : group.versions)
      for (const catalog::Resource* r : version.resources) {
        if (r->storage_prefix.empty() || !r->has_verb("delete")) continue;
        if (by_prefix_.emplace(r->storage_prefix, r).second) all_.push_back(r);
      }
}

StoredResources::Place StoredResources::find(std::string_view key) const {
  // "/registry/" itself belongs to no resource.
  for (auto slash = key.find('/', 10); slash != std::string_view::npos;
       slash = key.find('/', slash + 1)) {
    auto found = by_prefix_.find(key.substr(0, slash + 1));
    if (found == by_prefix_.end()) continue;
    std::string_view rest = key.substr(slash + 1);
    auto split = rest.find('/');
    if (found->second->namespaced != (split != std::string_view::npos)) return {};
    if (split == std::string_view::npos) return {found->second, "", rest};
    return {found->second, rest.substr(0, split), rest.substr(split + 1)};
  }
  return {};
}

std::string path_of(const catalog::Resource& r, std::string_view namespace_name,
                    std::string_view name) {
  std::string path = r.group.empty() ? cat("/api/", r.version)
                                     : cat("/apis/", r.group, "/", r.version);
  if (!namespace_name.empty()) path += cat("/namespaces/", encoded(namespace_name));
  path += cat("/", r.name);
  if (!name.empty()) path += cat("/", encoded(name));
  return path;
}

}  // namespace cardea::rest
