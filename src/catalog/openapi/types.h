#pragma once
#include <set>
#include <string>
#include <string_view>

#include "catalog/builtin_types.h"
#include "catalog/catalog.h"
#include "catalog/openapi/permissions.h"
#include "json/value.h"

namespace cardea::catalog::openapi {

enum class Format { kV2, kV3 };

// Writes type definitions of one OpenAPI version, and notes which built-in types they refer to.
class TypeWriter {
 public:
  // The permissions on fields must outlive it.
  TypeWriter(const BuiltinTypes& types, Format version, const PublishedPermissions& permissions)
      : types_(types), version_(version), permissions_(permissions) {}

  json::Value reference(std::string_view type);  // {"$ref": "#/..."}
  json::Value custom(const Resource& resource);  // the kind of a custom resource
  json::Value custom_list(const Resource& resource);
  // Adds to `out` every built-in type that was referred to, and those that these refer to.
  void add_referenced(json::Value& out);

 private:
  json::Value definition(const BuiltinTypes::Type& type);
  json::Value number_or_text(const schema::Schema& schema) const;
  json::Value use(const schema::Schema& schema, std::string_view description);
  json::Value described_reference(std::string_view type, std::string_view description);
  json::Value custom_node(const json::Value& source);
  void add_object_fields(json::Value& node, bool embedded);
  json::Value taggable(json::Value node) const;
  void tag(json::Value& node, const FieldPermission& permission) const;

  const BuiltinTypes& types_;
  Format version_;
  const PublishedPermissions& permissions_;
  std::set<std::string, std::less<>> wanted_, written_;
};

}  // namespace cardea::catalog::openapi
