#include "catalog/openapi/openapi_v3.h"

#include <algorithm>

#include "base/strings.h"
#include "catalog/openapi/operations.h"
#include "catalog/openapi/types.h"

namespace cardea::catalog {

using json::Value;
using openapi::has_builtin;
using openapi::list_type_name;
using openapi::Operation;
using openapi::Parameter;
using openapi::Path;
using openapi::paths_of;
using openapi::type_name;
using openapi::TypeWriter;

namespace {

constexpr std::string_view kPatchTypes[] = {
    "application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json",
    "application/strategic-merge-patch+json"};

class Document {
 public:
  Document(const Catalog& catalog, const openapi::PublishedPermissions& permissions)
      : types_(catalog.types(), openapi::Format::kV3, permissions) {}

  void add(const Path& path) { paths_.push_back({path.path, write(path)}); }

  void add(const Resource& resource) {
    for (const Path& path : paths_of(resource)) add(path);
    if (!resource.is_custom && resource.has_verb("watch")) types_.reference(openapi::kWatchEvent);
    if (!resource.is_custom) return;
    schemas_.set(type_name(resource), types_.custom(resource));
    schemas_.set(list_type_name(resource), types_.custom_list(resource));
  }

  Value finish() && {
    types_.add_referenced(schemas_);
    Value security = Value::object(
        {{"BearerToken", Value::object({{"description", "Bearer Token authentication"},
                                        {"type", "apiKey"},
                                        {"name", "authorization"},
                                        {"in", "header"}})}});
    return Value::object(
        {{"openapi", "3.0.0"},
         {"info", Value::object({{"title", "Kubernetes"}, {"version", "v1.36.3"}})},
         {"paths", Value::object(std::move(paths_))},
         {"components", Value::object({{"schemas", schemas_}, {"securitySchemes", security}})}});
  }

 private:
  Value parameter(std::string_view name, std::string_view in, std::string_view type) const {
    Value out = Value::object({{"name", name},
                               {"in", in},
                               {"schema", Value::object({{"type", type}, {"uniqueItems", true}})}});
    if (in == "path") out.set("required", true);
    return out;
  }

  Value content(const std::string& type, std::span<const std::string_view> media) {
    Value schema = type.empty() ? Value::object({{"type", "string"}}) : types_.reference(type);
    Value body = Value::object({{"schema", schema}});
    Value out = Value::object();
    for (std::string_view name : media) out.set(name, body);
    return out;
  }

  Value write(const Path& path) {
    Value out = Value::object(), parameters = Value::array();
    if (path.has_name) parameters.push_back(parameter("name", "path", "string"));
    if (path.has_namespace) parameters.push_back(parameter("namespace", "path", "string"));
    parameters.push_back(parameter("pretty", "query", "string"));
    if (path.has_name || path.has_namespace || !path.operations[0].action.empty())
      out.set("parameters", parameters);
    for (const Operation& operation : path.operations)
      out.set(operation.method, write(operation, path.tag));
    return out;
  }

  Value write(const Operation& operation, const std::string& tag) {
    constexpr std::string_view kBoth[] = {"application/json", "application/yaml"};
    constexpr std::string_view kAny[] = {"*/*"};
    Value out = Value::object({{"tags", Value::array({tag})},
                               {"description", operation.description},
                               {"operationId", operation.id}});
    if (!operation.query.empty()) {
      Value& parameters = out.set("parameters", Value::array());
      for (const Parameter& query : operation.query)
        parameters.push_back(parameter(query.name, "query", query.type));
    }
    if (!operation.body.empty()) {
      std::span<const std::string_view> media = kBoth;
      if (operation.is_patch) media = std::span(kPatchTypes).first(operation.strategic ? 4 : 3);
      Value& body = out.set("requestBody",
                            Value::object({{"content", content(operation.body, media)}}));
      if (operation.body_required) body.set("required", true);
    }
    Value responses = Value::object({{"401", Value::object({{"description", "Unauthorized"}})}});
    for (int code : operation.codes) {
      std::string_view text = code == 200 ? "OK" : code == 201 ? "Created" : "Accepted";
      std::span<const std::string_view> media = kBoth;
      if (operation.answer.empty()) media = kAny;
      responses.set(
          std::to_string(code),
          Value::object({{"description", text}, {"content", content(operation.answer, media)}}));
    }
    out.set("responses", responses);
    if (!operation.action.empty()) out.set("x-kubernetes-action", operation.action);
    const GroupVersionKind& kind = operation.kind;
    if (!kind.kind.empty())
      out.set(
          "x-kubernetes-group-version-kind",
          Value::object({{"group", kind.group}, {"version", kind.version}, {"kind", kind.kind}}));
    return out;
  }

  TypeWriter types_;
  std::vector<json::Member> paths_;
  Value schemas_ = Value::object();
};

}  // namespace

std::vector<std::string> openapi_v3_paths(const Catalog& catalog) {
  std::vector<std::string> out = {"api", "apis", "version"};
  for (const Group& group : catalog.groups()) {
    std::string root = group.name.empty() ? "api" : cat("apis/", group.name);
    if (!group.name.empty() && has_builtin(group)) out.push_back(root);
    for (const Version& version : group.versions) out.push_back(cat(root, "/", version.name));
  }
  return out;
}

std::optional<Value> openapi_v3(const Catalog& catalog, std::string_view path) {
  return openapi_v3(catalog, path, openapi::PublishedPermissions(catalog));
}

std::optional<Value> openapi_v3(const Catalog& catalog, std::string_view path,
                                const openapi::PublishedPermissions& permissions) {
  Document document(catalog, permissions);
  if (path == "version") document.add(openapi::version_path());
  if (path == "api") document.add(openapi::core_discovery_path());
  if (path == "apis") document.add(openapi::groups_discovery_path());
  if (path == "version" || path == "api" || path == "apis") return std::move(document).finish();
  auto parts = split(path, '/');
  bool core = parts[0] == "api" && parts.size() == 2;
  if (!core && (parts[0] != "apis" || parts.size() > 3)) return std::nullopt;
  std::string_view name = core ? "" : parts[1];
  auto group = std::ranges::find(catalog.groups(), name, &Group::name);
  if (group == catalog.groups().end()) return std::nullopt;
  if (parts.size() == 2 && !core) {
    if (!has_builtin(*group)) return std::nullopt;
    document.add(openapi::discovery_path(*group));
    return std::move(document).finish();
  }
  auto version = std::ranges::find(group->versions, parts.back(), &Version::name);
  if (version == group->versions.end()) return std::nullopt;
  for (const Resource* resource : version->resources) document.add(*resource);
  if (has_builtin(*group)) document.add(openapi::discovery_path(*group, *version));
  return std::move(document).finish();
}

}  // namespace cardea::catalog
