#include "catalog/validate.h"

#include <algorithm>
#include <iterator>

#include "catalog/kinds/object_meta.h"

namespace cardea::catalog {
namespace {

using json::FieldErrors;
using json::Value;

void add(FieldErrors& out, FieldErrors more) {
  std::ranges::move(more, std::back_inserter(out));
}

// Kubernetes checks metadata once for every kind and then again with the kind's rules; clients see both.
FieldErrors common_update_errors(const Value& object, const Value& old, bool namespaced) {
  FieldErrors out;
  validate_object_meta(object["metadata"], namespaced, name_is_path_segment, "metadata", out);
  validate_object_meta_update(object["metadata"], old["metadata"], "metadata", out);
  return out;
}

}  // namespace

FieldErrors validate_create(const Strategy& strategy, const Value& object, bool namespaced,
                            const StrategyContext& context) {
  FieldErrors out;
  if (strategy.validate_create)
    out = strategy.validate_create(object, context);
  else
    validate_object_meta(object["metadata"], namespaced, name_check(strategy.name_rule), "metadata", out);
  if (out.empty())
    validate_object_meta(object["metadata"], namespaced, name_is_path_segment, "metadata", out);
  return out;
}

FieldErrors validate_update(const Strategy& strategy, const Value& object, const Value& old, bool namespaced,
                            const StrategyContext& context) {
  FieldErrors out = common_update_errors(object, old, namespaced);
  if (strategy.validate_update)
    add(out, strategy.validate_update(object, old, context));
  else
    validate_object_meta_update(object["metadata"], old["metadata"], "metadata", out);
  return out;
}

FieldErrors validate_status_update(const Strategy& strategy, const Value& object, const Value& old,
                                   bool namespaced, const StrategyContext& context) {
  FieldErrors out = common_update_errors(object, old, namespaced);
  if (strategy.validate_status_update)
    add(out, strategy.validate_status_update(object, old, context));
  else
    validate_object_meta_update(object["metadata"], old["metadata"], "metadata", out);
  return out;
}

}  // namespace cardea::catalog
