#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "authz/authorizer.h"
#include "authz/rbac/rule.h"
#include "base/task.h"
#include "rest/call.h"

namespace cardea::rest {

// Whether the caller holds the verb that exempts from an escalation check (`escalate`, `bind`,
// `deny`). The verb `*` of a namespace policy's rule does not include it, unless the caller may
// do everything there anyway: such rules mean "all ordinary verbs on ordinary objects", and
// exclude kinds one by one. A condition on the object cannot be evaluated here, and counts as
// no.
//
// "There" is the place of the grant: `granted_in`, where empty means the whole cluster. Without
// it, the namespace of the attributes.
Task<bool> is_exempt(Call& call, authz::Attributes attributes,
                     std::optional<std::string_view> granted_in = std::nullopt);

// The rules that a user has, as rules of RBAC: what a grant is compared with.
std::vector<authz::rbac::PolicyRule> held_rules(const authz::Rules& rules);

// Whether the namespace of the request is being deleted. Then the caller that empties it must
// be able to finish: denials in the namespace end with it.
bool is_being_emptied(const Call& call);

// The refusal to write an object that would give permissions, in Kubernetes' words.
Error refused_grant(const catalog::Resource& r, std::string_view name, std::string_view why);

}  // namespace cardea::rest
