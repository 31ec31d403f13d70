#include "catalog/validate.h"

#include <algorithm>
#include <iterator>

#include "catalog/kinds/object_meta.h"

namespace cardea::catalog {

using json::FieldErrors;
using json::Value;

FieldErrors validate_create(const Strategy& strategy, const Value& object, bool namespaced,
                            const StrategyContext& context) {
  if (strategy.validate_create) return strategy.validate_create(object, context);
  FieldErrors out;
  validate_kind_meta(object, namespaced, name_check(strategy.name_rule), out);
  return out;
}

void validate_any_update(const Value& object, const Value& old, bool namespaced, FieldErrors& out) {
  validate_object_meta(object["metadata"], namespaced, name_is_path_segment, "metadata", out);
  validate_object_meta_update(object["metadata"], old["metadata"], "metadata", out);
}

FieldErrors validate_update(const Strategy& strategy, const Value& object, const Value& old,
                            bool namespaced, const StrategyContext& context) {
  FieldErrors out;
  // The rules for every object are checked first, and again with the rules of the kind: clients see
  // both.
  validate_any_update(object, old, namespaced, out);
  auto check = context.writes_status() ? strategy.validate_status_update : strategy.validate_update;
  if (check)
    std::ranges::move(check(object, old, context), std::back_inserter(out));
  else
    validate_kind_meta_update(object, old, out);
  return out;
}

}  // namespace cardea::catalog
