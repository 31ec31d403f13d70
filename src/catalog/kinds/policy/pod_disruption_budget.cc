#include "catalog/kinds/check.h"
#include "catalog/kinds/label_selector.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

void validate_spec(const Value& spec, FieldErrors& out) {
  Path path = "spec";
  const Value& available = spec["minAvailable"];
  const Value& unavailable = spec["maxUnavailable"];
  if (!available.is_null() && !unavailable.is_null())
    out.push_back(invalid_shown(
        path,
        shown_struct({{"MinAvailable", shown(available)},
                      {"Selector", shown_selector(spec["selector"])},
                      {"MaxUnavailable", shown(unavailable)},
                      {"UnhealthyPodEvictionPolicy", shown(spec["unhealthyPodEvictionPolicy"])}}),
        "minAvailable and maxUnavailable cannot be both set"));
  for (std::string_view name : {"minAvailable", "maxUnavailable"}) {
    if (spec[name].is_null()) continue;
    check_int_or_percent(path / name, spec[name], out);
    check_not_above_100_percent(path / name, spec[name], out);
  }
  validate_label_selector(spec["selector"], path / "selector", out);
  if (!spec["unhealthyPodEvictionPolicy"].is_null())
    check_one_of(path / "unhealthyPodEvictionPolicy", spec["unhealthyPodEvictionPolicy"],
                 {"AlwaysAllow", "IfHealthyBudget"}, out);
}

// The caller checks the object's own metadata. The name of a budget may be any path segment.
FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_spec(object["spec"], out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value&, const StrategyContext&) {
  FieldErrors out;
  validate_spec(object["spec"], out);
  return out;
}

FieldErrors validate_status(const Value& object, const Value&, const StrategyContext&) {
  FieldErrors out;
  const Value& status = object["status"];
  check_conditions("status.conditions", status["conditions"], out);
  for (std::string_view name :
       {"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"})
    check_not_negative(Path("status") / name, status[name], out);
  return out;
}

}  // namespace

const Strategy& pod_disruption_budget_strategy() {
  static const Strategy strategy{
      .prepare_for_create = drop_status,
      .prepare_for_update = keep_status,
      .validate_create = validate,
      .validate_update = validate_update,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_status,
      .name_rule = Strategy::NameRule::kPathSegment,
      .has_generation = true,
      .allow_unconditional_update = false,
  };
  return strategy;
}

}  // namespace cardea::catalog
