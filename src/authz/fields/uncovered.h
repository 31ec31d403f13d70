#pragma once
#include <string_view>

#include "json/value.h"
#include "schema/permissions/required_permissions.h"

namespace cardea::authz::fields {

// The permissions that the UncoveredPermissionSets of a cluster exclude from every other
// permission. A value.
struct Uncovered {
  schema::ExcludedVerbs verbs;
  // Of these, the permissions that also apply to changes by admission: all except those for which
  // every set that names them has admissionMayWrite.
  schema::ExcludedVerbs guarded_from_admission;

  void add(const json::Value& spec);  // of one set
};

inline constexpr std::string_view kPermissionGroup = "permissionconfig.k8s.io";
inline constexpr std::string_view
    kUncoveredPrefix = "/registry/permissionconfig.k8s.io/uncoveredpermissionsets/";

}  // namespace cardea::authz::fields
