#pragma once
#include <optional>
#include <string_view>

#include "authz/authorizer.h"
#include "base/task.h"
#include "rest/call.h"

namespace cardea::rest {

// Whether the caller may do what lets one pass an escalation check (`escalate`, `bind`, `deny`). That a rule
// of a namespace policy says `*` is no such leave, unless its holder may do everything there anyway: such
// rules are written to mean "all of today's verbs on ordinary objects", and take kinds away one by one. A
// condition on the object has nobody to settle it here, and counts as no.
//
// "There" is where the grant is for: `granted_in`, an empty one being the whole cluster. Without it, the
// namespace of the attributes.
Task<bool> is_waived(Call& call, authz::Attributes attributes,
                     std::optional<std::string_view> granted_in = std::nullopt);

// Whether the namespace of the request is going away. Then whoever empties it must be able to finish: what was denied in
// it ends with it.
bool is_being_emptied(const Call& call);

}  // namespace cardea::rest
