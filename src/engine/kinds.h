#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "authz/fields/uncovered.h"
#include "authz/namespace_policy/words.h"
#include "catalog/catalog.h"

namespace cardea::engine {

// Kinds as one catalogue has them, for rules of namespace policy that name kinds. Immutable; what
// is excluded outlives it.
class Kinds : public authz::namespace_policy::KindNames {
 public:
  Kinds(std::shared_ptr<const catalog::Catalog> catalog, const authz::fields::Uncovered& uncovered);

  std::string_view kind_of(std::string_view group, std::string_view resource) const override;
  std::vector<std::pair<std::string, std::string>> resources_of(
      std::string_view kind) const override;
  bool is_excluded(std::string_view group, std::string_view resource,
                   std::string_view verb) const override;
  std::shared_ptr<const schema::Schema> schema_of(std::string_view group, std::string_view version,
                                                  std::string_view resource) const override;

 private:
  using Place = std::pair<std::string_view, std::string_view>;  // group and resource
  const std::shared_ptr<const catalog::Catalog> catalog_;
  const authz::fields::Uncovered& uncovered_;
  std::map<Place, std::string> kinds_;  // in lower case; the catalogue owns the keys
};

}  // namespace cardea::engine
