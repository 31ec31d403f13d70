#pragma once
#include "catalog/kinds/check.h"

namespace cardea::catalog {

// The rules by which a Job fails early or succeeds early: podFailurePolicy and successPolicy of its
// spec.
void default_pod_failure_policy(Value& spec);
void validate_pod_failure_policy(const Value& spec, const Path& spec_path, FieldErrors& out);
void validate_success_policy(const Value& spec, const Path& spec_path, FieldErrors& out);
Shown shown_pod_failure_policy(const Value& policy);
Shown shown_success_policy(const Value& policy);

}  // namespace cardea::catalog
