#pragma once
#include <string>

#include "json/field_error.h"
#include "json/value.h"

namespace cardea::schema {

// The errors in the permission tags (x-kubernetes-permission-...) of a `schema.openAPIV3Schema`
// that is otherwise structural: their names, their places, the sources of their parameters.
// `path` is the place of the schema.
json::FieldErrors check_permissions(const json::Value& schema, const std::string& path);

}  // namespace cardea::schema
