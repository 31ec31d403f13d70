#include "schema/custom/structural.h"

#include <re2/re2.h>

#include <algorithm>

#include "base/strings.h"
#include "schema/custom/formats.h"
#include "schema/custom/object_rules.h"
#include "schema/custom/rules.h"

namespace cardea::schema {
namespace {

using json::Member;
using json::Value;

Schema::Type type_of(const Value& source) {
  if (source["x-kubernetes-int-or-string"].as_bool()) return Schema::Type::kIntOrString;
  std::string_view name = source["type"].as_string();
  if (name == "object") return Schema::Type::kObject;
  if (name == "array") return Schema::Type::kArray;
  if (name == "string") return Schema::Type::kString;
  if (name == "integer") return Schema::Type::kInteger;
  if (name == "number") return Schema::Type::kNumber;
  if (name == "boolean") return Schema::Type::kBoolean;
  return Schema::Type::kAny;
}

std::optional<double> number(const Value& v) {
  return v.is_number() ? std::optional(v.as_double()) : std::nullopt;
}
std::optional<std::int64_t> count(const Value& v) {
  return v.is_number() ? std::optional(v.as_int()) : std::nullopt;
}

// Formats that mean nothing for the type are as good as absent.
void read_format(ValueRules& rules, const Value& source) {
  std::string_view format = source["format"].as_string();
  if (format.empty()) return;
  if (rules.type.empty() || rules.type == "string") {
    rules.format = find_format(format);
    if (rules.format) rules.format_name = format;
  } else if (rules.type == "integer"
                 ? format == "int32" || format == "int64"
                 : rules.type == "number" && (format == "float" || format == "double")) {
    rules.format_name = format;
  }
}

std::shared_ptr<const ValueRules> read_rules(const Value& source) {
  auto rules = std::make_shared<ValueRules>();
  rules->type = source["x-kubernetes-int-or-string"].as_bool() ? "integer,string"
                                                               : source["type"].as_string();
  read_format(*rules, source);
  rules->minimum = number(source["minimum"]);
  rules->maximum = number(source["maximum"]);
  rules->multiple_of = number(source["multipleOf"]);
  rules->exclusive_minimum = source["exclusiveMinimum"].as_bool();
  rules->exclusive_maximum = source["exclusiveMaximum"].as_bool();
  rules->min_length = count(source["minLength"]);
  rules->max_length = count(source["maxLength"]);
  rules->min_items = count(source["minItems"]);
  rules->max_items = count(source["maxItems"]);
  rules->min_properties = count(source["minProperties"]);
  rules->max_properties = count(source["maxProperties"]);
  rules->unique_items = source["uniqueItems"].as_bool();
  for (const Value& name : source["required"].items())
    rules->required.emplace_back(name.as_string());
  rules->pattern = source["pattern"].as_string();
  if (!rules->pattern.empty()) {
    re2::RE2::Options options(re2::RE2::Quiet);
    auto regex = std::make_shared<const re2::RE2>(rules->pattern, options);
    if (regex->ok()) rules->regex = std::move(regex);
  }
  rules->any_additional = source["additionalProperties"].is_bool();
  return rules;
}

class Builder {
 public:
  Builder(SchemaSet& set, const Schema* object_meta) : set_(set), object_meta_(object_meta) {}

  Schema* build(const Value& source, bool root) {
    Schema* s = set_.make();
    s->source = source;
    s->type = type_of(source);
    s->format = source["format"].as_string();
    s->rules = read_rules(source);
    s->nullable = source["nullable"].as_bool();
    s->preserve_unknown_fields = source["x-kubernetes-preserve-unknown-fields"].as_bool();
    s->embedded_resource = source["x-kubernetes-embedded-resource"].as_bool();
    if (source["x-kubernetes-map-type"].as_string() == "atomic")
      s->map_type = Schema::MapType::kAtomic;
    if (const Value* value = source.find("default"); value && !value->is_null())
      s->default_value = *value;
    for (const Value& allowed : source["enum"].items()) s->enumeration.push_back(allowed);
    read_list(*s, source);
    read_object(*s, source);
    if (object_meta_ && (root || s->embedded_resource)) add_meta(*s);
    read_nested(source["allOf"], s->all_of);
    read_nested(source["anyOf"], s->any_of);
    read_nested(source["oneOf"], s->one_of);
    if (source["not"].is_object()) s->negated = build(source["not"], false);
    return s;
  }

 private:
  void read_list(Schema& s, const Value& source) {
    if (source["items"].is_object()) s.items = build(source["items"], false);
    std::string_view type = source["x-kubernetes-list-type"].as_string();
    if (type == "set") s.list_type = Schema::ListType::kSet;
    if (type == "map") s.list_type = Schema::ListType::kMap;
    for (const Value& key : source["x-kubernetes-list-map-keys"].items())
      s.map_keys.emplace_back(key.as_string());
  }

  void read_object(Schema& s, const Value& source) {
    for (const Member& m : source["properties"].members())
      s.properties.push_back({.name = std::string(m.key()), .schema = build(m.value, false)});
    for (const Value& name : source["required"].items()) {
      auto at = std::ranges::find(s.properties, name.as_string(), &Property::name);
      if (at != s.properties.end()) at->required = true;
    }
    const Value& additional = source["additionalProperties"];
    if (additional.is_object()) s.additional = build(additional, false);
    if (additional.is_bool()) {
      s.additional = build(Value::object(), false);
      s.additional_allowed = additional.as_bool();
    }
  }

  void read_nested(const Value& list, std::vector<const Schema*>& out) {
    for (const Value& item : list.items()) out.push_back(build(item, false));
  }

  void add_meta(Schema& s) {
    Schema* meta = set_.make();
    *meta = *object_meta_;
    if (const Property* declared = s.property("metadata")) {
      for (Property& p : meta->properties)
        if (p.name == "name" || p.name == "generateName")
          if (const Property* own = declared->schema->property(p.name)) p.schema = own->schema;
      meta->source = declared->schema->source;
      meta->rules = declared->schema->rules;
      meta->default_value = declared->schema->default_value;
    }
    set_property(s, "metadata", meta);
    for (std::string_view name : {"apiVersion", "kind"}) {
      if (s.property(name)) continue;
      Schema* text = set_.make();
      text->type = Schema::Type::kString;
      set_property(s, name, text);
    }
  }

  static void set_property(Schema& s, std::string_view name, const Schema* schema) {
    auto at = std::ranges::lower_bound(s.properties, name, {},
                                       [](const Property& p) { return std::string_view(p.name); });
    if (at != s.properties.end() && at->name == name)
      at->schema = schema;
    else
      s.properties.insert(at, {.name = std::string(name), .schema = schema});
  }

  SchemaSet& set_;
  const Schema* object_meta_;
};

}  // namespace

const Schema* build_structural(SchemaSet& set, const Value& open_api, const Schema* object_meta) {
  Schema* root = Builder(set, object_meta).build(open_api, true);
  if (object_meta && ObjectRules::any_in(open_api))
    root->expressions = std::make_shared<const ObjectRules>(open_api, true);
  return root;
}

}  // namespace cardea::schema
