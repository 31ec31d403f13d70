#include "catalog/convert_autoscaler.h"

#include <string>
#include <string_view>

#include "json/parse.h"
#include "json/print.h"

namespace cardea::catalog {

using json::Value;

namespace {

constexpr std::string_view kMetrics = "autoscaling.alpha.kubernetes.io/metrics";
constexpr std::string_view kCurrentMetrics = "autoscaling.alpha.kubernetes.io/current-metrics";
constexpr std::string_view kConditions = "autoscaling.alpha.kubernetes.io/conditions";
constexpr std::string_view kBehavior = "autoscaling.alpha.kubernetes.io/behavior";

// Writes an object whose fields keep the order in which they are added: annotations are compared as
// text.
class Ordered {
 public:
  Ordered& add(std::string_view name, const Value& value) {
    if (value.is_null()) return *this;
    return add_text(name, json::print(value));
  }
  Ordered& add_text(std::string_view name, std::string_view text) {
    out_ += out_.empty() ? "{" : ",";
    json::print_string_to(out_, name);
    out_ += ':';
    out_ += text;
    return *this;
  }
  Ordered& add_reference(std::string_view name, const Value& reference) {
    return add_text(name, Ordered()
                              .add("kind", reference["kind"])
                              .add("name", reference["name"])
                              .add("apiVersion", reference["apiVersion"])
                              .text());
  }
  Ordered& add_selector(std::string_view name, const Value& selector) {
    if (selector.is_null()) return *this;
    return add_text(name, Ordered()
                              .add("matchLabels", selector["matchLabels"])
                              .add("matchExpressions", selector["matchExpressions"])
                              .text());
  }
  std::string text() const { return out_.empty() ? "{}" : out_ + "}"; }

 private:
  std::string out_;
};

Value or_zero(const Value& quantity) {
  return quantity.is_null() ? Value("0") : quantity;
}

// One metric in version 1's words. `part` is "target" or "current"; the names begin with it.
std::string metric_to_v1(const Value& metric, std::string_view part) {
  bool target = part == "target";
  auto named = [&](std::string_view rest) { return std::string(part) + std::string(rest); };
  std::string_view type = metric["type"].as_string();
  Ordered out, inner;
  out.add("type", metric["type"]);
  if (type == "Resource" || type == "ContainerResource") {
    std::string_view key = type == "Resource" ? "resource" : "containerResource";
    const Value& body = metric[key];
    const Value& amount = body[part];
    inner.add("name", body["name"]).add(named("AverageUtilization"), amount["averageUtilization"]);
    inner.add(named("AverageValue"),
              target ? amount["averageValue"] : or_zero(amount["averageValue"]));
    inner.add("container", body["container"]);
    return out.add_text(key, inner.text()).text();
  }
  if (type == "Pods") {
    const Value& body = metric["pods"];
    inner.add("metricName", body["metric"]["name"])
        .add(named("AverageValue"), or_zero(body[part]["averageValue"]));
    inner.add_selector("selector", body["metric"]["selector"]);
    return out.add_text("pods", inner.text()).text();
  }
  if (type == "Object") {
    const Value& body = metric["object"];
    inner.add_reference("target", body["describedObject"])
        .add("metricName", body["metric"]["name"]);
    inner.add(named("Value"), or_zero(body[part]["value"]))
        .add_selector("selector", body["metric"]["selector"]);
    inner.add("averageValue", body[part]["averageValue"]);
    return out.add_text("object", inner.text()).text();
  }
  const Value& body = metric["external"];
  inner.add("metricName", body["metric"]["name"])
      .add_selector("metricSelector", body["metric"]["selector"]);
  inner.add(named("Value"), target ? body[part]["value"] : or_zero(body[part]["value"]));
  inner.add(named("AverageValue"), body[part]["averageValue"]);
  return out.add_text("external", inner.text()).text();
}

Value metric_identity(const Value& body, std::string_view selector) {
  Value out = Value::object({{"name", body["metricName"]}});
  if (const Value* found = body.find(selector)) out.set("selector", *found);
  return out;
}

// Writes the type of a target, which version 2 requires.
Value typed_target(Value amount) {
  std::string_view type = amount.has("averageUtilization") ? "Utilization"
                          : amount.has("averageValue")     ? "AverageValue"
                                                           : "Value";
  amount.set("type", type);
  return amount;
}

Value metric_to_v2(const Value& metric, std::string_view part) {
  bool target = part == "target";
  std::string_view type = metric["type"].as_string();
  std::string_view key = type == "Resource"            ? "resource"
                         : type == "ContainerResource" ? "containerResource"
                         : type == "Pods"              ? "pods"
                         : type == "Object"            ? "object"
                                                       : "external";
  const Value& body = metric[key];
  Value amount = Value::object();
  auto take = [&](std::string_view from, std::string_view to) {
    if (const Value* found = body.find(from)) amount.set(to, *found);
  };
  std::string prefix(part);
  take(prefix + "AverageUtilization", "averageUtilization");
  take(prefix + "AverageValue", "averageValue");
  take(prefix + "Value", "value");
  Value out = Value::object();
  if (key == "resource" || key == "containerResource") {
    out.set("name", body["name"]);
    if (body.has("container")) out.set("container", body["container"]);
  } else {
    out.set("metric", metric_identity(body, key == "external" ? "metricSelector" : "selector"));
  }
  if (key == "object") {
    out.set("describedObject", body["target"]);
    if (body.has("averageValue")) {
      amount.set("averageValue", body["averageValue"]);
      if (target) amount.erase("value");
    }
  }
  out.set(part, target ? typed_target(std::move(amount)) : amount);
  return Value::object({{"type", metric["type"]}, {key, out}});
}

std::string rules_to_v1(const Value& rules) {
  if (rules.is_null()) return "null";
  auto or_null = [](const Value& value) { return json::print(value); };
  std::string policies = "null";
  if (rules["policies"].is_array()) {
    policies = "[";
    for (const Value& policy : rules["policies"].items()) {
      if (policies.size() > 1) policies += ',';
      policies += Ordered()
                      .add("Type", policy["type"])
                      .add("Value", policy["value"])
                      .add("PeriodSeconds", policy["periodSeconds"])
                      .text();
    }
    policies += ']';
  }
  return Ordered()
      .add_text("StabilizationWindowSeconds", or_null(rules["stabilizationWindowSeconds"]))
      .add_text("SelectPolicy", or_null(rules["selectPolicy"]))
      .add_text("Policies", policies)
      .add_text("Tolerance", or_null(rules["tolerance"]))
      .text();
}

// In the behavior annotation the names of fields begin with a capital letter.
Value uncapitalised(const Value& value) {
  if (value.is_array()) {
    Value out = Value::array();
    for (const Value& item : value.items()) out.push_back(uncapitalised(item));
    return out;
  }
  if (!value.is_object()) return value;
  Value out = Value::object();
  for (const auto& member : value.members()) {
    if (member.value.is_null() || member.key().empty()) continue;
    std::string name(member.key());
    if (name[0] >= 'A' && name[0] <= 'Z') name[0] = static_cast<char>(name[0] | 32);
    out.set(name, uncapitalised(member.value));
  }
  return out;
}

bool is_cpu_utilization(const Value& metric, std::string_view part) {
  return metric["type"].as_string() == "Resource" &&
         metric["resource"]["name"].as_string() == "cpu" &&
         metric["resource"][part].has("averageUtilization");
}

template <typename Write>
std::string list_text(const Value& list, Write write) {
  std::string out = "[";
  for (const Value& item : list.items()) {
    if (out.size() > 1) out += ',';
    out += write(item);
  }
  return out + "]";
}

// Removes an annotation and parses it. Null if it is absent or not JSON.
Value take_annotation(Value& object, std::string_view name) {
  const Value* text = object["metadata"]["annotations"].find(name);
  if (!text) return {};
  auto parsed = json::parse(text->as_string());
  Value& metadata = object.member("metadata");
  metadata.member("annotations").erase(name);
  if (metadata["annotations"].empty()) metadata.erase("annotations");
  return parsed ? *parsed : Value();
}

}  // namespace

void autoscaler_to_v1(Value& object) {
  const Value spec = object["spec"], status = object["status"];
  auto annotate = [&object](std::string_view name, const std::string& text) {
    object.member("metadata").member("annotations").set(name, text);
  };
  Value others = Value::array();
  bool has_cpu = false;
  for (const Value& metric : spec["metrics"].items()) {
    if (!has_cpu && is_cpu_utilization(metric, "target")) {
      has_cpu = true;
      object.member("spec").set("targetCPUUtilizationPercentage",
                                metric["resource"]["target"]["averageUtilization"]);
    } else {
      others.push_back(metric);
    }
  }
  if (!others.empty())
    annotate(kMetrics, list_text(others, [](const Value& m) { return metric_to_v1(m, "target"); }));
  if (!spec["behavior"].is_null())
    annotate(kBehavior, Ordered()
                            .add_text("ScaleUp", rules_to_v1(spec["behavior"]["scaleUp"]))
                            .add_text("ScaleDown", rules_to_v1(spec["behavior"]["scaleDown"]))
                            .text());
  if (object.has("spec")) {
    object.member("spec").erase("metrics");
    object.member("spec").erase("behavior");
  }
  if (status.is_null()) return;
  if (!status["currentMetrics"].empty())
    annotate(kCurrentMetrics, list_text(status["currentMetrics"],
                                        [](const Value& m) { return metric_to_v1(m, "current"); }));
  if (!status["conditions"].empty())
    annotate(kConditions, list_text(status["conditions"], [](const Value& c) {
               return Ordered()
                   .add("type", c["type"])
                   .add("status", c["status"])
                   .add("lastTransitionTime", c["lastTransitionTime"])
                   .add("reason", c["reason"])
                   .add("message", c["message"])
                   .text();
             }));
  Value& out = object.member("status");
  for (const Value& metric : status["currentMetrics"].items())
    if (is_cpu_utilization(metric, "current"))
      out.set("currentCPUUtilizationPercentage",
              metric["resource"]["current"]["averageUtilization"]);
  out.erase("currentMetrics");
  out.erase("conditions");
}

void autoscaler_to_v2(Value& object) {
  const Value spec = object["spec"], status = object["status"];
  Value metrics = Value::array();
  for (const Value& metric : take_annotation(object, kMetrics).items())
    metrics.push_back(metric_to_v2(metric, "target"));
  if (const Value* percentage = spec.find("targetCPUUtilizationPercentage");
      percentage && !percentage->is_null()) {
    Value target = Value::object({{"type", "Utilization"}, {"averageUtilization", *percentage}});
    metrics.push_back(
        Value::object({{"type", "Resource"},
                       {"resource", Value::object({{"name", "cpu"}, {"target", target}})}}));
  }
  if (spec.is_object()) {
    object.member("spec").erase("targetCPUUtilizationPercentage");
    if (!metrics.empty()) object.member("spec").set("metrics", metrics);
  }
  if (Value behavior = take_annotation(object, kBehavior); behavior.is_object())
    object.member("spec").set("behavior", uncapitalised(behavior));

  Value current = Value::array();
  for (const Value& metric : take_annotation(object, kCurrentMetrics).items())
    current.push_back(metric_to_v2(metric, "current"));
  Value conditions = take_annotation(object, kConditions);
  const Value* percentage = status.find("currentCPUUtilizationPercentage");
  if (current.empty() && percentage && !percentage->is_null()) {
    Value amount = Value::object({{"averageUtilization", *percentage}});
    current.push_back(
        Value::object({{"type", "Resource"},
                       {"resource", Value::object({{"name", "cpu"}, {"current", amount}})}}));
  }
  if (percentage) object.member("status").erase("currentCPUUtilizationPercentage");
  if (!current.empty()) object.member("status").set("currentMetrics", current);
  if (!conditions.empty()) object.member("status").set("conditions", conditions);
}

}  // namespace cardea::catalog
