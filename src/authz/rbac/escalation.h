#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "authz/attributes.h"
#include "authz/rbac/role_table.h"
#include "base/result.h"
#include "json/value.h"

namespace cardea::authz::rbac {

// Nobody may give away what they do not have: whoever writes a role must hold its rules, whoever
// writes a binding must hold the rules of the role it refers to, in the namespace they write to.

// A write of a role or binding. Borrows everything.
struct Grant {
  const User& user;
  std::string_view resource;        // "roles", "clusterrolebindings"
  std::string_view namespace_name;  // of the request
  std::string_view request_name;    // what the URL names: nothing for a POST
  const json::Value& object;
  const json::Value* old = nullptr;  // null for a create
};

// The permission that makes the check unnecessary: `escalate` for roles, `bind` for bindings.
// nullopt: there is none.
std::optional<Attributes> exemption(const Grant& grant);

// Why the write is refused; nullopt: it is not.
struct EscalationRefusal {
  enum class Kind : std::uint8_t {
    kForbidden,    // more is given than held
    kMissingRole,  // the role that a binding refers to does not exist; `text` is its name
    kBadRequest,   // no role can be meant
  };
  Kind kind;
  std::string text;
};
std::optional<EscalationRefusal> check_escalation(const RoleTable& policy, const Grant& grant);
// What the write gives: the rules of the role, or of the one that a binding refers to. Empty where
// there is no such role.
std::vector<PolicyRule> granted_by(const RoleTable& policy, const Grant& grant);

// Whether an update changes nothing but what the garbage collector may change. Absent and empty are
// the same.
bool only_changes_ownership(const json::Value& object, const json::Value& old);

}  // namespace cardea::authz::rbac
