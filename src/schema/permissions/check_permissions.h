#pragma once
#include <string>
#include <string_view>

#include "json/field_error.h"
#include "json/value.h"

namespace cardea::schema {

// The errors in the permission tags (x-kubernetes-permission-...) of a `schema.openAPIV3Schema`
// that is otherwise structural: their names, their places, the sources of their parameters.
// `path` is the place of the schema.
json::FieldErrors check_permissions(const json::Value& schema, const std::string& path);

// What is wrong with the name of a permission that is not built in; empty when nothing is.
std::string permission_name_problem(std::string_view name);

}  // namespace cardea::schema
