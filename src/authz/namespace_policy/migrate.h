#pragma once
#include <string>
#include <vector>

#include "authz/namespace_policy/documents.h"
#include "authz/namespace_policy/words.h"
#include "json/value.h"

namespace cardea::authz::namespace_policy {

// Policy documents as objects of RBAC where that can say the same, else as access policies, which
// keep the order of the five steps: those of the cluster before those of a namespace, denials
// first.
struct Migration {
  std::vector<json::Value> objects;
  std::vector<std::string> changes;  // what is not the same afterwards, for a person; empty:
                                     // nothing
  std::vector<std::string> notes;    // what became of what
};

// `documents`: Policies, PolicyBindings, Roles, RoleBindings and Lists of them. What cannot be read
// is an error with its path, and nothing is migrated.
Migration migrate(const std::vector<json::Value>& documents, std::string_view master,
                  const KindNames* kinds, json::FieldErrors& errors);

// What the match of one rule is in CEL, its restriction left out. For resources, and for paths.
std::string match_expression(const Rule& rule, const std::vector<std::string>& kinds,
                             const KindNames* names);

}  // namespace cardea::authz::namespace_policy
