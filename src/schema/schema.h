#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace cardea::schema {

struct Schema;
struct ValueRules;  // schema/custom/rules.h
class ObjectRules;  // schema/custom/object_rules.h

// How Kubernetes' own type holds a field. It decides what absence and emptiness print as: a struct
// held by value is `{}` when absent, a scalar that is not omitted when empty prints its zero, a
// list prints null.
enum class Held : std::uint8_t { kFreely, kScalar, kPointer, kStruct, kList, kMap, kRaw };

// A named field of an object.
struct Property {
  std::string name;
  const Schema* schema;
  // Protobuf field number, 0 where there is none. Where JSON shows the fields of an embedded
  // message as its parent's, it is the path to the field: ten bits for each step, the outermost
  // highest.
  std::uint32_t number = 0;
  bool required = false;
  Held held = Held::kFreely;  // custom resources: as written
  bool omit_empty = false;    // Go's omitempty: false, 0, "", an empty list or map are left out
  bool omit_zero = false;     // Go's omitzero: a struct of zeros is left out too
  bool added = false;         // not Kubernetes' own field: Protobuf has it only when it is set
  bool wrapped = false;       // in Protobuf the list is a message of its own: {repeated items = 1}
};

// The shape of a value: one node of a graph that may be cyclic (JSONSchemaProps holds itself).
// Nodes are owned by a SchemaSet, immutable once built, and shared between threads.
//
// One form serves built-in types and custom resources, so decoding, defaults, pruning, validation,
// merging, apply and OpenAPI read the same thing.
struct Schema {
  enum class Type : std::uint8_t {
    kAny,
    kBoolean,
    kInteger,
    kNumber,
    kString,
    kObject,
    kArray,
    kIntOrString
  };
  enum class ListType : std::uint8_t { kAtomic, kSet, kMap };
  enum class MapType : std::uint8_t { kGranular, kAtomic };

  Type type = Type::kAny;
  std::string format;     // "int32", "date-time", "byte"...
  std::string type_name;  // "io.k8s.api.core.v1.PodSpec" for built-in types, else empty

  // Objects. A map has `additional` and no properties.
  std::vector<Property> properties;       // sorted by name
  std::vector<std::uint16_t> wire_order;  // those with a number, as Protobuf writes them
  const Schema* additional = nullptr;
  MapType map_type = MapType::kGranular;
  bool preserve_unknown_fields = false;
  bool embedded_resource = false;
  bool additional_allowed = true;  // additionalProperties: false in a custom resource's schema

  // Arrays.
  const Schema* items = nullptr;
  ListType list_type = ListType::kAtomic;
  std::vector<std::string> map_keys;  // of a list of type map

  // Strategic merge patch of built-in types: "merge", "replace", "retainKeys" or several with a
  // comma.
  std::string patch_strategy;
  std::string patch_merge_key;

  bool nullable = false;
  std::optional<json::Value> default_value;
  std::vector<json::Value> enumeration;

  // What only custom resources have: their own OpenAPI document (pattern, minimum, allOf,
  // descriptions, x-kubernetes-validations...), for value validation and publishing. Null for
  // built-in types.
  json::Value source;
  std::vector<const Schema*> all_of, any_of, one_of;
  const Schema* negated = nullptr;
  std::shared_ptr<const ValueRules> rules;         // the keywords of `source` made ready; null for
                                                   // built-in types
  std::shared_ptr<const ObjectRules> expressions;  // x-kubernetes-validations of the whole schema;
                                                   // at its root alone

  const Property* property(std::string_view name) const;  // nullptr when there is none
  void order_by_number();  // makes wire_order, when all properties are there
};

// Owns the nodes of one or more schemas. Nodes never move.
class SchemaSet {
 public:
  Schema* make() { return &nodes_.emplace_back(); }

 private:
  std::deque<Schema> nodes_;
};

}  // namespace cardea::schema
