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

// The usage of one object, under the names that quotas use: `pods`, `requests.cpu`,
// `count/deployments.apps`. `now` (RFC 3339) decides whether a deleted pod is past its grace
// period.
Amounts usage_of(const catalog::Resource& resource, const json::Value& object,
                 std::string_view now);

// Whether objects of this resource are ever charged under this name.
bool is_charged_as(const catalog::Resource& resource, std::string_view name);

// Whether the scopes of a quota include this object.
bool in_scopes(const json::Value& quota, const catalog::Resource& resource,
               const json::Value& object);

// The same for one requirement of a scopeSelector.
bool in_scope(const json::Value& requirement, const catalog::Resource& resource,
              const json::Value& object);

// The required values that a pod lacks, for a quota that limits these names: `must specify cpu
// for: a,b`; "" when none is missing.
std::string missing_of_pod(const json::Value& pod, const std::vector<std::string>& names);

}  // namespace cardea::admission
