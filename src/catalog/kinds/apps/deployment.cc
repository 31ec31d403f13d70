#include "catalog/kinds/apps/workload.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

// Deployment

void deployment_defaults(Value& object, const StrategyContext&) {
  Value& spec = object_member(object, "spec");
  default_workload_template(spec);
  set_default(spec, "replicas", 1);
  Value& strategy = object_member(spec, "strategy");
  default_to(strategy, "type", "RollingUpdate");
  if (strategy["type"].as_string() == "RollingUpdate") {
    Value& rolling = object_member(strategy, "rollingUpdate");
    set_default(rolling, "maxUnavailable", "25%");
    set_default(rolling, "maxSurge", "25%");
  }
  set_default(spec, "revisionHistoryLimit", 10);
  set_default(spec, "progressDeadlineSeconds", 600);
}

bool is_zero_amount(const Value& amount) {
  if (amount.is_string())
    return percent(amount.as_string()).empty() &&
           parse_int(amount.as_string().substr(0, amount.as_string().size() - 1)) == 0;
  return amount.as_int() == 0;
}

void validate_rolling_update(const Path& path, const Value& rolling, FieldErrors& out) {
  const Value& unavailable = rolling["maxUnavailable"];
  const Value& surge = rolling["maxSurge"];
  check_int_or_percent(path / "maxUnavailable", unavailable, out);
  check_int_or_percent(path / "maxSurge", surge, out);
  if (is_zero_amount(unavailable) && is_zero_amount(surge))
    out.push_back(
        json::invalid(path / "maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"));
  check_not_above_100_percent(path / "maxUnavailable", unavailable, out);
}

Shown shown_strategy(const Value& strategy) {
  const Value& rolling = strategy["rollingUpdate"];
  return shown_struct(
      {{"Type", shown_or(strategy["type"], "")},
       {"RollingUpdate",
        rolling.is_null()
            ? "null"
            : shown_struct({{"MaxUnavailable", shown_or(rolling["maxUnavailable"], 0)},
                            {"MaxSurge", shown_or(rolling["maxSurge"], 0)}})}});
}

void validate_strategy(const Path& path, const Value& strategy, FieldErrors& out) {
  std::string_view type = strategy["type"].as_string();
  const Value& rolling = strategy["rollingUpdate"];
  if (type == "Recreate") {
    if (!rolling.is_null())
      out.push_back(json::forbidden(path / "rollingUpdate",
                                    "may not be specified when strategy `type` is 'Recreate'"));
  } else if (type == "RollingUpdate") {
    if (rolling.is_null())
      out.push_back(
          json::required(path / "rollingUpdate", "this should be defaulted and never be nil"));
    else
      validate_rolling_update(path / "rollingUpdate", rolling, out);
  } else {
    out.push_back(
        not_supported_shown(path, shown_strategy(strategy), {"Recreate", "RollingUpdate"}));
  }
}

void validate_deployment_spec(const Value& spec, const StrategyContext& context, FieldErrors& out) {
  Path path = "spec";
  check_not_negative(path / "replicas", spec["replicas"], out);
  if (validate_workload_selector(spec["selector"], path / "selector", "deployment", out))
    validate_workload_template(spec["template"], spec["selector"], path / "template", "ReplicaSet",
                               context, out);
  validate_strategy(path / "strategy", spec["strategy"], out);
  check_not_negative(path / "minReadySeconds", spec["minReadySeconds"], out);
  check_not_negative(path / "revisionHistoryLimit", spec["revisionHistoryLimit"], out);
  const Value& deadline = spec["progressDeadlineSeconds"];
  if (deadline.is_null()) return;
  check_not_negative(path / "progressDeadlineSeconds", deadline, out);
  if (deadline.as_int() <= spec["minReadySeconds"].as_int())
    out.push_back(json::invalid(path / "progressDeadlineSeconds", deadline,
                                "must be greater than minReadySeconds"));
}

FieldErrors validate_deployment(const Value& object, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_deployment_spec(object["spec"], context, out);
  return out;
}

void check_selector_immutable(const Value& object, const Value& old, FieldErrors& out) {
  const Value& selector = object["spec"]["selector"];
  if (!semantically_equal(selector, old["spec"]["selector"]))
    out.push_back(invalid_shown("spec.selector", shown_selector(selector), kFieldIsImmutable));
}

FieldErrors validate_deployment_update(const Value& object, const Value& old,
                                       const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_deployment_spec(object["spec"], context, out);
  check_selector_immutable(object, old, out);
  return out;
}

// Controllers copy changed annotations to the owners of the pods, so a change of annotations also
// gives a new generation.
void prepare_deployment_update(Value& object, const Value& old, const StrategyContext& context) {
  keep_status(object, old, context);
  if (!semantically_equal(object["metadata"]["annotations"], old["metadata"]["annotations"]) ||
      !semantically_equal(object["spec"], old["spec"]))
    object_member(object, "metadata")
        .set("generation", Value(old["metadata"]["generation"].as_int() + 1));
}

FieldErrors validate_deployment_status(const Value& object, const Value& old,
                                       const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  Path path = "status";
  const Value& status = object["status"];
  check_counts(
      path, status,
      {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
       "unavailableReplicas", "terminatingReplicas", "collisionCount"},
      out);
  for (std::string_view name : {"updatedReplicas", "readyReplicas", "availableReplicas"})
    check_not_above(path, status, name, "replicas", "status.replicas", out);
  check_not_above(path, status, "availableReplicas", "readyReplicas", "readyReplicas", out);
  const Value& before = old["status"]["collisionCount"];
  if (!before.is_null() && status["collisionCount"].as_int() < before.as_int())
    out.push_back(json::invalid(path / "collisionCount", Value(status["collisionCount"].as_int()),
                                "cannot be decremented"));
  return out;
}

// ReplicaSet

void replica_set_defaults(Value& object, const StrategyContext&) {
  Value& spec = object_member(object, "spec");
  default_workload_template(spec);
  set_default(spec, "replicas", 1);
}

void validate_replica_set_spec(const Value& spec, const StrategyContext& context,
                               FieldErrors& out) {
  Path path = "spec";
  check_not_negative(path / "replicas", spec["replicas"], out);
  check_not_negative(path / "minReadySeconds", spec["minReadySeconds"], out);
  if (validate_workload_selector(spec["selector"], path / "selector", "deployment", out))
    validate_workload_template(spec["template"], spec["selector"], path / "template", "ReplicaSet",
                               context, out);
}

FieldErrors validate_replica_set(const Value& object, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_replica_set_spec(object["spec"], context, out);
  return out;
}

FieldErrors validate_replica_set_update(const Value& object, const Value& old,
                                        const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_replica_set_spec(object["spec"], context, out);
  check_selector_immutable(object, old, out);
  return out;
}

FieldErrors validate_replica_set_status(const Value& object, const Value& old,
                                        const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  Path path = "status";
  const Value& status = object["status"];
  check_counts(path, status,
               {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas",
                "terminatingReplicas", "observedGeneration"},
               out);
  for (std::string_view name : {"fullyLabeledReplicas", "readyReplicas", "availableReplicas"})
    check_not_above(path, status, name, "replicas", "status.replicas", out);
  check_not_above(path, status, "availableReplicas", "readyReplicas", "readyReplicas", out);
  return out;
}

// ControllerRevision

void validate_revision_fields(const Value& object, FieldErrors& out) {
  if (object["data"].is_null()) out.push_back(json::required("data", "data is mandatory"));
  check_not_negative("revision", object["revision"], out);
}

FieldErrors validate_revision(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_revision_fields(object, out);
  return out;
}

FieldErrors validate_revision_update(const Value& object, const Value& old,
                                     const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_revision_fields(object, out);
  check_immutable("data", object["data"], old["data"], out);
  return out;
}

std::vector<std::string> warnings(const Value& object, const Value* old,
                                  const StrategyContext& context) {
  std::vector<std::string> out;
  if (old == nullptr) warn_about_pod_name(object, out);
  for (auto& warning : workload_warnings(object, old, context)) out.push_back(std::move(warning));
  return out;
}

}  // namespace

const Strategy& deployment_strategy() {
  static const Strategy strategy{
      .defaults = deployment_defaults,
      .prepare_for_create = drop_status,
      .prepare_for_update = prepare_deployment_update,
      .validate_create = validate_deployment,
      .validate_update = validate_deployment_update,
      .warnings = warnings,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_deployment_status,
      .has_generation = true,
  };
  return strategy;
}

const Strategy& replica_set_strategy() {
  static const Strategy strategy{
      .defaults = replica_set_defaults,
      .prepare_for_create = drop_status,
      .prepare_for_update = keep_status,
      .validate_create = validate_replica_set,
      .validate_update = validate_replica_set_update,
      .warnings = warnings,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_replica_set_status,
      .has_generation = true,
  };
  return strategy;
}

const Strategy& controller_revision_strategy() {
  static const Strategy strategy{
      .validate_create = validate_revision,
      .validate_update = validate_revision_update,
  };
  return strategy;
}

}  // namespace cardea::catalog
