#include "catalog/kinds/apps/workload.h"
#include "catalog/kinds/core/core_strategies.h"
#include "catalog/kinds/core/pod_defaults.h"
#include "catalog/kinds/core/pod_validation.h"

namespace cardea::catalog {
namespace {

void defaults(Value& object, const StrategyContext&) {
  Value& spec = object_member(object, "spec");
  if (spec["replicas"].is_null()) spec.set("replicas", 1);
  if (!spec["template"].is_object()) return;
  default_pod_template(spec.member("template"));
  const Value labels = spec["template"]["metadata"]["labels"];
  if (!labels.is_object()) return;
  if (spec["selector"].empty()) spec.set("selector", labels);
  if (object["metadata"]["labels"].empty()) object_member(object, "metadata").set("labels", labels);
}

bool picks(const Value& selector, const Value& labels) {
  return std::ranges::all_of(selector.members(), [&](const json::Member& m) {
    const Value* found = labels.find(m.key());
    return found && *found == m.value;
  });
}

void validate_template(const Value& spec, const StrategyContext& context, FieldErrors& out) {
  Path path = "spec.template";
  const Value& pod_template = spec["template"];
  if (pod_template.is_null()) return out.push_back(json::required(path));
  const Value& labels = pod_template["metadata"]["labels"];
  if (!picks(spec["selector"], labels))
    out.push_back(json::invalid(path / "metadata" / "labels", labels,
                                "`selector` does not match template `labels`"));
  validate_running_template(pod_template, path, "ReplicationController", context, out);
}

void validate_spec(const Value& spec, const StrategyContext& context, FieldErrors& out) {
  validate_nonnegative(spec["minReadySeconds"], "spec.minReadySeconds", out);
  if (spec["selector"].empty()) out.push_back(json::required("spec.selector"));
  if (spec["replicas"].is_null())
    out.push_back(json::required("spec.replicas"));
  else
    validate_nonnegative(spec["replicas"], "spec.replicas", out);
  validate_template(spec, context, out);
}

// For a generated name the complete name is checked, not the prefix.
Complaints whole_name(std::string_view name, bool prefix) {
  return prefix ? Complaints{} : name_is_dns_subdomain(name, false);
}

FieldErrors validate(const Value& object, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta(object, true, whole_name, out);
  validate_spec(object["spec"], context, out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_spec(object["spec"], context, out);
  return out;
}

FieldErrors validate_status(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  const Value& status = object["status"];
  check_counts("status", status,
               {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas",
                "observedGeneration"},
               out);
  for (std::string_view name : {"fullyLabeledReplicas", "readyReplicas", "availableReplicas"})
    check_not_above("status", status, name, "replicas", "status.replicas", out);
  check_not_above("status", status, "availableReplicas", "readyReplicas", "readyReplicas", out);
  return out;
}

std::vector<std::string> warnings(const Value& object, const Value* old, const StrategyContext&) {
  std::vector<std::string> out;
  if (!old)
    warn_about_pod_name(object, out);
  else if (semantically_equal(object["spec"], (*old)["spec"]))
    return out;
  warn_about_pod_template(object["spec"]["template"], "spec.template", out);
  return out;
}

std::string field(const Value& object, std::string_view name) {
  return name == "status.replicas" ? cat(object["status"]["replicas"].as_int()) : "";
}

}  // namespace

const Strategy& replication_controller_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .prepare_for_create = drop_status,
      .prepare_for_update = keep_status,
      .validate_create = validate,
      .validate_update = validate_update,
      .warnings = warnings,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_status,
      .selectable_fields = {"status.replicas"},
      .selectable_field = field,
      .unknown_field = "field label not supported: {}",
      .has_generation = true,
      .default_propagation = "Orphan",
  };
  return strategy;
}

}  // namespace cardea::catalog
