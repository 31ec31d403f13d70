#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "authz/attributes.h"
#include "authz/rbac/role_table.h"
#include "base/result.h"
#include "json/value.h"

namespace cardea::authz::rbac {

// Users cannot give permissions that they do not have: the writer of a role must hold its
// rules, the writer of a binding must hold the rules of its role, in the namespace of the
// write.

// A write of a role or binding. Borrows everything.
struct Grant {
  const User& user;
  std::string_view resource;        // "roles", "clusterrolebindings"
  std::string_view namespace_name;  // of the request
  std::string_view request_name;    // the name in the URL: empty for a POST
  const json::Value& object;
  const json::Value* old = nullptr;  // null for a create
};

// The permission that makes the check unnecessary: `escalate` for roles, `bind` for bindings.
// nullopt: there is none.
std::optional<Attributes> exemption(const Grant& grant);

// Why the write is refused; nullopt: it is not.
struct EscalationRefusal {
  enum class Kind : std::uint8_t {
    kForbidden,    // it gives more than the writer holds
    kMissingRole,  // the role that a binding refers to does not exist; `text` is its name
    kBadRequest,   // the reference cannot name a role
  };
  Kind kind;
  std::string text;
};
// Whether the writer holds a permission that no rule of RBAC gives to the writer. The permission is
// a single one, or a rule that is too large to be split.
using HeldOtherwise = std::function<bool(const PolicyRule& missing)>;
std::optional<EscalationRefusal> check_escalation(const RoleTable& policy, const Grant& grant,
                                                  const HeldOtherwise& otherwise = {});
// The rules that RBAC gives to the writer where the write grants.
std::vector<PolicyRule> held_by_writer(const RoleTable& policy, const Grant& grant);
// The permissions that the write gives: the rules of the role, or of the role of a binding.
// Empty where the role does not exist.
std::vector<PolicyRule> granted_by(const RoleTable& policy, const Grant& grant);

// Whether an update changes nothing but what the garbage collector may change. Absent and empty are
// the same.
bool only_changes_ownership(const json::Value& object, const json::Value& old);

}  // namespace cardea::authz::rbac
