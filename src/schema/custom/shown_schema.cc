#include "schema/custom/shown_schema.h"

#include "base/strings.h"
#include "json/print_as_go.h"

namespace cardea::schema {
namespace {

using json::Member;
using json::Value;

enum class Form {
  kText,
  kFlag,
  kPlain,
  kSchema,
  kSchemas,
  kSchemaMap,
  kSchemaOrArray,
  kSchemaOrBool,
  kDocs,
  kDependencies,
  kRules
};

struct Field {
  std::string_view name, key;
  Form form;
};

constexpr Field kFields[] = {
    {"ID", "id", Form::kText},
    {"Schema", "$schema", Form::kText},
    {"Ref", "$ref", Form::kPlain},
    {"Description", "description", Form::kText},
    {"Type", "type", Form::kText},
    {"Nullable", "nullable", Form::kFlag},
    {"Format", "format", Form::kText},
    {"Title", "title", Form::kText},
    {"Default", "default", Form::kPlain},
    {"Maximum", "maximum", Form::kPlain},
    {"ExclusiveMaximum", "exclusiveMaximum", Form::kFlag},
    {"Minimum", "minimum", Form::kPlain},
    {"ExclusiveMinimum", "exclusiveMinimum", Form::kFlag},
    {"MaxLength", "maxLength", Form::kPlain},
    {"MinLength", "minLength", Form::kPlain},
    {"Pattern", "pattern", Form::kText},
    {"MaxItems", "maxItems", Form::kPlain},
    {"MinItems", "minItems", Form::kPlain},
    {"UniqueItems", "uniqueItems", Form::kFlag},
    {"MultipleOf", "multipleOf", Form::kPlain},
    {"Enum", "enum", Form::kPlain},
    {"MaxProperties", "maxProperties", Form::kPlain},
    {"MinProperties", "minProperties", Form::kPlain},
    {"Required", "required", Form::kPlain},
    {"Items", "items", Form::kSchemaOrArray},
    {"AllOf", "allOf", Form::kSchemas},
    {"OneOf", "oneOf", Form::kSchemas},
    {"AnyOf", "anyOf", Form::kSchemas},
    {"Not", "not", Form::kSchema},
    {"Properties", "properties", Form::kSchemaMap},
    {"AdditionalProperties", "additionalProperties", Form::kSchemaOrBool},
    {"PatternProperties", "patternProperties", Form::kSchemaMap},
    {"Dependencies", "dependencies", Form::kDependencies},
    {"AdditionalItems", "additionalItems", Form::kSchemaOrBool},
    {"Definitions", "definitions", Form::kSchemaMap},
    {"ExternalDocs", "externalDocs", Form::kDocs},
    {"Example", "example", Form::kPlain},
    {"XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", Form::kPlain},
    {"XEmbeddedResource", "x-kubernetes-embedded-resource", Form::kFlag},
    {"XIntOrString", "x-kubernetes-int-or-string", Form::kFlag},
    {"XListMapKeys", "x-kubernetes-list-map-keys", Form::kPlain},
    {"XListType", "x-kubernetes-list-type", Form::kPlain},
    {"XMapType", "x-kubernetes-map-type", Form::kPlain},
    {"XValidations", "x-kubernetes-validations", Form::kRules},
};

std::string text_of(const Value& v) {
  return json::print_as_go(v.is_string() ? v : Value(""));
}

std::string shown_list(const Value& list) {
  std::string out = "[";
  for (const Value& item : list.items()) out += cat(out.size() > 1 ? "," : "", shown_schema(item));
  return out + "]";
}

template <typename Show>
std::string shown_map(const Value& map, Show show) {
  std::string out = "{";
  for (const Member& m : map.members())
    out += cat(out.size() > 1 ? "," : "", json::print_as_go(m.name), ":", show(m.value));
  return out + "}";
}

std::string shown_rules(const Value& rules) {
  std::string out = "[";
  for (const Value& r : rules.items()) out += cat(out.size() > 1 ? "," : "", shown_rule(r));
  return out + "]";
}

std::string shown_field(const Value& v, Form form) {
  if (form == Form::kText) return text_of(v);
  if (form == Form::kFlag) return v.as_bool() ? "true" : "false";
  if (v.is_null()) return "null";
  switch (form) {
    case Form::kSchema:
      return shown_schema(v);
    case Form::kSchemas:
      return shown_list(v);
    case Form::kSchemaMap:
      return shown_map(v, shown_schema);
    case Form::kSchemaOrArray:
      return v.is_array() ? cat(R"({"Schema":null,"JSONSchemas":)", shown_list(v), "}")
                          : cat(R"({"Schema":)", shown_schema(v), R"(,"JSONSchemas":null})");
    case Form::kSchemaOrBool:
      return v.is_bool() ? cat(R"({"Allows":)", json::print_as_go(v), R"(,"Schema":null})")
                         : cat(R"({"Allows":true,"Schema":)", shown_schema(v), "}");
    case Form::kDependencies:
      return shown_map(v, [](const Value& d) {
        return d.is_array() ? cat(R"({"Schema":null,"Property":)", json::print_as_go(d), "}")
                            : cat(R"({"Schema":)", shown_schema(d), R"(,"Property":null})");
      });
    case Form::kDocs:
      return cat(R"({"Description":)", text_of(v["description"]), R"(,"URL":)", text_of(v["url"]),
                 "}");
    case Form::kRules:
      return shown_rules(v);
    default:
      return json::print_as_go(v);
  }
}

}  // namespace

std::string shown_rule(const Value& r) {
  return cat(R"({"Rule":)", text_of(r["rule"]), R"(,"Message":)", text_of(r["message"]),
             R"(,"MessageExpression":)", text_of(r["messageExpression"]), R"(,"Reason":)",
             json::print_as_go(r["reason"]), R"(,"FieldPath":)", text_of(r["fieldPath"]),
             R"(,"OptionalOldSelf":)", json::print_as_go(r["optionalOldSelf"]), "}");
}

std::string shown_schema(const Value& schema) {
  if (!schema.is_object()) return "null";
  std::string out = "{";
  for (const Field& f : kFields)
    out += cat(out.size() > 1 ? "," : "", "\"", f.name, "\":", shown_field(schema[f.key], f.form));
  return out + "}";
}

}  // namespace cardea::schema
