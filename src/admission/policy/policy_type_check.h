#pragma once
#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::admission {

// Type errors of a policy's validations: `expressionWarnings` in the status of a
// ValidatingAdmissionPolicy, each with every version of the named resources that it does not
// fit. Empty when there are none, or when the rules name no particular resource. These are
// warnings, not errors: the policy works.
json::Value type_check(const json::Value& policy_spec, const catalog::Catalog& catalog);

}  // namespace cardea::admission
