#include "catalog/kinds/check.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

void defaults(Value& object, const StrategyContext&) {
  if (object["spec"]["service"].is_object())
    set_default(object.member("spec").member("service"), "port", 443);
}

Value available(std::string_view status, std::string_view reason, std::string_view message,
                std::string_view now) {
  return Value::object({{"type", "Available"},
                        {"status", status},
                        {"lastTransitionTime", now},
                        {"reason", reason},
                        {"message", message}});
}

void prepare_create(Value& object, const StrategyContext& context) {
  object.erase("status");
  if (!object["spec"]["service"].is_null()) return;
  object.set(
      "status",
      Value::object({{"conditions", Value::array({available(
                                        "True", "Local", "Local APIServices are always available",
                                        context.now)})}}));
}

void validate_service(const Value& service, FieldErrors& out) {
  if (service.is_null()) return;
  if (service["namespace"].as_string().empty())
    out.push_back(json::required("spec.service.namespace"));
  if (service["name"].as_string().empty()) out.push_back(json::required("spec.service.name"));
  for (const std::string& complaint : port_number(service["port"].as_int()))
    out.push_back(
        json::invalid("spec.service.port", service["port"], cat("port is not valid: ", complaint)));
}

void validate_fields(const Value& object, FieldErrors& out) {
  const Value& spec = object["spec"];
  std::string_view group = spec["group"].as_string(), version = spec["version"].as_string();
  std::string expected = cat(version, ".", group);
  if (object["metadata"]["name"].as_string() != expected)
    out.push_back(
        json::invalid("metadata.name", object["metadata"]["name"],
                      cat("must be `spec.version+\".\"+spec.group`: ", quoted(expected))));
  if (!group.empty())
    complain("spec.group", group, dns1123_subdomain(group), out);
  else if (version != "v1")
    out.push_back(json::required("spec.group",
                                 "only v1 may have an empty group and it better be legacy kube"));
  complain("spec.version", version, dns1035_label(version), out);
  std::int64_t minimum = spec["groupPriorityMinimum"].as_int(),
               priority = spec["versionPriority"].as_int();
  if (minimum <= 0 || minimum > 20000)
    out.push_back(json::invalid("spec.groupPriorityMinimum", Value(minimum),
                                "must be positive and less than 20000"));
  if (priority <= 0 || priority > 1000)
    out.push_back(json::invalid("spec.versionPriority", Value(priority),
                                "must be positive and less than 1000"));
  bool insecure = spec["insecureSkipTLSVerify"].as_bool(),
       trusts = !spec["caBundle"].as_string().empty();
  if (spec["service"].is_null()) {
    if (trusts)
      out.push_back(json::invalid(
          "spec.caBundle",
          cat(base64_decode(spec["caBundle"].as_string()).value_or("").size(), " bytes"),
          "local APIServices may not have a caBundle"));
    if (insecure)
      out.push_back(json::invalid("spec.insecureSkipTLSVerify", true,
                                  "local APIServices may not have insecureSkipTLSVerify"));
    return;
  }
  validate_service(spec["service"], out);
  if (insecure && trusts)
    out.push_back(json::invalid("spec.insecureSkipTLSVerify", true,
                                "may not be true if caBundle is present"));
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_object_meta(object["metadata"], false, name_is_path_segment, "metadata", out);
  validate_fields(object, out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext& context) {
  FieldErrors out;
  validate_object_meta_update(object["metadata"], old["metadata"], "metadata", out);
  for (auto& error : validate(object, context)) out.push_back(std::move(error));
  return out;
}

FieldErrors validate_status(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_object_meta_update(object["metadata"], old["metadata"], "metadata", out);
  const Value& conditions = object["status"]["conditions"];
  for (std::size_t i = 0; i < conditions.size(); ++i)
    check_one_of(Path("status.conditions").index(i) / "status", conditions[i]["status"],
                 {"True", "False", "Unknown"}, out);
  return out;
}

}  // namespace

const Strategy& api_service_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .prepare_for_create = prepare_create,
      .prepare_for_update = keep_status,
      .validate_create = validate,
      .validate_update = validate_update,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_status,
      .name_rule = Strategy::NameRule::kPathSegment,
      .allow_unconditional_update = false,
  };
  return strategy;
}

}  // namespace cardea::catalog
