#pragma once
#include <string_view>

#include "schema/schema.h"

namespace cardea::schema {

// How ownership of fields sees a schema: each value is a map, a list or a scalar; maps and lists
// are either granular (their parts have owners) or atomic (one owner for the whole). Shared by
// compare, apply and field sets, so that all three agree on where a leaf is.

// What a part without schema is: maps granular, lists atomic, deduced from the value that is found.
const Schema& deduced_schema();
// Any value, owned as a whole.
const Schema& opaque_schema();

enum class Shape : unsigned char { kMap, kList, kScalar };

inline bool is_any(const Schema& schema) {
  return schema.type == Schema::Type::kAny;
}

// The handling of `value` under `schema`. Null under kAny counts as a map, as upstream has it.
inline Shape shape_of(const Schema& schema, const json::Value& value) {
  switch (schema.type) {
    case Schema::Type::kObject:
      return Shape::kMap;
    case Schema::Type::kArray:
      return Shape::kList;
    case Schema::Type::kAny:
      if (value.is_array()) return Shape::kList;
      return value.is_object() || value.is_null() ? Shape::kMap : Shape::kScalar;
    default:
      return Shape::kScalar;
  }
}

// A built-in object without declared members (such as RawExtension) has one owner.
inline bool is_atomic_map(const Schema& schema) {
  if (schema.map_type == Schema::MapType::kAtomic) return true;
  return schema.type == Schema::Type::kObject && schema.properties.empty() && !schema.additional &&
         !(schema.preserve_unknown_fields && schema.type_name.empty());
}
inline bool is_atomic_list(const Schema& schema) {
  return schema.list_type == Schema::ListType::kAtomic;
}

// The schema of a member; nullptr when the schema does not allow it.
inline const Schema* member_schema(const Schema& schema, std::string_view key) {
  if (const Property* property = schema.property(key))
    return property->held == Held::kRaw ? &opaque_schema() : property->schema;
  if (schema.additional) return schema.additional;
  if (is_any(schema)) return &schema;
  return schema.preserve_unknown_fields ? &deduced_schema() : nullptr;
}

inline const Schema& member_or_deduced(const Schema& schema, std::string_view key) {
  const Schema* member = member_schema(schema, key);
  return member ? *member : deduced_schema();
}

inline const Schema& item_schema(const Schema& schema) {
  if (schema.items) return *schema.items;
  return is_any(schema) ? schema : deduced_schema();
}

// The value of an item's key field, its default, or nullptr when it has neither.
inline const json::Value* key_value(const Schema& list, const json::Value& item,
                                    std::string_view key) {
  if (const json::Value* found = item.find(key)) return found;
  const Property* property = list.items ? list.items->property(key) : nullptr;
  return property && property->schema->default_value ? &*property->schema->default_value : nullptr;
}

}  // namespace cardea::schema
