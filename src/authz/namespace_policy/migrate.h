#pragma once
#include <string>
#include <vector>

#include "authz/namespace_policy/documents.h"
#include "authz/namespace_policy/words.h"
#include "json/value.h"

namespace cardea::authz::namespace_policy {

// Policy documents as RBAC objects where RBAC can express the same, else as access policies.
// These keep the order of the five steps: policies of the cluster before those of a namespace,
// denials first.
struct Migration {
  std::vector<json::Value> objects;
  std::vector<std::string> changes;  // differences in behaviour after the migration, for the user;
                                     // empty: none
  std::vector<std::string> notes;    // which object each rule became
};

// `documents`: Policies, PolicyBindings, Roles, RoleBindings and Lists of them. The default roles
// of the master namespace are known without being among them. Unreadable
// content is an error with its path, and nothing is migrated.
Migration migrate(const std::vector<json::Value>& documents, std::string_view master,
                  const KindNames* kinds, json::FieldErrors& errors);

// The match of one rule in CEL, without its restriction. For resources, and for paths.
std::string match_expression(const Rule& rule, const std::vector<std::string>& kinds,
                             const KindNames* names);

}  // namespace cardea::authz::namespace_policy
