#pragma once
#include "catalog/kinds/check.h"

namespace cardea::catalog {

// The spec of a Job, as Jobs and CronJobs hold it.
void default_job_spec(Value& spec);
void validate_job_spec(const Value& spec, const Path& path, const StrategyContext& context,
                       FieldErrors& out);

}  // namespace cardea::catalog
