#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "schema/schema.h"

namespace cardea::schema {

// One step of a path as FieldsV1 writes it: `f:spec`, `k:{"name":"c"}`, `v:"text"`, `i:3`.
std::string field_element(std::string_view name);
std::string value_element(const json::Value& value);
std::string index_element(std::size_t index);
// What identifies an item of a list of type set or map. False when the item cannot be identified:
// null or of a kind that does not belong there.
bool item_element(const Schema& list, const json::Value& item, std::string& element);

using FieldPath = std::vector<std::string>;

// `.spec.ports[port=80,protocol="TCP"].name`, as Kubernetes prints a path in messages.
std::string path_text(const FieldPath& path);

// A set of field paths. A value: copies share, operations return new sets and share what did not
// change.
//
// It is kept in the form of FieldsV1 itself: an object whose members are path elements, where `{}`
// ends a path and "." says that the path that leads here is a member besides the longer ones.
// Reading and writing managedFields therefore costs nothing but the check.
class FieldSet {
 public:
  FieldSet() = default;

  // Checks and brings keys into canonical form. Any flaw is a BadRequest.
  static Result<FieldSet> parse(const json::Value& fields_v1);
  static FieldSet of(std::initializer_list<FieldPath> paths);
  // Takes what is already in FieldsV1 form; null is the empty set. For builders in this room.
  static FieldSet from_tree(json::Value tree);

  json::Value fields_v1() const;
  bool empty() const { return tree_.empty(); }
  std::size_t size() const;  // how many paths
  bool has(const FieldPath& path) const;
  void insert(const FieldPath& path);
  // The paths below an element, without it.
  FieldSet below(std::string_view element) const;
  // In the order in which Kubernetes lists paths: what ends at a level before what goes deeper.
  void for_each(const std::function<void(const FieldPath&)>& visit) const;

  FieldSet union_with(const FieldSet& other) const;
  FieldSet intersection(const FieldSet& other) const;
  // Without the paths of `other`; longer paths stay.
  FieldSet difference(const FieldSet& other) const;
  // Without the paths of `other` and everything below them.
  FieldSet recursive_difference(const FieldSet& other) const;
  // Adds each named field (not map key) on the way to a path as a separate path.
  FieldSet with_named_fields(const Schema& schema) const;
  // Where the schema has become atomic, paths into the value become the value's own path.
  FieldSet fitted_to(const Schema& schema) const;

  const json::Value& tree() const { return tree_; }
  friend bool operator==(const FieldSet& a, const FieldSet& b) { return a.tree_ == b.tree_; }

 private:
  explicit FieldSet(json::Value tree) : tree_(std::move(tree)) {}
  json::Value tree_ = json::Value();  // null or a non-empty object
};

// Every leaf of `value`, and each item and map key: what an applier owns.
FieldSet field_set_of(const json::Value& value, const Schema& schema);

}  // namespace cardea::schema
