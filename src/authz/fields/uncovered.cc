#include "authz/fields/uncovered.h"

namespace cardea::authz::fields {

void Uncovered::add(const json::Value& spec) {
  for (const json::Value& verb : spec["uncoveredPermissions"].items()) {
    verbs.add(verb.as_string());
    if (!spec["admissionMayWrite"].as_bool()) guarded_from_admission.add(verb.as_string());
  }
}

}  // namespace cardea::authz::fields
