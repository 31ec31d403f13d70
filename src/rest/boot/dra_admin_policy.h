#pragma once
#include <string_view>

#include "base/result.h"
#include "json/value.h"
#include "rest/loopback.h"

namespace cardea::rest {

inline constexpr std::string_view kDraAdminPolicy = "dra-admin-access";
inline constexpr std::string_view
    kClusterAccessPolicies = "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies";

// The ClusterAccessPolicy `dra-admin-access` of this version: resource claims and templates with
// adminAccess are denied outside namespaces with the label for it.
json::Value dra_admin_policy();

// Writes it, over one that somebody changed. From outside the loops. The controller
// `dra_admin_policy_keeper` keeps it from then on.
Result<void> ensure_dra_admin_policy(const Loopback& api);

}  // namespace cardea::rest
