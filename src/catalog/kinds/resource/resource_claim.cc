#include <algorithm>
#include <set>

#include "catalog/kinds/core/pod_parts.h"
#include "catalog/kinds/core/resources.h"
#include "catalog/kinds/go_value.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/resource/devices.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

constexpr int kMostConsumers = 256;

void claim_defaults(Value& object, const StrategyContext&) {
  default_resource_claim_spec(object_member(object, "spec"));
}

void template_defaults(Value& object, const StrategyContext&) {
  Value& outer = object_member(object, "spec");
  default_resource_claim_spec(object_member(outer, "spec"));
}

// Access to devices that other claims use is only for namespaces with the label of an
// administrator.
void validate_admin_access(const Value& spec, const Path& path, const StrategyContext& context,
                           FieldErrors& out) {
  auto is_marked = [&context] {
    return context.namespace_labels &&
           context.namespace_labels()["resource.kubernetes.io/admin-access"].as_string() == "true";
  };
  for (std::size_t i = 0; i < spec["devices"]["requests"].size(); ++i)
    if (spec["devices"]["requests"][i]["exactly"]["adminAccess"].as_bool() && !is_marked())
      out.push_back(json::forbidden(
          (path / "devices" / "requests").index(i) / "adminAccess",
          "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label "
          "on the containing namespace"));
}

FieldErrors validate_claim(const Value& object, const StrategyContext& context) {
  FieldErrors out;
  validate_admin_access(object["spec"], "spec", context, out);
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_resource_claim_spec(object["spec"], "spec", out);
  return out;
}

Shown shown_list(const Value& list, Shown (*show)(const Value&)) {
  if (list.empty()) return "null";
  std::string out;
  for (const Value& item : list.items()) out += cat(out.empty() ? "" : ",", show(item));
  return cat("[", out, "]");
}

Shown shown_wish(const Value& w) {
  if (w.is_null()) return "null";
  return shown_struct(
      {{"DeviceClassName", shown_or(w["deviceClassName"], "")},
       {"Selectors", shown_list(w["selectors"], show_go_value)},
       {"AllocationMode", shown_or(w["allocationMode"], "")},
       {"Count", shown_or(w["count"], 0)},
       {"AdminAccess", shown(w["adminAccess"])},
       {"Tolerations", shown_list(w["tolerations"], show_go_value)},
       {"Capacity", w["capacity"].is_null() ? "null" : show_go_value(w["capacity"])}});
}

Shown shown_request(const Value& r) {
  return shown_struct({{"Name", shown_or(r["name"], "")},
                       {"Exactly", shown_wish(r["exactly"])},
                       {"FirstAvailable", shown_list(r["firstAvailable"], show_go_value)}});
}

Shown shown_spec(const Value& spec) {
  const Value& devices = spec["devices"];
  return shown_struct(
      {{"Devices", shown_struct({{"Requests", shown_list(devices["requests"], shown_request)},
                                 {"Constraints", shown_list(devices["constraints"], show_go_value)},
                                 {"Config", shown_list(devices["config"], show_go_value)}})}});
}

FieldErrors validate_claim_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  if (!semantically_equal(object["spec"], old["spec"]))
    out.push_back(invalid_shown("spec", shown_spec(object["spec"]), kFieldIsImmutable));
  return out;
}

void validate_results(const Value& results, const Path& path,
                      const std::vector<std::string>& requests, FieldErrors& out) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Value& r = results[i];
    Path at = path.index(i);
    if (std::ranges::find(requests, r["request"].as_string()) == requests.end())
      out.push_back(
          json::invalid(at / "request", r["request"].as_string(),
                        "must be the name of a request in the claim or the name of a request and a "
                        "subrequest separated by '/'"));
    validate_driver_name(r["driver"], at / "driver", out);
    validate_pool_name(r["pool"], at / "pool", out);
    complain(at / "device", r["device"].as_string(), dns1123_label(r["device"].as_string()), out);
  }
}

void validate_consumers(const Value& status, FieldErrors& out) {
  const Value& consumers = status["reservedFor"];
  Path path = "status.reservedFor";
  if (consumers.size() > static_cast<std::size_t>(kMostConsumers))
    out.push_back(json::too_many(path, static_cast<int>(consumers.size()), kMostConsumers));
  FieldErrors duplicates;
  std::set<std::string_view> uids;
  for (std::size_t i = 0; i < consumers.size(); ++i) {
    for (std::string_view name : {"resource", "name", "uid"})
      if (consumers[i][name].as_string().empty())
        out.push_back(json::required(path.index(i) / name));
    if (!uids.insert(consumers[i]["uid"].as_string()).second)
      duplicates.push_back(json::duplicate(path.index(i), consumers[i]["uid"]));
  }
  out.insert(out.end(), duplicates.begin(), duplicates.end());
  if (!consumers.empty() && status["allocation"].is_null())
    out.push_back(json::forbidden(path, "may not be specified when `allocated` is not set"));
}

void validate_allocated_devices(const Value& status, FieldErrors& out) {
  const Value& devices = status["devices"];
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Value& d = devices[i];
    Path at = Path("status.devices").index(i);
    validate_driver_name(d["driver"], at / "driver", out);
    validate_pool_name(d["pool"], at / "pool", out);
    complain(at / "device", d["device"].as_string(), dns1123_label(d["device"].as_string()), out);
    bool allocated = std::ranges::any_of(
        status["allocation"]["devices"]["results"].items(), [&](const Value& r) {
          return r["driver"] == d["driver"] && r["pool"] == d["pool"] && r["device"] == d["device"];
        });
    if (!allocated)
      out.push_back(invalid_shown(at,
                                  shown_struct({{"Driver", shown_or(d["driver"], "")},
                                                {"Pool", shown_or(d["pool"], "")},
                                                {"Device", shown_or(d["device"], "")},
                                                {"ShareID", shown_or(d["shareID"], "")}}),
                                  "must be an allocated device in the claim"));
    check_conditions(at / "conditions", d["conditions"], out);
  }
}

FieldErrors validate_claim_status(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  const Value& status = object["status"];
  const Value& allocation = status["allocation"];
  validate_results(allocation["devices"]["results"], "status.allocation.devices.results",
                   claim_request_names(object["spec"]), out);
  if (!allocation["nodeSelector"].is_null())
    validate_node_selector(allocation["nodeSelector"], "status.allocation.nodeSelector", out);
  validate_consumers(status, out);
  validate_allocated_devices(status, out);
  if (!old["status"]["allocation"].is_null() && !allocation.is_null() &&
      !semantically_equal(allocation, old["status"]["allocation"]))
    out.push_back(invalid_shown("status.allocation", show_go_value(allocation), kFieldIsImmutable));
  return out;
}

Shown shown_template_spec(const Value& spec) {
  std::string out = "{";
  for (std::string_view name : {"labels", "annotations"})
    if (!spec["metadata"][name].empty())
      out += cat("\"", name, "\":", shown(spec["metadata"][name]), ",");
  return cat(out, "\"Spec\":", shown_spec(spec["spec"]), "}");
}

FieldErrors validate_template(const Value& object, const StrategyContext& context) {
  FieldErrors out;
  validate_admin_access(object["spec"]["spec"], "spec.spec", context, out);
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  const Value& meta = object["spec"]["metadata"];
  for (const json::Member& m : meta.members())
    if (m.key() != "labels" && m.key() != "annotations" && !is_zero(m.value))
      out.push_back(json::forbidden(Path("spec.metadata") / m.key(), "cannot be set"));
  validate_annotations(meta["annotations"], "spec.metadata.annotations", out);
  validate_labels(meta["labels"], "spec.metadata.labels", out);
  validate_resource_claim_spec(object["spec"]["spec"], "spec.spec", out);
  return out;
}

FieldErrors validate_template_update(const Value& object, const Value& old,
                                     const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  if (!semantically_equal(object["spec"], old["spec"]))
    out.push_back(invalid_shown("spec", shown_template_spec(object["spec"]), kFieldIsImmutable));
  return out;
}

// DeviceClass

void validate_class_spec(const Value& spec, FieldErrors& out) {
  const Value& extended = spec["extendedResourceName"];
  validate_device_selectors(spec["selectors"], "spec.selectors", out);
  if (spec["config"].size() > 32)
    out.push_back(json::too_many("spec.config", static_cast<int>(spec["config"].size()), 32));
  else
    for (std::size_t i = 0; i < spec["config"].size(); ++i)
      validate_opaque_config(spec["config"][i]["opaque"], Path("spec.config").index(i) / "opaque",
                             out);
  if (!extended.is_null() && (!is_extended_resource(extended.as_string()) ||
                              !qualified_name(extended.as_string()).empty()))
    out.push_back(json::invalid("spec.extendedResourceName", extended,
                                "must be a valid extended resource name"));
}

FieldErrors validate_class(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  validate_class_spec(object["spec"], out);
  return out;
}

FieldErrors validate_class_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_class_spec(object["spec"], out);
  return out;
}

}  // namespace

const Strategy& resource_claim_strategy() {
  static const Strategy strategy{
      .defaults = claim_defaults,
      .prepare_for_create = drop_status,
      .prepare_for_update = keep_status,
      .validate_create = validate_claim,
      .validate_update = validate_claim_update,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_claim_status,
      .returns_deleted_object = true,
  };
  return strategy;
}

const Strategy& resource_claim_template_strategy() {
  static const Strategy strategy{
      .defaults = template_defaults,
      .validate_create = validate_template,
      .validate_update = validate_template_update,
      .returns_deleted_object = true,
  };
  return strategy;
}

const Strategy& device_class_strategy() {
  static const Strategy strategy{
      .validate_create = validate_class,
      .validate_update = validate_class_update,
      .has_generation = true,
      .returns_deleted_object = true,
  };
  return strategy;
}

}  // namespace cardea::catalog
