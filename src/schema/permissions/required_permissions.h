#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schema/permissions/changed_fields.h"
#include "schema/permissions/permissions.h"

namespace cardea::schema {

// Verbs that are excluded by configuration: as if the schema had said so where they stand. A value.
struct ExcludedVerbs {
  std::set<std::string, std::less<>> verbs;  // "granular:label(pod-security.kubernetes.io)"
  std::set<std::string, std::less<>> names;  // the permissions they are verbs of: "label"

  void add(std::string_view verb);
  bool empty() const { return verbs.empty(); }
  // Whether any of them can be needed for objects with these permissions.
  bool concern(const PermissionTree& tree) const;
};

// What changing a field takes. Fields that are guarded alike are one demand, with the first of
// them.
struct Demand {
  FieldPath field;
  std::vector<std::uint32_t> chain;  // indexes of Demands::verbs, general to specific: any of them
                                     // covers the field
  std::vector<std::uint32_t> excluded;  // those that nothing else implies: each is needed
  std::vector<std::uint32_t> inside;  // excluded ones below a field that was compared as one value:
                                      // needed besides
  std::string unnamed;  // an excluded permission of which no verb can be made, as people read it:
                        // nobody has it
};

struct Demands {
  std::vector<std::string> verbs;  // each once
  std::vector<Demand> fields;      // in the order of paths

  std::vector<std::string> chain_of(const Demand& demand) const;
};

// What it takes to make these changes. A permission whose parameter comes from a value is demanded
// for the value as it was and as it becomes. Pure; costs the size of the change.
Demands demands_of(const ChangedFields& changes, const PermissionTree& tree,
                   const ExcludedVerbs& excluded);
// The same for some of the changed fields.
Demands demands_of(const FieldSet& leaves, const ChangedFields& changes, const PermissionTree& tree,
                   const ExcludedVerbs& excluded);

}  // namespace cardea::schema
