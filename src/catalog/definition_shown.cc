#include "base/strings.h"
#include "catalog/definition_spec.h"
#include "json/print.h"
#include "schema/custom/shown_schema.h"

namespace cardea::catalog {

using json::Value;

namespace {

std::string shown_text(const Value& v) {
  return json::print(v.is_string() ? v : Value(""));
}

std::string shown_subresources(const Value& v) {
  if (v.is_null()) return "null";
  const Value& scale = v["scale"];
  return cat(R"({"Status":)", v["status"].is_null() ? "null" : "{}", R"(,"Scale":)",
             scale.is_null()
                 ? "null"
                 : cat(R"({"SpecReplicasPath":)", shown_text(scale["specReplicasPath"]),
                       R"(,"StatusReplicasPath":)", shown_text(scale["statusReplicasPath"]),
                       R"(,"LabelSelectorPath":)", json::print(scale["labelSelectorPath"]), "}"),
             "}");
}

std::string shown_columns(const Value& v) {
  if (v.is_null()) return "null";
  std::string out = "[";
  for (const Value& c : v.items())
    out += cat(out.size() > 1 ? "," : "", R"({"Name":)", shown_text(c["name"]), R"(,"Type":)",
               shown_text(c["type"]), R"(,"Format":)", shown_text(c["format"]),
               R"(,"Description":)", shown_text(c["description"]), R"(,"Priority":)",
               c["priority"].as_int(), R"(,"JSONPath":)", shown_text(c["jsonPath"]), "}");
  return out + "]";
}

std::string shown_selectable(const Value& v) {
  if (v.is_null()) return "null";
  std::string out = "[";
  for (const Value& f : v.items())
    out += cat(out.size() > 1 ? "," : "", R"({"JSONPath":)", shown_text(f["jsonPath"]), "}");
  return out + "]";
}

}  // namespace

std::string shown_versions(const Value& versions, const SharedByVersions& shared) {
  std::string out = "[";
  for (const Value& v : versions.items()) {
    auto own = [&](std::string_view key) -> const Value& {
      return shared.has(key) ? v["absent"] : v[key];
    };
    const Value& open_api = own("schema")["openAPIV3Schema"];
    out += cat(out.size() > 1 ? "," : "", R"({"Name":)", shown_text(v["name"]), R"(,"Served":)",
               v["served"].as_bool() ? "true" : "false", R"(,"Storage":)",
               v["storage"].as_bool() ? "true" : "false", R"(,"Deprecated":)",
               v["deprecated"].as_bool() ? "true" : "false", R"(,"DeprecationWarning":)",
               json::print(v["deprecationWarning"]), R"(,"Schema":)",
               own("schema").is_null()
                   ? "null"
                   : cat(R"({"OpenAPIV3Schema":)", schema::shown_schema(open_api), "}"),
               R"(,"Subresources":)", shown_subresources(own("subresources")),
               R"(,"AdditionalPrinterColumns":)", shown_columns(own("additionalPrinterColumns")),
               R"(,"SelectableFields":)", shown_selectable(own("selectableFields")), "}");
  }
  return out + "]";
}

}  // namespace cardea::catalog
