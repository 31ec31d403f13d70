#pragma once
#include <string>
#include <vector>

#include "authz/rbac/rule.h"
#include "authz/user.h"

namespace cardea::authz::rbac {

// Whether one set of rules gives at least what another does: the comparison behind escalation
// prevention.

// What of `wanted` is not in `held`, taken apart into single permissions (one group, resource,
// verb, name, or one URL and verb). Empty: all is held. An enumeration never covers `*`. A rule of
// absurdly many permissions that is not covered as a whole counts as one that is missing as a
// whole.
std::vector<PolicyRule> missing_rules(const std::vector<PolicyRule>& held,
                                      const std::vector<PolicyRule>& wanted);

bool url_covers(std::string_view held, std::string_view wanted);

// Rules of one group, one resource and at most one name, without URLs, become one rule each with
// all their verbs; they follow the rules that are not so simple.
bool is_simple(const PolicyRule& rule);
std::vector<PolicyRule> compacted(std::vector<PolicyRule> rules);

// `user "u" (groups=["g"]) is attempting to grant RBAC permissions not currently held:` and what is
// missing, one rule per line, sorted.
std::string escalation_text(const User& user, std::vector<PolicyRule> missing,
                            const std::string& resolution_errors);

}  // namespace cardea::authz::rbac
