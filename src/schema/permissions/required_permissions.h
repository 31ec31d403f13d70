#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schema/permissions/changed_fields.h"
#include "schema/permissions/permissions.h"

namespace cardea::schema {

// Verbs that configuration excludes, as if the schema had excluded them. A value.
struct ExcludedVerbs {
  std::set<std::string, std::less<>> verbs;  // "granular:label(pod-security.kubernetes.io)"
  std::set<std::string, std::less<>> names;  // the permissions they are verbs of: "label"

  void add(std::string_view verb);
  bool empty() const { return verbs.empty(); }
  // Whether any of them can be needed for objects with these permissions.
  bool concern(const PermissionTree& tree) const;
};

// The permissions for changing a field. Fields with the same permissions are one demand, named
// by the first of them.
struct Demand {
  FieldPath field;
  std::vector<std::uint32_t> chain;  // indexes of Demands::verbs, general to specific: any of them
                                     // covers the field
  std::vector<std::uint32_t> excluded;  // excluded ones: each of them is needed
  std::vector<std::uint32_t> inside;  // excluded ones below a field that was compared as one value:
                                      // needed in addition
  std::string unnamed;  // an excluded permission that cannot be written as a verb, for messages: no
                        // user can have it
};

struct Demands {
  std::vector<std::string> verbs;  // each once
  std::vector<Demand> fields;      // in the order of paths

  std::vector<std::string> chain_of(const Demand& demand) const;
};

// The permissions for these changes. A permission whose parameter comes from a value is needed
// for the old and for the new value. Pure; costs the size of the change.
Demands demands_of(const ChangedFields& changes, const PermissionTree& tree,
                   const ExcludedVerbs& excluded);
// The same for some of the changed fields.
Demands demands_of(const FieldSet& leaves, const ChangedFields& changes, const PermissionTree& tree,
                   const ExcludedVerbs& excluded);

}  // namespace cardea::schema
