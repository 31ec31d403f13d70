// Namespace policy: its containers, and the roles and bindings inside them. Their content is
// checked by the guard, which also knows their writer (rest/policy/guard.h); this file has the
// part for the catalogue.
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

// For a container: every write of an element renews it.
void set_last_modified(json::Value& object, const StrategyContext& context) {
  if (context.resource == "policies" || context.resource == "policybindings")
    object.set("lastModified", context.now);
}

}  // namespace

const Strategy& policy_document_strategy() {
  // Names such as `ProjectAdmins` are older than the rule that names are DNS labels.
  static const Strategy strategy{.prepare_for_create = set_last_modified,
                                 .name_rule = Strategy::NameRule::kPathSegment};
  return strategy;
}

}  // namespace cardea::catalog
