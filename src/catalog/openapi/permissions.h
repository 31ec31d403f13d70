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
  std::string note;          // for readers, where a PermissionMap adds the permission
};

// A sentence about a permission that a PermissionMap adds; empty for any other.
std::string permission_note(const schema::Permission& permission);
// The permissions of a custom resource that its definition does not show: those that hold for every
// definition without tags, and those that maps add. In the form of PublishedPermissions::of_kind.
json::Value untagged_permissions(const Resource& resource);

// The permissions on fields of the built-in kinds, as their types can show them. Kinds share types,
// but each kind has its own permissions: a field of a type is tagged only if the permission applies
// in every object with this field. (ObjectMeta is tagged for its use in an object, not in a
// template.) A kind itself shows the other permissions, with whole paths: x-kubernetes-permissions.
// There are none if the catalogue was made without FineGrainedAuthorization. Immutable.
class PublishedPermissions {
 public:
  explicit PublishedPermissions(const Catalog& catalog);

  bool are_shown() const { return are_shown_; }
  const FieldPermission* find(std::string_view type, std::string_view field) const;  // null: no
                                                                                     // permission
  // [{"x-kubernetes-permission-verb":"nodeAssignment","fields":["spec.nodeName"]}] of the type of a
  // kind; null where nothing is left to say. What PermissionMaps add is always there, with the name
  // of the `map`.
  const json::Value& of_kind(std::string_view type) const;
  // For the readers of a kind: what PermissionMaps add to fields that other kinds have too.
  std::string note_of_kind(std::string_view type) const;

 private:
  class Survey;

  using Key = std::pair<std::string, std::string>;
  bool are_shown_ = false;
  std::map<Key, FieldPermission, std::less<>> fields_;
  std::map<std::string, json::Value, std::less<>> kinds_;
  std::map<std::string, std::string, std::less<>> notes_;  // of kinds
};

}  // namespace cardea::catalog::openapi
