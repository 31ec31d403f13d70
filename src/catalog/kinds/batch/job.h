#pragma once
#include "catalog/kinds/check.h"

namespace cardea::catalog {

// The spec of a Job, as Jobs and CronJobs hold it.
void default_job_spec(Value& spec);
void validate_job_spec(const Value& spec, const Path& path, const StrategyContext& context,
                       FieldErrors& out);

// The name of the Job becomes part of the host names of its pods. A warning if it cannot be part of
// a host name.
void warn_about_pod_name(const Value& object, std::vector<std::string>& out);

}  // namespace cardea::catalog
