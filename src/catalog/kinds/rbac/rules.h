#pragma once
#include <string_view>

#include "catalog/kinds/check.h"

namespace cardea::catalog {

// The parts that RBAC's kinds and access policies have in common: subjects and rules.
inline constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";

// Sets the apiGroup of users and groups in the list of subjects under `key`.
void default_rbac_subjects(Value& object, std::string_view key);
// `namespaced`: the object that has the subject or the rule is in a namespace.
void validate_rbac_subject(const Path& path, const Value& subject, bool namespaced,
                           FieldErrors& out);
void validate_policy_rule(const Path& path, const Value& rule, bool namespaced, FieldErrors& out);

}  // namespace cardea::catalog
