#pragma once
#include "base/result.h"
#include "rest/loopback.h"

namespace cardea::rest {

// Writes the ClusterAccessPolicy `dra-admin-access`, as it is in this version: resource claims and
// templates that ask for adminAccess are denied outside namespaces labelled for it. From outside
// the loops.
Result<void> ensure_dra_admin_policy(const Loopback& api);

}  // namespace cardea::rest
