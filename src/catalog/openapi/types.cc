#include "catalog/openapi/types.h"

#include <algorithm>

#include "base/strings.h"
#include "catalog/openapi/descriptions.h"
#include "catalog/openapi/operations.h"
#include "catalog/openapi/permissions.h"

namespace cardea::catalog::openapi {

using json::Value;
using schema::Schema;

namespace {

constexpr std::string_view kObjectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
constexpr std::string_view kListMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

Value text_field(std::string_view description) {
  return Value::object({{"type", "string"}, {"description", description}});
}

Value kind_entry(std::string_view group, std::string_view version, std::string_view kind) {
  return Value::object({{"group", group}, {"version", version}, {"kind", kind}});
}

std::string_view type_word(Schema::Type type) {
  switch (type) {
    case Schema::Type::kBoolean:
      return "boolean";
    case Schema::Type::kInteger:
      return "integer";
    case Schema::Type::kNumber:
      return "number";
    case Schema::Type::kString:
      return "string";
    case Schema::Type::kObject:
      return "object";
    case Schema::Type::kArray:
      return "array";
    default:
      return "";
  }
}

// Keywords that a custom resource's schema may have and that are published as written. Nested
// schemas are not listed.
constexpr std::string_view kCopied[] = {
    "description",
    "type",
    "title",
    "format",
    "example",
    "externalDocs",
    "nullable",
    "default",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "enum",
    "maxProperties",
    "minProperties",
    "required",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
    "x-kubernetes-permission-verb",
    "x-kubernetes-permission-parameter",
    "x-kubernetes-permission-parameter-treatment",
    "x-kubernetes-permission-parameter-cel",
    "x-kubernetes-permission-excluded",
};

// Keywords that OpenAPI 2 lacks, or that break the clients that read it: rules without a type of
// their own, null, defaults, and anything below a node that keeps unknown fields.
void lower_to_v2(Value& node) {
  for (std::string_view key : {"allOf", "oneOf", "anyOf", "not", "default"}) node.erase(key);
  if (node["nullable"].as_bool()) {
    for (std::string_view key : {"type", "nullable", "items", "properties"}) node.erase(key);
  }
  if (node["x-kubernetes-preserve-unknown-fields"].as_bool()) {
    node.erase("items");
    node.erase("properties");
    if (node["type"].as_string() == "object") node.erase("type");
  }
  if (!node.has("items") && node["type"].as_string() == "array") node.erase("type");
}

void add_selectable_fields(Value& out, const Resource& resource) {
  if (resource.strategy->selectable_fields.empty()) return;
  Value fields = Value::array();
  for (const std::string& field : resource.strategy->selectable_fields)
    fields.push_back(Value::object({{"fieldPath", field}}));
  out.set("x-kubernetes-selectable-fields", fields);
}

}  // namespace

Value TypeWriter::reference(std::string_view type) {
  if (types_.find(type) && !written_.contains(type)) wanted_.emplace(type);
  return Value::object(
      {{"$ref", cat(version_ == Format::kV2 ? "#/definitions/" : "#/components/schemas/", type)}});
}

Value TypeWriter::described_reference(std::string_view type, std::string_view description) {
  Value link = reference(type);
  if (description.empty()) return link;
  if (version_ == Format::kV3)
    link = Value::object({{"allOf", Value::array({link})}});  // siblings of $ref have no effect
  link.set("description", description);
  return link;
}

Value TypeWriter::use(const Schema& schema, std::string_view description) {
  if (!schema.type_name.empty()) {
    Value link = described_reference(schema.type_name, description);
    const Schema* original = types_.find(schema.type_name);
    if (original == &schema) return link;
    if (version_ == Format::kV3 && link.has("$ref"))
      link = Value::object({{"allOf", Value::array({link})}});
    if (!schema.patch_strategy.empty())
      link.set("x-kubernetes-patch-strategy", schema.patch_strategy);
    if (schema.map_type != original->map_type) link.set("x-kubernetes-map-type", "granular");
    return link;
  }
  Value out = Value::object({{"type", type_word(schema.type)}});
  if (!description.empty()) out.set("description", description);
  if (!schema.format.empty()) out.set("format", schema.format);
  if (!schema.enumeration.empty()) out.set("enum", Value::array(schema.enumeration));
  if (schema.default_value && version_ == Format::kV3) out.set("default", *schema.default_value);
  if (schema.items) out.set("items", use(*schema.items, ""));
  if (schema.additional) out.set("additionalProperties", use(*schema.additional, ""));
  if (schema.map_type == Schema::MapType::kAtomic) out.set("x-kubernetes-map-type", "atomic");
  if (schema.list_type != Schema::ListType::kAtomic)
    out.set("x-kubernetes-list-type", schema.list_type == Schema::ListType::kMap ? "map" : "set");
  if (!schema.map_keys.empty())
    out.set("x-kubernetes-list-map-keys",
            Value::array({schema.map_keys.begin(), schema.map_keys.end()}));
  if (!schema.patch_strategy.empty()) out.set("x-kubernetes-patch-strategy", schema.patch_strategy);
  if (!schema.patch_merge_key.empty())
    out.set("x-kubernetes-patch-merge-key", schema.patch_merge_key);
  return out;
}

Value TypeWriter::number_or_text(const Schema& schema) const {
  bool quantity = schema.format == "quantity";
  if (version_ == Format::kV2)
    return quantity ? Value::object({{"type", "string"}})
                    : Value::object({{"type", "string"}, {"format", "int-or-string"}});
  Value number = Value::object({{"type", quantity ? "number" : "integer"}}),
        text = Value::object({{"type", "string"}});
  if (quantity) return Value::object({{"oneOf", Value::array({text, number})}});
  return Value::object({{"format", "int-or-string"}, {"oneOf", Value::array({number, text})}});
}

Value TypeWriter::definition(const BuiltinTypes::Type& type) {
  const Schema& schema = *type.schema;
  const Descriptions& descriptions = Descriptions::embedded();
  Value out = Value::object();
  if (schema.type == Schema::Type::kIntOrString) out = number_or_text(schema);
  std::string text = cat(descriptions.of_type(type), permissions_.note_of_kind(schema.type_name));
  if (!text.empty()) out.set("description", text);
  if (schema.type == Schema::Type::kIntOrString) return out;
  if (schema.type != Schema::Type::kAny) out.set("type", type_word(schema.type));
  if (!schema.format.empty()) out.set("format", schema.format);
  if (schema.map_type == Schema::MapType::kAtomic) out.set("x-kubernetes-map-type", "atomic");
  if (!type.kinds.empty()) {
    Value kinds = Value::array();
    for (const auto& [group, version, kind] : type.kinds)
      kinds.push_back(kind_entry(group, version, kind));
    out.set("x-kubernetes-group-version-kind", kinds);
  }
  std::vector<json::Member> properties;
  std::vector<Value> required;
  for (const auto& property : schema.properties) {
    const FieldPermission* permission = permissions_.find(schema.type_name, property.name);
    std::string told(descriptions.of_field(type, property.name));
    if (permission && !permission->note.empty())
      told += cat(told.empty() ? "" : " ", permission->note);
    Value shown = use(*property.schema, told);
    if (permission) tag(shown, *permission);
    properties.push_back({property.name, std::move(shown)});
    if (property.required) required.emplace_back(property.name);
  }
  if (!properties.empty()) out.set("properties", Value::object(std::move(properties)));
  if (!required.empty()) out.set("required", Value::array(std::move(required)));
  if (const Value& others = permissions_.of_kind(schema.type_name); !others.is_null())
    out.set("x-kubernetes-permissions", others);
  return out;
}

// In version 3 the siblings of a reference have no effect.
Value TypeWriter::taggable(Value node) const {
  if (version_ == Format::kV3 && node.has("$ref"))
    return Value::object({{"allOf", Value::array({std::move(node)})}});
  return node;
}

void TypeWriter::tag(Value& node, const FieldPermission& permission) const {
  auto add = [this](Value& at, const Value& tags) {
    at = taggable(std::move(at));
    for (const json::Member& m : tags.members()) at.set(m.key(), m.value);
  };
  if (!permission.tags.is_null()) add(node, permission.tags);
  if (permission.tags_of_each.is_null()) return;
  add(node.member(node.has("items") ? "items" : "additionalProperties"), permission.tags_of_each);
}

void TypeWriter::add_referenced(Value& out) {
  std::vector<json::Member> added(out.members().begin(), out.members().end());
  while (!wanted_.empty()) {
    std::string name = std::move(wanted_.extract(wanted_.begin()).value());
    written_.insert(name);
    added.push_back({name, definition(types_.all().find(name)->second)});
  }
  out = Value::object(std::move(added));
}

// The fields that the server adds to every object: its type and metadata.
void TypeWriter::add_object_fields(Value& node, bool embedded) {
  Value& properties = node.member("properties");
  properties.set("apiVersion", text_field(describe_common_field("apiVersion", false)));
  properties.set("kind", text_field(describe_common_field("kind", false)));
  properties.set("metadata",
                 described_reference(kObjectMeta, describe_common_field("metadata", false)));
  if (!embedded) return;
  Value& required = node.member("required");
  if (required.is_null()) required = Value::array();
  for (std::string_view name : {"kind", "apiVersion"})
    if (std::ranges::find(required.items(), Value(name)) == required.items().end())
      required.push_back(name);
}

Value TypeWriter::custom_node(const Value& source) {
  Value node = Value::object();
  for (std::string_view key : kCopied)
    if (const Value* value = source.find(key)) node.set(key, *value);
  for (std::string_view key : {"allOf", "anyOf", "oneOf", "not"})
    if (const Value* value = source.find(key)) node.set(key, *value);
  if (source["x-kubernetes-int-or-string"].as_bool() && !source.has("anyOf") &&
      !source.has("allOf"))
    node.set("anyOf", Value::array({Value::object({{"type", "integer"}}),
                                    Value::object({{"type", "string"}})}));
  if (const Value* properties = source.find("properties")) {
    std::vector<json::Member> out;
    for (const auto& [name, value] : properties->members())
      out.push_back({name, custom_node(value)});
    node.set("properties", Value::object(std::move(out)));
  }
  if (const Value* items = source.find("items")) node.set("items", custom_node(*items));
  if (const Value* additional = source.find("additionalProperties"))
    node.set("additionalProperties",
             additional->is_object() ? custom_node(*additional) : *additional);

  if (version_ == Format::kV2) {
    // A nullable field has lost its type above. A list that still requires the field would refuse
    // null.
    if (node.has("required")) {
      std::vector<Value> kept;
      for (const Value& name : node["required"].items())
        if (!source["properties"][name.as_string()]["nullable"].as_bool()) kept.push_back(name);
      if (source["additionalProperties"]["nullable"].as_bool()) kept.clear();
      if (kept.empty())
        node.erase("required");
      else
        node.set("required", Value::array(std::move(kept)));
    }
    lower_to_v2(node);
  }
  bool keeps = node["x-kubernetes-preserve-unknown-fields"].as_bool();
  if (node["x-kubernetes-embedded-resource"].as_bool() && !(keeps && version_ == Format::kV2))
    add_object_fields(node, true);
  return node;
}

namespace {

// Adds a sentence to the description of a field; nothing where the document leaves the field out.
void describe_further(Value& root, const std::vector<std::string>& steps, const std::string& note) {
  const Value* shown = &root;
  for (const std::string& step : steps) {
    if (step == schema::kEach)
      shown = shown->find(shown->has("items") ? "items" : "additionalProperties");
    else
      shown = (*shown)["properties"].find(step);
    if (!shown || !shown->is_object()) return;
  }
  Value* node = &root;
  for (const std::string& step : steps)
    node = step == schema::kEach
               ? &node->member(node->has("items") ? "items" : "additionalProperties")
               : &node->member("properties").member(step);
  std::string_view before = (*node)["description"].as_string();
  node->set("description", before.empty() ? note : cat(before, " ", note));
}

}  // namespace

Value TypeWriter::custom(const Resource& resource) {
  const Value& source = resource.custom_version["schema"]["openAPIV3Schema"];
  bool keeps = source["x-kubernetes-preserve-unknown-fields"].as_bool() ||
               resource.definition["spec"]["preserveUnknownFields"].as_bool();
  Value out;
  if (source.is_null() || (keeps && version_ == Format::kV2)) {
    out = Value::object({{"type", "object"}});
  } else {
    out = custom_node(source);
    add_object_fields(out, false);
  }
  out.set("x-kubernetes-group-version-kind",
          Value::array({kind_entry(resource.group, resource.version, resource.kind)}));
  add_selectable_fields(out, resource);
  if (!permissions_.are_shown()) return out;
  for (const schema::PermissionTree::Listed& listed : resource.permissions->list())
    if (std::string note = permission_note(*listed.permission); !note.empty())
      for (const schema::PermissionTree::Guarded& guarded : listed.fields)
        describe_further(out, schema::field_steps(guarded.field), note);
  if (Value untagged = untagged_permissions(resource); !untagged.empty())
    out.set("x-kubernetes-permissions", untagged);
  return out;
}

Value TypeWriter::custom_list(const Resource& resource) {
  Value items = Value::object({{"type", "array"},
                               {"description", cat("List of ", resource.name, ".")},
                               {"items", reference(type_name(resource))}});
  Value properties = Value::object(
      {{"apiVersion", text_field(describe_common_field("apiVersion", false))},
       {"kind", text_field(describe_common_field("kind", false))},
       {"metadata", described_reference(kListMeta, describe_common_field("metadata", true))},
       {"items", items}});
  Value out = Value::object(
      {{"type", "object"},
       {"description", cat(resource.list_kind, " is a list of ", resource.kind)},
       {"required", Value::array({"items"})},
       {"properties", properties},
       {"x-kubernetes-group-version-kind",
        Value::array({kind_entry(resource.group, resource.version, resource.list_kind)})}});
  add_selectable_fields(out, resource);
  return out;
}

}  // namespace cardea::catalog::openapi
