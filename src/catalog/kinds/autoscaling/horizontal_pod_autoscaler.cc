#include <algorithm>
#include <array>

#include "base/quantity.h"
#include "catalog/kinds/check.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

// Version 1 keeps values that it has no fields for in annotations. These annotations belong to the
// server.
constexpr std::string_view kMetricsAnnotation = "autoscaling.alpha.kubernetes.io/metrics";
constexpr std::string_view kServerAnnotations[] = {
    kMetricsAnnotation,
    "autoscaling.alpha.kubernetes.io/current-metrics",
    "autoscaling.alpha.kubernetes.io/conditions",
    "autoscaling.alpha.kubernetes.io/behavior",
};

bool is_v1(const StrategyContext& context) {
  return context.version == "v1";
}

Value scaling_policy(std::string_view type, int value) {
  return Value::object({{"type", type}, {"value", value}, {"periodSeconds", 15}});
}

void default_rules(Value& behavior, std::string_view direction) {
  bool up = direction == "scaleUp";
  Value& rules = object_member(behavior, direction);
  set_default(rules, "selectPolicy", "Max");
  if (up) set_default(rules, "stabilizationWindowSeconds", 0);
  if (!rules["policies"].is_null()) return;
  rules.set("policies",
            up ? Value::array({scaling_policy("Pods", 4), scaling_policy("Percent", 100)})
               : Value::array({scaling_policy("Percent", 100)}));
}

void defaults(Value& object, const StrategyContext& context) {
  if (!is_v1(context) && !object["metadata"]["annotations"].empty())
    for (std::string_view name : kServerAnnotations)
      if (object["metadata"]["annotations"].has(name))
        object.member("metadata").member("annotations").erase(name);
  Value& spec = object_member(object, "spec");
  set_default(spec, "minReplicas", 1);
  if (is_v1(context)) {
    if (!object["metadata"]["annotations"].has(kMetricsAnnotation))
      set_default(spec, "targetCPUUtilizationPercentage", 80);
    return;
  }
  if (spec["metrics"].empty())
    spec.set("metrics",
             Value::array({Value::object(
                 {{"type", "Resource"},
                  {"resource",
                   Value::object({{"name", "cpu"},
                                  {"target", Value::object({{"type", "Utilization"},
                                                            {"averageUtilization", 80}})}})}})}));
  if (spec["behavior"].is_null()) return;
  Value& behavior = spec.member("behavior");
  default_rules(behavior, "scaleUp");
  default_rules(behavior, "scaleDown");
}

void validate_reference(const Path& path, const Value& reference, bool needs_group,
                        FieldErrors& out) {
  for (std::string_view name : {"kind", "name"}) {
    if (reference[name].as_string().empty())
      out.push_back(json::required(path / name));
    else
      complain(path / name, reference[name],
               name_is_path_segment(reference[name].as_string(), false), out);
  }
  const Value& version = reference["apiVersion"];
  std::string_view text = version.as_string();
  if (std::ranges::count(text, '/') > 1) {
    out.push_back(
        json::invalid(path / "apiVersion", version, cat("unexpected GroupVersion string: ", text)));
    return;
  }
  if (needs_group && text.find('/') == text.npos)
    out.push_back(json::invalid(path / "apiVersion", text, "apiVersion must specify API group"));
}

bool is_positive(const Value& amount) {
  auto quantity = Quantity::parse(amount.is_string() ? std::string(amount.as_string())
                                                     : shown(amount));
  return quantity && quantity->sign() > 0;
}

std::string canonical(const Value& amount) {
  auto quantity = Quantity::parse(amount.is_string() ? std::string(amount.as_string())
                                                     : shown(amount));
  return quantity ? quantity->print() : std::string(amount.as_string());
}

void validate_target(const Path& path, const Value& target, FieldErrors& out) {
  const Value& type = target["type"];
  if (type.as_string().empty())
    out.push_back(json::required(path / "type", "must specify a metric target type"));
  if (type.as_string() != "Utilization" && type.as_string() != "Value" &&
      type.as_string() != "AverageValue")
    out.push_back(json::invalid(path / "type", type.as_string(),
                                "must be either Utilization, Value, or AverageValue"));
  for (std::string_view name : {"value", "averageValue"})
    if (!target[name].is_null() && !is_positive(target[name]))
      out.push_back(json::invalid(path / name, canonical(target[name]), "must be positive"));
  if (!target["averageUtilization"].is_null() && target["averageUtilization"].as_int() < 1)
    out.push_back(json::invalid(path / "averageUtilization", target["averageUtilization"],
                                "must be greater than 0"));
}

void validate_identifier(const Path& path, const Value& metric, FieldErrors& out) {
  if (metric["name"].as_string().empty())
    out.push_back(json::required(path / "name", "must specify a metric name"));
  else
    complain(path / "name", metric["name"], name_is_path_segment(metric["name"].as_string(), false),
             out);
}

void validate_object_source(const Path& path, const Value& source, FieldErrors& out) {
  validate_reference(path / "describedObject", source["describedObject"], false, out);
  validate_identifier(path / "metric", source["metric"], out);
  validate_target(path / "target", source["target"], out);
  if (source["target"]["value"].is_null() && source["target"]["averageValue"].is_null())
    out.push_back(json::required(path / "target" / "averageValue",
                                 "must set either a target value or averageValue"));
}

void validate_external_source(const Path& path, const Value& source, FieldErrors& out) {
  validate_identifier(path / "metric", source["metric"], out);
  validate_target(path / "target", source["target"], out);
  const Value& target = source["target"];
  if (target["value"].is_null() && target["averageValue"].is_null())
    out.push_back(json::required(path / "target" / "averageValue",
                                 "must set either a target value for metric or a per-pod target"));
  if (!target["value"].is_null() && !target["averageValue"].is_null())
    out.push_back(
        json::forbidden(path / "target" / "value",
                        "may not set both a target value for metric and a per-pod target"));
}

void validate_pods_source(const Path& path, const Value& source, FieldErrors& out) {
  validate_identifier(path / "metric", source["metric"], out);
  validate_target(path / "target", source["target"], out);
  const Value& average = source["target"]["averageValue"];
  if (average.is_null() || !is_positive(average))
    out.push_back(json::required(path / "target" / "averageValue",
                                 "must specify a positive target averageValue"));
}

void validate_resource_target(const Path& path, const Value& target, FieldErrors& out) {
  validate_target(path / "target", target, out);
  bool utilization = !target["averageUtilization"].is_null(),
       value = !target["averageValue"].is_null();
  if (!utilization && !value)
    out.push_back(json::required(path / "target" / "averageUtilization",
                                 "must set either a target raw value or a target utilization"));
  if (utilization && value)
    out.push_back(json::forbidden(path / "target" / "averageValue",
                                  "may not set both a target raw value and a target utilization"));
}

void validate_resource_source(const Path& path, const Value& source, FieldErrors& out) {
  if (source["name"].as_string().empty())
    out.push_back(json::required(path / "name", "must specify a resource name"));
  validate_resource_target(path, source["target"], out);
}

void validate_container_source(const Path& path, const Value& source, FieldErrors& out) {
  if (source["name"].as_string().empty())
    out.push_back(json::required(path / "name", "must specify a resource name"));
  if (source["container"].as_string().empty())
    out.push_back(json::required(path / "container", "must specify a container"));
  validate_resource_target(path, source["target"], out);
}

struct Source {
  std::string_view type, field;
  void (*validate)(const Path&, const Value&, FieldErrors&);
};
constexpr Source kSources[] = {
    {"Object", "object", validate_object_source},
    {"External", "external", validate_external_source},
    {"Pods", "pods", validate_pods_source},
    {"Resource", "resource", validate_resource_source},
    {"ContainerResource", "containerResource", validate_container_source},
};

void validate_metric(const Path& path, const Value& metric, FieldErrors& out) {
  const Value& type = metric["type"];
  if (type.as_string().empty())
    out.push_back(json::required(path / "type", "must specify a metric source type"));
  auto known = std::ranges::find(kSources, type.as_string(), &Source::type);
  const std::vector<std::string> types = {"ContainerResource", "External", "Object", "Pods",
                                          "Resource"};
  if (known == std::end(kSources))
    out.push_back(json::not_supported(path / "type", type.as_string(), types));
  std::vector<std::string_view> given;
  for (const Source& source : kSources) {
    if (metric[source.field].is_null()) continue;
    if (given.empty()) source.validate(path / source.field, metric[source.field], out);
    given.push_back(source.field);
  }
  if (known == std::end(kSources)) {
    // Kubernetes reports this a second time when it compares the sources with the type.
    out.push_back(json::not_supported(path / "type", type.as_string(), types));
    return;
  }
  if (metric[known->field].is_null())
    out.push_back(json::required(path / known->field,
                                 "must populate information for the given metric source"));
  if (given.size() < 2) return;
  for (std::string_view field : given)
    if (field != known->field)
      out.push_back(json::forbidden(path / field, "must populate the given metric source only"));
}

void validate_policies(const Path& path, const Value& policies, FieldErrors& out) {
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const Value& p = policies[i];
    Path at = path.index(i);
    check_one_of(at / "type", p["type"], {"Percent", "Pods"}, out);
    if (p["value"].as_int() <= 0)
      out.push_back(json::invalid(at / "value", p["value"], "must be greater than zero"));
    std::int64_t period = p["periodSeconds"].as_int();
    if (period <= 0)
      out.push_back(
          json::invalid(at / "periodSeconds", p["periodSeconds"], "must be greater than zero"));
    if (period > 1800)
      out.push_back(json::invalid(at / "periodSeconds", p["periodSeconds"],
                                  "must be less than or equal to 1800"));
  }
}

void validate_rules(const Path& path, const Value& rules, FieldErrors& out) {
  if (rules.is_null()) return;
  const Value& window = rules["stabilizationWindowSeconds"];
  if (window.as_int() < 0)
    out.push_back(json::invalid(path / "stabilizationWindowSeconds", window,
                                "must be greater than or equal to zero"));
  if (window.as_int() > 3600)
    out.push_back(json::invalid(path / "stabilizationWindowSeconds", window,
                                "must be less than or equal to 3600"));
  if (!rules["selectPolicy"].is_null())
    check_one_of(path / "selectPolicy", rules["selectPolicy"], {"Disabled", "Max", "Min"}, out);
  if (rules["policies"].empty())
    out.push_back(json::required(path / "policies", "must specify at least one Policy"));
  validate_policies(path / "policies", rules["policies"], out);
  const Value& tolerance = rules["tolerance"];
  if (!tolerance.is_null()) {
    auto quantity = Quantity::parse(canonical(tolerance));
    if (quantity && quantity->sign() < 0)
      out.push_back(json::invalid(path / "tolerance", canonical(tolerance),
                                  "must be greater than or equal to 0"));
  }
}

void validate_spec(const Value& spec, bool v1, FieldErrors& out) {
  Path path = "spec";
  const Value& low = spec["minReplicas"];
  const Value& high = spec["maxReplicas"];
  if (!low.is_null() && low.as_int() < 1)
    out.push_back(json::invalid(path / "minReplicas", low, "must be greater than or equal to 1"));
  if (high.as_int() == 0)
    out.push_back(json::required(path / "maxReplicas", "must be set and greater than 0"));
  else if (high.as_int() < 1)
    out.push_back(json::invalid(path / "maxReplicas", high, "must be greater than 0"));
  if (!low.is_null() && high.as_int() < low.as_int())
    out.push_back(json::invalid(path / "maxReplicas", Value(high.as_int()),
                                "must be greater than or equal to `minReplicas`"));
  validate_reference(path / "scaleTargetRef", spec["scaleTargetRef"], true, out);
  if (v1) {
    const Value& cpu = spec["targetCPUUtilizationPercentage"];
    if (!cpu.is_null() && cpu.as_int() < 1)
      out.push_back(json::invalid("spec.metrics[0].resource.target.averageUtilization", cpu,
                                  "must be greater than 0"));
  }
  bool scales_to_zero = false;
  for (std::size_t i = 0; i < spec["metrics"].size(); ++i) {
    const Value& metric = spec["metrics"][i];
    validate_metric((path / "metrics").index(i), metric, out);
    scales_to_zero |= metric["type"].as_string() == "Object" ||
                      metric["type"].as_string() == "External";
  }
  if (!low.is_null() && low.as_int() == 0 && !scales_to_zero)
    out.push_back(json::forbidden(
        path / "metrics",
        "must specify at least one Object or External metric to support scaling to zero replicas"));
  validate_rules(path / "behavior" / "scaleUp", spec["behavior"]["scaleUp"], out);
  validate_rules(path / "behavior" / "scaleDown", spec["behavior"]["scaleDown"], out);
}

FieldErrors validate(const Value& object, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_spec(object["spec"], is_v1(context), out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_spec(object["spec"], is_v1(context), out);
  return out;
}

FieldErrors validate_status(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  for (std::string_view name : {"currentReplicas", "desiredReplicas"})
    check_not_negative(Path("status") / name, object["status"][name], out);
  return out;
}

}  // namespace

const Strategy& horizontal_pod_autoscaler_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .prepare_for_create = drop_status,
      .prepare_for_update = keep_status,
      .validate_create = validate,
      .validate_update = validate_update,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_status,
  };
  return strategy;
}

}  // namespace cardea::catalog
