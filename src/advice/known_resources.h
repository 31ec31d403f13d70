#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::advice {

// The resources that advice is about: the built-in ones, and custom ones whose definitions were
// added. Used by one thread.
class KnownResources {
 public:
  KnownResources();

  const catalog::Catalog& catalog() const { return *catalog_; }

  // Takes a CustomResourceDefinition and gives its name: "widgets.example.com". Tags that make no
  // sense are an error.
  Result<std::string> add_definition(json::Value definition);

  // Takes the PermissionMaps of a server, instead of those before: whole objects.
  void set_permission_maps(const std::vector<json::Value>& maps);

  // By plural, singular or short name, with group or version and group after dots; the preferred
  // version first. Null when there is none.
  const catalog::Resource* find(std::string_view word) const;
  const catalog::Resource* find(std::string_view group, std::string_view version,
                                std::string_view resource) const;

 private:
  std::shared_ptr<const catalog::Catalog> catalog_;
  std::vector<json::Value> definitions_;
};

}  // namespace cardea::advice
