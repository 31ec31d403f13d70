#include "catalog/scale.h"

#include <limits>

#include "base/strings.h"
#include "catalog/label_text.h"
#include "json/field_error.h"
#include "json/json_path.h"

namespace cardea::catalog {

using json::Value;

namespace {

Value metadata_of(const Value& object) {
  Value out = Value::object();
  for (std::string_view key : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
    if (const Value* value = object["metadata"].find(key)) out.set(key, *value);
  return out;
}

Value make_scale(const Value& object, std::int64_t wanted, std::int64_t found,
                 const std::string& selector) {
  Value spec = Value::object(), status = Value::object({{"replicas", found}});
  if (wanted != 0) spec.set("replicas", wanted);
  if (!selector.empty()) status.set("selector", selector);
  return Value::object({{"kind", "Scale"},
                        {"apiVersion", "autoscaling/v1"},
                        {"metadata", metadata_of(object)},
                        {"spec", spec},
                        {"status", status}});
}

// The value at a path that a definition names, or null.
Value at_path(const Value& object, std::string_view path) {
  if (path.empty()) return {};
  auto parsed = json::JsonPath::parse(path);
  const Value* found = parsed ? parsed->first(object) : nullptr;
  return found ? *found : Value();
}

Value set_at(Value object, std::span<const std::string> fields, const Value& value) {
  if (fields.empty()) return value;
  if (!object.is_object()) object = Value::object();
  object.set(fields[0], set_at(object[fields[0]], fields.subspan(1), value));
  return object;
}

const Value& paths_of(const Resource& resource) {
  return resource.custom_version["subresources"]["scale"];
}

}  // namespace

Result<Value> scale_of(const Value& object, const Resource& resource) {
  std::string_view path = paths_of(resource)["specReplicasPath"].as_string();
  if (resource.is_custom && !at_path(object, path).is_int())
    return fail(bad_request(cat("the spec replicas field ", quoted(path), " does not exist")));
  return scale_to_change(object, resource);
}

Value scale_to_change(const Value& object, const Resource& resource) {
  if (resource.is_custom) {
    const Value& paths = paths_of(resource);
    Value wanted = at_path(object, paths["specReplicasPath"].as_string());
    Value found = at_path(object, paths["statusReplicasPath"].as_string());
    Value selector = at_path(object, paths["labelSelectorPath"].as_string());
    return make_scale(object, wanted.as_int(), found.as_int(), std::string(selector.as_string()));
  }
  const Value& spec = object["spec"];
  // The selector of a replication controller is a plain map, that of the other kinds a label
  // selector.
  std::string selector = resource.kind == "ReplicationController" ? labels_text(spec["selector"])
                                                                  : selector_text(spec["selector"]);
  return make_scale(object, spec["replicas"].as_int(), object["status"]["replicas"].as_int(),
                    selector);
}

Result<Value> with_scale(const Value& object, const Value& scale, const Resource& resource) {
  const Value& replicas = scale["spec"]["replicas"];
  std::int64_t wanted = replicas.as_int();
  std::string_view name = object["metadata"]["name"].as_string();
  if (!replicas.is_null() && !replicas.is_int())
    return fail(bad_request("spec.replicas must be an integer"));
  if (wanted > std::numeric_limits<std::int32_t>::max())
    return fail(json::invalid_object(
        "autoscaling", "Scale", name,
        {json::invalid("spec.replicas", replicas, "must be a 32-bit integer")}));
  Value out = object;
  if (resource.is_custom) {
    std::string_view path = paths_of(resource)["specReplicasPath"].as_string();
    if (wanted < 0)
      return fail(json::invalid_object(
          resource.group, resource.kind, name,
          {json::invalid(std::string(path), replicas, "should be a non-negative integer")}));
    auto parsed = json::JsonPath::parse(path);
    auto fields = parsed ? parsed->plain_fields() : std::vector<std::string>();
    if (fields.empty())
      return fail(
          internal_error(cat("the spec replicas path ", quoted(path), " cannot be written")));
    out = set_at(std::move(out), fields, wanted);
  } else {
    if (wanted < 0)
      return fail(json::invalid_object(
          "autoscaling", "Scale", name,
          {json::invalid("spec.replicas", replicas, "must be greater than or equal to 0")}));
    out.member("spec").set("replicas", wanted);
  }
  if (std::string_view version = scale["metadata"]["resourceVersion"].as_string(); !version.empty())
    out.member("metadata").set("resourceVersion", version);
  if (std::string_view uid = scale["metadata"]["uid"].as_string(); !uid.empty())
    out.member("metadata").set("uid", uid);
  return out;
}

}  // namespace cardea::catalog
