#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::catalog::openapi {

// The permissions on a field of a built-in type, as OpenAPI shows them:
// x-kubernetes-permission-verb and the other tags.
struct FieldPermission {
  json::Value tags;          // of the field; null: none
  json::Value tags_of_each;  // of the values of a map, the items of a list
};

// The permissions on fields of the built-in kinds, as their types can show them. Kinds share types,
// but each kind has its own permissions: a field of a type is tagged only if the permission applies
// in every object with this field. (ObjectMeta is tagged for its use in an object, not in a
// template.) A kind itself shows the other permissions, with whole paths: x-kubernetes-permissions.
// There are none if the catalogue was made without FineGrainedAuthorization. Immutable.
class PublishedPermissions {
 public:
  explicit PublishedPermissions(const Catalog& catalog);

  const FieldPermission* find(std::string_view type, std::string_view field) const;  // null: no
                                                                                     // permission
  // [{"x-kubernetes-permission-verb":"nodeAssignment","fields":["spec.nodeName"]}] of the type of a
  // kind; null where nothing is left to say.
  const json::Value& of_kind(std::string_view type) const;

 private:
  class Survey;

  using Key = std::pair<std::string, std::string>;
  std::map<Key, FieldPermission, std::less<>> fields_;
  std::map<std::string, json::Value, std::less<>> kinds_;
};

}  // namespace cardea::catalog::openapi
