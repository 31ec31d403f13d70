#pragma once
#include <memory>
#include <string>
#include <vector>

#include "authz/fields/uncovered.h"
#include "authz/namespace_policy/words.h"
#include "base/snapshot.h"
#include "catalog/catalog.h"

namespace cardea::feeds {

// Kinds as a catalogue has them. Made once for each catalogue and thread: asking costs one lookup,
// and takes no lock.
class CatalogKinds : public authz::namespace_policy::KindNames {
 public:
  explicit CatalogKinds(const Snapshot<catalog::Catalog>& catalog) : catalog_(catalog) {}
  std::string_view kind_of(std::string_view group, std::string_view resource) const override;
  std::vector<std::pair<std::string, std::string>> resources_of(
      std::string_view kind) const override;
  std::optional<std::vector<std::string>> parts_of(std::string_view resource) const override;
  bool has_group(std::string_view group) const override;
  bool any_version(std::string_view resource,
                   const std::function<bool(const schema::Schema&)>& has) const override;
  bool is_excluded(std::string_view group, std::string_view resource,
                   std::string_view verb) const override;
  std::shared_ptr<const schema::Schema> schema_of(std::string_view group, std::string_view version,
                                                  std::string_view resource) const override;
  // What UncoveredPermissionSets exclude counts, beside what schemas do. Before the first question;
  // `uncovered` outlives this.
  void follow(const Snapshot<authz::fields::Uncovered>& uncovered) { uncovered_ = &uncovered; }

 private:
  struct Table;
  const Table& table() const;
  const Snapshot<catalog::Catalog>& catalog_;
  const Snapshot<authz::fields::Uncovered>* uncovered_ = nullptr;  // null: nobody follows what is
                                                                   // excluded
};

}  // namespace cardea::feeds
