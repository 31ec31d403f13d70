#include "catalog/definition.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "catalog/definition_spec.h"
#include "catalog/kinds/apiextensions/approval.h"
#include "catalog/kinds/object_meta.h"
#include "schema/custom/formats.h"

namespace cardea::catalog {
namespace {

using json::FieldErrors;
using json::Member;
using json::Value;

std::string_view text(const Value& object, std::string_view key) {
  return object[key].as_string();
}

void validate_stored_versions(const Value& definition, FieldErrors& out) {
  const Value& stored = definition["status"]["storedVersions"];
  Path path("status.storedVersions");
  if (stored.empty()) {
    out.push_back(json::invalid(path, stored, "must have at least one stored version"));
    return;
  }
  // Each stored version needs one version in the spec; a second version of the same name does not
  // count.
  std::set<std::string_view> missing;
  for (const Value& name : stored.items()) missing.insert(name.as_string());
  for (const Value& version : definition["spec"]["versions"].items())
    if (missing.erase(text(version, "name")) == 0 && version["storage"].as_bool())
      out.push_back(json::invalid(path, stored,
                                  cat("must have the storage version ", text(version, "name"))));
  for (std::size_t i = 0; i < stored.size(); ++i) {
    std::string_view name = stored[i].as_string();
    if (missing.erase(name) == 0) continue;
    out.push_back(
        json::invalid(path.index(i), name,
                      cat("missing from spec.versions; ", name,
                          " was previously a storage version, and must remain in spec.versions "
                          "until a storage migration ensures no data remains persisted in ",
                          name, " and removes ", name, " from status.storedVersions")));
  }
}

void validate_approval(const Value& definition, const Value* old, FieldErrors& out) {
  if (!is_protected_group(text(definition["spec"], "group"))) return;
  const Value& annotations = definition["metadata"]["annotations"];
  Approval approval = approval_of(annotations);
  if (old && approval_of((*old)["metadata"]["annotations"]).state == approval.state) return;
  std::string path = cat("metadata.annotations[", kApprovalAnnotation, "]");
  if (approval.state == Approval::kMissing) out.push_back(json::required(path, approval.reason));
  if (approval.state == Approval::kInvalid)
    out.push_back(json::invalid(path, annotations[kApprovalAnnotation], approval.reason));
}

void validate_rest(const Value& definition, const Value* old, FieldErrors& out) {
  validate_definition_names(definition["status"]["acceptedNames"], "status.acceptedNames", out);
  validate_stored_versions(definition, out);
  validate_approval(definition, old, out);
  if (definition["spec"]["preserveUnknownFields"].as_bool() &&
      !(old && (*old)["spec"]["preserveUnknownFields"].as_bool()))
    out.push_back(
        json::invalid("spec.preserveUnknownFields", true,
                      "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
                      "spec.versions[*].schema instead"));
}

void add_stored_version(Value& definition) {
  for (const Value& version : definition["spec"]["versions"].items()) {
    if (!version["storage"].as_bool()) continue;
    Value& stored = definition.member("status").member("storedVersions");
    auto names = stored.items();
    if (std::ranges::find(names, version["name"]) == names.end()) stored.push_back(version["name"]);
    return;
  }
}

void prepare_create(Value& definition, const StrategyContext&) {
  definition.set("status",
                 Value::object({{"acceptedNames", Value::object({{"kind", ""}, {"plural", ""}})},
                                {"conditions", Value()},
                                {"storedVersions", Value()}}));
  add_stored_version(definition);
}

void prepare_update(Value& definition, const Value& old, const StrategyContext&) {
  definition.set("status", old["status"]);
  add_stored_version(definition);
}

void prepare_status_update(Value& definition, const Value& old, const StrategyContext&) {
  definition.set("spec", old["spec"]);
}

FieldErrors validate_status_update(const Value& definition, const Value& old,
                                   const StrategyContext&) {
  FieldErrors out;
  validate_object_meta_update(definition["metadata"], old["metadata"], "metadata", out);
  validate_definition_names(definition["status"]["acceptedNames"], "status.acceptedNames", out);
  return out;
}

void collect_formats(const Value& schema, std::vector<std::string>& out) {
  if (!schema.is_object()) return;
  std::string_view format = text(schema, "format"), type = text(schema, "type");
  bool known = type.empty() || type == "string" ? schema::find_format(format) != nullptr
               : type == "integer"              ? format == "int32" || format == "int64"
                                   : type == "number" && (format == "float" || format == "double");
  if (!format.empty() && !known) out.emplace_back(format);
  collect_formats(schema["items"], out);
  for (const char* key : {"allOf", "anyOf", "oneOf"})
    for (const Value& part : schema[key].items()) collect_formats(part, out);
  collect_formats(schema["not"], out);
  for (const Member& m : schema["properties"].members()) collect_formats(m.value, out);
  collect_formats(schema["additionalProperties"], out);
}

std::vector<std::string> unknown_formats(const Value& definition) {
  std::vector<std::string> out;
  const Value& versions = definition["spec"]["versions"];
  bool shared = SharedByVersions(versions).has("schema");
  for (const Value& version : versions.items()) {
    collect_formats(version["schema"]["openAPIV3Schema"], out);
    if (shared) break;
  }
  return out;
}

void collect_permissions(const Value& schema, std::set<std::string>& out) {
  if (!schema.is_object()) return;
  if (std::string_view verb = text(schema, "x-kubernetes-permission-verb"); !verb.empty())
    out.emplace(verb);
  collect_permissions(schema["items"], out);
  for (const Member& m : schema["properties"].members()) collect_permissions(m.value, out);
  collect_permissions(schema["additionalProperties"], out);
}

// If a field has different permissions in two versions, a client could choose the version whose
// permission it has.
std::vector<std::string> permission_differences(const Value& definition) {
  std::vector<std::string> out;
  std::string_view first_name;
  std::set<std::string> first;
  for (const Value& version : definition["spec"]["versions"].items()) {
    if (!version["served"].as_bool()) continue;
    std::set<std::string> verbs;
    collect_permissions(version["schema"]["openAPIV3Schema"], verbs);
    if (first_name.empty()) {
      first_name = text(version, "name");
      first = std::move(verbs);
    } else if (verbs != first) {
      out.push_back(cat("versions ", first_name, " and ", text(version, "name"),
                        " differ in the permissions on their fields"));
    }
  }
  return out;
}

std::vector<std::string> warnings(const Value& definition, const Value* old,
                                  const StrategyContext&) {
  std::vector<std::string> before = old ? unknown_formats(*old) : std::vector<std::string>(), out;
  for (const std::string& format : unknown_formats(definition))
    if (std::ranges::find(before, format) == before.end())
      out.push_back("unrecognized format " + quoted(format));
  for (std::string& difference : permission_differences(definition))
    out.push_back(std::move(difference));
  return out;
}

}  // namespace

void default_definition(Value& definition) {
  const Value& given = definition["spec"];
  std::string_view kind = text(given["names"], "kind");
  if (text(given["names"], "singular").empty() && !kind.empty())
    definition.member("spec").member("names").set("singular", lower(kind));
  if (text(definition["spec"]["names"], "listKind").empty() &&
      !text(definition["spec"]["names"], "kind").empty()) {
    std::string list_kind = cat(text(definition["spec"]["names"], "kind"), "List");
    definition.member("spec").member("names").set("listKind", list_kind);
  }
  if (definition["spec"]["conversion"].is_null())
    definition.member("spec").set("conversion", Value::object({{"strategy", "None"}}));
  const Value& service = definition["spec"]["conversion"]["webhook"]["clientConfig"]["service"];
  if (service.is_object() && service["port"].is_null())
    definition.member("spec")
        .member("conversion")
        .member("webhook")
        .member("clientConfig")
        .member("service")
        .set("port", 443);
  if (definition["status"]["storedVersions"].empty()) add_stored_version(definition);
}

FieldErrors validate_definition(const Value& definition) {
  FieldErrors out;
  validate_object_meta(definition["metadata"], false, name_is_dns_subdomain, "metadata", out);
  // This rule about the name is reported together with the other rules about the name.
  std::string wanted = cat(text(definition["spec"]["names"], "plural"), ".",
                           text(definition["spec"], "group"));
  std::string_view name = text(definition["metadata"], "name");
  if (!name.empty() && name != wanted) {
    auto after_names = std::ranges::find_if(out, [](const json::FieldError& e) {
      return e.field != "metadata.name" && e.field != "metadata.generateName";
    });
    out.insert(after_names,
               json::invalid("metadata.name", name, "must be spec.names.plural+\".\"+spec.group"));
  }
  validate_definition_spec(definition["spec"], nullptr, out);
  validate_rest(definition, nullptr, out);
  return out;
}

FieldErrors validate_definition_update(const Value& definition, const Value& old) {
  FieldErrors out;
  validate_object_meta_update(definition["metadata"], old["metadata"], "metadata", out);
  const Value &spec = definition["spec"], &old_spec = old["spec"];
  validate_definition_spec(spec, &old_spec, out);
  const Value* established = find_condition(old, "Established");
  if (established && text(*established, "status") == "True") {
    validate_immutable(spec["scope"], old_spec["scope"], "spec.scope", out);
    validate_immutable(spec["names"]["kind"], old_spec["names"]["kind"], "spec.names.kind", out);
  }
  validate_immutable(spec["group"], old_spec["group"], "spec.group", out);
  validate_immutable(spec["names"]["plural"], old_spec["names"]["plural"], "spec.names.plural",
                     out);
  validate_rest(definition, &old, out);
  return out;
}

const Strategy& definition_strategy() {
  static const Strategy strategy{
      .defaults = [](Value& d, const StrategyContext&) { default_definition(d); },
      .prepare_for_create = prepare_create,
      .prepare_for_update = prepare_update,
      .validate_create = [](const Value& d,
                            const StrategyContext&) { return validate_definition(d); },
      .validate_update = [](const Value& d, const Value& old,
                            const StrategyContext&) { return validate_definition_update(d, old); },
      .warnings = warnings,
      .prepare_for_status_update = prepare_status_update,
      .validate_status_update = validate_status_update,
      .has_generation = true,
      .allow_unconditional_update = false,
      .prepare_for_delete = [](Value& d,
                               const StrategyContext& c) { d = marked_for_deletion(d, c.now); },
  };
  return strategy;
}

}  // namespace cardea::catalog
