#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "authz/namespace_policy/index.h"
#include "authz/rbac/rule.h"

namespace cardea::authz::namespace_policy {

// Users cannot give permissions that they do not have: the writer of a role must hold the
// permissions of the role, in the namespace where it is bound; the writer of a binding, the
// permissions of its role.

// One permission of a rule.
struct Permission {
  std::string verb;
  std::string api_group, kind, name;  // "any other" where the rule reaches what nobody names
  std::string path;                   // of a rule for paths
  Restriction restriction;

  std::string text() const;  // `delete secrets named "x"`
};

// The first permission that `rules`, read as one role, allow in `namespace_name` and that the
// policies do not allow to `author`; nullopt: the author holds all of them. Exact: decided for
// every verb, kind, group and name that the rules of either mention, and for one of each that
// neither mentions, which stands for all others.
//
// In the master namespace only permissions of the master namespace count. The author's
// restricted rules count where the restriction is the same, restricted denials always. A
// permission that the role itself denies without restriction is not given. A role with an
// extremely large number of permissions is refused as a whole.
std::optional<Permission> first_missing(const Index& index, const User& author,
                                        std::string_view namespace_name,
                                        const std::vector<Rule>& rules, const KindNames* kinds,
                                        const ResourceGroups& groups = ResourceGroups::built_in());

// The permissions of the rules that allow, as RBAC rules. The list may be too long, never too
// short.
std::vector<rbac::PolicyRule> granted_by(const std::vector<Rule>& rules, const KindNames* kinds,
                                         const ResourceGroups& groups = ResourceGroups::built_in());

// Whether the denials of two sets of rules differ: to write, change or remove one needs the verb
// `deny` on roles.
bool changes_denials(const std::vector<Rule>& before, const std::vector<Rule>& after);

// The permissions that `before` denies and `after` does not, as rules that allow them: removing
// these denials gives them to the users they name. Restrictions do not count: a permission for
// some objects is not the permission for all. A denial of unknown resource groups denies all
// kinds.
std::vector<Rule> lifted(const std::vector<Rule>& before, const std::vector<Rule>& after,
                         const ResourceGroups& groups = ResourceGroups::built_in());

}  // namespace cardea::authz::namespace_policy
