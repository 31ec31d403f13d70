#include "authz/namespace_policy/default_roles.h"

namespace cardea::authz::namespace_policy {

// Viewers see everything except roles and bindings; editors change what they see; admins change
// everything except the containers, under the escalation check; cluster-admins everything. The
// last rule of admins gives the permissions on single fields, which `*` without a write does
// not: an admin has all permissions of an editor. Neither gets by `*` the permissions that are
// excluded from whole objects.
std::vector<Role> default_roles(std::string_view master) {
  using Texts = std::vector<std::string>;
  auto rule = [](Texts verbs, Texts kinds) {
    Rule out;
    out.verbs = std::move(verbs);
    out.resource_kinds = std::move(kinds);
    return out;
  };
  auto role = [&](std::string_view name, std::vector<Rule> rules) {
    json::Value metadata = json::Value::object({{"name", name}, {"namespace", master}});
    return Role{std::string(master), std::string(name), std::move(metadata), std::move(rules)};
  };
  const Texts all{"*"}, no_containers{"*", "-policies", "-policybindings"};
  return {role("view", {rule({"watch", "list", "get"},
                             {"*", "-roles", "-rolebindings", "-policybindings", "-policies"})}),
          role("edit", {rule(all, {"*", "-roles", "-rolebindings", "-policybindings", "-policies",
                                   "-resourceaccessreview"})}),
          role("admin",
               {rule({"*", "-create", "-update", "-delete"}, all),
                rule({"create", "update", "delete"}, no_containers), rule(all, no_containers)}),
          role("cluster-admin", {rule(all, all)})};
}

}  // namespace cardea::authz::namespace_policy
