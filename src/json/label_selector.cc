#include "json/label_selector.h"

#include <algorithm>

namespace cardea::json {
namespace {

bool requirement_matches(const Value& requirement, const Value& labels) {
  std::string_view op = requirement["operator"].as_string();
  const Value* found = labels.find(requirement["key"].as_string());
  if (op == "Exists") return found != nullptr;
  if (op == "DoesNotExist") return found == nullptr;
  auto values = requirement["values"].items();
  bool listed = found && std::ranges::find(values, *found) != values.end();
  if (op == "In") return listed;
  if (op == "NotIn") return !listed;
  return false;
}

}  // namespace

bool selector_matches(const Value& selector, const Value& labels) {
  if (!selector.is_object()) return false;
  for (const Member& wanted : selector["matchLabels"].members()) {
    const Value* found = labels.find(wanted.key());
    if (!found || *found != wanted.value) return false;
  }
  return std::ranges::all_of(selector["matchExpressions"].items(),
                             [&](const Value& r) { return requirement_matches(r, labels); });
}

bool selector_is_empty(const Value& selector) {
  return selector["matchLabels"].empty() && selector["matchExpressions"].empty();
}

}  // namespace cardea::json
