#include "rest/at_rest/definition_v1beta1.h"

#include <string_view>

namespace cardea::rest {

using json::Value;

namespace {

Value removed(Value& from, std::string_view key) {
  Value out = from[key];
  from.erase(key);
  return out;
}

void move_member(Value& from, std::string_view key, Value& to, std::string_view new_key) {
  if (Value value = removed(from, key); !value.is_null()) to.set(new_key, std::move(value));
}

Value renewed_column(Value column) {
  move_member(column, "JSONPath", column, "jsonPath");
  return column;
}

// The version with what all versions have in common.
Value renewed_version(Value version, const Value& common) {
  for (const json::Member& member : common.members())
    if (!version.has(member.key())) version.set(member.key(), member.value);
  if (const Value columns = version["additionalPrinterColumns"]; columns.is_array()) {
    Value renamed = Value::array();
    for (const Value& column : columns.items()) renamed.push_back(renewed_column(column));
    version.set("additionalPrinterColumns", std::move(renamed));
  }
  return version;
}

void renew_conversion(Value& spec) {
  if (!spec["conversion"].is_object()) return;
  Value& conversion = spec.member("conversion");
  Value webhook = Value::object();
  move_member(conversion, "webhookClientConfig", webhook, "clientConfig");
  move_member(conversion, "conversionReviewVersions", webhook, "conversionReviewVersions");
  if (webhook.has("clientConfig")) conversion.set("webhook", std::move(webhook));
}

}  // namespace

bool is_old_definition(const Value& object) {
  return object["kind"].as_string() == "CustomResourceDefinition" &&
         object["apiVersion"].as_string() == "apiextensions.k8s.io/v1beta1";
}

Value definition_from_v1beta1(Value object) {
  object.set("apiVersion", "apiextensions.k8s.io/v1");
  if (!object["spec"].is_object()) return object;
  Value& spec = object.member("spec");
  Value common = Value::object();
  move_member(spec, "validation", common, "schema");
  for (std::string_view key : {"subresources", "additionalPrinterColumns", "selectableFields"})
    move_member(spec, key, common, key);
  const std::string name(removed(spec, "version").as_string());
  Value versions = removed(spec, "versions");
  if (versions.items().empty() && !name.empty())
    versions = Value::array({Value::object({{"name", name}, {"served", true}, {"storage", true}})});
  Value renewed = Value::array();
  for (const Value& version : versions.items()) renewed.push_back(renewed_version(version, common));
  spec.set("versions", std::move(renewed));
  renew_conversion(spec);
  // In v1beta1 what is not said means yes.
  if (!spec.has("preserveUnknownFields")) spec.set("preserveUnknownFields", true);
  return object;
}

}  // namespace cardea::rest
