#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "json/field_error.h"
#include "json/value.h"
#include "schema/schema.h"

namespace cardea::schema {

struct Findings {
  json::FieldErrors errors;
  json::FieldErrors ratcheted;  // wrong, but already so in the old value and untouched by this
                                // update
};

// Checks a custom resource, or a part of one, against the value validations of its schema: types,
// formats, bounds, patterns, enums, required fields, allOf and its kin. The wording and the choice
// of what to report when several alternatives fail are Kubernetes'.
//
// On update `old` is the stored value: what was wrong before and has not changed is let pass. Items
// of a list are compared with the old ones only where the list is of type map.
//
// `base` stands before the field names of the errors ("status"), not inside their messages; that is
// how Kubernetes names them.
//
// x-kubernetes-validations are not evaluated here: see validate_custom and
// schema/custom/object_rules.h.
Findings validate_value(const Schema& schema, const json::Value& value,
                        const json::Value* old = nullptr, std::string_view base = "");

// Lists of type set or map must not hold an item (or a key) twice.
json::FieldErrors validate_lists(const Schema& schema, const json::Value& value,
                                 std::string_view base = "");

// Embedded resources need an apiVersion, a kind and well-formed metadata. `object_meta` is the
// built-in type. The root is looked at only when `root` is true: an object's own metadata has rules
// elsewhere.
json::FieldErrors validate_embedded(const Schema& schema, const Schema& object_meta,
                                    const json::Value& value, bool root = false,
                                    std::string_view base = "");

// All three and the expressions of x-kubernetes-validations, as Kubernetes orders them for an
// object (its own metadata is the caller's). On update the list rules hold only where the old
// object kept them. With `status_only` a write of the status is checked: the rest of the object is
// as it was. Rules that are broken and were so before become `warnings`.
json::FieldErrors validate_custom(const Schema& schema, const Schema& object_meta,
                                  const json::Value& object, const json::Value* old,
                                  bool status_only, std::vector<std::string>& warnings);

}  // namespace cardea::schema
