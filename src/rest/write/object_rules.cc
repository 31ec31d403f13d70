#include "rest/write/object_rules.h"

#include "base/result.h"
#include "catalog/convert.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/validate.h"
#include "schema/custom/defaults.h"
#include "schema/custom/prune.h"
#include "schema/custom/validate.h"
#include "schema/ownership/managed_fields.h"

namespace cardea::rest {

using catalog::Catalog;
using catalog::Resource;
using catalog::StrategyContext;
using json::Value;

namespace {

void take(Value& object, const Value& from, std::string_view key) {
  if (const Value* v = from.find(key))
    object.set(key, *v);
  else
    object.erase(key);
}

const schema::Schema& object_meta(const Catalog& catalog) {
  const schema::Schema* type = catalog.type("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  CARDEA_CHECK(type != nullptr);
  return *type;
}

Value with_custom_defaults(const Resource& r, const Value& object) {
  return schema::prune_nulls(*r.schema, schema::apply_defaults(*r.schema, object));
}

// A write of a custom resource's status changes nothing else.
void keep_all_but_status(Value& object, const Value& old) {
  Value status = object["status"];
  Value managed = object["metadata"]["managedFields"];
  object = old;
  if (status.is_null())
    object.erase("status");
  else
    object.set("status", status);
  if (managed.is_null())
    object.member("metadata").erase("managedFields");
  else
    object.member("metadata").set("managedFields", managed);
}

// Parts of the metadata that a write of the status does not change, which depends on the kind.
void keep_metadata(Value& object, const Value& old, const Resource& r,
                   const StrategyContext& context) {
  const schema::FieldSet kept = schema::kept_fields(r.group, r.kind, context.subresource, false,
                                                    true);
  const bool keeps_all = kept.has({"f:metadata"});
  for (std::string_view key : {"labels", "annotations", "finalizers", "ownerReferences"})
    if (keeps_all || kept.has({"f:metadata", schema::field_element(key)}))
      take(object.member("metadata"), old["metadata"], key);
}

void validate_custom_meta(const Value& object, const Value* old, const Resource& r,
                          json::FieldErrors& errors) {
  catalog::Path path("metadata");
  catalog::validate_object_meta(object["metadata"], r.namespaced, catalog::name_is_dns_subdomain,
                                path, errors);
  if (old)
    catalog::validate_object_meta_update(object["metadata"], (*old)["metadata"], path, errors);
}

}  // namespace

Result<schema::Decoded> decode_form(const Catalog& catalog, const Resource& r,
                                    const schema::Schema& schema, const json::Document& document,
                                    std::string_view text, Value* without_defaults) {
  if (r.is_custom && &schema == r.schema) {
    auto decoded = schema::decode_custom(schema, object_meta(catalog), document, text);
    if (decoded && without_defaults) *without_defaults = decoded->value;
    if (decoded) decoded->value = with_custom_defaults(r, decoded->value);
    return decoded;
  }
  auto decoded = schema::decode(schema, document, text);
  if (decoded && without_defaults) *without_defaults = decoded->value;
  if (!decoded || &schema != r.schema) return decoded;
  if (r.strategy->defaults) {
    StrategyContext context{.group = r.group, .version = r.version, .resource = r.name};
    r.strategy->defaults(decoded->value, context);
    decoded->value = schema::normalize(schema, decoded->value);
  }
  return decoded;
}

void prepare_for_create(Value& object, const Resource& r, const StrategyContext& context) {
  if (r.strategy->prepare_for_create)
    r.strategy->prepare_for_create(object, context);
  else if (r.subresource("status"))
    object.erase("status");
  if (!r.is_custom) object = schema::normalize(*r.schema, object);
}

void prepare_for_update(Value& object, const Value& old, const Resource& r,
                        const StrategyContext& context) {
  if (context.writes_status()) {
    if (r.strategy->prepare_for_status_update) {
      r.strategy->prepare_for_status_update(object, old, context);
    } else if (r.is_custom) {
      keep_all_but_status(object, old);
    } else {
      take(object, old, "spec");
      take(object.member("metadata"), old["metadata"], "labels");
    }
    if (!r.is_custom) keep_metadata(object, old, r, context);
  } else if (r.strategy->prepare_for_update) {
    r.strategy->prepare_for_update(object, old, context);
  } else if (r.subresource("status")) {
    take(object, old, "status");
  }
  if (!r.is_custom) object = schema::normalize(*r.schema, object);
}

json::FieldErrors validate_create(const Value& object, const Catalog& catalog, const Resource& r,
                                  const StrategyContext& context,
                                  std::vector<std::string>& warnings) {
  if (!r.is_custom) return catalog::validate_create(*r.strategy, object, r.namespaced, context);
  json::FieldErrors errors;
  validate_custom_meta(object, nullptr, r, errors);
  for (json::FieldError& e :
       schema::validate_custom(*r.schema, object_meta(catalog), object, nullptr, false, warnings))
    errors.push_back(std::move(e));
  return errors;
}

json::FieldErrors validate_update(const Value& object, const Value& old, const Catalog& catalog,
                                  const Resource& r, const StrategyContext& context,
                                  std::vector<std::string>& warnings) {
  if (!r.is_custom)
    return catalog::validate_update(*r.strategy, object, old, r.namespaced, context);
  json::FieldErrors errors;
  catalog::validate_any_update(object, old, r.namespaced, errors);
  validate_custom_meta(object, &old, r, errors);
  for (json::FieldError& e : schema::validate_custom(*r.schema, object_meta(catalog), object, &old,
                                                     context.writes_status(), warnings))
    errors.push_back(std::move(e));
  return errors;
}

Value converted(const Value& object, const Resource& from, const Resource& to) {
  if (!to.is_custom)
    return &from == &to ? object
                        : schema::normalize(*to.schema, catalog::convert(object, from, to));
  // A custom object may have been stored when another version was the stored one. It has the
  // defaults of its own version.
  std::string_view version = object["apiVersion"].as_string();
  const bool is_there = &from == &to && version == to.api_version();
  const Resource* own = version == to.api_version()     ? &to
                        : version == from.api_version() ? &from
                                                        : nullptr;
  Value out = own && schema::has_defaults(*own->schema)
                  ? schema::apply_defaults(*own->schema, object)
                  : object;
  if (is_there) return out;
  return schema::prune(*to.schema, catalog::convert(out, from, to), true).value;
}

}  // namespace cardea::rest
