#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/field_error.h"
#include "json/value.h"
#include "schema/permissions/permissions.h"
#include "schema/schema.h"

namespace cardea::schema {

// A permission that an administrator adds to a field of a kind that somebody else wrote: one entry
// of a PermissionMap. A value.
struct AddedPermission {
  std::string field;  // "spec.unschedulable", "spec.template.spec.containers[*].image"
  Permission permission;
};

// One entry as the map has it: {"field": "spec.unschedulable", "verb": "cordon"}. nullopt for an
// entry that check_added refuses: it permits nothing.
std::optional<AddedPermission> added_permission(const json::Value& entry, std::string_view map);

// What is wrong with an entry, whatever it is about. `path` is its place.
json::FieldErrors check_added(const json::Value& entry, const std::string& path);

// Why a permission cannot guard its field in objects of this shape: there is no such field, it
// changes only together with others, another permission guards it already (`tree`), or its
// parameter cannot come from there. nullopt when it can. A permission is only ever added: what
// guards a field already keeps guarding it.
struct Misfit {
  enum class Of : std::uint8_t { kField, kParameter };
  Of of;
  std::string why;
  bool is_absent = false;  // there is no such field
};
std::optional<Misfit> misfit(const AddedPermission& added, const Schema& root,
                             const PermissionTree& tree);

}  // namespace cardea::schema
