#include "catalog/openapi/openapi_v2.h"

#include "base/strings.h"
#include "catalog/openapi/operations.h"
#include "catalog/openapi/types.h"

namespace cardea::catalog {

using json::Value;
using openapi::list_type_name;
using openapi::Operation;
using openapi::Parameter;
using openapi::Path;
using openapi::paths_of;
using openapi::type_name;
using openapi::TypeWriter;

namespace {

Value parameter(std::string_view name, std::string_view in, std::string_view type) {
  Value out = Value::object({{"name", name}, {"in", in}, {"type", type}, {"uniqueItems", true}});
  if (in == "path") out.set("required", true);
  return out;
}

Value write(const Operation& operation, const std::string& tag, TypeWriter& types) {
  const Value both = Value::array({"application/json", "application/yaml"}),
              any = Value::array({"*/*"});
  bool text = operation.answer.empty();
  Value consumes = operation.action == "connect" ? any : both;
  if (operation.is_patch) {
    consumes = Value::array({"application/json-patch+json", "application/merge-patch+json"});
    if (operation.strategic) consumes.push_back("application/strategic-merge-patch+json");
    consumes.push_back("application/apply-patch+yaml");
  }
  Value out = Value::object({{"tags", Value::array({tag})},
                             {"description", operation.description},
                             {"operationId", operation.id},
                             {"schemes", Value::array({"https"})},
                             {"consumes", consumes},
                             {"produces", text ? any : both}});
  Value parameters = Value::array();
  if (!operation.body.empty()) {
    Value body = Value::object(
        {{"name", "body"}, {"in", "body"}, {"schema", types.reference(operation.body)}});
    if (operation.body_required) body.set("required", true);
    parameters.push_back(std::move(body));
  }
  for (const Parameter& query : operation.query)
    parameters.push_back(parameter(query.name, "query", query.type));
  if (!parameters.empty()) out.set("parameters", parameters);
  Value responses = Value::object({{"401", Value::object({{"description", "Unauthorized"}})}});
  for (int code : operation.codes)
    responses.set(std::to_string(code),
                  Value::object({{"description", code == 200   ? "OK"
                                                 : code == 201 ? "Created"
                                                               : "Accepted"},
                                 {"schema", text ? Value::object({{"type", "string"}})
                                                 : types.reference(operation.answer)}}));
  out.set("responses", responses);
  if (!operation.action.empty()) out.set("x-kubernetes-action", operation.action);
  const GroupVersionKind& kind = operation.kind;
  if (!kind.kind.empty())
    out.set("x-kubernetes-group-version-kind",
            Value::object({{"group", kind.group}, {"version", kind.version}, {"kind", kind.kind}}));
  return out;
}

Value write(const Path& path, TypeWriter& types) {
  Value out = Value::object(), parameters = Value::array();
  if (path.has_name) parameters.push_back(parameter("name", "path", "string"));
  if (path.has_namespace) parameters.push_back(parameter("namespace", "path", "string"));
  parameters.push_back(parameter("pretty", "query", "string"));
  if (!path.operations[0].action.empty()) out.set("parameters", parameters);
  for (const Operation& operation : path.operations)
    out.set(operation.method, write(operation, path.tag, types));
  return out;
}

}  // namespace

Value openapi_v2(const Catalog& catalog) {
  return openapi_v2(catalog, openapi::PublishedPermissions(catalog));
}

Value openapi_v2(const Catalog& catalog, const openapi::PublishedPermissions& permissions) {
  TypeWriter types(catalog.types(), openapi::Format::kV2, permissions);
  std::vector<json::Member> paths, custom;
  auto add = [&](const Path& path) { paths.push_back({path.path, write(path, types)}); };
  add(openapi::version_path());
  add(openapi::core_discovery_path());
  add(openapi::groups_discovery_path());
  types.reference(openapi::kWatchEvent);
  for (const Group& group : catalog.groups()) {
    bool is_described = openapi::has_builtin(group);
    if (is_described && !group.name.empty()) add(openapi::discovery_path(group));
    for (const Version& version : group.versions) {
      if (is_described) add(openapi::discovery_path(group, version));
      for (const Resource* resource : version.resources) {
        for (const Path& path : paths_of(*resource)) add(path);
        if (!resource->is_custom) continue;
        custom.push_back({type_name(*resource), types.custom(*resource)});
        custom.push_back({list_type_name(*resource), types.custom_list(*resource)});
      }
    }
  }
  Value definitions = Value::object(std::move(custom));
  types.add_referenced(definitions);
  Value token = Value::object({{"description", "Bearer Token authentication"},
                               {"type", "apiKey"},
                               {"name", "authorization"},
                               {"in", "header"}});
  return Value::object(
      {{"swagger", "2.0"},
       {"info", Value::object({{"title", "Kubernetes"}, {"version", "v1.36.3"}})},
       {"paths", Value::object(std::move(paths))},
       {"definitions", definitions},
       {"securityDefinitions", Value::object({{"BearerToken", token}})},
       {"security", Value::array({Value::object({{"BearerToken", Value::array()}})})}});
}

}  // namespace cardea::catalog
