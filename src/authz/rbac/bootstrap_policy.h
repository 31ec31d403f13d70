#pragma once
#include <optional>
#include <vector>

#include "authz/rbac/rule.h"
#include "json/value.h"

namespace cardea::authz::rbac {

// The roles and bindings every cluster begins with, as objects: cluster roles, then their bindings,
// then those of namespaces. Made anew from data/bootstrap_policy.txt with each call.
std::vector<json::Value> bootstrap_policy();

// The rules of one of the default cluster roles, `system:node` for example; none when there is no
// such role.
std::vector<PolicyRule> bootstrap_rules(std::string_view cluster_role);

// The changes that `existing` needs to give at least the permissions of `expected`; nullopt:
// none. Added permissions and subjects stay (unless `remove_extra`); so do labels and
// annotations, whose existing values win. A binding to another role must be created again:
// `replaces`.
struct Reconciled {
  json::Value object;
  bool replaces = false;
};
std::optional<Reconciled> reconcile(const json::Value& expected, const json::Value& existing,
                                    bool remove_extra = false);

// Whether its owner has opted out.
bool is_protected(const json::Value& existing);

}  // namespace cardea::authz::rbac
