#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/field_error.h"
#include "json/value.h"
#include "schema/schema.h"

namespace cardea::schema {

// What is wrong with a `schema.openAPIV3Schema` that a CustomResourceDefinition brings: everything Kubernetes
// asks of it, in its words and order, but the compilation of x-kubernetes-validations rules; those come after
// and only when nothing was found here.
//
// `path` is where the schema stands ("spec.validation.openAPIV3Schema"). `object_meta` is the built-in type of
// metadata, for defaults inside embedded resources. `status_subresource` forbids what the root could not mean
// for a status written separately.
json::FieldErrors check_custom_schema(const json::Value& schema, const std::string& path, const Schema& object_meta,
                                      bool status_subresource);

// The parts.
json::FieldErrors check_structural(const json::Value& schema, const std::string& path);  // sorted by message
json::FieldErrors check_open_api(const json::Value& schema, const std::string& path);
json::FieldErrors check_defaults(const json::Value& schema, const std::string& path, const Schema& object_meta);

// A keyword that a structural schema cannot have, as Kubernetes reports it; nothing when there is none.
std::optional<std::string> unsupported_keyword(const json::Value& schema);

// Where a simple path (`.spec.color`, `.spec['odd.name']`) leads in a schema: the schema of the field, and the
// path as errors write it. The error's message says what is wrong with the path.
struct FoundField {
  json::Value schema;
  std::string path;
  std::string root;  // its first name
};
Result<FoundField> find_field(const json::Value& schema, std::string_view json_path, bool allow_brackets);

}  // namespace cardea::schema
