#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/field_error.h"
#include "json/value.h"
#include "schema/schema.h"

namespace cardea::schema {

class RuleChecker;  // schema/custom/check_rules.h

struct SchemaChecks {
  bool status_subresource = false;  // forbids what the root could not mean for a status written
                                    // separately
  bool unchanged = false;           // the stored definition has the same schema: rules may stay too
                                    // expensive
};

// What is wrong with a `schema.openAPIV3Schema` that a CustomResourceDefinition brings: everything
// Kubernetes asks of it, in its words and order, the expressions of x-kubernetes-validations and
// their estimated cost included.
//
// `path` is where the schema stands ("spec.validation.openAPIV3Schema"). `object_meta` is the
// built-in type of metadata, for defaults inside embedded resources.
json::FieldErrors check_custom_schema(const json::Value& schema, const std::string& path,
                                      const Schema& object_meta, const SchemaChecks& checks);

// The parts.
json::FieldErrors check_structural(const json::Value& schema, const std::string& path);  // sorted
                                                                                         // by
                                                                                         // message
// With `rules` their expressions are compiled too, wherever nothing else is wrong.
json::FieldErrors check_open_api(const json::Value& schema, const std::string& path,
                                 RuleChecker* rules = nullptr);
json::FieldErrors check_defaults(const json::Value& schema, const std::string& path,
                                 const Schema& object_meta);

// A keyword that a structural schema cannot have, as Kubernetes reports it; nothing when there is
// none.
std::optional<std::string> unsupported_keyword(const json::Value& schema);

// Where a simple path (`.spec.color`, `.spec['odd.name']`) leads in a schema: the schema of the
// field, and the path as errors write it. The error's message says what is wrong with the path.
struct FoundField {
  json::Value schema;
  std::string path;
  std::string root;  // its first name
};
Result<FoundField> find_field(const json::Value& schema, std::string_view json_path,
                              bool allow_brackets);

}  // namespace cardea::schema
