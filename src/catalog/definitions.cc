#include "catalog/definitions.h"

#include "base/strings.h"
#include "catalog/builtin_types.h"
#include "json/print.h"
#include "schema/custom/structural.h"

namespace cardea::catalog {

using json::Value;

namespace {

bool has_condition(const Value& definition, std::string_view type) {
  for (const Value& condition : definition["status"]["conditions"].items())
    if (condition["type"].as_string() == type) return condition["status"].as_string() == "True";
  return false;
}

std::vector<std::string> texts(const Value& list) {
  std::vector<std::string> out;
  for (const Value& item : list.items()) out.emplace_back(item.as_string());
  return out;
}

// Hooks of custom resources with a status subresource: spec and status are written separately.
void drop_status(Value& object, const StrategyContext&) {
  object.erase("status");
}

void keep_status(Value& object, const Value& old, const StrategyContext&) {
  if (const Value* status = old.find("status"))
    object.set("status", *status);
  else
    object.erase("status");
}

void keep_all_but_status(Value& object, const Value& old, const StrategyContext&) {
  Value next = old;
  if (const Value* status = object.find("status"))
    next.set("status", *status);
  else
    next.erase("status");
  if (const Value* managed = object["metadata"].find("managedFields"))
    next.member("metadata").set("managedFields", *managed);
  else
    next.member("metadata").erase("managedFields");
  object = std::move(next);
}

std::string field_text(const Value& object, std::string_view field) {
  const Value* at = &object;
  for (std::string_view part : split(field, '.')) at = &(*at)[part];
  if (at->is_string()) return std::string(at->as_string());
  return at->is_null() ? "" : json::print(*at);
}

Strategy strategy_of(const Value& version) {
  Strategy s;
  s.has_generation = true;
  s.allow_unconditional_update = false;
  if (version["subresources"].has("status")) {
    s.prepare_for_create = drop_status;
    s.prepare_for_update = keep_status;
    s.prepare_for_status_update = keep_all_but_status;
  }
  for (const Value& selectable : version["selectableFields"].items()) {
    std::string_view path = selectable["jsonPath"].as_string();
    s.selectable_fields.emplace_back(path.starts_with('.') ? path.substr(1) : path);
  }
  s.selectable_field = field_text;
  return s;
}

std::vector<Column> columns_of(const Value& version) {
  std::vector<Column> out = {
      {.name = "Name", .type = "string", .format = "name", .json_path = ".metadata.name"}};
  auto printed = version["additionalPrinterColumns"].items();
  for (const Value& column : printed)
    out.push_back({.name = std::string(column["name"].as_string()),
                   .type = std::string(column["type"].as_string()),
                   .format = std::string(column["format"].as_string()),
                   .description = std::string(column["description"].as_string()),
                   .priority = static_cast<int>(column["priority"].as_int()),
                   .json_path = std::string(column["jsonPath"].as_string())});
  if (printed.empty())
    out.push_back({.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"});
  return out;
}

std::vector<Subresource> subresources_of(const Value& version, const Resource& resource,
                                         const BuiltinTypes& types) {
  std::vector<Subresource> out;
  const std::vector<std::string> verbs = {"get", "patch", "update"};
  if (version["subresources"].has("status"))
    out.push_back({"status", "", "", resource.kind, verbs, resource.schema});
  if (version["subresources"].has("scale"))
    out.push_back({"scale", "autoscaling", "v1", "Scale", verbs,
                   types.find_kind("autoscaling", "v1", "Scale")});
  return out;
}

const schema::Schema* schema_of(schema::SchemaSet& set, const Value& open_api,
                                const BuiltinTypes& types) {
  return schema::build_structural(set, open_api,
                                  types.find("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));
}

}  // namespace

bool is_established(const Value& definition) {
  return has_condition(definition, "Established");
}

std::shared_ptr<const Definition> read_definition(const Value& definition,
                                                  const BuiltinTypes& types, bool serves_excluded) {
  auto out = std::make_shared<Definition>();
  out->source = definition;
  const Value& spec = definition["spec"];
  const Value& accepted = definition["status"]["acceptedNames"];
  const Value& names = accepted["plural"].as_string().empty() ? spec["names"] : accepted;

  std::string storage_version;
  for (const Value& version : spec["versions"].items())
    if (version["storage"].as_bool()) storage_version = version["name"].as_string();

  auto fill = [&](Resource& r, const Value& version, const schema::Schema* shape,
                  std::shared_ptr<const schema::PermissionTree> permissions) {
    r.group = spec["group"].as_string();
    r.version = version["name"].as_string();
    r.name = names["plural"].as_string();
    r.kind = names["kind"].as_string();
    r.singular = names["singular"].as_string();
    r.list_kind = names["listKind"].as_string();
    if (r.list_kind.empty()) r.list_kind = r.kind + "List";
    r.short_names = texts(names["shortNames"]);
    r.categories = texts(names["categories"]);
    r.namespaced = spec["scope"].as_string() == "Namespaced";
    if (has_condition(definition, "Terminating"))
      r.verbs = {"delete", "deletecollection", "get", "list", "watch"};
    else
      r.verbs = {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
    r.schema = shape;
    r.permissions = std::move(permissions);
    r.unserved_storage = out->unserved_storage.get();
    r.subresources = subresources_of(version, r, types);
    r.columns = columns_of(version);
    r.strategy = &out->strategies.emplace_back(strategy_of(version));
    r.storage_prefix = cat("/registry/", r.group, "/", r.name, "/");
    r.storage_group = r.group;
    r.storage_version = storage_version;
    r.is_custom = true;
    r.is_converted_by_webhook = spec["conversion"]["strategy"].as_string() == "Webhook";
    r.definition = definition;
    r.custom_version = version;
  };

  // Objects are stored in the stored version even if it is not served. A version without an
  // excluded field must not change that field of the stored version.
  for (const Value& version : spec["versions"].items()) {
    if (!version["storage"].as_bool() || (version["served"].as_bool() && serves_excluded)) continue;
    const schema::Schema* shape = schema_of(out->schemas, version["schema"]["openAPIV3Schema"],
                                            types);
    auto permissions = schema::PermissionTree::of_custom(*shape);
    if (permissions->has_excluded() && !serves_excluded) return out;
    if (version["served"].as_bool()) continue;
    auto stored = std::make_unique<Resource>();
    fill(*stored, version, shape, std::move(permissions));
    out->unserved_storage = std::move(stored);
  }

  for (const Value& version : spec["versions"].items()) {
    if (!version["served"].as_bool()) continue;
    const schema::Schema* shape = schema_of(out->schemas, version["schema"]["openAPIV3Schema"],
                                            types);
    auto permissions = schema::PermissionTree::of_custom(*shape);
    if (permissions->has_excluded() && !serves_excluded) continue;
    fill(out->resources.emplace_back(), version, shape, std::move(permissions));
  }
  return out;
}

}  // namespace cardea::catalog
