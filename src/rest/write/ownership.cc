#include "rest/write/ownership.h"

#include "base/strings.h"
#include "catalog/conversion.h"
#include "rest/write/object_rules.h"

namespace cardea::rest {

using catalog::Resource;
using json::Value;

namespace {

// Finalizing a namespace writes its spec, as a write of the object itself does.
std::string_view written_part(const Call& call) {
  return call.info.subresource == "finalize" ? "" : std::string_view(call.info.subresource);
}

void put_or_erase(Value& meta, std::string_view key, const Value* value) {
  if (value)
    meta.set(key, *value);
  else if (meta.has(key))
    meta.erase(key);
}

// Null when that version is neither served nor stored.
const Resource* version_named(const catalog::Catalog& catalog, const Resource& resource,
                              std::string_view api_version) {
  const auto slash = api_version.find('/');
  if (slash == std::string_view::npos || api_version.substr(0, slash) != resource.group)
    return nullptr;
  const Resource* stored = resource.unserved_storage;
  if (stored && stored->version == api_version.substr(slash + 1)) return stored;
  return catalog.find(resource.group, api_version.substr(slash + 1), resource.name);
}

// Whether owners may name fields of other versions. Of Kubernetes' own kinds that can be written in
// several versions, only the HorizontalPodAutoscaler is one kind in all of them.
bool has_versions(const Call& call) {
  const Resource& r = *call.resource;
  if (r.is_custom) return true;
  for (const catalog::Group& group : call.catalog->all_groups())
    if (group.name == r.group)
      for (const catalog::Version& v : group.versions)
        if (v.name != r.version && call.catalog->find(r.group, v.name, r.name)) return true;
  return false;
}

// No permission on fields guards these, and a field is removed when its owner applies without
// it: a caller that continues with `granular` does not change them.
void keep_unguarded_fields(Value& object, const Value* old) {
  Value& meta = object.member("metadata");
  put_or_erase(meta, "managedFields", nullptr);
  if (old) keep_generate_name(object, *old);
}

}  // namespace

void keep_generate_name(Value& object, const Value& old) {
  put_or_erase(object.member("metadata"), "generateName", old["metadata"].find("generateName"));
}

Value tracked(Call& call, const Value* old, Value object, const WriteOptions& options) {
  if (call.open.is_granular()) keep_unguarded_fields(object, old);
  schema::FieldSet reset = reset_fields(call);
  std::string manager = field_manager(call, options);
  std::string version = call.resource->api_version();
  Value updated = object;
  return schema::track_update(
      old, std::move(updated), *call.resource->schema,
      {.manager = manager,
       .api_version = version,
       .subresource = call.info.subresource,
       // Kubernetes tracks a scale through its parent and loses the time on the way.
       .now = call.info.subresource == "scale" ? std::string_view() : call.started.text(),
       .reset_fields = &reset,
       .clear = schema::clears_managed_fields(object),
       .schema_of = version_schemas(call),
       .view_of = version_views(call)});
}

void track_as_granular(Call& call, const Value* old, Value& object, Value sent,
                       const WriteOptions& options) {
  Value again = tracked(call, old, std::move(sent), options);
  for (auto key : {"managedFields", "generateName"})
    put_or_erase(object.member("metadata"), key, again["metadata"].find(key));
}

void keep_owners(Call& call, Value& object, const Value& before) {
  const Value& now = object["metadata"]["managedFields"];
  if (now == before) return;
  auto read = schema::ManagedFields::parse(now);
  if (read) return;
  call.warnings.push_back(
      cat(".metadata.managedFields was in an invalid state after admission; this could be caused "
          "by an outdated mutating admission controller; "
          "please fix your requests: ",
          read.error().message));
  if (before.is_null())
    object.member("metadata").erase("managedFields");
  else
    object.member("metadata").set("managedFields", before);
}

std::string field_manager(Call& call, const WriteOptions& options) {
  return schema::manager_name(options.field_manager, call.request().headers.get("user-agent"));
}

schema::VersionSchemas version_schemas(const Call& call) {
  if (!has_versions(call)) return {};
  return [catalog = call.catalog,
          resource = call.resource](std::string_view api_version) -> const schema::Schema* {
    const Resource* r = version_named(*catalog, *resource, api_version);
    return r ? r->schema : nullptr;
  };
}

schema::VersionViews version_views(const Call& call) {
  if (!call.resource->is_custom && has_versions(call))
    return [catalog = call.catalog, resource = call.resource](
               const Value& object, std::string_view api_version) -> std::optional<Value> {
      const Resource* from = version_named(*catalog, *resource, object["apiVersion"].as_string());
      const Resource* to = version_named(*catalog, *resource, api_version);
      if (!from || !to) return std::nullopt;
      return converted(object, *from, *to);
    };
  if (!call.resource->is_converted_by_webhook) return {};
  if (!call.conversions) call.conversions = std::make_shared<catalog::Conversions>();
  return [catalog = call.catalog, resource = call.resource, known = call.conversions](
             const Value& object, std::string_view api_version) -> std::optional<Value> {
    if (object["apiVersion"].as_string() == api_version) return object;
    const Resource* to = version_named(*catalog, *resource, api_version);
    const Value* found = to ? known->find(object, *to) : nullptr;
    return found ? std::optional(*found) : std::nullopt;
  };
}

schema::FieldSet reset_fields(const Call& call) {
  const Resource& r = *call.resource;
  return schema::reset_fields(r.group, r.kind, written_part(call), r.is_custom,
                              r.subresource("status") != nullptr);
}

}  // namespace cardea::rest
