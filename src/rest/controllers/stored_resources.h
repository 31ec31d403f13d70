#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/strings.h"
#include "rest/catalog_holder.h"

namespace cardea::rest {

// Which resource a key of the store belongs to, according to the current catalogue. One entry for
// each key prefix of objects, whatever the number of versions and groups. Belongs to one thread.
class StoredResources {
 public:
  explicit StoredResources(const CatalogHolder& catalog) : holder_(catalog) {}

  // Looks at the catalogue again when it has changed. What the others return lives as long as the
  // catalogue it came from.
  void refresh();

  struct Place {
    const catalog::Resource* resource = nullptr;  // null: no served resource has this prefix
    std::string_view namespace_name;              // empty for cluster-scoped
    std::string_view name;
  };
  Place find(std::string_view key) const;  // views into `key`

  const std::vector<const catalog::Resource*>& all() const { return all_; }
  // Whoever keeps a Resource across a wait keeps this too.
  const std::shared_ptr<const catalog::Catalog>& catalog() const { return catalog_; }

 private:
  const CatalogHolder& holder_;
  std::shared_ptr<const catalog::Catalog> catalog_;
  std::vector<const catalog::Resource*> all_;
  std::unordered_map<std::string_view, const catalog::Resource*> by_prefix_;  // keys live in the
                                                                              // catalogue
};

// The URL path of an object, or of its collection when `name` is empty.
std::string path_of(const catalog::Resource& resource, std::string_view namespace_name,
                    std::string_view name);

}  // namespace cardea::rest
