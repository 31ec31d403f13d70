#pragma once
#include <string_view>

#include "catalog/kinds/check.h"

namespace cardea::catalog {

// The common checks of kinds that keep a number of equal pods running.

// Checks the selector of the workload at `path`: present, well formed, not empty. `kind` is the
// name of the workload in the message. False if the selector cannot be used.
bool validate_workload_selector(const Value& selector, const Path& path, std::string_view kind,
                                FieldErrors& out);

// Checks that the template's labels match the selector, and that the template is valid for pods
// that always restart.
void validate_workload_template(const Value& pod_template, const Value& selector, const Path& path,
                                std::string_view kind, const StrategyContext& context,
                                FieldErrors& out);

// The part of it that does not depend on the selector.
void validate_running_template(const Value& pod_template, const Path& path, std::string_view kind,
                               const StrategyContext& context, FieldErrors& out);

// Checks that no count under `path` (status) is negative.
void check_counts(const Path& path, const Value& status,
                  std::initializer_list<std::string_view> names, FieldErrors& out);
// Checks that the count `name` is not above the count `limit`.
void check_not_above(const Path& path, const Value& status, std::string_view name,
                     std::string_view limit, std::string_view limit_text, FieldErrors& out);

// Warnings about the template of a workload.
std::vector<std::string> workload_warnings(const Value& object, const Value* old,
                                           const StrategyContext&);

// The name of the object becomes part of the host names of its pods. A warning if it cannot be part
// of a host name.
void warn_about_pod_name(const Value& object, std::vector<std::string>& out);

void default_workload_template(Value& spec);

}  // namespace cardea::catalog
