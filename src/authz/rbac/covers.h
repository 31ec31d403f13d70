#pragma once
#include <string>
#include <vector>

#include "authz/rbac/rule.h"
#include "authz/user.h"

namespace cardea::authz::rbac {

// Whether one set of rules gives at least the permissions of another: the comparison for
// escalation prevention.

// The permissions of `wanted` that are not in `held`, split into single permissions (one group,
// resource, verb, name, or one URL and verb). Empty: all are held. An enumeration never covers
// `*`. A rule with an extremely large number of permissions that is not covered as a whole
// counts as missing as a whole.
std::vector<PolicyRule> missing_rules(const std::vector<PolicyRule>& held,
                                      const std::vector<PolicyRule>& wanted);

bool url_covers(std::string_view held, std::string_view wanted);

// Rules of one group, one resource and at most one name, without URLs, are merged into one rule
// each with all their verbs; they follow the other rules.
bool is_simple(const PolicyRule& rule);
std::vector<PolicyRule> compacted(std::vector<PolicyRule> rules);

// `user "u" (groups=["g"]) is attempting to grant RBAC permissions not currently held:` and what is
// missing, one rule per line, sorted.
std::string escalation_text(const User& user, std::vector<PolicyRule> missing,
                            const std::string& resolution_errors);

}  // namespace cardea::authz::rbac
