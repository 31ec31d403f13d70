#include "catalog/kinds/check.h"
#include "catalog/kinds/core/core_strategies.h"

// Event of the core group. Its rules are older and less strict than those of events.k8s.io, which
// shows the same objects in another form.
namespace cardea::catalog {
namespace {

constexpr std::string_view kFields[] = {"involvedObject.kind",
                                        "involvedObject.namespace",
                                        "involvedObject.name",
                                        "involvedObject.uid",
                                        "involvedObject.apiVersion",
                                        "involvedObject.resourceVersion",
                                        "involvedObject.fieldPath",
                                        "reason",
                                        "reportingComponent",
                                        "source",
                                        "type"};

void check_length(const Value& event, const char* key, std::size_t max, const char* reported,
                  FieldErrors& out) {
  if (text(event, key).size() > max)
    out.push_back(json::invalid(reported, "", cat("can have at most ", max, " characters")));
}

void validate_new_style(const Value& event, FieldErrors& out) {
  require_text(event, "reportingComponent", {}, out);
  complain("reportingComponent", text(event, "reportingComponent"),
           qualified_name(text(event, "reportingComponent")), out);
  require_text(event, "reportingInstance", {}, out);
  check_length(event, "reportingInstance", 128, "reportingInstance", out);
  require_text(event, "action", {}, out);
  check_length(event, "action", 128, "action", out);
  require_text(event, "reason", {}, out);
  check_length(event, "reason", 128, "reason", out);
  check_length(event, "message", 1024, "message", out);
}

void validate_event(const Value& event, FieldErrors& out) {
  std::string_view ns = text(event["metadata"], "namespace"),
                   involved = text(event["involvedObject"], "namespace");
  bool new_style = present(event, "eventTime");
  bool mismatch = involved.empty()
                      ? ns != "default" && !ns.empty() && !(new_style && ns == "kube-system")
                      : !new_style && ns != involved;
  if (mismatch)
    out.push_back(
        json::invalid("involvedObject.namespace", involved, "does not match event.namespace"));
  if (new_style) validate_new_style(event, out);
  complain("namespace", ns, dns1123_subdomain(ns), out);
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_event(object, out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value&, const StrategyContext& context) {
  return validate(object, context);
}

std::string field(const Value& object, std::string_view name) {
  if (name.starts_with("involvedObject."))
    return std::string(text(object["involvedObject"], name.substr(15)));
  if (name == "source") {
    std::string_view component = text(object["source"], "component");
    return std::string(component.empty() ? text(object, "reportingComponent") : component);
  }
  return contains(kFields, name) ? std::string(text(object, name)) : "";
}

}  // namespace

const Strategy& core_event_strategy() {
  static const Strategy strategy{
      .validate_create = validate,
      .validate_update = validate_update,
      .selectable_fields = {std::begin(kFields), std::end(kFields)},
      .selectable_field = field,
      .unknown_field = "field label not supported: {}",
      .name_rule = Strategy::NameRule::kPathSegment,
      .allow_create_on_update = true,
  };
  return strategy;
}

}  // namespace cardea::catalog
