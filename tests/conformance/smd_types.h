#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "schema/schema.h"

namespace cardea::conformance {

// Reads the schema language of structured-merge-diff: named types, each a scalar, a list, a map, or
// all three.
class Types {
 public:
  explicit Types(const json::Value& types) {
    for (const char* name : {"__untyped_atomic_", "__untyped_deduced_", "__untyped_separable_"})
      named_[name] = set_.make();
    named_["__untyped_atomic_"]->map_type = schema::Schema::MapType::kAtomic;
    named_["__untyped_separable_"]->list_type = schema::Schema::ListType::kSet;
    for (const json::Value& type : types.items())
      named_.try_emplace(std::string(type["name"].as_string()), set_.make());
    for (const json::Value& type : types.items())
      fill(*named_[std::string(type["name"].as_string())], type);
  }

  const schema::Schema* find(std::string_view name) const {
    auto at = named_.find(std::string(name));
    return at == named_.end() ? nullptr : at->second;
  }
  bool complete() const { return complete_; }

 private:
  const schema::Schema* resolve(const json::Value& type) {
    if (type.has("namedType")) {
      const schema::Schema* found = find(type["namedType"].as_string());
      complete_ &= found != nullptr && !type.has("elementRelationship");
      return found;
    }
    schema::Schema* made = set_.make();
    fill(*made, type);
    return made;
  }

  void fill(schema::Schema& schema, const json::Value& type) {
    int forms = type.has("scalar") + type.has("list") + type.has("map");
    if (type.has("scalar")) schema.type = scalar(type["scalar"].as_string());
    if (type.has("list")) list(schema, type["list"]);
    if (type.has("map")) map(schema, type["map"]);
    if (forms == 3) schema.type = schema::Schema::Type::kAny;
    complete_ &= forms == 1 || forms == 3;
  }

  static schema::Schema::Type scalar(std::string_view name) {
    if (name == "string") return schema::Schema::Type::kString;
    if (name == "boolean") return schema::Schema::Type::kBoolean;
    return name == "numeric" ? schema::Schema::Type::kNumber : schema::Schema::Type::kIntOrString;
  }

  void list(schema::Schema& schema, const json::Value& list) {
    schema.type = schema::Schema::Type::kArray;
    schema.items = resolve(list["elementType"]);
    for (const json::Value& key : list["keys"].items())
      schema.map_keys.emplace_back(key.as_string());
    if (list["elementRelationship"].as_string() == "associative")
      schema.list_type = schema.map_keys.empty() ? schema::Schema::ListType::kSet
                                                 : schema::Schema::ListType::kMap;
  }

  void map(schema::Schema& schema, const json::Value& map) {
    schema.type = schema::Schema::Type::kObject;
    for (const json::Value& field : map["fields"].items()) {
      const schema::Schema* type = resolve(field["type"]);
      if (field.has("default")) {  // part of the field there, part of its type here
        schema::Schema* own = set_.make();
        *own = *type;
        own->default_value = field["default"];
        type = own;
      }
      schema.properties.push_back({std::string(field["name"].as_string()), type});
    }
    std::sort(schema.properties.begin(), schema.properties.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    if (map.has("elementType")) schema.additional = resolve(map["elementType"]);
    if (map["elementRelationship"].as_string() == "atomic")
      schema.map_type = schema::Schema::MapType::kAtomic;
  }

  schema::SchemaSet set_;
  std::map<std::string, schema::Schema*> named_;
  bool complete_ = true;
};

}  // namespace cardea::conformance
