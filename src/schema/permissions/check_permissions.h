#pragma once
#include <string>

#include "json/field_error.h"
#include "json/value.h"

namespace cardea::schema {

// What is wrong with the permission tags (x-kubernetes-permission-...) of a
// `schema.openAPIV3Schema` that is structural otherwise: their names, where they stand, where their
// parameters come from. `path` is where the schema stands.
json::FieldErrors check_permissions(const json::Value& schema, const std::string& path);

}  // namespace cardea::schema
