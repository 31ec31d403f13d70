#pragma once
#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::admission {

// What the validations of a policy say about objects that does not fit their types:
// `expressionWarnings` as the status of a ValidatingAdmissionPolicy has them, each with every
// version of what the rules name in which it does not fit. Empty when all is well, or the rules
// name nothing in particular. Doubts, not errors: the policy works as it is.
json::Value type_check(const json::Value& policy_spec, const catalog::Catalog& catalog);

}  // namespace cardea::admission
