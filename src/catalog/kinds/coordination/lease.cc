#include "catalog/kinds/check.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

void validate_lease_spec(const Value& spec, FieldErrors& out) {
  const Value& duration = spec["leaseDurationSeconds"];
  if (!duration.is_null() && duration.as_int() <= 0)
    out.push_back(json::invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"));
  check_not_negative("spec.leaseTransitions", spec["leaseTransitions"], out);
}

// Fields of a feature that is off: the server drops the values that a client sends.
void drop_coordinated_election(Value& object, const StrategyContext&) {
  if (!object["spec"].is_object()) return;
  Value& spec = object.member("spec");
  spec.erase("strategy");
  spec.erase("preferredHolder");
}

void prepare_update(Value& object, const Value&, const StrategyContext& context) {
  drop_coordinated_election(object, context);
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_lease_spec(object["spec"], out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_lease_spec(object["spec"], out);
  return out;
}

}  // namespace

const Strategy& lease_strategy() {
  static const Strategy strategy{
      .prepare_for_create = drop_coordinated_election,
      .prepare_for_update = prepare_update,
      .validate_create = validate,
      .validate_update = validate_update,
      .allow_create_on_update = true,
      .allow_unconditional_update = false,
  };
  return strategy;
}

}  // namespace cardea::catalog
