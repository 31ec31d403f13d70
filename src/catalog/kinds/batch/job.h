#pragma once
#include "catalog/kinds/check.h"

namespace cardea::catalog {

// The spec of a Job, as Jobs and CronJobs hold it.
void default_job_spec(Value& spec);
void validate_job_spec(const Value& spec, const Path& path, const StrategyContext& context,
                       FieldErrors& out);

// The name becomes part of the names of pods, which are hosts: a note when it will not do as one.
void warn_about_pod_name(const Value& object, std::vector<std::string>& out);

}  // namespace cardea::catalog
