#include <algorithm>
#include <cstdio>
#include <map>

#include "conformance/conformance.h"
#include "json/print.h"
#include "schema/compare.h"

namespace cardea::conformance {
namespace {

using json::Value;
using schema::FieldPath;
using schema::FieldSet;
using schema::Schema;

// Reads the schema language of structured-merge-diff: named types, each a scalar, a list, a map or all of them.
class Types {
 public:
  explicit Types(const Value& types) {
    for (const char* name : {"__untyped_atomic_", "__untyped_deduced_", "__untyped_separable_"}) named_[name] = set_.make();
    named_["__untyped_atomic_"]->map_type = Schema::MapType::kAtomic;
    named_["__untyped_separable_"]->list_type = Schema::ListType::kSet;
    for (const Value& type : types.items()) named_.try_emplace(std::string(type["name"].as_string()), set_.make());
    for (const Value& type : types.items()) fill(*named_[std::string(type["name"].as_string())], type);
  }

  const Schema* find(std::string_view name) const {
    auto at = named_.find(std::string(name));
    return at == named_.end() ? nullptr : at->second;
  }
  bool complete() const { return complete_; }

 private:
  const Schema* resolve(const Value& type) {
    if (type.has("namedType")) {
      const Schema* found = find(type["namedType"].as_string());
      complete_ &= found != nullptr && !type.has("elementRelationship");
      return found;
    }
    Schema* made = set_.make();
    fill(*made, type);
    return made;
  }

  void fill(Schema& schema, const Value& type) {
    int forms = type.has("scalar") + type.has("list") + type.has("map");
    if (type.has("scalar")) schema.type = scalar(type["scalar"].as_string());
    if (type.has("list")) list(schema, type["list"]);
    if (type.has("map")) map(schema, type["map"]);
    if (forms == 3) schema.type = Schema::Type::kAny;
    complete_ &= forms == 1 || forms == 3;
  }

  static Schema::Type scalar(std::string_view name) {
    if (name == "string") return Schema::Type::kString;
    if (name == "boolean") return Schema::Type::kBoolean;
    return name == "numeric" ? Schema::Type::kNumber : Schema::Type::kIntOrString;
  }

  void list(Schema& schema, const Value& list) {
    schema.type = Schema::Type::kArray;
    schema.items = resolve(list["elementType"]);
    for (const Value& key : list["keys"].items()) schema.map_keys.emplace_back(key.as_string());
    if (list["elementRelationship"].as_string() == "associative")
      schema.list_type = schema.map_keys.empty() ? Schema::ListType::kSet : Schema::ListType::kMap;
  }

  void map(Schema& schema, const Value& map) {
    schema.type = Schema::Type::kObject;
    for (const Value& field : map["fields"].items()) {
      const Schema* type = resolve(field["type"]);
      if (field.has("default")) {  // belongs to the field there, to its type here
        Schema* own = set_.make();
        *own = *type;
        own->default_value = field["default"];
        type = own;
      }
      schema.properties.push_back({std::string(field["name"].as_string()), type});
    }
    std::sort(schema.properties.begin(), schema.properties.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    if (map.has("elementType")) schema.additional = resolve(map["elementType"]);
    if (map["elementRelationship"].as_string() == "atomic") schema.map_type = Schema::MapType::kAtomic;
  }

  schema::SchemaSet set_;
  std::map<std::string, Schema*> named_;
  bool complete_ = true;
};

FieldSet read_set(const Value& paths) {
  FieldSet set;
  for (const Value& path : paths.items()) {
    FieldPath elements;
    for (const Value& element : path.items()) {
      if (const Value* name = element.find("f")) elements.push_back(schema::field_element(name->as_string()));
      if (const Value* key = element.find("k")) elements.push_back("k:" + json::print(*key));
      if (const Value* value = element.find("v")) elements.push_back(schema::value_element(*value));
      if (const Value* index = element.find("i"))
        elements.push_back(schema::index_element(static_cast<std::size_t>(index->as_int())));
    }
    set.insert(elements);
  }
  return set;
}

bool differs(const std::string& name, const char* what, const FieldSet& expected, const FieldSet& found) {
  if (expected == found) return false;
  std::printf("smd-compare: %s: %s: expected %s, found %s\n", name.c_str(), what,
              json::print(expected.fields_v1()).c_str(), json::print(found.fields_v1()).c_str());
  return true;
}

void check(const std::string& name, const Value& before, const Value& after, const FieldSet& added,
           const FieldSet& modified, const FieldSet& removed, const Schema& schema, Counts& result) {
  auto found = schema::compare(before, after, schema);
  bool bad = differs(name, "added", added, found.added);
  bad |= differs(name, "modified", modified, found.modified);
  bad |= differs(name, "removed", removed, found.removed);
  result.check(!bad);
}

}  // namespace

Counts run_smd_compare(const std::string& path) {
  Counts result;
  const Value document = read(path);
  for (const Value& test : document["cases"].items()) {
    Types types(test["schema"]["types"]);
    const Schema* root = types.find(test["root"].as_string());
    int number = 0;
    for (const Value& quint : test["quints"].items()) {
      std::string name = std::string(test["name"].as_string()) + " #" + std::to_string(number++);
      if (!root || !types.complete()) {
        std::printf("smd-compare: %s: skipped, its schema has no counterpart here\n", name.c_str());
        ++result.skipped;
        continue;
      }
      FieldSet added = read_set(quint["added"]), modified = read_set(quint["modified"]),
               removed = read_set(quint["removed"]);
      check(name, quint["lhs"], quint["rhs"], added, modified, removed, *root, result);
      check(name + " reversed", quint["rhs"], quint["lhs"], removed, modified, added, *root, result);
    }
  }
  return result;
}

}  // namespace cardea::conformance
