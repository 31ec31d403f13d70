#include "catalog/kinds/check.h"
#include "catalog/kinds/core/core_strategies.h"
#include "catalog/kinds/core/pod_defaults.h"
#include "catalog/kinds/core/pod_validation.h"

namespace cardea::catalog {
namespace {

void defaults(Value& object, const StrategyContext&) {
  default_pod_template(object_member(object, "template"));
}

FieldErrors validate(const Value& object, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_pod_template(object["template"], "template", context, out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_pod_template(object["template"], "template", context, out);
  return out;
}

std::vector<std::string> warnings(const Value& object, const Value* old, const StrategyContext&) {
  std::vector<std::string> out;
  if (old && semantically_equal(object["template"], (*old)["template"])) return out;
  warn_about_pod_template(object["template"], "template", out);
  return out;
}

}  // namespace

const Strategy& pod_template_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .validate_create = validate,
      .validate_update = validate_update,
      .warnings = warnings,
      .has_generation = true,
      .returns_deleted_object = true,
  };
  return strategy;
}

}  // namespace cardea::catalog
