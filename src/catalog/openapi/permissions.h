#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::catalog::openapi {

// What OpenAPI says of the permissions on a field of a built-in type: x-kubernetes-permission-verb
// and its companions.
struct FieldPermission {
  json::Value tags;          // of the field; null: none
  json::Value tags_of_each;  // of the values of a map, the items of a list
};

// The permissions on fields of the built-in kinds, as their types can show them. Types are shared
// between kinds, and the permissions are the kinds': a field is tagged only where that is true of
// every object with such a field. (ObjectMeta is tagged for what it is in an object itself, not in
// a template.) What cannot be said so, a kind says itself, with whole paths:
// x-kubernetes-permissions. None where the catalogue was made without FineGrainedAuthorization.
// Immutable.
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
