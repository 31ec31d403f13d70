#pragma once
#include "catalog/kinds/check.h"

namespace cardea::catalog {

// The part that webhook configurations and admission policies have in common: which requests they
// apply to.

void default_rules(Value& owner, std::string_view key);  // each rule's scope
void default_match_resources(Value& match);

// {operations, apiGroups, apiVersions, resources, scope}
void validate_rule(const Value& rule, const Path& path, FieldErrors& out);
// {namespaceSelector, objectSelector, resourceRules, excludeResourceRules, matchPolicy}
void validate_match_resources(const Value& match, const Path& path, FieldErrors& out);
// Checks names, and that expressions compile. `params`: expressions may read the parameters of the
// policy.
void validate_match_conditions(const Value& conditions, const Path& path, bool params,
                               FieldErrors& out);
// Reports that an expression did not compile. An empty `error`: it did.
void report_expression(const Path& path, const Value& expression, const std::string& error,
                       FieldErrors& out);

}  // namespace cardea::catalog
