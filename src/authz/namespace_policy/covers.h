#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "authz/namespace_policy/index.h"
#include "authz/rbac/rule.h"

namespace cardea::authz::namespace_policy {

// Nobody may give away what they do not have: whoever writes a role must hold what it gives, in the
// namespace where it is bound; whoever writes a binding, what its role gives.

// One thing that a rule allows.
struct Permission {
  std::string verb;
  std::string api_group, kind, name;  // "any other" where the rule reaches what nobody names
  std::string path;                   // of a rule for paths
  Restriction restriction;

  std::string text() const;  // `delete secrets named "x"`
};

// The first thing that `rules`, taken as one role, allow in `namespace_name` and that `author` is
// not allowed by the policies; nullopt: all is held. Exact: decided for every verb, kind, group and
// name that the rules of either mention, and for one of each kind that nobody mentions, which
// stands for all others.
//
// In the master namespace only what the master namespace gives counts. The author's restricted
// rules count where the restriction is the same, restricted denials always. What the role itself
// denies without restriction it does not give. A role of absurdly many permissions is refused as a
// whole.
std::optional<Permission> first_missing(const Index& index, const User& author,
                                        std::string_view namespace_name,
                                        const std::vector<Rule>& rules, const KindNames* kinds,
                                        const ResourceGroups& groups = ResourceGroups::built_in());

// What the rules that allow give, as RBAC would say it: rather too much than too little.
std::vector<rbac::PolicyRule> granted_by(const std::vector<Rule>& rules, const KindNames* kinds,
                                         const ResourceGroups& groups = ResourceGroups::built_in());

// Whether the denials of two sets of rules differ: to write, change or remove one needs the verb
// `deny` on roles.
bool changes_denials(const std::vector<Rule>& before, const std::vector<Rule>& after);

// What the denials of `before` deny that are not in `after`, as rules that allow it: what removing
// these denials gives to the users they name. Restrictions do not count: a permission for some
// objects is not the permission for all. A denial of unknown resource groups denies all kinds.
std::vector<Rule> lifted(const std::vector<Rule>& before, const std::vector<Rule>& after,
                         const ResourceGroups& groups = ResourceGroups::built_in());

}  // namespace cardea::authz::namespace_policy
