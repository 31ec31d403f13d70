#include <set>

#include "catalog/kinds/apps/workload.h"
#include "catalog/kinds/core/claims.h"
#include "catalog/kinds/core/pod_defaults.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

// Fields of the spec that may change after creation.
constexpr std::string_view kMutable[] = {"replicas",
                                         "ordinals",
                                         "template",
                                         "updateStrategy",
                                         "revisionHistoryLimit",
                                         "persistentVolumeClaimRetentionPolicy",
                                         "minReadySeconds"};

void defaults(Value& object, const StrategyContext&) {
  Value& spec = object_member(object, "spec");
  default_workload_template(spec);
  default_to(spec, "podManagementPolicy", "OrderedReady");
  Value& strategy = object_member(spec, "updateStrategy");
  if (strategy["type"].as_string().empty()) {
    strategy.set("type", "RollingUpdate");
    if (strategy["rollingUpdate"].is_null())
      strategy.set("rollingUpdate", Value::object({{"partition", 0}}));
  }
  if (strategy["type"].as_string() == "RollingUpdate" && strategy["rollingUpdate"].is_object())
    set_default(strategy.member("rollingUpdate"), "partition", 0);
  Value& retention = object_member(spec, "persistentVolumeClaimRetentionPolicy");
  default_to(retention, "whenDeleted", "Retain");
  default_to(retention, "whenScaled", "Retain");
  set_default(spec, "replicas", 1);
  set_default(spec, "revisionHistoryLimit", 10);
  if (spec["volumeClaimTemplates"].empty()) return;
  Value& claims = spec.member("volumeClaimTemplates");
  for (std::size_t i = 0; i < claims.size(); ++i) {
    Value& claim = claims.item(i);
    default_to(claim, "kind", "PersistentVolumeClaim");
    default_to(claim, "apiVersion", "v1");
    default_claim_spec(object_member(claim, "spec"));
    default_to(object_member(claim, "status"), "phase", "Pending");
  }
}

// A field of a feature that is off: the server drops the value that a client sends.
void drop_max_unavailable(Value& object) {
  if (object["spec"]["updateStrategy"]["rollingUpdate"].has("maxUnavailable"))
    object.member("spec").member("updateStrategy").member("rollingUpdate").erase("maxUnavailable");
}

void prepare_create(Value& object, const StrategyContext& context) {
  drop_status(object, context);
  drop_max_unavailable(object);
}

void prepare_update(Value& object, const Value& old, const StrategyContext& context) {
  keep_status(object, old, context);
  drop_max_unavailable(object);
}

// For the pods, claims are volumes: the template is checked as if it had these volumes.
Value with_claim_volumes(const Value& spec) {
  Value pod_template = spec["template"];
  const Value& claims = spec["volumeClaimTemplates"];
  if (claims.empty()) return pod_template;
  Value volumes = Value::array();
  std::set<std::string_view> names;
  for (const Value& claim : claims.items()) {
    std::string_view name = claim["metadata"]["name"].as_string();
    names.insert(name);
    volumes.push_back(Value::object(
        {{"name", name}, {"persistentVolumeClaim", Value::object({{"claimName", name}})}}));
  }
  for (const Value& volume : pod_template["spec"]["volumes"].items())
    if (!names.contains(volume["name"].as_string())) volumes.push_back(volume);
  object_member(pod_template, "spec").set("volumes", volumes);
  return pod_template;
}

Shown shown_rolling(const Value& rolling) {
  if (rolling.is_null()) return "null";
  return shown_struct({{"Partition", shown_or(rolling["partition"], 0)},
                       {"MaxUnavailable", shown(rolling["maxUnavailable"])}});
}

void validate_strategy(const Path& path, const Value& strategy, FieldErrors& out) {
  std::string_view type = strategy["type"].as_string();
  const Value& rolling = strategy["rollingUpdate"];
  if (type.empty()) {
    out.push_back(json::required(path));
  } else if (type == "OnDelete") {
    if (!rolling.is_null())
      out.push_back(invalid_shown(path / "rollingUpdate", shown_rolling(rolling),
                                  "only allowed for updateStrategy 'RollingUpdate'"));
  } else if (type == "RollingUpdate") {
    if (rolling.is_null()) return;
    check_not_negative(path / "rollingUpdate" / "partition", rolling["partition"], out);
  } else {
    out.push_back(invalid_shown(path,
                                shown_struct({{"Type", shown(strategy["type"])},
                                              {"RollingUpdate", shown_rolling(rolling)}}),
                                "must be 'RollingUpdate' or 'OnDelete'"));
  }
}

void validate_spec(const Value& spec, bool created, const StrategyContext& context,
                   FieldErrors& out) {
  Path path = "spec";
  std::string_view policy = spec["podManagementPolicy"].as_string();
  if (policy.empty())
    out.push_back(json::required(path / "podManagementPolicy"));
  else if (policy != "OrderedReady" && policy != "Parallel")
    out.push_back(json::invalid(path / "podManagementPolicy", spec["podManagementPolicy"],
                                "must be 'OrderedReady' or 'Parallel'"));
  validate_strategy(path / "updateStrategy", spec["updateStrategy"], out);
  const Value& retention = spec["persistentVolumeClaimRetentionPolicy"];
  for (std::string_view name : {"whenDeleted", "whenScaled"})
    check_one_of(path / "persistentVolumeClaimRetentionPolicy" / name, retention[name],
                 {"Retain", "Delete"}, out);
  check_not_negative(path / "replicas", spec["replicas"], out);
  check_not_negative(path / "minReadySeconds", spec["minReadySeconds"], out);
  check_not_negative(path / "ordinals.start", spec["ordinals"]["start"], out);
  const Value& service = spec["serviceName"];
  if (!service.as_string().empty())
    complain(path / "serviceName", service, dns1123_label(service.as_string()), out);
  // They cannot change later, and values that were accepted before stay accepted.
  for (std::size_t i = 0; created && i < spec["volumeClaimTemplates"].size(); ++i)
    validate_claim_spec(spec["volumeClaimTemplates"][i]["spec"],
                        (path / "volumeClaimTemplates").index(i) / "spec", out);
  if (validate_workload_selector(spec["selector"], path / "selector", "statefulset", out))
    validate_workload_template(with_claim_volumes(spec), spec["selector"], path / "template",
                               "StatefulSet", context, out);
}

FieldErrors validate(const Value& object, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_label, out);
  validate_spec(object["spec"], true, context, out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_spec(object["spec"], false, context, out);
  Value now = object["spec"], before = old["spec"];
  for (std::string_view name : kMutable) {
    now.erase(name);
    before.erase(name);
  }
  if (!semantically_equal(now, before))
    out.push_back(json::forbidden(
        "spec",
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
        "'minReadySeconds' are forbidden"));
  return out;
}

FieldErrors validate_status(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  Path path = "status";
  const Value& status = object["status"];
  check_counts(
      path, status,
      {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"},
      out);
  if (!status["observedGeneration"].is_null())
    check_not_negative(path / "observedGeneration", status["observedGeneration"], out);
  check_not_negative(path / "collisionCount", status["collisionCount"], out);
  for (std::string_view name :
       {"readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"})
    check_not_above(path, status, name, "replicas", "status.replicas", out);
  check_not_above(path, status, "availableReplicas", "readyReplicas", "status.readyReplicas", out);
  validate_kind_meta_update(object, old, out);
  return out;
}

std::vector<std::string> warnings(const Value& object, const Value* old,
                                  const StrategyContext& context) {
  std::vector<std::string> out = workload_warnings(object, old, context);
  if (object["spec"]["revisionHistoryLimit"].as_int() < 0)
    out.push_back(
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= "
        "0 is "
        "recommended");
  return out;
}

}  // namespace

const Strategy& stateful_set_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .prepare_for_create = prepare_create,
      .prepare_for_update = prepare_update,
      .validate_create = validate,
      .validate_update = validate_update,
      .warnings = warnings,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_status,
      .has_generation = true,
  };
  return strategy;
}

}  // namespace cardea::catalog
