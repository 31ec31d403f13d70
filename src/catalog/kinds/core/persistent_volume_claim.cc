#include "catalog/kinds/check.h"
#include "catalog/kinds/core/claims.h"
#include "catalog/kinds/core/core_strategies.h"
#include "catalog/kinds/core/pod_defaults.h"
#include "catalog/kinds/core/resources.h"
#include "catalog/kinds/core/volume_warnings.h"
#include "catalog/kinds/go_diff.h"
#include "catalog/kinds/go_value.h"
#include "catalog/kinds/label_selector.h"
#include "json/print.h"

namespace cardea::catalog {
namespace {

constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";

void defaults(Value& object, const StrategyContext&) {
  default_claim_spec(object_member(object, "spec"));
  Value& status = object_member(object, "status");
  default_to(status, "phase", "Pending");
  default_resource_list(status, "capacity");
  default_resource_list(status, "allocatedResources");
}

bool is_claim_or_snapshot(const Value& source) {
  std::string_view kind = text(source, "kind"), group = text(source, "apiGroup");
  return (kind == "PersistentVolumeClaim" && group.empty()) ||
         (kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io");
}

// The older field drops a value that it cannot express. References to other namespaces are not
// served.
void tidy_data_sources(Value& spec, const Value& old) {
  bool in_use = present(old, "dataSource") || present(old, "dataSourceRef");
  if (!text(spec["dataSourceRef"], "namespace").empty() && !present(old, "dataSourceRef"))
    spec.erase("dataSourceRef");
  if (!in_use && !present(spec, "dataSourceRef") && present(spec, "dataSource") &&
      !is_claim_or_snapshot(spec["dataSource"]))
    spec.erase("dataSource");
  default_claim_data_source(spec);
}

void prepare_create(Value& object, const StrategyContext&) {
  protect_storage(object, "kubernetes.io/pvc-protection");
  object.set("status", Value::object({{"phase", "Pending"}}));
  edit_member(object, "spec", [](Value& spec) { tidy_data_sources(spec, {}); });
}

void prepare_update(Value& object, const Value& old, const StrategyContext& context) {
  keep_status(object, old, context);
  edit_member(object, "spec", [&](Value& spec) { tidy_data_sources(spec, old["spec"]); });
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_claim_spec(object["spec"], "spec", out);
  return out;
}

std::string show_reference(const Value& reference, bool with_namespace) {
  if (reference.is_null()) return "null";
  return with_namespace
             ? show_go_struct(reference, {"apiGroup:APIGroup", "kind", "name", "namespace"})
             : show_go_struct(reference, {"apiGroup:APIGroup", "kind", "name"});
}

std::string show_spec(const Value& spec) {
  const Value& resources = spec["resources"];
  return indent_json(cat(
      "{\"AccessModes\":", json::print(spec["accessModes"]),
      ",\"Selector\":", show_selector(spec["selector"]), ",\"Resources\":{\"Limits\":",
      json::print(resources["limits"]), ",\"Requests\":", json::print(resources["requests"]),
      "},\"VolumeName\":", json::print(Value(text(spec, "volumeName"))), ",\"StorageClassName\":",
      json::print(spec["storageClassName"]), ",\"VolumeMode\":", json::print(spec["volumeMode"]),
      ",\"DataSource\":", show_reference(spec["dataSource"], false),
      ",\"DataSourceRef\":", show_reference(spec["dataSourceRef"], true),
      ",\"VolumeAttributesClassName\":", json::print(spec["volumeAttributesClassName"]), "}"));
}

bool class_moved_from_annotation(const Value& object, const Value& old) {
  const Value *before = old["metadata"]["annotations"].find(kClassAnnotation),
              *now = object["metadata"]["annotations"].find(kClassAnnotation);
  return before && !present(old["spec"], "storageClassName") &&
         present(object["spec"], "storageClassName") &&
         object["spec"]["storageClassName"] == *before && (!now || *now == *before);
}

bool class_set_afterwards(const Value& object, const Value& old) {
  const Value* annotation = old["metadata"]["annotations"].find(kClassAnnotation);
  return present(object["spec"], "storageClassName") && !present(old["spec"], "storageClassName") &&
         (!annotation || object["spec"]["storageClassName"] == *annotation);
}

// The spec for the comparison with the old one: fields that may change get their old values.
Value without_allowed_changes(const Value& object, const Value& old, FieldErrors& out) {
  Value spec = object["spec"];
  const Value& before = old["spec"];
  if (class_moved_from_annotation(object, old)) {
    spec.erase("storageClassName");
  } else {
    std::string_view now_class = text(object["metadata"]["annotations"], kClassAnnotation),
                     old_class = text(old["metadata"]["annotations"], kClassAnnotation);
    if (now_class != old_class)
      out.push_back(json::invalid(Path("metadata.annotations") / kClassAnnotation, now_class,
                                  std::string(kFieldIsImmutable)));
    if (class_set_afterwards(object, old)) spec.erase("storageClassName");
  }
  bool bound = text(object["status"], "phase") == "Bound";
  if (bound && present(spec["resources"], "requests"))
    spec.member("resources")
        .member("requests")
        .set("storage", before["resources"]["requests"]["storage"]);
  if (bound && spec["volumeAttributesClassName"] != before["volumeAttributesClassName"]) {
    if (present(before, "volumeAttributesClassName"))
      spec.set("volumeAttributesClassName", before["volumeAttributesClassName"]);
    else
      spec.erase("volumeAttributesClassName");
  }
  return spec;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  for (auto& error : validate(object, context)) out.push_back(std::move(error));

  Value now = without_allowed_changes(object, old, out), before = old["spec"];
  if (text(before, "volumeName").empty() && present(now, "volumeName"))
    before.set("volumeName", now["volumeName"]);
  if (!semantically_equal(now, before))
    out.push_back(
        json::forbidden("spec", cat("spec is immutable after creation except resources.requests "
                                    "and volumeAttributesClassName for bound claims\n",
                                    unified_diff(show_spec(before), show_spec(now)))));
  const Value &size = object["spec"]["resources"]["requests"]["storage"],
              &old_size = old["spec"]["resources"]["requests"]["storage"];
  if (quantity_of(size) < quantity_of(old_size) &&
      quantity_of(size) <= quantity_of(old["status"]["capacity"]["storage"]))
    out.push_back(json::forbidden("spec.resources.requests.storage",
                                  "field can not be less than status.capacity"));
  validate_immutable(object["spec"]["volumeMode"], old["spec"]["volumeMode"], "volumeMode", out);
  const Value& attributes = object["spec"]["volumeAttributesClassName"];
  if (attributes != old["spec"]["volumeAttributesClassName"] &&
      present(old["status"], "currentVolumeAttributesClassName")) {
    if (attributes.is_null())
      out.push_back(json::forbidden(
          "spec.volumeAttributesClassName",
          "update to nil is forbidden when status.currentVolumeAttributesClassName is not nil"));
    else if (attributes.as_string().empty())
      out.push_back(json::forbidden("spec.volumeAttributesClassName",
                                    "update to empty string is forbidden when "
                                    "status.currentVolumeAttributesClassName is not nil"));
  }
  return out;
}

void validate_resource_key(std::string_view key, const Path& path, FieldErrors& out) {
  if (auto complaints = qualified_name(key); !complaints.empty())
    return complain(path, key, complaints, out);
  if (is_native_resource(key) && key != "storage")
    out.push_back(json::not_supported(path, key, {"storage"}));
}

FieldErrors validate_status(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  const Value& status = object["status"];
  if (object["spec"]["accessModes"].empty()) out.push_back(json::required("Spec.accessModes"));
  auto not_negative = [&](const Value& amount, const Path& path) {
    bool negative = quantity_of(amount).value() < 0;
    if (negative)
      out.push_back(
          json::invalid(path, quantity_of(amount).value(), "must be a valid resource quantity"));
    return !negative;
  };
  for (const json::Member& m : status["capacity"].members())
    not_negative(m.value, Path("status.capacity").key(m.key()));
  for (const json::Member& m : status["allocatedResourceStatuses"].members()) {
    validate_resource_key(m.key(), "status.allocatedResourceStatuses", out);
    constexpr std::string_view kStatuses[] = {"ControllerResizeInProgress",
                                              "ControllerResizeInfeasible", "NodeResizeInProgress",
                                              "NodeResizeInfeasible", "NodeResizePending"};
    if (!contains(kStatuses, m.value.as_string()))
      out.push_back(json::not_supported(
          "status.allocatedResourceStatuses", m.key(),
          {"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress",
           "NodeResizeInfeasible", "NodeResizePending"}));
  }
  for (const json::Member& m : status["allocatedResources"].members()) {
    std::size_t before = out.size();
    validate_resource_key(m.key(), "status.allocatedResources", out);
    if (out.size() == before) not_negative(m.value, Path("status.allocatedResources").key(m.key()));
  }
  return out;
}

std::vector<std::string> warnings(const Value& object, const Value*, const StrategyContext&) {
  std::vector<std::string> out;
  if (object["metadata"]["annotations"].has(kClassAnnotation))
    out.push_back(cat("metadata.annotations[", kClassAnnotation,
                      "]: deprecated since v1.8; use \"storageClassName\" attribute instead"));
  warn_about_claim_spec(object["spec"], "spec", out);
  return out;
}

}  // namespace

const Strategy& persistent_volume_claim_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .prepare_for_create = prepare_create,
      .prepare_for_update = prepare_update,
      .validate_create = validate,
      .validate_update = validate_update,
      .warnings = warnings,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_status,
      .returns_deleted_object = true,
  };
  return strategy;
}

}  // namespace cardea::catalog
