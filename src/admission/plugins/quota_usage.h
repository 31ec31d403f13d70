#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "admission/plugins/pod_resources.h"
#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::admission {

// What ResourceQuotas count. Pure functions; the admission plugin charges with them, the controller
// counts anew.

// What one object uses, under the names that quotas have for it: `pods`, `requests.cpu`,
// `count/deployments.apps`. `now` (RFC 3339) tells a pod that ought to be gone from one that is on
// its way.
Amounts usage_of(const catalog::Resource& resource, const json::Value& object,
                 std::string_view now);

// Whether objects of this resource are ever charged under this name.
bool is_charged_as(const catalog::Resource& resource, std::string_view name);

// Whether the scopes of a quota take this object in.
bool in_scopes(const json::Value& quota, const catalog::Resource& resource,
               const json::Value& object);

// What a pod must say but does not, for a quota that limits these names: `must specify cpu for:
// a,b`; "" when all is there.
std::string missing_of_pod(const json::Value& pod, const std::vector<std::string>& names);

}  // namespace cardea::admission
