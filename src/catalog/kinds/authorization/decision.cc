#include "base/strings.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

std::string decision_field(const json::Value& decision, std::string_view field) {
  const json::Value* at = &decision;
  for (std::string_view part : split(field, '.')) at = &(*at)[part];
  return std::string(at->as_string());
}

}  // namespace

// Nobody writes one, so there are no rules but for what lists can be narrowed by.
const Strategy& decision_strategy() {
  static const Strategy strategy{
      .selectable_fields = {"user", "impersonator", "outcome", "request.verb", "request.group",
                            "request.resource", "request.subresource", "request.namespace",
                            "request.name", "request.path"},
      .selectable_field = decision_field,
  };
  return strategy;
}

}  // namespace cardea::catalog
