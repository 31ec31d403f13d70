#include "catalog/kinds/check.h"
#include "catalog/kinds/core/pod_parts.h"
#include "catalog/kinds/core/resources.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

void defaults(Value& object, const StrategyContext&) {
  if (object["overhead"].is_object()) default_resource_list(object.member("overhead"), "podFixed");
}

// Kubernetes checks the amounts as if they were the limits of a container, and reports them in the
// same way.
void validate_overhead(const Value& overhead, FieldErrors& out) {
  if (overhead.is_null()) return;
  validate_container_resources(Value::object({{"limits", overhead["podFixed"]}}), {}, "overhead",
                               out);
}

void validate_scheduling(const Value& scheduling, FieldErrors& out) {
  validate_labels(scheduling["nodeSelector"], "scheduling.nodeSelector", out);
  const Value& tolerations = scheduling["tolerations"];
  pod::validate_tolerations(tolerations, "scheduling.tolerations", out);
  for (std::size_t i = 1; i < tolerations.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (!semantically_equal(tolerations[i], tolerations[j])) continue;
      const Value& t = tolerations[i];
      out.push_back(
          duplicate_shown(Path("scheduling.tolerations").index(i),
                          shown_struct({{"Key", shown_or(t["key"], "")},
                                        {"Operator", shown_or(t["operator"], "")},
                                        {"Value", shown_or(t["value"], "")},
                                        {"Effect", shown_or(t["effect"], "")},
                                        {"TolerationSeconds", shown(t["tolerationSeconds"])}})));
      break;
    }
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  std::string_view handler = object["handler"].as_string();
  if (handler.empty())
    out.push_back(json::required("handler"));
  else if (handler.find('.') != handler.npos)
    out.push_back(json::invalid("handler", handler, "must not contain dots"));
  else
    complain("handler", handler, dns1123_label(handler), out);
  validate_overhead(object["overhead"], out);
  if (!object["scheduling"].is_null()) validate_scheduling(object["scheduling"], out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  check_immutable("handler", object["handler"], old["handler"], out);
  return out;
}

}  // namespace

const Strategy& runtime_class_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .validate_create = validate,
      .validate_update = validate_update,
      .allow_unconditional_update = false,
  };
  return strategy;
}

}  // namespace cardea::catalog
