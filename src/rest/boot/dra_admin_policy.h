#pragma once
#include "base/result.h"
#include "rest/loopback.h"

namespace cardea::rest {

// Writes the ClusterAccessPolicy `dra-admin-access` of this version: resource claims and
// templates with adminAccess are denied outside namespaces with the label for it. From outside
// the loops.
Result<void> ensure_dra_admin_policy(const Loopback& api);

}  // namespace cardea::rest
