#include "schema/ownership/list_order.h"

#include "schema/ownership/shape.h"

namespace cardea::schema {
namespace {

// Lists of conditions are found by their type, and their order has no meaning.
bool has_conditions(const Schema& schema) {
  const Schema& conditions = member_or_deduced(member_or_deduced(schema, "status"), "conditions");
  return conditions.map_keys == std::vector<std::string>{"type"};
}

}  // namespace

FieldSet reordered_lists(const Comparison& comparison, const Schema& schema) {
  if (comparison.moved.empty()) return {};
  static const FieldSet kMetadata = FieldSet::of({{"f:metadata"}});
  static const FieldSet kConditions = FieldSet::of({{"f:status", "f:conditions"}});
  FieldSet moved = comparison.moved.recursive_difference(kMetadata);
  return has_conditions(schema) ? moved.difference(kConditions) : moved;
}

}  // namespace cardea::schema
