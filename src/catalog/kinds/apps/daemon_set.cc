#include "catalog/kinds/apps/workload.h"
#include "catalog/kinds/label_selector.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

// The number of changes of the template. It is kept in an annotation since the field was removed.
constexpr std::string_view kTemplateGeneration = "deprecated.daemonset.template.generation";

std::int64_t template_generation(const Value& object) {
  return parse_int(object["metadata"]["annotations"][kTemplateGeneration].as_string()).value_or(0);
}

void set_template_generation(Value& object, std::int64_t generation) {
  object_member(object_member(object, "metadata"), "annotations")
      .set(kTemplateGeneration, std::to_string(generation));
}

void defaults(Value& object, const StrategyContext&) {
  Value& spec = object_member(object, "spec");
  default_workload_template(spec);
  Value& strategy = object_member(spec, "updateStrategy");
  default_to(strategy, "type", "RollingUpdate");
  if (strategy["type"].as_string() == "RollingUpdate") {
    Value& rolling = object_member(strategy, "rollingUpdate");
    set_default(rolling, "maxUnavailable", 1);
    set_default(rolling, "maxSurge", 0);
  }
  set_default(spec, "revisionHistoryLimit", 10);
  // In Kubernetes' type the counter is a field that is written as an annotation, so every version
  // of the object has it.
  if (!object["metadata"]["annotations"].has(kTemplateGeneration))
    set_template_generation(object, 0);
}

void prepare_create(Value& object, const StrategyContext& context) {
  drop_status(object, context);
  set_template_generation(object, std::max<std::int64_t>(1, template_generation(object)));
}

void prepare_update(Value& object, const Value& old, const StrategyContext& context) {
  keep_status(object, old, context);
  bool changed = !semantically_equal(object["spec"]["template"], old["spec"]["template"]);
  set_template_generation(object, template_generation(old) + (changed ? 1 : 0));
}

std::int64_t amount_of(const Value& amount) {
  std::string_view text = amount.as_string();
  if (text.empty()) return amount.as_int();
  return parse_int(text.substr(0, text.size() - 1)).value_or(0);
}

void validate_rolling(const Path& path, const Value& rolling, FieldErrors& out) {
  const Value& unavailable = rolling["maxUnavailable"];
  const Value& surge = rolling["maxSurge"];
  check_int_or_percent(path / "maxUnavailable", unavailable, out);
  check_int_or_percent(path / "maxSurge", surge, out);
  check_not_above_100_percent(path / "maxUnavailable", unavailable, out);
  check_not_above_100_percent(path / "maxSurge", surge, out);
  bool has_unavailable = amount_of(unavailable) != 0, has_surge = amount_of(surge) != 0;
  if (has_unavailable && has_surge)
    out.push_back(
        json::invalid(path / "maxSurge", surge, "may not be set when maxUnavailable is non-zero"));
  if (!has_unavailable && !has_surge)
    out.push_back(json::required(path / "maxUnavailable", "cannot be 0 when maxSurge is 0"));
}

void validate_strategy(const Path& path, const Value& strategy, FieldErrors& out) {
  std::string_view type = strategy["type"].as_string();
  if (type == "OnDelete") return;
  if (type == "RollingUpdate") {
    if (strategy["rollingUpdate"].is_null())
      out.push_back(json::required(path / "rollingUpdate"));
    else
      validate_rolling(path / "rollingUpdate", strategy["rollingUpdate"], out);
    return;
  }
  const Value& rolling = strategy["rollingUpdate"];
  Shown shown_rolling = rolling.is_null()
                            ? "null"
                            : shown_struct(
                                  {{"MaxUnavailable", shown_or(rolling["maxUnavailable"], 0)},
                                   {"MaxSurge", shown_or(rolling["maxSurge"], 0)}});
  out.push_back(not_supported_shown(
      path, shown_struct({{"Type", shown(type)}, {"RollingUpdate", shown_rolling}}),
      {"RollingUpdate", "OnDelete"}));
}

void validate_spec(const Value& spec, const StrategyContext& context, FieldErrors& out) {
  Path path = "spec";
  const Value& selector = spec["selector"];
  validate_label_selector(selector, path / "selector", out);
  if (selector_is_usable(selector) &&
      !selector_matches(selector, spec["template"]["metadata"]["labels"]))
    out.push_back(json::invalid(path / "template" / "metadata" / "labels",
                                spec["template"]["metadata"]["labels"].empty()
                                    ? Value()
                                    : spec["template"]["metadata"]["labels"],
                                "`selector` does not match template `labels`"));
  if (!selector.is_null() && selector_is_empty(selector))
    out.push_back(invalid_shown(path / "selector", shown_selector(selector),
                                "empty selector is invalid for daemonset"));
  validate_workload_template(spec["template"], Value::object(), path / "template", "DaemonSet",
                             context, out);
  check_not_negative(path / "minReadySeconds", spec["minReadySeconds"], out);
  validate_strategy(path / "updateStrategy", spec["updateStrategy"], out);
  check_not_negative(path / "revisionHistoryLimit", spec["revisionHistoryLimit"], out);
}

FieldErrors validate(const Value& object, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_spec(object["spec"], context, out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_spec(object["spec"], context, out);
  const Value& selector = object["spec"]["selector"];
  if (!semantically_equal(selector, old["spec"]["selector"]))
    out.push_back(invalid_shown("spec.selector", shown_selector(selector), kFieldIsImmutable));
  return out;
}

FieldErrors validate_status(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  check_counts("status", object["status"],
               {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled",
                "numberReady", "observedGeneration", "updatedNumberScheduled", "numberAvailable",
                "numberUnavailable", "collisionCount"},
               out);
  return out;
}

}  // namespace

const Strategy& daemon_set_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .prepare_for_create = prepare_create,
      .prepare_for_update = prepare_update,
      .validate_create = validate,
      .validate_update = validate_update,
      .warnings = workload_warnings,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_status,
      .has_generation = true,
  };
  return strategy;
}

}  // namespace cardea::catalog
