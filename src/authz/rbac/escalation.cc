#include "authz/rbac/escalation.h"

#include "authz/rbac/covers.h"
#include "authz/rbac/rbac_authorizer.h"

namespace cardea::authz::rbac {
namespace {

using json::Value;

bool is_binding(const Grant& g) {
  return g.resource == "rolebindings" || g.resource == "clusterrolebindings";
}

bool aggregates(const Value* role) {
  return role && !(*role)["aggregationRule"]["clusterRoleSelectors"].empty();
}

std::vector<PolicyRule> everything() {
  return {{{"*"}, {"*"}, {"*"}, {}, {}}, {{"*"}, {}, {}, {}, {"*"}}};
}

// What the user holds.
struct Holdings {
  std::vector<PolicyRule> rules;
  std::string errors;
};

// Kubernetes reads the store here, and its errors name the resource of the request whatever is
// missing.
Holdings holdings_of(const RoleTable& policy, const User& user, std::string_view namespace_name,
                     std::string_view resource) {
  Holdings out;
  for (const Subject* grant : policy.grants_of(user, namespace_name))
    if (const Role* role = policy.role_of(grant->binding()))
      out.rules.insert(out.rules.end(), role->rules().begin(), role->rules().end());
  out.errors = aggregate(policy.errors_for(user, namespace_name, resource));
  return out;
}

// Without what is empty: nothing and an empty list mean the same.
Value without_empty(const Value& value) {
  if (value.is_array()) {
    Value out = Value::array();
    for (const Value& item : value.items()) out.push_back(without_empty(item));
    return out;
  }
  if (!value.is_object()) return value;
  Value out = Value::object();
  for (const json::Member& m : value.members()) {
    Value inner = without_empty(m.value);
    bool is_nothing = inner.is_null() || ((inner.is_array() || inner.is_object()) && inner.empty());
    if (!is_nothing) out.set(m.key(), std::move(inner));
  }
  return out;
}

}  // namespace

std::optional<Attributes> exemption(const Grant& g) {
  Attributes a(g.user);
  a.is_resource_request = true;
  a.api_version = "*";
  a.namespace_name = g.namespace_name;
  if (!is_binding(g)) {
    a.verb = "escalate";
    a.api_group = kGroup;
    a.resource = g.resource;
    a.name = g.request_name;
    return a;
  }
  const Value& ref = g.object["roleRef"];
  std::string_view kind = ref["kind"].as_string();
  if (kind != "Role" && kind != "ClusterRole") return std::nullopt;
  a.verb = "bind";
  a.api_group = ref["apiGroup"].as_string();
  a.resource = kind == "Role" ? "roles" : "clusterroles";
  a.name = ref["name"].as_string();
  return a;
}

std::vector<PolicyRule> held_by_writer(const RoleTable& policy, const Grant& g) {
  return holdings_of(policy, g.user, g.namespace_name, g.resource).rules;
}

std::optional<EscalationRefusal> check_escalation(const RoleTable& policy, const Grant& g,
                                                  const HeldOtherwise& otherwise) {
  std::vector<PolicyRule> wanted;
  if (is_binding(g)) {
    const Value& ref = g.object["roleRef"];
    std::string_view kind = ref["kind"].as_string(), name = ref["name"].as_string();
    // Of another kind: validation says so.
    if (kind != "Role" && kind != "ClusterRole") return std::nullopt;
    using Kind = EscalationRefusal::Kind;
    if (kind == "Role" && g.namespace_name.empty())
      return EscalationRefusal{Kind::kBadRequest, "Namespace parameter required."};
    if (name.empty()) return EscalationRefusal{Kind::kBadRequest, "Name parameter required."};
    const Role* role = policy.find_role(kind == "Role" ? g.namespace_name : std::string_view(),
                                        name);
    if (!role) return EscalationRefusal{Kind::kMissingRole, std::string(name)};
    wanted = role->rules();
  } else {
    wanted = read_rules(g.object["rules"]);
  }
  Holdings held = holdings_of(policy, g.user, g.namespace_name, g.resource);
  auto missing = missing_rules(held.rules, wanted);
  if (otherwise) std::erase_if(missing, otherwise);
  if (!missing.empty())
    return EscalationRefusal{EscalationRefusal::Kind::kForbidden,
                             escalation_text(g.user, std::move(missing), held.errors)};
  // An aggregation includes all roles that match it later.
  if (g.resource == "clusterroles" && (aggregates(&g.object) || aggregates(g.old)) &&
      !missing_rules(held.rules, everything()).empty())
    return EscalationRefusal{EscalationRefusal::Kind::kForbidden,
                             "must have cluster-admin privileges to use the aggregationRule"};
  return std::nullopt;
}

std::vector<PolicyRule> granted_by(const RoleTable& policy, const Grant& g) {
  if (!is_binding(g)) return read_rules(g.object["rules"]);
  const Value& ref = g.object["roleRef"];
  const Role* role = policy.find_role(
      ref["kind"].as_string() == "Role" ? g.namespace_name : std::string_view(),
      ref["name"].as_string());
  return role ? role->rules() : std::vector<PolicyRule>();
}

bool only_changes_ownership(const Value& object, const Value& old) {
  Value a = object, b = old;
  for (Value* v : {&a, &b})
    for (std::string_view key : {"finalizers", "ownerReferences", "managedFields", "selfLink"})
      if ((*v)["metadata"].is_object()) v->member("metadata").erase(key);
  return without_empty(a) == without_empty(b);
}

}  // namespace cardea::authz::rbac
