#pragma once
#include "catalog/kinds/check.h"

namespace cardea::catalog {

// Checks a Job's new status against its spec and its old status.
void validate_job_status_update(const Value& object, const Value& old, FieldErrors& out);

}  // namespace cardea::catalog
